"""The store's interface for exports, figures, and notes about the store itself."""

from typing import Protocol

from antechamber.core.duplicate_rate import DuplicateRateRow
from antechamber.core.rows.reports import CountRow, DecisionFigure, OldestPending, ProcessRow
from antechamber.core.rows.review import AuditFilter, AuditRow
from antechamber.core.rows.submissions import ListedSubmission, SubmissionFilter


class ReportRows(Protocol):
    """What auditors and operators read."""

    def export_review_records(self, chosen: AuditFilter, first: int, end: int) -> list[AuditRow]:
        """Return the review records whose leaves have sequences from `first` to `end` (excluded), in order."""

    def review_record(self, review_record_id: str) -> AuditRow | None:
        """Return one review record."""

    def latest_review_records(self, chosen: AuditFilter, after: str | None, number: int) -> list[AuditRow]:
        """Return review records, newest first."""

    def listed_submissions(
        self, chosen: SubmissionFilter, before: str | None, number: int
    ) -> tuple[list[ListedSubmission], str | None]:
        """Return submissions, newest first, plus a cursor if the scan limit was reached before the last submission."""

    def totals(self) -> dict[str, int]:
        """Return the number of submissions by disposition, and of proposals that are approved and rejected."""

    def counts_by_hour(self, since_hour: int) -> list[CountRow]:
        """Return counts for each hour; `attempts` counts replays. An added day counts in its first hour.

        `since_hour` is the first of a day, or later than all added days.
        """

    def counts_by_producer(self, since_hour: int) -> list[CountRow]:
        """Return the number of each producer's submissions by disposition."""

    def first_open_day(self) -> int | None:
        """Return the first day whose hourly counts are not added up; None if there are no counts."""

    def add_days(self, before_day: int, number: int) -> None:
        """Add up the hourly counts of the next days before a day, at most `number` days, so that figures read few rows.

        Days are counted from 1970 UTC. If another process adds the same days, only one of both does.
        """

    def oldest_pending(self) -> OldestPending | None:
        """Return the proposal that has waited longest."""

    def decisions_since(self, since: int, most: int) -> list[DecisionFigure]:
        """Return the latest decisions on proposals since a time, at most `most`."""

    def retries(self, since_hour: int, last_hour: int, number: int) -> list[DuplicateRateRow]:
        """Return attempts by producer and channel, marked ones first, then those with most attempts."""

    def meta(self, name: str) -> str | None:
        """Return a note about the store itself."""

    def set_meta(self, name: str, value: str) -> None:
        """Store a note about the store itself."""

    def claim_meta(self, name: str, value: str) -> str:
        """Store a note unless there is one already; return the note that is stored now."""

    def note_process(self, row: ProcessRow, gone_before: int) -> None:
        """Store a process's heartbeat and delete the processes whose last heartbeat is before `gone_before`."""

    def forget_process(self, process_id: str) -> None:
        """Delete a process."""

    def processes(self, since: int) -> list[ProcessRow]:
        """Return the processes with a heartbeat since a time, by name."""
