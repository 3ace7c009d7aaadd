"""Queries for retention: what is no longer kept, the runs that removed it, and old counts."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from antechamber.core.errors import EraseError
from antechamber.core.log.retention_leaf import of_retention
from antechamber.core.retention import ExpiredItem, Removal, RetainedKind, RetentionRun, Window
from antechamber.store.erasures import Erasing, Erasures, check_erasable
from antechamber.store.statements import Statements

REASON: Final = "retention"
_DAY_HOURS: Final = 24
_QUERIES: Final[dict[RetainedKind, tuple[str, dict[str, int]]]] = {
    "rejected": ("expired_rejections", {"withdrawn": 0}),
    "withdrawn": ("expired_rejections", {"withdrawn": 1}),
    "ended": ("expired_memories", {}),
    "conflict": ("expired_conflicts", {}),
}
"""The statement of each kind, and values of its own."""


class RetentionQueries:
    """Implements core.ports.retention.RetentionRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql
        self._erasures = Erasures(sql)

    def expired(self, window: Window, after: int, number: int) -> list[ExpiredItem]:
        name, values = _QUERIES[window.kind]
        rows = self._sql.all(
            name, submission_scope=window.submission_scope, until=window.until, after=after, number=number, **values
        )
        return [_item(window, row) for row in rows]

    def leaves_with_text(self, item: ExpiredItem) -> list[int]:
        return self._leaves(item.id, proposal=item.kind != "conflict")

    def _leaves(self, number: int, *, proposal: bool) -> list[int]:
        ids = {"proposal": number if proposal else None, "quarantine": None if proposal else number}
        return [row["sequence"] for row in self._sql.all("leaves_with_text", **ids)]

    def add_run(self, run: RetentionRun) -> None:
        self._sql.run("add_retention_run", **msgspec.structs.asdict(run))
        self._sql.append_leaves([of_retention(run)])

    def run_of(self, archive: str) -> RetentionRun | None:
        row = self._sql.one("retention_run", archive=archive)
        return RetentionRun(**row) if row else None

    def last_run(self) -> int | None:
        row = self._sql.one("last_retention_run")
        return row["begun_at"] if row else None

    def remove(self, run: RetentionRun, removals: Sequence[tuple[str, Removal]], now: int) -> int:
        [number] = self._sql.all("retention_number", retention_id=run.retention_id)
        removed = 0
        for erasure_id, removal in removals:
            proposal, event = self._erasures.find(removal.subject)
            if self._is_archived(run, removal, proposal, event):
                self._erasures.erase(removal.subject, Erasing(erasure_id, REASON, now, number["id"], run.retention_id))
                removed += 1
        if removed:
            self._erasures.finish()
        return removed

    def _is_archived(
        self, run: RetentionRun, removal: Removal, proposal: dict[str, Any] | None, event: dict[str, Any] | None
    ) -> bool:
        """Return whether an item may be erased, and the archive has all of its records."""
        try:
            row = check_erasable(removal.subject, proposal, event)
        except EraseError:
            return False
        leaves = self._leaves(row["id"], proposal=proposal is not None)
        return len(leaves) == removal.records and leaves[-1] < run.size

    def oldest_count(self) -> int | None:
        hour: int | None = self._sql.all("oldest_count")[0]["hour"]
        return hour

    def sum_counts(self, hour: int) -> None:
        for statement in ("sum_tally", "drop_tally", "sum_replays", "drop_replays"):
            self._sql.run(statement, hour=hour)
        for statement in ("drop_daily_counts", "drop_daily_attempts"):
            self._sql.run(statement, day=hour // _DAY_HOURS)

    def drop_old_pages(self) -> None:
        self._sql.rewrite_files()


def _item(window: Window, row: dict[str, Any]) -> ExpiredItem:
    texts = [row.pop(name) for name in ("payload", "edited_payload", "source_span")]
    size = sum(len(text.encode()) for text in texts if text is not None)
    return ExpiredItem(kind=window.kind, submission_scope=window.submission_scope, bytes=size, **row)
