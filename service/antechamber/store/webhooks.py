"""Queries for webhooks: endpoints, how far each has got, replays, and the alarms that are sent to them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from antechamber.core.admission.canonical import canonical
from antechamber.core.conversion import convert
from antechamber.core.log.leaf import of_access, webhook_members
from antechamber.core.rows.webhooks import AlarmRow, Webhook, WebhookReplay
from antechamber.store.memories import decoded
from antechamber.store.statements import Statements

KEPT: Final = 2_592_000_000_000
"""Microseconds (30 days) for which alarms are kept at least."""


class WebhookQueries:
    """Implements core.ports.webhooks.WebhookRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def add(self, webhook: Webhook) -> None:
        row = msgspec.structs.asdict(webhook)
        names = ("webhook_id", "url", "next_sequence", "last_alarm", "created_at")
        self._sql.run(
            "add_webhook",
            events=canonical(webhook.events).decode(),
            allow_private=int(webhook.allow_private),
            **{name: row[name] for name in names},
        )
        self._sql.append_leaves([of_access("add-webhook", webhook.created_at, "added", **webhook_members(row))])

    def all(self) -> list[Webhook]:
        return [convert(decoded(row, "events"), Webhook, strict=False) for row in self._sql.all("webhooks")]

    def remove(self, webhook_id: str, now: int) -> bool:
        removed = self._sql.run("remove_webhook", webhook_id=webhook_id, removed_at=now) > 0
        if removed:
            self._sql.append_leaves([of_access("remove-webhook", now, "removed", webhook_id=webhook_id)])
        return removed

    def replay(self, write: WebhookReplay) -> bool:
        place = {"sequence": write.sequence, "last_alarm": self.last_alarm(write.sequence)}
        if not self._sql.run("rewind_webhook", webhook_id=write.webhook_id, **place):
            return False
        self._sql.run("add_webhook_replay", **msgspec.structs.asdict(write))
        ids = {"replay_id": write.replay_id, "webhook_id": write.webhook_id, "sequence": str(write.sequence)}
        self._sql.append_leaves([of_access("replay-webhook", write.replayed_at, "replayed", **ids)])
        return True

    def take(self, webhook: Webhook, holder: str, now: int, until: int) -> bool:
        read = {name: getattr(webhook, name) for name in _READ}
        return self._sql.run("take_webhook", holder=holder, now=now, until=until, **read) > 0

    def note(self, webhook: Webhook, holder: str, until: int) -> bool:
        values = {name: getattr(webhook, name) for name in _NOTED}
        return self._sql.run("note_webhook", holder=holder, until=until, **values) > 0

    def add_alarms(self, sources: Sequence[str], now: int) -> None:
        self._sql.all("hold_alarms")
        for source in sources:
            self._sql.run("add_raised_alarm", source=source, raised_at=now)
        self._sql.run("drop_raised_alarms", before=now - KEPT)

    def alarms(self, after: int, number: int) -> list[AlarmRow]:
        return [AlarmRow(**row) for row in self._sql.all("raised_alarms", after=after, number=number)]

    def last_alarm(self, before: int) -> int:
        return int(self._sql.all("last_raised_alarm", before=before)[0]["number"])


_READ: Final = ("id", "version", "next_sequence", "last_alarm", "attempts", "next_at")
"""What a process must have read as it is to take an endpoint."""
_NOTED: Final = (
    "id",
    "version",
    "state",
    "next_sequence",
    "last_alarm",
    "attempts",
    "next_at",
    "failing_since",
    "last_error",
    "delivered",
    "delivered_at",
)
