"""Verbs for retention: show which texts the policy no longer keeps, and remove them after they are archived."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
import msgspec

from antechamber import app
from antechamber.cli.options import fail, json_option, location_options, policies_option, show
from antechamber.cli.policies import is_terminal
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.core.retention import PlanRow
from antechamber.core.times import format_time
from antechamber.settings import Location

_HEAD: Final = ("scope", "kind", "items", "bytes", "oldest")
_policies_option: Final = policies_option("Policy folder whose windows apply. Default: what serve uses.")


@click.group()
def retention() -> None:
    """Retention: remove texts that the policy no longer keeps, after they are in an archive with proofs.

    \b
    In scopes.toml, for all scopes or for one kind of scope:
      [defaults]
      keep_rejected_days = 90     rejected proposals and settled conflicts
      keep_withdrawn_days = 7     proposals that were withdrawn as private
      keep_ended_days = 365       memories that were superseded, retracted or expired

    \b
    Then, also while the service runs:
      antechamber retention plan --data data
      antechamber retention run --archive /archives/2026-11.jsonl --data data
    """  # noqa: D301 -- click does not rewrap a paragraph after this character


@retention.command("plan")
@_policies_option
@location_options
@json_option
def plan_removal(policies: Path | None, location: Location, *, as_json: bool) -> None:
    """Show what a run would remove now, by scope and kind: number, bytes and age. Nothing is changed.

    Kinds: rejected proposals, settled conflicts (conflict), withdrawn proposals, and proposals whose memories ended.
    """
    try:
        rows = app.plan_retention(location, policies)
    except AntechamberError as error:
        fail(error)
    if as_json:
        show([msgspec.structs.asdict(row) | {"oldest": format_time(row.oldest)} for row in rows])
    elif rows:
        click.echo("\n".join(_table(rows)))
    else:
        click.echo("Nothing would be removed.")


def _table(rows: list[PlanRow]) -> list[str]:
    cells = [
        _HEAD,
        *(
            (row.submission_scope, row.kind, f"{row.items:,}", f"{row.bytes:,}", format_time(row.oldest)[:10])
            for row in rows
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


@retention.command("run")
@click.option(
    "--archive",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="New file for the texts with their proofs, outside the data folder; of an interrupted run the same file.",
)
@click.option(
    "--limit",
    default=10_000,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Number of items in the archive at most; run again for the rest.",
)
@_policies_option
@location_options
@json_option
def run_removal(archive: Path, limit: int, policies: Path | None, location: Location, *, as_json: bool) -> None:
    """Write an archive of what the policy no longer keeps, then delete these texts and nothing else.

    Keys, hashes and receipts stay, so that a late retry gets its answer, and never becomes a new proposal. The archive
    is complete and on disk, and its digest in the log, before anything is deleted. If the command is interrupted, the
    same command goes on. Then keep the archive as long as its texts may be asked for.

    \b
    Example, with the proof of what was archived (SIZE is printed):
      antechamber retention run --archive /archives/2026-11.jsonl --data data
      antechamber log checkpoint --size SIZE --data data > checkpoint.txt
      antechamber log key --data data > key.txt
      antechamber verify /archives/2026-11.jsonl --records --checkpoint checkpoint.txt --key-file key.txt
    """  # noqa: D301 -- click does not rewrap a paragraph after this character
    try:
        done = app.run_retention(location, policies, archive, limit, _progress())
    except AntechamberError as error:
        fail(error)
    run = done.run
    if as_json:
        members = {} if run is None else msgspec.structs.asdict(run) | {"begun_at": format_time(run.begun_at)}
        show({"removed": done.removed, "resumed": done.resumed, "summed": done.summed, "run": members or None})
        return
    if run is None:
        click.echo("No text is older than the policy keeps it.")
    else:
        verb = "Went on with" if done.resumed else "Wrote"
        click.echo(f"{verb} {archive}: {counted(run.items, 'item')}, proven by the checkpoint of size {run.size}.")
        click.echo(f"Removed {counted(done.removed, 'text')}.")
    if done.summed:
        click.echo("Added up old counts by hour.")


def _progress() -> Callable[[int, int], None]:
    """Return a function that shows on a terminal how far the removal is."""
    if not is_terminal():
        return lambda _done, _total: None
    return lambda done, total: click.echo(f"\rRemoved {done:,} of {total:,} ", err=True, nl=done == total)
