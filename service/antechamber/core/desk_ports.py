"""Ports of the desk: what waits, what is decided on, and what was refused, as flows ask a store for it."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core import review, sorting
from antechamber.core.filters import QueueFilter
from antechamber.core.records import (
    BrowsedMemory,
    ConflictMark,
    EvidenceRow,
    LatestDecision,
    MemoryChange,
    MemoryFilter,
    MemoryRow,
    NearMemory,
    ProducerRecord,
    ProposalRow,
    QuarantineRow,
    QueueRow,
    ReviewRecordRow,
)
from antechamber.core.roles import Person
from antechamber.core.settlement import Settlement


class WaitingRows(Protocol):
    """What waits: the queue, claims on it, and how it is sorted."""

    def in_line(self, after: sorting.QueuePlace | None, number: int) -> list[QueueRow]:
        """Return rows of the queue in its order: folds first, then what is not sorted yet."""

    def matching(
        self, chosen: QueueFilter, after: sorting.QueuePlace | None, number: int
    ) -> tuple[list[QueueRow], sorting.QueuePlace | None]:
        """Return sorted rows that match a filter, and where the looking ended if it did before the queue did."""

    def for_second(self, person: str, number: int) -> list[QueueRow]:
        """Return proposals that need one more person, oldest first, of which this person could be the one."""

    def count_pending(self, most: int) -> int:
        """Count pending proposals, at most `most`."""

    def place_in_line(self, proposal_id: str) -> sorting.QueuePlace | None:
        """Return where a proposal stands, or stood, in the queue."""

    def free_proposals(self, person: str, after: sorting.QueuePlace | None, now: int) -> list[str]:
        """Return a few proposals behind a place that this person could judge and nobody else holds."""

    def free_matching(self, chosen: QueueFilter, person: str, after: sorting.QueuePlace | None, now: int) -> list[str]:
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

    def unsorted(self, number: int) -> list[sorting.Unsorted]:
        """Return the oldest pending proposals that no fold holds."""

    def fold_heads(self, submission_scope: str, scope_id: str, number: int) -> list[sorting.FoldHead]:
        """Return a scope's newest folds that wait."""

    def line(self, producer: int, risk: int) -> sorting.Line:
        """Return where a producer stands in the line of a risk."""

    def sort(self, places: Sequence[sorting.Place], texts: Sequence[tuple[str, str]]) -> None:
        """Put proposals, each with its kind and comparable text, into folds; what was sorted or decided stays."""


class ReviewRows(Protocol):
    """What the desk shows and writes."""

    def proposal(self, proposal_id: str) -> ProposalRow | None:
        """Return one proposal."""

    def hold_proposal(self, proposal_id: str) -> None:
        """Let no other transaction decide on a proposal until this one ends."""

    def evidence(self, proposal: int) -> list[EvidenceRow]:
        """Return the independent evidence for a proposal."""

    def own_duplicates(self, proposal: int) -> tuple[int, int]:
        """Return how often the producer submitted the event again under other keys, and their replays."""

    def review_records(self, proposal: int) -> list[ReviewRecordRow]:
        """Return the decisions on a proposal, oldest first."""

    def conflicts(self, proposal: int) -> list[ConflictMark]:
        """Return the quarantined events under a proposal's key."""

    def producer_record(self, producer_identity: str) -> ProducerRecord:
        """Return what became of a producer's latest proposals."""

    def same_text(self, proposal: int, shown_hash: str) -> list[LatestDecision]:
        """Return decisions that were made on exactly this text of other proposals, newest first."""

    def decision_with_key(self, decision_key: str) -> bool:
        """Tell whether a one-time decision key was used."""

    def refused_owners(self, proposal: int) -> list[str]:
        """Return who answered for the producer when events were refused that a curator opened as this proposal."""

    def target(self, memory_id: str, submission_scope: str, scope_id: str) -> review.Target | None:
        """Return a memory of exactly this scope that a decision may name."""

    def memories_near(self, submission_scope: str, scope_id: str, number: int) -> list[NearMemory]:
        """Return the newest active memories of exactly this scope."""

    def hold_memory(self, memory_id: str) -> None:
        """Let no other transaction change a memory until this one ends."""

    def latest_decisions(self, number: int) -> list[LatestDecision]:
        """Return the latest decisions on proposals, newest first."""

    def decide(self, proposal: ProposalRow, person: Person, entry: review.Entry) -> None:
        """Write the review record, move the proposal and its memories as ruled, and admit one if so ruled."""

    def browse_memories(self, chosen: MemoryFilter, after: str | None, number: int) -> list[BrowsedMemory]:
        """Return memories, newest first."""

    def memory(self, memory_id: str) -> MemoryRow | None:
        """Return one memory."""

    def memory_changes(self, memory: int) -> list[MemoryChange]:
        """Return the states that a memory had, oldest first."""


class RefusedRows(Protocol):
    """The quarantine."""

    def quarantined(self, after: str | None, number: int) -> list[QuarantineRow]:
        """Return waiting refused events, newest first."""

    def quarantined_event(self, quarantine_id: str) -> QuarantineRow | None:
        """Return one refused event, waiting or settled."""

    def hold_quarantine(self, quarantine_id: str) -> None:
        """Let no other transaction decide on a refused event until this one ends."""

    def settlements(self, quarantine: int) -> list[ReviewRecordRow]:
        """Return the decisions on a refused event, oldest first."""

    def settle(self, event: QuarantineRow, person: Person, settlement: Settlement) -> None:
        """Write the review record of a refused event that is held, and let it be settled or wait again."""

    def count_quarantined(self, most: int) -> int:
        """Count waiting refused events, at most `most`."""
