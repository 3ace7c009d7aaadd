"""Report rows: what auditors export and operators count, and the store's check of its own promises."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from antechamber.core.admission.canonical import digest, event_bytes
from antechamber.core.duplicate_rate import MARKED_RATE, DuplicateRateRow
from antechamber.core.ids import earliest
from antechamber.core.review.decision import ERASED
from antechamber.core.rows.reports import CountRow, DecisionFigure, OldestPending, ProcessRow
from antechamber.core.rows.review import AuditFilter, AuditRow
from antechamber.core.rows.submissions import ListedSubmission, SubmissionFilter
from antechamber.store.cross_check import CrossCheck
from antechamber.store.log_check import LogCheck

WINDOW: Final = 20_000
"""Submissions that one page of a list looks through."""
_CONFLICT: Final = "rejected-conflict"
_END: Final = "g"
"""Comes after every id."""


class ReportQueries(LogCheck, CrossCheck):
    """Implements core.ports.ReportRows over named statements."""

    def export_review_records(self, chosen: AuditFilter, first: int, end: int) -> list[AuditRow]:
        """Return the review records whose leaves stand from a place on and before another, in their order."""
        rows = self.all("review_records", first=first, end=end, **msgspec.structs.asdict(chosen))
        return msgspec.convert(rows, list[AuditRow])

    def review_record(self, review_record_id: str) -> AuditRow | None:
        """Return one review record."""
        row = self.one("review_record", review_record_id=review_record_id)
        return msgspec.convert(row, AuditRow) if row else None

    def latest_review_records(self, chosen: AuditFilter, after: str | None, number: int) -> list[AuditRow]:
        """Return review records, newest first."""
        rows = self.all("latest_review_records", after=after, number=number, **msgspec.structs.asdict(chosen))
        return msgspec.convert(rows, list[AuditRow])

    def listed_submissions(
        self, chosen: SubmissionFilter, before: str | None, number: int
    ) -> tuple[list[ListedSubmission], str | None]:
        """Return submissions, newest first, and where the looking ended if it did before the submissions did.

        Conflicts are kept in the quarantine and everything else among submissions; of each so many are looked through
        at once and no more, however few match.
        """
        end = _END if chosen.until is None else earliest(chosen.until)
        place = {"before": min(before or _END, end), "since": earliest(chosen.since or 0)}
        wanted = {
            "producer": chosen.producer_identity or "",
            "submission_scope": chosen.submission_scope or "",
            "scope_id": chosen.scope_id or "",
            "reason_code": chosen.reason_code or "",
            "number": number,
        }
        found: list[dict[str, Any]] = []
        ends: list[str] = []
        if chosen.disposition != _CONFLICT:
            name = chosen.disposition or ""
            found += self.all("listed_submissions", disposition=name, window=WINDOW, **place, **wanted)
            ends += [row["place"] for row in self.all("end_of_submissions", window=WINDOW - 1, **place)]
        if chosen.disposition in {None, _CONFLICT}:
            found += self.all("listed_conflicts", window=WINDOW, **place, **wanted)
            ends += [row["place"] for row in self.all("end_of_conflicts", window=WINDOW - 1, **place)]
        # What lies behind the end of either window was not looked at, so nothing behind it is shown.
        seen = max(ends, default="")
        rows = sorted((row for row in found if row["place"] >= seen), key=lambda row: str(row["place"]), reverse=True)
        return msgspec.convert(rows[:number], list[ListedSubmission]), seen or None

    def totals(self) -> dict[str, int]:
        """Return how many submissions got each disposition, and how many proposals stand approved and rejected."""
        return {row["name"]: row["number"] for row in self.all("tally_totals")}

    def tally_by_hour(self, since_hour: int) -> list[CountRow]:
        """Return what happened in each hour; `attempts` are replays."""
        rows = self.all("tally_by_hour", since_hour=since_hour)
        replays = [row | {"name": "attempts"} for row in self.all("replays_by_hour", since_hour=since_hour)]
        return msgspec.convert([*rows, *replays], list[CountRow])

    def tally_by_producer(self, since_hour: int) -> list[CountRow]:
        """Return what became of each producer's submissions."""
        return msgspec.convert(self.all("tally_by_producer", since_hour=since_hour), list[CountRow])

    def oldest_pending(self) -> OldestPending | None:
        """Return the proposal that has waited longest."""
        row = self.one("oldest_pending")
        return msgspec.convert(row, OldestPending) if row else None

    def decisions_since(self, since: int) -> list[DecisionFigure]:
        """Return the latest decisions on proposals, 5,000 at most."""
        return msgspec.convert(self.all("decisions_since", since=since), list[DecisionFigure])

    def retries(self, since_hour: int, last_hour: int, number: int) -> list[DuplicateRateRow]:
        """Return attempts by producer and channel, marked ones first, then those with most attempts."""
        rows = self.all("retries", since_hour=since_hour, last_hour=last_hour, marked=MARKED_RATE, number=number)
        return msgspec.convert(rows, list[DuplicateRateRow])

    def meta(self, name: str) -> str | None:
        """Return a note about the store itself."""
        row = self.one("meta", name=name)
        return row["value"] if row else None

    def set_meta(self, name: str, value: str) -> None:
        """Keep a note about the store itself."""
        self.run("set_meta", name=name, value=value)

    def claim_meta(self, name: str, value: str) -> str:
        """Keep a note unless there is one already; return the one that stands."""
        self.run("claim_meta", name=name, value=value)
        return self.meta(name) or value

    def note_process(self, row: ProcessRow, gone_before: int) -> None:
        """Note a process's sign of life and forget those that gave none since."""
        self.run("forget_processes", process_id=None, before=gone_before)
        self.run("note_process", **msgspec.structs.asdict(row))

    def forget_process(self, process_id: str) -> None:
        """Forget a process."""
        self.run("forget_processes", process_id=process_id, before=0)

    def processes(self, since: int) -> list[ProcessRow]:
        """Return the processes that gave a sign of life since then, by name."""
        return msgspec.convert(self.all("processes", since=since), list[ProcessRow])

    def check(self) -> Iterator[str]:
        """Yield every violation of the store's own promises."""
        yield from self.check_files()
        for row in self.all("memories_without_approval"):
            yield f"memory {row['memory_id']} lacks the approvals of its text"
        for row in self.all("memories_out_of_step"):
            yield f"memory {row['memory_id']} has another state than its last change says"
        yield from self._check_tally()
        for row in self.each("proposals_for_check"):
            if _event_digest(row) != row["source_event_hash"]:
                yield f"proposal {row['proposal_id']} differs from its source-event hash"
        for row in self.each("memories_for_check"):
            if digest(row["payload"].encode()) != row["text_hash"]:
                yield f"memory {row['memory_id']} differs from its text hash"
        for row in self.all("erased_incompletely", mark=ERASED):
            yield f"{row['subject']} was erased, and still has a text"
        yield from self.check_rows()
        yield from self.check_log()

    def _check_tally(self) -> Iterator[str]:
        counted = self.totals()
        for row in self.all("count_dispositions"):
            if (number := counted.get(row["name"], 0)) != row["number"]:
                yield f"{row['number']} submissions or proposals are {row['name']}, and {number} were counted"

    def check_files(self) -> Iterator[str]:
        """Yield what the engine itself finds broken."""
        raise NotImplementedError


def _event_digest(row: dict[str, Any]) -> str | None:
    """Return the digest of an event; None where its text cannot be read."""
    try:
        return digest(event_bytes(msgspec.json.decode(row["payload"]), msgspec.json.decode(row["source_span"])))
    except (msgspec.MsgspecError, TypeError, ValueError):
        return None
