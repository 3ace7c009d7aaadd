"""The store's interface for the routes that agents read."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.rows.memories import MemoryEnd, MemoryHit, MemoryPlace
from antechamber.core.rows.submissions import StoredReceipt


class MemoryRows(Protocol):
    """Receipts and memories that agents read back."""

    def receipt_by_id(self, producer_identity: str, submission_id: str) -> StoredReceipt | None:
        """Return a receipt by submission id if it belongs to this producer."""

    def receipt_by_key(self, producer_identity: str, key: str) -> StoredReceipt | None:
        """Return the receipt under one of this producer's keys."""

    def submitted_in_session(self, producer_identity: str, scope_id: str) -> bool:
        """Return whether a submission of this producer in a session was accepted."""

    def place(self, memory_id: str) -> MemoryPlace | None:
        """Return where a memory is, in any state; None if there is none by that id."""

    def newest(self, scopes: Sequence[tuple[str, str]], before: int | None, number: int) -> list[int]:
        """Return the integer keys of active memories of exactly these scopes, the newest first."""

    def items(self, memories: Sequence[int]) -> list[MemoryHit]:
        """Return memories by their integer keys, in that order."""

    def end(self, memory: int) -> MemoryEnd | None:
        """Return how a memory ended last; None if it never did."""
