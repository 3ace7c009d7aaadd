"""Verbs for the operator of an agent's ledger."""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, cast

import click
import msgspec

from antechamber.cli.options import fail, json_option, ledger_option, own_token, service_option, show
from antechamber.cli.terminal import say_json
from antechamber.client.delivery import Recovery
from antechamber.client.ledger import Ledger
from antechamber.client.operation import Operation
from antechamber.client.submitter import Submitter
from antechamber.core.delivery_rules import STATES, State
from antechamber.core.errors import AntechamberError
from antechamber.core.times import format_time


@contextlib.contextmanager
def _open_ledger(path: Path) -> Iterator[Ledger]:
    """Open an existing ledger; these verbs never create one."""
    if not path.exists():
        fail(AntechamberError(f"there is no ledger at {path}; an agent makes one when it first sends"))
    try:
        with Ledger(path) as ledger:
            yield ledger
    except AntechamberError as error:
        fail(error)


@click.command()
@ledger_option
@service_option
@json_option
def recover(path: Path, url: str, *, as_json: bool) -> None:
    """Settle every operation of a ledger whose result is unknown.

    Each is sent again with the same key and the same bytes, which the service counts once however often they come.
    Where it refuses them, the key is sealed, so that no late request can land either. Nothing is ever sent twice under
    two keys. The token comes from ANTECHAMBER_TOKEN. Exit status 1 says that something is still uncertain or needs a
    person.
    """
    token = own_token()
    with _open_ledger(path) as ledger:
        open_ = Counter(entry.kind for entry in ledger.entries("pending", "uncertain"))
        with (
            Submitter(url, token, ledger) as submitter,
            click.progressbar(
                length=open_["submission"], label="Recovering", file=sys.stderr, hidden=not sys.stderr.isatty()
            ) as bar,
        ):
            recovery = submitter.recover(bar.update)
        counts = ledger.counts()
    if as_json:
        show({**msgspec.to_builtins(recovery), "calls": open_["call"], "ledger": counts})
    else:
        _tell(recovery, counts)
        if open_["call"]:
            click.echo(f"{open_['call']:>7}  calls of other tools, which their agent's guard settles when it starts")
    if recovery.left or recovery.elsewhere or counts["needs_review"]:
        sys.exit(1)


def _tell(recovery: Recovery, counts: dict[State, int]) -> None:
    if not recovery.found:
        click.echo("Nothing was uncertain.")
    for state in STATES:
        if count := recovery.settled.get(state):
            click.echo(f"{count:>7}  {state}")
    for reason, count in sorted(recovery.left.items(), key=lambda reason_and_count: -reason_and_count[1])[:5]:
        click.echo(f"{'':>9}{count} because of: {reason}")
    if recovery.elsewhere:
        click.echo(f"{recovery.elsewhere:>7}  under way in a process that runs")
    if counts["needs_review"]:
        click.echo(f"{counts['needs_review']:>7}  need a person: antechamber ledger list --state needs_review")


@click.group()
def ledger() -> None:
    """Look into an agent's ledger, and settle by hand what needs a person."""


@ledger.command("list")
@ledger_option
@click.option("--state", type=click.Choice(STATES), help="Only operations in this state.")
@json_option
def list_entries(path: Path, state: str | None, *, as_json: bool) -> None:
    """List operations, oldest first; texts are shown by `ledger show` alone."""
    wanted = (cast("State", state),) if state else ()
    with _open_ledger(path) as opened:
        for entry in opened.entries(*wanted):
            if as_json:
                show(_entry_members(entry))
            else:
                when = format_time(entry.recorded_at)[:19].replace("T", " ")
                click.echo(f"{entry.operation_id}  {entry.state:<12}  {when} UTC  {entry.name}  {_short(entry.reason)}")
        counts = opened.counts()
    if not as_json:
        click.echo(", ".join(f"{count} {name}" for name, count in counts.items() if count) or "The ledger is empty.")


def _short(text: str, limit: int = 80) -> str:
    """Return a text as one line without control characters, because a service may have sent it."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return plain if len(plain) <= limit else f"{plain[: limit - 2]} …"


def _entry_members(entry: Operation) -> dict[str, Any]:
    receipt = entry.typed_receipt()
    return {
        "operation_id": entry.operation_id,
        "kind": entry.kind,
        "name": entry.name,
        "state": entry.state,
        "attempts": entry.attempts,
        "in_flight": entry.in_flight,
        "reason": entry.reason,
        "source_event_hash": entry.source_event_hash,
        "normal_form": entry.normal_form,
        "recorded_at": format_time(entry.recorded_at),
        "changed_at": format_time(entry.changed_at),
        "receipt": msgspec.to_builtins(receipt) if receipt else None,
        "result": msgspec.json.decode(entry.receipt) if entry.receipt and entry.kind == "call" else None,
    }


@ledger.command("show")
@click.argument("operation_id")
@ledger_option
@json_option
def show_entry(operation_id: str, path: Path, *, as_json: bool) -> None:
    """Show one operation: what was to be sent, its history, and the answer."""
    with _open_ledger(path) as opened:
        entry = opened.entry(operation_id)
        history = opened.history(operation_id)
    body = msgspec.json.decode(entry.body) if entry.body else None
    steps = [{**msgspec.to_builtins(step), "changed_at": format_time(step.changed_at)} for step in history]
    if as_json:
        show({**_entry_members(entry), "body": body, "history": steps})
        return
    for name, value in _entry_members(entry).items():
        if value is not None and name not in {"receipt", "result"}:
            click.echo(f"{name:<18} {_short(str(value), 1000)}")
    for step in steps:
        when = step["changed_at"][:19].replace("T", " ")
        click.echo(f"  {when} UTC  {step['state']:<12}  {_short(step['reason'], 1000)}")
    for name, value in (("body", body), *((name, _entry_members(entry)[name]) for name in ("receipt", "result"))):
        if value is not None:
            click.echo(f"{name}:")
            say_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
    if entry.body is None:
        click.echo("The service found its text private, so no copy is kept here.")


@ledger.command()
@click.argument("operation_id")
@ledger_option
@click.option("--as", "state", type=click.Choice(("committed", "failed")), required=True, help="What it is.")
@click.option("--reason", required=True, help="How you know; kept with the operation.")
def settle(operation_id: str, path: Path, state: str, reason: str) -> None:
    """Settle by hand what needs review: look at the service first, as nothing can take this back."""
    if not reason.strip():
        message = "it says how you know, and cannot be blank"
        raise click.BadParameter(message, param_hint="--reason")
    with _open_ledger(path) as opened:
        entry = opened.decide(operation_id, cast("Literal['committed', 'failed']", state), reason.strip())
    click.echo(f"{entry.operation_id} is {entry.state}.")


@ledger.command()
@click.argument("address")
@ledger_option
def moved(address: str, path: Path) -> None:
    """Record the new ADDRESS of the service of this ledger: host name, and port where it has one."""
    with _open_ledger(path) as opened:
        opened.bind(address, moved=True)
    click.echo(f"{path} is the ledger of the service at {address} from now on.")
