"""Export: what auditors list, and review records streamed from one read snapshot, closed by a record of their count."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

import msgspec

from antechamber.core.canonical import canonical
from antechamber.core.listing import ListedSubmission, SubmissionFilter
from antechamber.core.policy import covers
from antechamber.core.ports import Clock, Store
from antechamber.core.records import AuditFilter, AuditRow
from antechamber.core.submission import format_time

Format = Literal["jsonl", "csv"]
MEDIA_TYPES: Final[dict[Format, str]] = {"jsonl": "application/x-ndjson", "csv": "text/csv"}
CLOSING: Final = "closing"
_CHUNK: Final = 64 * 1024
"""Bytes that are gathered before they are handed on."""
COLUMNS: Final = ("record", *sorted(AuditRow.__struct_fields__), "count", "complete")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")


class Export:
    """Lists submissions, lists and exports review records."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Read from a store."""
        self._store = store
        self._clock = clock

    def latest(self, chosen: AuditFilter, after: str | None, number: int) -> tuple[list[AuditRow], str | None]:
        """Return review records newest first, and where the next page begins."""
        with self._store.read() as rows:
            items = rows.latest_review_records(chosen, after, number + 1)
        return items[:number], items[number - 1].review_record_id if len(items) > number else None

    def submissions(
        self, chosen: SubmissionFilter, after: str | None, number: int
    ) -> tuple[list[ListedSubmission], str | None]:
        """Return submissions newest first, and where the next page begins."""
        with self._store.read() as rows:
            items, end = rows.listed_submissions(chosen, after, number + 1)
        return items[:number], items[number - 1].place if len(items) > number else end

    def stream(self, chosen: AuditFilter, form: Format, grants: list[str] | None = None) -> Iterator[bytes]:
        """Yield an export in chunks; memory does not grow with its length.

        The last record says how many there were: an export without it was cut off. `grants` leave out what the
        auditor may not see.
        """
        yield from _chunks(self._lines(chosen, form, grants))

    def _lines(self, chosen: AuditFilter, form: Format, grants: list[str] | None) -> Iterator[bytes]:
        write = _json_line if form == "jsonl" else _csv_line
        if form == "csv":
            yield _csv_text(COLUMNS)
        count = 0
        with self._store.read() as rows:
            for row in rows.export_review_records(chosen):
                if grants is None or _covered(grants, row):
                    count += 1
                    yield write(_record(row))
        filters = {name: value for name, value in msgspec.structs.asdict(chosen).items() if value is not None}
        closing: dict[str, Any] = {"record": CLOSING, "count": count, "complete": not filters and grants is None}
        yield write(
            closing if form == "csv" else {**closing, "filters": filters, "exported_at": format_time(self._clock())}
        )


def _covered(grants: list[str], row: AuditRow) -> bool:
    # A refused event whose scope was private has none; only those who may see everything see it.
    return covers(grants, row.submission_scope or "", row.scope_id or "")


def _record(row: AuditRow) -> dict[str, Any]:
    return {"record": "review", **msgspec.structs.asdict(row), "decided_at": format_time(row.decided_at)}


def _json_line(members: dict[str, Any]) -> bytes:
    return canonical(members) + b"\n"


def _csv_line(members: dict[str, Any]) -> bytes:
    return _csv_text([_cell(members.get(name)) for name in COLUMNS])


def _cell(value: Any) -> str:
    """Write a cell that no spreadsheet takes for a formula (OWASP, CSV injection)."""
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return "'" + text if text.startswith(_FORMULA) else text


def _csv_text(cells: Iterable[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().encode()


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    chunk = bytearray()
    for line in lines:
        chunk += line
        if len(chunk) >= _CHUNK:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)
