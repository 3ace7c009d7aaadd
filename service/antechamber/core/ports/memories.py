"""The store's interface for the routes that agents read."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.rows.memories import MemoryHit
from antechamber.core.rows.submissions import StoredReceipt


class MemoryRows(Protocol):
    """Receipts and memories that agents read back."""

    def receipt_by_id(self, producer_identity: str, submission_id: str) -> StoredReceipt | None:
        """Return a receipt by submission id if it belongs to this producer."""

    def receipt_by_key(self, producer_identity: str, key: str) -> StoredReceipt | None:
        """Return the receipt under one of this producer's keys."""

    def submitted_in_session(self, producer_identity: str, scope_id: str) -> bool:
        """Return whether a submission of this producer in a session was accepted."""

    def cursor_of(self, submission_scope: str, scope_id: str, memory_id: str) -> int | None:
        """Return the cursor of the page that follows this memory."""

    def search(
        self, submission_scope: str, scope_id: str, words: Sequence[str], before: int | None, number: int
    ) -> list[MemoryHit]:
        """Return active memories of exactly this scope that contain all the words, newest first."""
