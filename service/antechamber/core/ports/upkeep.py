"""The store's interface for the upkeep of memories."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.rows.memories import BrowsedMemory, MemoryFilter
from antechamber.core.rows.upkeep import (
    DueCursor,
    DueMemory,
    NamingProposal,
    ReadCount,
    ReaderRow,
    ReviewDateRow,
    ReviewDateWrite,
    UpkeepRow,
)


class UpkeepRows(Protocol):
    """Reads of memories, and when these come up for review."""

    def add_reads(self, counts: Sequence[ReadCount]) -> None:
        """Add counts of reads to those of this and other processes."""

    def oldest_read(self) -> int | None:
        """Return the earliest hour of which reads are kept, or None."""

    def forget_reads(self, before: int, number: int) -> None:
        """Delete at most `number` counts of hours before an hour."""

    def readers(self, memory: int, since_hour: int, number: int) -> list[ReaderRow]:
        """Return who read a memory since an hour, the latest first."""

    def of_memory(self, memory: int) -> UpkeepRow:
        """Return when a memory comes up for review."""

    def review_dates(self, proposal: int) -> list[ReviewDateRow]:
        """Return the review dates of a proposal and its memory, oldest first; the last one holds."""

    def has_review_date(self, decision_key: str) -> bool:
        """Return whether a one-time decision key set a review date."""

    def set_review_date(self, write: ReviewDateWrite) -> None:
        """Store a review date, and append its leaf."""

    def naming(self, memory_id: str, number: int) -> list[NamingProposal]:
        """Return proposals in any state that name a memory in `derived_from` or `supersedes`, newest first."""

    def derived_from_retracted(self, chosen: MemoryFilter, after: str | None, number: int) -> list[BrowsedMemory]:
        """Return active memories of a scope that are derived from a retracted one, newest first."""

    def count_derived_from_retracted(self, most: int) -> int:
        """Count active memories that are derived from a retracted one, at most `most`."""

    def declared_private(self, chosen: MemoryFilter, after: str | None, number: int) -> list[BrowsedMemory]:
        """Return active memories of a scope whose event was declared private later, newest first.

        The conflict that declares it has to wait in the quarantine.
        """

    def count_declared_private(self, most: int) -> int:
        """Count active memories whose event was declared private later, at most `most`."""

    def due(self, chosen: MemoryFilter, now: int, idle: int, after: DueCursor, number: int) -> list[DueMemory]:
        """Return active memories of a scope that come up for review, the earliest first.

        `idle` are the microseconds after which a memory that was not read comes up; 0 means never.
        """

    def count_due(self, now: int, idle: int, most: int) -> int:
        """Count active memories that come up for review, at most `most`."""
