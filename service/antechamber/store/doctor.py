"""What `antechamber doctor` checks in a store: files, approvals, counts, hashes, erasures, rows and the log."""

from collections.abc import Iterator
from typing import Any

import msgspec

from antechamber.core.admission.canonical import digest, event_bytes
from antechamber.core.review.decision import ERASED
from antechamber.store.doctor_log import LogCheck
from antechamber.store.doctor_rows import RowCheck
from antechamber.store.statements import Statements


class DoctorQueries:
    """Implements core.ports.doctor.DoctorRows with named statements; nothing is repaired."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def check(self) -> Iterator[str]:
        yield from self._sql.check_files()
        yield from self._sql.check_schema()
        for row in self._sql.all("memories_without_approval"):
            yield f"memory {row['memory_id']} lacks the approvals of its text"
        for row in self._sql.all("memories_out_of_step"):
            yield f"memory {row['memory_id']} has another state than its last change says"
        yield from self._check_tally()
        for row in self._sql.each("proposals_for_check"):
            if _event_digest(row) != row["source_event_hash"]:
                yield f"proposal {row['proposal_id']} differs from its source-event hash"
        for row in self._sql.each("memories_for_check"):
            if digest(row["payload"].encode()) != row["text_hash"]:
                yield f"memory {row['memory_id']} differs from its text hash"
        for row in self._sql.all("erased_incompletely", mark=ERASED):
            yield f"{row['subject']} was erased, and still has a text"
        yield from RowCheck(self._sql).check()
        yield from LogCheck(self._sql).check()

    def durability_settings(self) -> dict[str, str]:
        return {row["name"]: row["setting"] for row in self._sql.all("durability_settings")}

    def _check_tally(self) -> Iterator[str]:
        counted = {row["name"]: row["number"] for row in self._sql.all("tally_totals")}
        for row in self._sql.all("count_dispositions"):
            if (number := counted.get(row["name"], 0)) != row["number"]:
                yield f"{row['number']} submissions or proposals are {row['name']}, and {number} were counted"


def _event_digest(row: dict[str, Any]) -> str | None:
    """Return the digest of an event; None if its text cannot be read."""
    try:
        return digest(event_bytes(msgspec.json.decode(row["payload"]), msgspec.json.decode(row["source_span"])))
    except (msgspec.MsgspecError, TypeError, ValueError):
        return None
