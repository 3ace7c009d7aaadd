"""Verbs for calibration: proposals with known verdicts, which measure how curators decide."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from antechamber import app
from antechamber.cli.options import fail, json_option, location_options, policies_option, show
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.core.rows.blind import BlindItem
from antechamber.core.times import format_time
from antechamber.flows.oversight.calibration import MAX_BYTES, Calibration
from antechamber.settings import Location

_policies_option: Final = policies_option("Policy folder that names the producers. Default: what serve uses.")


@click.group()
def calibrate() -> None:
    """Calibration: proposals with known verdicts, which look like any other until the decision."""


@calibrate.command("add")
@click.argument("file", type=click.File("rb"))
@_policies_option
@location_options
@json_option
def add_items(file: Any, policies: Path | None, location: Location, *, as_json: bool) -> None:
    """Put the items of FILE into the queue: all of them, or none if one has an error.

    FILE has one JSON object per line: producer_identity, submission_scope, scope_id, payload and source_span as in an
    event, verdict ("approve" or "reject"), and explanation, which the curator reads after the decision.
    """
    with _calibration(location, policies) as calibration:
        result = calibration.add(file.read(MAX_BYTES + 1))
    if as_json:
        show(msgspec.structs.asdict(result))
        return
    known = f" {result.known} were there already." if result.known else ""
    click.echo(f"Added {counted(result.added, 'calibration item')}.{known}")


@calibrate.command("list")
@_policies_option
@location_options
@json_option
def list_items(policies: Path | None, location: Location, *, as_json: bool) -> None:
    """List the calibration items with their verdicts, and which are decided; the dashboard has the figures."""
    with _calibration(location, policies) as calibration:
        items = calibration.all()
    if as_json:
        show([_members(item) for item in items])
        return
    for item in items:
        one = _members(item)
        click.echo(f"{one['proposal_id']}  {one['state']:<7}  {one['verdict']:<7}  {one['added_at'][:19]}Z")
    if not items:
        click.echo("No calibration items yet. Add some with: antechamber calibrate add FILE", err=True)


def _members(item: BlindItem) -> dict[str, str]:
    """Return what operators see of an item: not who decided on it, or how."""
    state = "waiting" if item.decided_at is None else "decided"
    named = {"blind_item_id": item.blind_item_id, "proposal_id": item.proposal_id, "verdict": item.verdict}
    return named | {"explanation": item.explanation, "state": state, "added_at": format_time(item.added_at)}


@contextlib.contextmanager
def _calibration(location: Location, policies: Path | None) -> Iterator[Calibration]:
    """Open a data folder; every error ends the program with a text that states what to do."""
    try:
        with app.opened_calibration(location, policies) as calibration:
            yield calibration
    except AntechamberError as error:
        fail(error)
