"""What agents read of a store."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.rows.memories import MemoryHit
from antechamber.core.rows.submissions import StoredReceipt


class MemoryRows(Protocol):
    """What agents read back."""

    def receipt_by_id(self, producer_identity: str, submission_id: str) -> StoredReceipt | None:
        """Return a producer's own receipt."""

    def receipt_by_key(self, producer_identity: str, key: str) -> StoredReceipt | None:
        """Return the receipt under a producer's own key."""

    def submitted_in_session(self, producer_identity: str, scope_id: str) -> bool:
        """Tell whether this producer had something accepted in a session."""

    def memory_position(self, submission_scope: str, scope_id: str, memory_id: str) -> int | None:
        """Return where a page that follows this memory begins."""

    def memories(
        self, submission_scope: str, scope_id: str, words: Sequence[str], before: int | None, number: int
    ) -> list[MemoryHit]:
        """Return active memories of exactly this pair, newest first, that hold all the words."""
