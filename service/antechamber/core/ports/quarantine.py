"""The store's interface for the quarantine."""

from typing import Protocol

from antechamber.core.access.callers import Account
from antechamber.core.review.quarantine import QuarantineDecision
from antechamber.core.rows.quarantine import QuarantineRow
from antechamber.core.rows.review import (
    ReviewRecordRow,
)


class QuarantineRows(Protocol):
    """Quarantined events and the decisions on them."""

    def waiting(self, after: str | None, number: int) -> list[QuarantineRow]:
        """Return waiting quarantined events, newest first."""

    def event(self, quarantine_id: str) -> QuarantineRow | None:
        """Return one quarantined event, waiting or settled."""

    def hold(self, quarantine_id: str) -> None:
        """Lock a quarantined event: no other transaction decides on it until this one ends."""

    def settlements(self, quarantine: int) -> list[ReviewRecordRow]:
        """Return the decisions on a quarantined event, oldest first."""

    def settle(self, event: QuarantineRow, account: Account, settlement: QuarantineDecision) -> None:
        """Write the review record of a quarantined event and its new state; the caller holds the event's lock."""

    def count(self, most: int) -> int:
        """Count waiting quarantined events, at most `most`."""
