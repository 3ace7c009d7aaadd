"""The store's interface for decisions on proposals."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.access.callers import Account
from antechamber.core.review import decision
from antechamber.core.review.corroboration import NearReport
from antechamber.core.rows.memories import BrowsedMemory, DerivedRow, MemoryChange, MemoryFilter, MemoryRow, NearMemory
from antechamber.core.rows.review import (
    ConflictMark,
    EvidenceRow,
    LatestDecision,
    ProducerRecord,
    ProposalRow,
    ReviewRecordRow,
)


class ReviewRows(Protocol):
    """What the desk shows and writes."""

    def proposal(self, proposal_id: str) -> ProposalRow | None:
        """Return one proposal."""

    def hold_proposal(self, proposal_id: str) -> None:
        """Lock a proposal: no other transaction decides on it until this one ends."""

    def evidence(self, proposal: int) -> list[EvidenceRow]:
        """Return the independent evidence for a proposal."""

    def own_duplicates(self, proposal: int) -> tuple[int, int]:
        """Return how often the producer submitted the event under other keys, and the replays of these."""

    def records(self, proposal: int) -> list[ReviewRecordRow]:
        """Return the decisions on a proposal, oldest first."""

    def conflicts(self, proposal: int) -> list[ConflictMark]:
        """Return the quarantined events under a proposal's key."""

    def producer_record(self, producer_identity: str) -> ProducerRecord:
        """Return the number of a producer's latest proposals by outcome."""

    def same_text(self, proposal: int, shown_hash: str) -> list[LatestDecision]:
        """Return decisions on other proposals with exactly this text, newest first."""

    def decision_with_key(self, decision_key: str) -> bool:
        """Return whether a one-time decision key was used."""

    def refused_owners(self, proposal: int) -> list[str]:
        """Return who owned the producer when events were quarantined that a curator opened as this proposal."""

    def target(self, memory_id: str, submission_scope: str, scope_id: str) -> decision.Target | None:
        """Return a memory of exactly this scope that a decision may name."""

    def memories_near(self, memories: Sequence[int]) -> list[NearMemory]:
        """Return those of some memories, by their integer keys, that are active, in the order of the keys given."""

    def near_proposals(self, proposal: int, number: int) -> list[NearReport]:
        """Return waiting near duplicates of a proposal, those that share its row in the queue."""

    def hold_memory(self, memory_id: str) -> None:
        """Lock a memory: no other transaction changes it until this one ends."""

    def latest_decisions(self, number: int, person: str = "") -> list[LatestDecision]:
        """Return the latest decisions on proposals, newest first; those of one person among the newest 2,000."""

    def decide(self, proposal: ProposalRow, account: Account, entry: decision.DecisionWrite) -> None:
        """Write the review record, update the proposal and its memories as ruled, and admit a memory if so ruled."""

    def browse_memories(self, chosen: MemoryFilter, after: str | None, number: int) -> list[BrowsedMemory]:
        """Return memories, newest first."""

    def memory(self, memory_id: str) -> MemoryRow | None:
        """Return one memory."""

    def memory_changes(self, memory: int) -> list[MemoryChange]:
        """Return the states that a memory had, oldest first."""

    def derived_from(self, memory_id: str, number: int) -> list[DerivedRow]:
        """Return what waits or is active and claims this memory as its source, to any depth, newest first."""

    def retracted_sources(self, proposal: int, number: int) -> list[str]:
        """Return the ids of retracted memories that a proposal is derived from by its claims, to any depth."""
