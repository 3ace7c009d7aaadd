"""Recall rows: receipts and memories, as agents read them back."""

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
"""Behind the newest row."""


def decoded(row: dict[str, Any], *members: str) -> dict[str, Any]:
    """Decode the JSON text that some columns hold."""
    return {
        name: msgspec.json.decode(value) if name in members and value is not None else value
        for name, value in row.items()
    }


class MemoryQueries(Statements):
    """Implements core.ports.RecallRows over named statements."""

    def receipt_by_id(self, producer_identity: str, submission_id: str) -> StoredReceipt | None:
        """Return a producer's own receipt."""
        return self._receipt(
            self.one("receipt_by_id", producer_identity=producer_identity, submission_id=submission_id)
        )

    def receipt_by_key(self, producer_identity: str, key: str) -> StoredReceipt | None:
        """Return the receipt under a producer's own key."""
        return self._receipt(self.one("receipt_by_key", producer_identity=producer_identity, idempotency_key=key))

    def _receipt(self, row: dict[str, Any] | None) -> StoredReceipt | None:
        if row is None:
            return None
        proposal = row.pop("proposal")
        reason = self.one("last_reason", proposal=proposal) if row["state"] not in {None, "pending"} else None
        memory = self.one("memory_of_proposal", proposal=proposal) if row["state"] == "approved" else None
        return msgspec.convert(
            {"reason_code": None, "memory_id": None, **row, **(reason or {}), **(memory or {})}, StoredReceipt
        )

    def submitted_in_session(self, producer_identity: str, scope_id: str) -> bool:
        """Tell whether this producer had something accepted in a session."""
        return self.one("submitted_in_session", producer_identity=producer_identity, scope_id=scope_id) is not None

    def memory_position(self, submission_scope: str, scope_id: str, memory_id: str) -> int | None:
        """Return where a page that follows this memory begins."""
        row = self.one("memory_position", submission_scope=submission_scope, scope_id=scope_id, memory_id=memory_id)
        return row["id"] if row else None

    def memories(
        self, submission_scope: str, scope_id: str, words: Sequence[str], before: int | None, number: int
    ) -> list[MemoryHit]:
        """Return active memories of exactly this pair, newest first, that hold all the words."""
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
            self.all("memories_of_scope_matching", words=" ".join(wanted), **values)
            if wanted
            else self.all("memories_of_scope", **values)
        )
        return [msgspec.convert(decoded(row, "payload", "source_span", "supersedes"), MemoryHit) for row in rows]
