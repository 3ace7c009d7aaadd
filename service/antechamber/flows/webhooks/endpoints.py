"""Endpoints of webhooks: operators add, list, remove and replay them; each change has a leaf in the log."""

from typing import Final

from msgspec import Struct

from antechamber.core.addresses import redact_address
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.core.ids import uuid7
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.rows.webhooks import Webhook, WebhookReplay
from antechamber.core.times import parse_time
from antechamber.core.webhooks.events import EventType, time_of
from antechamber.core.webhooks.message import derive_secret
from antechamber.core.webhooks.target import read_target
from antechamber.flows.webhooks.pending import Backlog, backlog_of

MAX_WEBHOOKS: Final = 32
"""Endpoints at a time; each may hold a connection, and reads the log."""
SLACK: Final = 10_000_000
"""A replay from a time begins this many microseconds earlier: leaves are not exactly in the order of their times."""


class WebhookError(AntechamberError):
    """Raised when an endpoint cannot be added or found; the text says what to change."""


class ListedWebhook(Struct, frozen=True, kw_only=True):
    """An endpoint as operators see it: the URL without its query, which may hold a secret of the receiver."""

    webhook: Webhook
    url: str
    state: str
    """`active`, `failing` or `disabled`."""
    backlog: Backlog


class Webhooks:
    """Manages the endpoints of a store; `secret` is the folder's 32-byte secret."""

    def __init__(self, store: Store, clock: Clock, randomness: Randomness, secret: bytes) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._secret = secret

    def add(self, url: str, events: list[EventType], *, allow_private: bool) -> tuple[str, str]:
        """Add an endpoint that gets events from now on; return its id and its signing secret.

        Raises TargetError if the URL is not allowed, WebhookError if it is in use or there are too many.
        """
        read_target(url, allow_private=allow_private)
        now = self._clock()
        webhook_id = uuid7(now, self._randomness(10))

        def write(tx: Rows) -> None:
            known, size = tx.webhooks.all(), tx.log.size()
            if any(webhook.url == url for webhook in known):
                message = f"{redact_address(url)} is an endpoint already; to change it, remove it first"
                raise WebhookError(message)
            if len(known) >= MAX_WEBHOOKS:
                message = f"there are {MAX_WEBHOOKS} webhooks already; remove one first"
                raise WebhookError(message)
            tx.webhooks.add(
                _new(
                    webhook_id, url, events, (size, tx.webhooks.last_alarm(size + 1)), now, allow_private=allow_private
                )
            )

        self._store.write(write).result()
        return webhook_id, derive_secret(self._secret, webhook_id)

    def all(self) -> list[ListedWebhook]:
        """Return the endpoints, each with the number of events that it has not got."""
        with self._store.read() as tx:
            return [list_webhook(webhook, backlog_of(tx, webhook)) for webhook in tx.webhooks.all()]

    def remove(self, name: str) -> str:
        """Remove an endpoint by its id or URL and return its id; a request under way may still arrive.

        Raises WebhookError if there is none.
        """
        now = self._clock()

        def write(tx: Rows) -> str:
            webhook_id = _found(tx, name).webhook_id
            tx.webhooks.remove(webhook_id, now)
            return webhook_id

        return self._store.write(write).result()

    def replay(self, name: str, start: str) -> int:
        """Send an endpoint the events again from a sequence, or from a time (RFC 3339), and return the sequence.

        An endpoint that was disabled becomes active.

        Raises WebhookError if there is no such endpoint, or the start is neither or not in the log.
        """
        now = self._clock()
        replay_id = uuid7(now, self._randomness(10))

        def write(tx: Rows) -> int:
            webhook_id, sequence = _found(tx, name).webhook_id, _sequence(tx, start)
            tx.webhooks.replay(
                WebhookReplay(replay_id=replay_id, webhook_id=webhook_id, sequence=sequence, replayed_at=now)
            )
            return sequence

        return self._store.write(write).result()


def list_webhook(webhook: Webhook, backlog: Backlog) -> ListedWebhook:
    """Return an endpoint as operators see it."""
    return ListedWebhook(webhook=webhook, url=redact_address(webhook.url), state=state_of(webhook), backlog=backlog)


def state_of(webhook: Webhook) -> str:
    """Return the state of an endpoint for operators."""
    return "failing" if webhook.state == "active" and webhook.attempts else webhook.state


def _new(
    webhook_id: str, url: str, events: list[EventType], place: tuple[int, int], now: int, *, allow_private: bool
) -> Webhook:
    return Webhook(
        id=0,
        webhook_id=webhook_id,
        url=url,
        events=sorted(set(events)),
        allow_private=allow_private,
        state="active",
        next_sequence=place[0],
        last_alarm=place[1],
        version=0,
        attempts=0,
        next_at=0,
        failing_since=None,
        last_error=None,
        delivered=0,
        delivered_at=None,
        created_at=now,
    )


def _found(tx: Rows, name: str) -> Webhook:
    for webhook in tx.webhooks.all():
        if name in {webhook.webhook_id, webhook.url}:
            return webhook
    message = "there is no webhook with this id or URL; see: antechamber webhook list"
    raise WebhookError(message)


def _sequence(tx: Rows, start: str) -> int:
    """Return the sequence that a text names: a number, or the first leaf at about a time."""
    size = tx.log.size()
    if start.isascii() and start.isdecimal():
        sequence = int(start[:19])
    else:
        try:
            moment = parse_time(start) - SLACK
        except ValueError:
            message = f"{start[:60]!r} is neither a sequence nor a time such as 2026-11-20T10:00:00Z"
            raise WebhookError(message) from None
        sequence = _first_at(tx, moment, size)
    if sequence > size:
        message = f"the log has {counted(size, 'leaf', 'leaves')}, so there is no sequence {sequence}"
        raise WebhookError(message)
    return sequence


def _first_at(tx: Rows, moment: int, size: int) -> int:
    """Return the sequence of the first leaf at or after a time, found by halving; the log's size if there is none."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if time_of(tx.log.leaf_texts(middle, 1)[0]) < moment:
            low = middle + 1
        else:
            high = middle
    return low
