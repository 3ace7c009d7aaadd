"""The store's interface for the review queue."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.review import queue_order
from antechamber.core.review.queue_filter import MatchCount, QueueFilter, QueueReader
from antechamber.core.rows.review import (
    QueueRow,
)


class QueueRows(Protocol):
    """The review queue: its rows, claims on them, and their order."""

    def page(self, after: queue_order.QueueCursor | None, number: int) -> list[QueueRow]:
        """Return rows of the queue in its order: folds first, then proposals that are not sorted yet."""

    def matching(
        self, chosen: QueueFilter, reader: QueueReader, after: queue_order.QueueCursor | None, number: int
    ) -> tuple[list[QueueRow], queue_order.QueueCursor | None]:
        """Return sorted rows that match a filter, plus a cursor if the scan limit came before the end of the queue."""

    def count_matching(
        self, chosen: QueueFilter, reader: QueueReader, until: queue_order.QueueCursor | None, most: int
    ) -> MatchCount:
        """Count sorted rows that match a filter, at most `most`, up to a cursor or the end of the queue.

        A count that would need a long scan looks only at the beginning of the queue, and says so.
        """

    def for_others(self, person: str, number: int) -> list[QueueRow]:
        """Return proposals that need one more person, which cannot be this one, oldest first."""

    def count_decided(self, person: str, since: int, most: int) -> int:
        """Count a person's decisions since a time, at most `most`; an undo is none."""

    def for_second(self, person: str, number: int) -> list[QueueRow]:
        """Return proposals that need one more person and that this person may judge, oldest first."""

    def count_pending(self, most: int) -> int:
        """Count pending proposals, at most `most`."""

    def cursor_of(self, proposal_id: str) -> queue_order.QueueCursor | None:
        """Return the cursor of a proposal, also if it has left the queue."""

    def cursor_behind(self, proposal_id: str, person: str) -> queue_order.QueueCursor | None:
        """Return the cursor from which this person goes on: what the person should look at comes before the queue."""

    def free(self, person: str, after: queue_order.QueueCursor | None, now: int) -> list[str]:
        """Return a few proposals behind a cursor that this person may judge and no other person has claimed."""

    def free_matching(
        self, chosen: QueueFilter, reader: QueueReader, after: queue_order.QueueCursor | None
    ) -> list[str]:
        """Return a few free proposals, as `free` does, that match a filter."""

    def claim(self, proposal_id: str, person: str, now: int, until: int, *, override: bool) -> bool:
        """Claim a pending proposal; return False if another person holds a claim."""

    def release(self, proposal_id: str, person: str | None) -> None:
        """End a person's claim, or the claim of any person if `person` is None."""

    def count_held(self, person: str, now: int) -> int:
        """Count the proposals that others have claimed."""

    def group_like(self, proposal_id: str, number: int) -> list[str]:
        """Return the waiting proposals of a proposal's fold, oldest first."""

    def group_of_source(self, proposal_id: str, number: int) -> list[str]:
        """Return the waiting proposals of the same producer and source as a proposal, oldest first."""

    def beside(self, proposals: Sequence[int], most: int) -> dict[int, queue_order.Beside]:
        """Return what the queue shows beside the rows of proposals, by their keys; count at most `most` of a source."""

    def group_of_producer(self, producer_identity: str, since: int, number: int) -> list[str]:
        """Return a producer's waiting proposals received since a time, oldest first, among the newest 20,000."""

    def sink(self, proposal_id: str) -> None:
        """Move what remains of a proposal's fold behind all other folds."""

    def unsorted(self, number: int) -> list[queue_order.Unsorted]:
        """Return the oldest pending proposals without a fold."""

    def fold_heads(self, submission_scope: str, scope_id: str, number: int) -> list[queue_order.FoldHead]:
        """Return a scope's newest folds that wait."""

    def folds_like(self, submission_scope: str, scope_id: str, content: str, number: int) -> list[queue_order.FoldHead]:
        """Return waiting folds of a scope that share the beginning or the end with a comparable text.

        Of each kind only the newest `number`.
        """

    def producer_turn(self, producer: int, risk: int) -> queue_order.ProducerTurn:
        """Return a producer's position in the fair-queueing order of a risk."""

    def sort(self, assignments: Sequence[queue_order.FoldAssignment], texts: Sequence[queue_order.FoldText]) -> None:
        """Assign proposals, each with the text of a new fold, to folds; skip those already sorted or decided."""
