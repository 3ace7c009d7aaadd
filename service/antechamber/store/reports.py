"""Queries for exports, figures, and notes about the store itself."""

from typing import Any, Final

import msgspec

from antechamber.core.conversion import convert
from antechamber.core.duplicate_rate import MARKED_RATE, DuplicateRateRow
from antechamber.core.ids import earliest
from antechamber.core.rows.reports import CountRow, DecisionFigure, OldestPending, ProcessRow
from antechamber.core.rows.review import AuditFilter, AuditRow
from antechamber.core.rows.submissions import ListedSubmission, SubmissionFilter
from antechamber.store.statements import Statements

WINDOW: Final = 20_000
"""Maximum number of submissions that one page of a list scans."""
_CONFLICT: Final = "rejected-conflict"
_END: Final = "g"
"""Sorts after every id."""
_LAST_DAY: Final = "last_added_day"
"""Name of the note with the last day, counted from 1970 UTC, whose counts are in daily_counts and daily_attempts."""
_DAY_HOURS: Final = 24


class ReportQueries:
    """Implements core.ports.reports.ReportRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def export_review_records(self, chosen: AuditFilter, first: int, end: int) -> list[AuditRow]:
        rows = self._sql.all("review_records", first=first, end=end, **msgspec.structs.asdict(chosen))
        return convert(rows, list[AuditRow], strict=False)

    def review_record(self, review_record_id: str) -> AuditRow | None:
        row = self._sql.one("review_record", review_record_id=review_record_id)
        return convert(row, AuditRow, strict=False) if row else None

    def latest_review_records(self, chosen: AuditFilter, after: str | None, number: int) -> list[AuditRow]:
        rows = self._sql.all("latest_review_records", after=after, number=number, **msgspec.structs.asdict(chosen))
        return convert(rows, list[AuditRow], strict=False)

    def listed_submissions(
        self, chosen: SubmissionFilter, before: str | None, number: int
    ) -> tuple[list[ListedSubmission], str | None]:
        """Return submissions, newest first, plus a cursor if the scan limit was reached before the last submission.

        Conflicts are stored in the quarantine, everything else in the table of submissions; at most `WINDOW` rows of
        each are scanned, however few match.
        """
        end = _END if chosen.until is None else earliest(chosen.until)
        bounds = {"before": min(before or _END, end), "since": earliest(chosen.since or 0)}
        wanted = {
            "producer": chosen.producer_identity or "",
            "submission_scope": chosen.submission_scope or "",
            "scope_id": chosen.scope_id or "",
            "reason_code": chosen.reason_code or "",
            "number": number,
        }
        scanned: list[dict[str, Any]] = []
        ends: list[str] = []
        if chosen.disposition != _CONFLICT:
            name = chosen.disposition or ""
            scanned += self._sql.all("listed_submissions", disposition=name, window=WINDOW, **bounds, **wanted)
            ends += [row["cursor"] for row in self._sql.all("end_of_submissions", window=WINDOW - 1, **bounds)]
        if chosen.disposition in {None, _CONFLICT}:
            scanned += self._sql.all("listed_conflicts", window=WINDOW, **bounds, **wanted)
            ends += [row["cursor"] for row in self._sql.all("end_of_conflicts", window=WINDOW - 1, **bounds)]
        # Rows after the end of either window were not scanned, so none after it is shown.
        seen = max(ends, default="")
        rows = sorted(
            (row for row in scanned if row["cursor"] >= seen), key=lambda row: str(row["cursor"]), reverse=True
        )
        return convert(rows[:number], list[ListedSubmission]), seen or None

    def totals(self) -> dict[str, int]:
        return {row["name"]: row["number"] for row in self._sql.all("totals", open_hour=self._open_hour())}

    def counts_by_hour(self, since_hour: int) -> list[CountRow]:
        return convert(self._sql.all("counts_by_hour", **self._since(since_hour)), list[CountRow])

    def counts_by_producer(self, since_hour: int) -> list[CountRow]:
        return convert(self._sql.all("counts_by_producer", **self._since(since_hour)), list[CountRow])

    def _open_hour(self) -> int:
        """Return the first hour of the days that are not added yet; 0 if none is."""
        added = self.meta(_LAST_DAY)
        return 0 if added is None else (int(added) + 1) * _DAY_HOURS

    def _since(self, hour: int) -> dict[str, int]:
        """Return from which day and from which hour counts are read, so that none is read twice."""
        return {"since_day": -(-hour // _DAY_HOURS), "open_hour": max(hour, self._open_hour())}

    def first_open_day(self) -> int | None:
        if (added := self.meta(_LAST_DAY)) is not None:
            return int(added) + 1
        oldest: int | None = self._sql.all("oldest_count")[0]["hour"]
        return None if oldest is None else oldest // _DAY_HOURS

    def add_days(self, before_day: int, number: int) -> None:
        first, before = self.first_open_day(), self.meta(_LAST_DAY)
        if first is None or first >= before_day:
            return
        end = min(first + number, before_day)
        # Another process that adds the same days holds this row until its commit, and then it has changed.
        moved = (
            self._sql.run("claim_meta", name=_LAST_DAY, value=str(end - 1))
            if before is None
            else self._sql.run("move_last_day", name=_LAST_DAY, value=str(end - 1), before=before)
        )
        if not moved:
            return
        if before is None:
            self._sql.run("add_summed_counts")
        for day in range(first, end):
            hours = {"first": day * _DAY_HOURS, "end": (day + 1) * _DAY_HOURS}
            self._sql.run("add_daily_counts", day=day, **hours)
            self._sql.run("add_to_sums", day=day)
            self._sql.run("add_daily_attempts", day=day, **hours)

    def oldest_pending(self) -> OldestPending | None:
        row = self._sql.one("oldest_pending")
        return convert(row, OldestPending) if row else None

    def decisions_since(self, since: int, most: int) -> list[DecisionFigure]:
        return convert(self._sql.all("decisions_since", since=since, most=most), list[DecisionFigure])

    def retries(self, since_hour: int, last_hour: int, number: int) -> list[DuplicateRateRow]:
        since = self._since(since_hour)
        hours = {"first": since["open_hour"], "end": last_hour + 1}
        rows = self._sql.all("retries", since_day=since["since_day"], **hours, marked=MARKED_RATE, number=number)
        return convert(rows, list[DuplicateRateRow])

    def meta(self, name: str) -> str | None:
        row = self._sql.one("meta", name=name)
        return row["value"] if row else None

    def set_meta(self, name: str, value: str) -> None:
        self._sql.run("set_meta", name=name, value=value)

    def claim_meta(self, name: str, value: str) -> str:
        self._sql.run("claim_meta", name=name, value=value)
        return self.meta(name) or value

    def note_process(self, row: ProcessRow, gone_before: int) -> None:
        self._sql.run("forget_processes", process_id=None, before=gone_before)
        self._sql.run("note_process", **msgspec.structs.asdict(row))

    def forget_process(self, process_id: str) -> None:
        self._sql.run("forget_processes", process_id=process_id, before=0)

    def processes(self, since: int) -> list[ProcessRow]:
        return convert(self._sql.all("processes", since=since), list[ProcessRow])
