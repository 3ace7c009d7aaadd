"""What the quarantine needs of a store."""

from typing import Protocol

from antechamber.core.access.callers import Person
from antechamber.core.review.quarantine import QuarantineDecision
from antechamber.core.rows.quarantine import QuarantineRow
from antechamber.core.rows.review import (
    ReviewRecordRow,
)


class QuarantineRows(Protocol):
    """The quarantine."""

    def quarantined(self, after: str | None, number: int) -> list[QuarantineRow]:
        """Return waiting refused events, newest first."""

    def quarantined_event(self, quarantine_id: str) -> QuarantineRow | None:
        """Return one refused event, waiting or settled."""

    def hold_quarantine(self, quarantine_id: str) -> None:
        """Let no other transaction decide on a refused event until this one ends."""

    def settlements(self, quarantine: int) -> list[ReviewRecordRow]:
        """Return the decisions on a refused event, oldest first."""

    def settle(self, event: QuarantineRow, person: Person, settlement: QuarantineDecision) -> None:
        """Write the review record of a refused event that is held, and let it be settled or wait again."""

    def count_quarantined(self, most: int) -> int:
        """Count waiting refused events, at most `most`."""
