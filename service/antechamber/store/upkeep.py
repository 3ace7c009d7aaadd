"""Queries for the upkeep of memories: who read them, and when they come up for review."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from antechamber.core.conversion import convert
from antechamber.core.log.review_date_leaf import of_review_date
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
from antechamber.store.memories import decoded
from antechamber.store.statements import Statements

_EVERYWHERE: Final = {"submission_scope": "", "scope_id": ""}
_DATED: Final = ("review_date_id", "review_after", "decision_key", "policy_digest", "set_at")


class UpkeepQueries:
    """Implements core.ports.upkeep.UpkeepRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def add_reads(self, counts: Sequence[ReadCount]) -> None:
        """Add counts, sorted by memory, so that processes which add at the same time do not deadlock."""
        rows = sorted(
            map(msgspec.structs.asdict, counts), key=lambda row: (row["memory"], row["hour"], row["role"], row["name"])
        )
        self._sql.repeat("count_read", rows)
        latest: dict[int, int] = {}
        for row in rows:
            latest[row["memory"]] = max(row["last_read_at"], latest.get(row["memory"], 0))
        self._sql.repeat("note_read", [{"memory": memory, "last_read_at": at} for memory, at in latest.items()])

    def oldest_read(self) -> int | None:
        hour: int | None = self._sql.all("oldest_read")[0]["hour"]
        return hour

    def forget_reads(self, before: int, number: int) -> None:
        self._sql.run("forget_reads", before=before, number=number)

    def readers(self, memory: int, since_hour: int, number: int) -> list[ReaderRow]:
        rows = self._sql.all("readers_of_memory", memory=memory, since_hour=since_hour, number=number)
        return convert(rows, list[ReaderRow])

    def of_memory(self, memory: int) -> UpkeepRow:
        return UpkeepRow(**self._sql.all("upkeep_of_memory", memory=memory)[0])

    def review_dates(self, proposal: int) -> list[ReviewDateRow]:
        return convert(self._sql.all("review_dates_of_proposal", proposal=proposal), list[ReviewDateRow])

    def has_review_date(self, decision_key: str) -> bool:
        return self._sql.one("review_date_with_key", decision_key=decision_key) is not None

    def set_review_date(self, write: ReviewDateWrite) -> None:
        self._sql.run(
            "add_review_date",
            **{name: getattr(write, name) for name in _DATED},
            proposal=write.proposal.id,
            curator=write.account.id,
            person=write.account.person,
        )
        self._sql.append_leaves([of_review_date(write)])

    def naming(self, memory_id: str, number: int) -> list[NamingProposal]:
        named = {"memory_id": memory_id, "supersedes": msgspec.json.encode(memory_id).decode()}
        rows = self._sql.all("proposals_naming", **named, number=number)
        return [convert(decoded(row, "payload"), NamingProposal) for row in rows]

    def derived_from_retracted(self, chosen: MemoryFilter, after: str | None, number: int) -> list[BrowsedMemory]:
        rows = self._sql.all("memories_derived_from_retracted", **_scope(chosen), after=after, number=number)
        return [convert(decoded(row, "payload"), BrowsedMemory) for row in rows]

    def count_derived_from_retracted(self, most: int) -> int:
        return int(self._sql.all("count_derived_from_retracted", number=most)[0]["number"])

    def declared_private(self, chosen: MemoryFilter, after: str | None, number: int) -> list[BrowsedMemory]:
        rows = self._sql.all("memories_declared_private", **_scope(chosen), after=after, number=number)
        return [convert(decoded(row, "payload"), BrowsedMemory) for row in rows]

    def count_declared_private(self, most: int) -> int:
        return int(self._sql.all("count_declared_private", number=most)[0]["number"])

    def due(self, chosen: MemoryFilter, now: int, idle: int, after: DueCursor, number: int) -> list[DueMemory]:
        cursor = msgspec.structs.asdict(after)
        rows = self._sql.all("memories_due", **_scope(chosen), **cursor, now=now, idle=idle, number=number)
        return [convert(decoded(row, "payload"), DueMemory) for row in rows]

    def count_due(self, now: int, idle: int, most: int) -> int:
        cursor = msgspec.structs.asdict(DueCursor())
        return int(self._sql.all("count_due", **_EVERYWHERE, **cursor, now=now, idle=idle, number=most)[0]["number"])


def _scope(chosen: MemoryFilter) -> dict[str, Any]:
    return {"submission_scope": chosen.submission_scope, "scope_id": chosen.scope_id}
