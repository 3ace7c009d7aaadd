"""Verbs for webhooks: where events are sent to."""

import contextlib
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from antechamber import app
from antechamber.cli.options import fail, json_option, location_options, show
from antechamber.cli.terminal import say
from antechamber.core.errors import AntechamberError
from antechamber.core.times import format_time
from antechamber.core.webhooks.events import EVENT_TYPES
from antechamber.flows.webhooks.endpoints import ListedWebhook, Webhooks
from antechamber.flows.webhooks.pending import MAX_COUNTED
from antechamber.settings import Location


@click.group()
def webhook() -> None:
    """Webhooks: signed messages to other systems when something waits, is decided, admitted or ended."""


@webhook.command("add")
@click.argument("url")
@click.option(
    "--event",
    "events",
    type=click.Choice(EVENT_TYPES),
    multiple=True,
    required=True,
    help="Type of the events to send; repeatable.",
)
@click.option(
    "--allow-private", is_flag=True, help="Allow http, and addresses in private networks and on this machine."
)
@location_options
@json_option
def add_webhook(url: str, events: tuple[Any, ...], location: Location, *, allow_private: bool, as_json: bool) -> None:
    """Send events to URL from now on, and print the secret that signs them. It is shown once.

    The receiver checks the signature with any library for Standard Webhooks.
    """
    with _webhooks(location, grants=True) as webhooks:
        webhook_id, secret = webhooks.add(url, list(events), allow_private=allow_private)
    if as_json:
        show({"webhook_id": webhook_id, "secret": secret})
    else:
        click.echo(secret)


@webhook.command("list")
@location_options
@json_option
def list_webhooks(location: Location, *, as_json: bool) -> None:
    """List webhooks: state, how many events each has not got, and why the last attempt failed."""
    with _webhooks(location) as webhooks:
        rows = webhooks.all()
    if as_json:
        show([_members(row) for row in rows])
        return
    for row in rows:
        say(_line(row))
    if not rows:
        click.echo("No webhooks yet. Add one with: antechamber webhook add URL --event proposal.waiting", err=True)


def _line(row: ListedWebhook) -> str:
    one, number = row.webhook, row.backlog.number
    backlog = f"{'more than 1000' if number >= MAX_COUNTED else number} waiting"
    lines = [f"{one.webhook_id}  {row.state:<8}  {backlog}  {row.url}  {' '.join(one.events)}"]
    if one.last_error is not None:
        since = "" if one.failing_since is None else f" since {format_time(one.failing_since)[:19]}Z"
        after = "" if row.state == "disabled" else f"; next attempt at {format_time(one.next_at)[:19]}Z"
        lines.append(f"  {one.attempts} failed{since}: {one.last_error}{after}")
    return "\n".join(lines)


def _members(row: ListedWebhook) -> dict[str, Any]:
    one = msgspec.structs.asdict(row.webhook)
    times = {name: one[name] for name in ("created_at", "delivered_at", "failing_since")}
    kept = ("webhook_id", "events", "allow_private", "next_sequence", "delivered", "attempts", "last_error")
    return (
        {name: one[name] for name in kept}
        | {"url": row.url, "state": row.state, "waiting": row.backlog.number}
        | {name: None if value is None else format_time(value) for name, value in times.items()}
    )


@webhook.command("remove")
@click.argument("name", metavar="ID")
@location_options
def remove_webhook(name: str, location: Location) -> None:
    """Remove a webhook by its id or URL; a running service notices within a second."""
    with _webhooks(location) as webhooks:
        removed = webhooks.remove(name)
    click.echo(f"Removed {removed}.")


@webhook.command("replay")
@click.argument("name", metavar="ID")
@click.option(
    "--from",
    "start",
    required=True,
    metavar="START",
    help="Sequence of the log, e.g. 0, or a time, e.g. 2026-11-20T10:00:00Z.",
)
@location_options
@json_option
def replay_webhook(name: str, start: str, location: Location, *, as_json: bool) -> None:
    """Send a webhook its events again from START on, in order, each under the same id as before.

    A webhook that was disabled becomes active again, and one that waits for its next attempt is tried at once.
    """
    with _webhooks(location, grants=True) as webhooks:
        sequence = webhooks.replay(name, start)
    if as_json:
        show({"sequence": sequence})
    else:
        click.echo(f"Its events are sent again from sequence {sequence} on.")


@contextlib.contextmanager
def _webhooks(location: Location, *, grants: bool = False) -> Iterator[Webhooks]:
    """Open a data folder; every error ends the program with a text that states what to do."""
    try:
        with app.opened_webhooks(location, grants=grants) as webhooks:
            yield webhooks
    except AntechamberError as error:
        fail(error)
