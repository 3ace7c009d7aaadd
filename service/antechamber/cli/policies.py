"""Verbs for the policy files: check them, and try a change on what is stored."""

import sys
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Final

import click
import msgspec

from antechamber import app
from antechamber.cli.options import fail, json_option, location_options, policies_option, show
from antechamber.cli.terminal import say
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.core.privacy import KINDS
from antechamber.core.rehearsal import NOT_REPLAYED, TOTALS, ChangeGroup, RehearsalReport
from antechamber.detector_files import check_examples
from antechamber.policy_files import read_policy
from antechamber.resources import folder
from antechamber.settings import Location


@click.group()
def policy() -> None:
    """The policy files: who may propose what where."""


@policy.command("check")
@click.argument("policies", type=click.Path(path_type=Path), required=False)
@click.option("--rules", is_flag=True, help="List each rule of detection with its action and title.")
@json_option
def check_policy(policies: Path | None, *, rules: bool, as_json: bool) -> None:
    """Read the policy files of a folder, run their tests and print the digest.

    Default: the shipped policy.
    """
    try:
        checked = read_policy(policies or folder("policies"))
        check_examples(policies or folder("policies"), checked.gate)
    except AntechamberError as error:
        fail(error)
    if as_json:
        show({"digest": checked.digest(), "producers": len(checked.producers), "tests": len(checked.cases)})
        return
    click.echo(f"Producers: {len(checked.producers)}. Tests that hold: {len(checked.cases)}.")
    click.echo(checked.digest())
    for kind in KINDS:
        own = [rule for rule in checked.detectors if rule.kind == kind]
        off = [rule.rule_id for rule in own if rule.rule_id in checked.privacy.off]
        click.echo(f"{kind}: {counted(len(own), 'rule')}" + (f"; off: {', '.join(off)}" if off else ""))
        for rule in own if rules else ():
            say(f"  {rule.rule_id}: {'off' if rule.rule_id in off else rule.action}: {rule.title}")
    if not rules:
        click.echo("--rules lists them.")


_HEAD: Final = ("change", "producer", "scope", "reason", "rule", "before → after", "number")


@policy.command("diff")
@click.argument("new", type=click.Path(path_type=Path))
@location_options
@policies_option("Policy folder to compare with. Default: what serve uses.")
@click.option(
    "--last",
    default=10_000,
    show_default=True,
    type=click.IntRange(1, 100_000_000),
    help="Number of the latest submissions to replay.",
)
@json_option
def diff_policies(new: Path, location: Location, policies: Path | None, *, last: int, as_json: bool) -> None:
    """Show what the policy in folder NEW would change, before it is in force.

    Replays the latest stored submissions and the decisions on them under both policies, as of the time of each. Only
    reads the store, also while the service runs. Prints ids, never a text.

    \b
    Example:
      cp -r data/policies trial      edit trial/scopes.toml, then:
      antechamber policy diff trial --data data

    Exit status 0: nothing would change. 1: something would change. 2: wrong usage, an invalid policy, or the data
    cannot be read.
    """  # noqa: D301 -- click does not rewrap a paragraph after this character
    try:
        report = app.rehearse(location, policies, new, last, _progress())
    except AntechamberError as error:
        # 1 is the status of a change, so that an error needs another one.
        say(f"Error: {error}", err=True)
        sys.exit(2)
    if as_json:
        show({"changes": bool(report.groups)} | msgspec.structs.asdict(report))
    else:
        say("\n".join(_describe(report)))
    sys.exit(int(bool(report.groups)))


def is_terminal() -> bool:
    """Return whether a person watches standard error."""
    return sys.stderr.isatty()


def _progress() -> Callable[[int, int], None]:
    """Return a function that shows on a terminal how far the replay is, at each full percent."""
    if not is_terminal():
        return lambda _done, _total: None
    shown = -1

    def show_progress(done: int, total: int) -> None:
        nonlocal shown
        if (percent := done * 100 // total) != shown:
            shown = percent
            click.echo(f"\rReplaying {counted(total, 'submission')}: {percent} % ", err=True, nl=done == total)

    return show_progress


def _describe(report: RehearsalReport) -> Iterator[str]:
    """Yield the report as lines for people."""
    if report.groups:
        yield from _table(report.groups)
        yield f"{report.changed:,} of {report.replayed:,} replayed submissions would change:"
        for kind, text in TOTALS.items():
            if kind in report.totals:
                yield f"{report.totals[kind]:>9,}  {text}"
    else:
        yield f"No change in {counted(report.replayed, 'submission')}."
    if report.not_replayed:
        yield "Not replayed, because no text of them can be read:"
        for cause, number in report.not_replayed.items():
            yield f"{number:>9,}  {NOT_REPLAYED[cause]}"


def _table(groups: list[ChangeGroup]) -> Iterator[str]:
    rows = [
        (
            one.change,
            one.producer_identity,
            one.scope,
            one.reason or "-",
            one.rule_id or "-",
            f"{one.before} → {one.after}",
            f"{one.number:,}",
        )
        for one in groups
    ]
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    for row, group in zip_longest((_HEAD, *rows), (None, *groups)):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        if group is not None:
            yield f"    e.g. {', '.join(group.examples)}"
    yield ""
