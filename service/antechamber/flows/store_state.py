"""The state of a store at one moment, for metrics and for the page of operators."""

from typing import Final

from msgspec import Struct

from antechamber.core.ports.store import Store
from antechamber.core.rows.webhooks import Webhook
from antechamber.flows.daily_counts import count_waiting
from antechamber.flows.webhooks.pending import Backlog, backlog_of

LAST_BACKUP: Final = "last_backup"
"""Name of the note in the database with the time of the last backup, in microseconds since 1970 UTC."""


class StoreState(Struct, frozen=True, kw_only=True):
    """What is stored and what waits; times are microseconds since 1970 UTC."""

    now: int
    stored: int
    """Bytes of the store."""
    pending: int
    """Waiting proposals, without calibration items and second looks."""
    oldest: int | None
    """When the oldest waiting proposal came."""
    leaves: int
    """Leaves of the log."""
    signed: int
    """Leaves that the last checkpoint covers."""
    signed_at: int | None
    backup_at: int | None
    retention_at: int | None
    """When retention ran last."""
    webhooks: list[tuple[Webhook, Backlog]]


def read_state(store: Store, now: int) -> StoreState:
    """Return the state of a store.

    Raises BusyError or UnavailableError.
    """
    # On PostgreSQL this reads over a connection of its own.
    stored = store.size()
    with store.read() as tx:
        oldest, last, backup = tx.reports.oldest_pending(), tx.log.checkpoint(), tx.reports.meta(LAST_BACKUP)
        return StoreState(
            now=now,
            stored=stored,
            pending=count_waiting(tx.reports.totals()),
            oldest=oldest.received_at if oldest else None,
            leaves=tx.log.size(),
            signed=last.size if last else 0,
            signed_at=last.signed_at if last else None,
            backup_at=int(backup) if backup else None,
            retention_at=tx.retention.last_run(),
            webhooks=[(webhook, backlog_of(tx, webhook)) for webhook in tx.webhooks.all()],
        )
