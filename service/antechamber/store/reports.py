"""Report rows: what auditors export and operators count, and the store's check of its own promises."""

from collections.abc import Iterator
from typing import Any

import msgspec

from antechamber.core.canonical import digest, event_bytes
from antechamber.core.ports import Statements
from antechamber.core.records import AuditFilter, AuditRow, ProcessRow, ReplayRow


class Reports(Statements):
    """Implements core.ports.ReportRows over named statements."""

    def export_review_records(self, chosen: AuditFilter) -> Iterator[AuditRow]:
        """Yield review records in the order they were written."""
        for row in self.each("review_records", **msgspec.structs.asdict(chosen)):
            yield msgspec.convert(row, AuditRow)

    def latest_review_records(self, chosen: AuditFilter, after: str | None, number: int) -> list[AuditRow]:
        """Return review records, newest first."""
        rows = self.all("latest_review_records", after=after, number=number, **msgspec.structs.asdict(chosen))
        return msgspec.convert(rows, list[AuditRow])

    def counts(self) -> dict[str, dict[str, int]]:
        """Return submissions by disposition and proposals by state."""
        return {
            "dispositions": {row["name"]: row["number"] for row in self.all("count_dispositions")},
            "proposals": {row["name"]: row["number"] for row in self.all("count_states")},
        }

    def recent_replays(self, since_hour: int) -> list[ReplayRow]:
        """Return replays by producer and channel."""
        return msgspec.convert(self.all("recent_replays", since_hour=since_hour), list[ReplayRow])

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
        for row in self.each("proposals_for_check"):
            if digest(event_bytes(_json(row, "payload"), _json(row, "source_span"))) != row["source_event_hash"]:
                yield f"proposal {row['proposal_id']} differs from its source-event hash"
        for row in self.each("memories_for_check"):
            if digest(row["payload"].encode()) != row["text_hash"]:
                yield f"memory {row['memory_id']} differs from its text hash"

    def check_files(self) -> Iterator[str]:
        """Yield what the engine itself finds broken."""
        raise NotImplementedError


def _json(row: dict[str, Any], member: str) -> Any:
    return msgspec.json.decode(row[member])
