"""What exports, figures and the doctor need of a store."""

from collections.abc import Iterator
from typing import Protocol

from antechamber.core.duplicate_rate import DuplicateRateRow
from antechamber.core.rows.reports import CountRow, DecisionFigure, OldestPending, ProcessRow
from antechamber.core.rows.review import AuditFilter, AuditRow
from antechamber.core.rows.submissions import ListedSubmission, SubmissionFilter


class ReportRows(Protocol):
    """What auditors and operators read."""

    def export_review_records(self, chosen: AuditFilter, first: int, end: int) -> list[AuditRow]:
        """Return the review records whose leaves stand from a place on and before another, in their order."""

    def review_record(self, review_record_id: str) -> AuditRow | None:
        """Return one review record."""

    def latest_review_records(self, chosen: AuditFilter, after: str | None, number: int) -> list[AuditRow]:
        """Return review records, newest first."""

    def listed_submissions(
        self, chosen: SubmissionFilter, before: str | None, number: int
    ) -> tuple[list[ListedSubmission], str | None]:
        """Return submissions, newest first, and where the looking ended if it did before the submissions did."""

    def totals(self) -> dict[str, int]:
        """Return how many submissions got each disposition, and how many proposals stand approved and rejected."""

    def tally_by_hour(self, since_hour: int) -> list[CountRow]:
        """Return what happened in each hour; `attempts` are replays."""

    def tally_by_producer(self, since_hour: int) -> list[CountRow]:
        """Return what became of each producer's submissions."""

    def oldest_pending(self) -> OldestPending | None:
        """Return the proposal that has waited longest."""

    def decisions_since(self, since: int) -> list[DecisionFigure]:
        """Return the latest decisions on proposals, 5,000 at most."""

    def retries(self, since_hour: int, last_hour: int, number: int) -> list[DuplicateRateRow]:
        """Return attempts by producer and channel, marked ones first, then those with most attempts."""

    def meta(self, name: str) -> str | None:
        """Return a note about the store itself."""

    def set_meta(self, name: str, value: str) -> None:
        """Keep a note about the store itself."""

    def claim_meta(self, name: str, value: str) -> str:
        """Keep a note unless there is one already; return the one that stands."""

    def note_process(self, row: ProcessRow, gone_before: int) -> None:
        """Note a process's sign of life and forget those that gave none since."""

    def forget_process(self, process_id: str) -> None:
        """Forget a process."""

    def processes(self, since: int) -> list[ProcessRow]:
        """Return the processes that gave a sign of life since then, by name."""

    def check(self) -> Iterator[str]:
        """Yield every violation of the store's own promises."""
