"""What flows need to remove the texts that the policy no longer keeps."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.retention import ExpiredItem, Removal, RetentionRun, Window


class RetentionRows(Protocol):
    """Texts that are no longer kept, and the runs that removed them."""

    def expired(self, window: Window, after: int, number: int) -> list[ExpiredItem]:
        """Return up to `number` items of a window whose integer keys follow `after`, in their order."""

    def leaves_with_text(self, item: ExpiredItem) -> list[int]:
        """Return the sequences of the leaves that commit to texts of an item, in order."""

    def add_run(self, run: RetentionRun) -> None:
        """Store that a run begins, and append its leaf."""

    def run_of(self, archive: str) -> RetentionRun | None:
        """Return the run whose archive has this SHA-256."""

    def last_run(self) -> int | None:
        """Return when the last run began, in microseconds since 1970 UTC."""

    def remove(self, run: RetentionRun, removals: Sequence[tuple[str, Removal]], now: int) -> int:
        """Delete the texts of these items, each with the id of its erasure; return how many were deleted.

        An item stays if it waits or is a memory again, if its text is gone already, or if the archive does not have
        all of its records.
        """

    def oldest_count(self) -> int | None:
        """Return the oldest hour since 1970 with counts of its own."""

    def sum_counts(self, hour: int) -> None:
        """Add the counts of the hours before `hour` to those of hour 0, which no report shows."""

    def drop_old_pages(self) -> None:
        """Remove from the engine's files what another process deleted, as far as possible."""
