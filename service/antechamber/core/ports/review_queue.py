"""What the review queue needs of a store."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.review import queue_order
from antechamber.core.review.queue_filter import QueueFilter
from antechamber.core.rows.review import (
    QueueRow,
)


class QueueRows(Protocol):
    """What waits: the queue, claims on it, and how it is sorted."""

    def queue_page(self, after: queue_order.QueueCursor | None, number: int) -> list[QueueRow]:
        """Return rows of the queue in its order: folds first, then what is not sorted yet."""

    def matching(
        self, chosen: QueueFilter, after: queue_order.QueueCursor | None, number: int
    ) -> tuple[list[QueueRow], queue_order.QueueCursor | None]:
        """Return sorted rows that match a filter, and where the looking ended if it did before the queue did."""

    def for_second(self, person: str, number: int) -> list[QueueRow]:
        """Return proposals that need one more person, oldest first, of which this person could be the one."""

    def count_pending(self, most: int) -> int:
        """Count pending proposals, at most `most`."""

    def queue_position(self, proposal_id: str) -> queue_order.QueueCursor | None:
        """Return where a proposal stands, or stood, in the queue."""

    def free_proposals(self, person: str, after: queue_order.QueueCursor | None, now: int) -> list[str]:
        """Return a few proposals behind a place that this person could judge and nobody else holds."""

    def free_matching(
        self, chosen: QueueFilter, person: str, after: queue_order.QueueCursor | None, now: int
    ) -> list[str]:
        """Return a few free proposals, as `free_proposals` does, that match a filter."""

    def claim(self, proposal_id: str, person: str, now: int, until: int, *, override: bool) -> bool:
        """Claim a pending proposal; False where somebody else holds it."""

    def release(self, proposal_id: str, person: str | None) -> None:
        """End a person's claim, or whosever it is."""

    def count_held(self, person: str, now: int) -> int:
        """Count the proposals that others hold."""

    def group_like(self, proposal_id: str, number: int) -> list[str]:
        """Return the waiting proposals of a proposal's fold, oldest first."""

    def group_of_producer(self, producer_identity: str, since: int, number: int) -> list[str]:
        """Return the waiting proposals of a producer that came since a time, oldest first, of the newest 20,000."""

    def sink(self, proposal_id: str) -> None:
        """Let what is left of a proposal's fold wait behind all other folds."""

    def unsorted(self, number: int) -> list[queue_order.Unsorted]:
        """Return the oldest pending proposals that no fold holds."""

    def fold_heads(self, submission_scope: str, scope_id: str, number: int) -> list[queue_order.FoldHead]:
        """Return a scope's newest folds that wait."""

    def line(self, producer: int, risk: int) -> queue_order.ProducerTurn:
        """Return where a producer stands in the line of a risk."""

    def sort(self, places: Sequence[queue_order.FoldAssignment], texts: Sequence[tuple[str, str]]) -> None:
        """Put proposals, each with its kind and comparable text, into folds; what was sorted or decided stays."""
