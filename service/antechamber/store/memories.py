"""Queries for what agents read back: receipts and memories."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from antechamber.core.rows.memories import MemoryHit
from antechamber.core.rows.submissions import StoredReceipt
from antechamber.core.search_terms import words_of
from antechamber.store.statements import Statements

HOUR: Final = 3_600_000_000
"""Microseconds of an hour."""
_END: Final = 2**63 - 1
"""An id after that of the newest row."""


def decoded(row: dict[str, Any], *members: str) -> dict[str, Any]:
    """Return the row with the JSON text of the named columns decoded."""
    return {
        name: msgspec.json.decode(value) if name in members and value is not None else value
        for name, value in row.items()
    }


class MemoryQueries:
    """Implements core.ports.memories.MemoryRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def receipt_by_id(self, producer_identity: str, submission_id: str) -> StoredReceipt | None:
        return self._receipt(
            self._sql.one("receipt_by_id", producer_identity=producer_identity, submission_id=submission_id)
        )

    def receipt_by_key(self, producer_identity: str, key: str) -> StoredReceipt | None:
        return self._receipt(self._sql.one("receipt_by_key", producer_identity=producer_identity, idempotency_key=key))

    def _receipt(self, row: dict[str, Any] | None) -> StoredReceipt | None:
        if row is None:
            return None
        proposal = row.pop("proposal")
        reason = self._sql.one("last_reason", proposal=proposal) if row["state"] not in {None, "pending"} else None
        memory = self._sql.one("memory_of_proposal", proposal=proposal) if row["state"] == "approved" else None
        return msgspec.convert(
            {"reason_code": None, "memory_id": None, **row, **(reason or {}), **(memory or {})}, StoredReceipt
        )

    def submitted_in_session(self, producer_identity: str, scope_id: str) -> bool:
        return self._sql.one("submitted_in_session", producer_identity=producer_identity, scope_id=scope_id) is not None

    def cursor_of(self, submission_scope: str, scope_id: str, memory_id: str) -> int | None:
        row = self._sql.one(
            "memory_position", submission_scope=submission_scope, scope_id=scope_id, memory_id=memory_id
        )
        return row["id"] if row else None

    def search(
        self, submission_scope: str, scope_id: str, words: Sequence[str], before: int | None, number: int
    ) -> list[MemoryHit]:
        wanted = words_of(" ".join(words))
        if words and not wanted:
            return []
        values: dict[str, Any] = {
            "submission_scope": submission_scope,
            "scope_id": scope_id,
            "before": _END if before is None else before,
            "number": number,
        }
        rows = (
            self._sql.all("memories_of_scope_matching", words=" ".join(wanted), **values)
            if wanted
            else self._sql.all("memories_of_scope", **values)
        )
        return [msgspec.convert(decoded(row, "payload", "source_span", "supersedes"), MemoryHit) for row in rows]
