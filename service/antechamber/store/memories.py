"""Queries for what agents read back: receipts and memories."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from antechamber.core.conversion import convert
from antechamber.core.rows.memories import MemoryEnd, MemoryHit, MemoryPlace
from antechamber.core.rows.submissions import StoredReceipt
from antechamber.store.receipts import receipt_of
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
        proposal = row["reviewed"]
        reason = self._sql.one("last_reason", proposal=proposal) if row["state"] not in {None, "pending"} else None
        memory = self._sql.one("memory_of_proposal", proposal=proposal) if row["state"] == "approved" else None
        own = proposal is not None and row["proposer"] == row["producer"]
        notes = self._sql.all("notes_of_proposal", proposal=proposal) if own else []
        return convert(
            {
                "receipt": receipt_of(row),
                "state": row["state"],
                "decided_at": row["decided_at"],
                "reason_code": reason and reason["reason_code"],
                "reason_text": reason and reason["reason_text"] if own else None,
                "memory_id": memory and memory["memory_id"],
                "payload": memory and msgspec.json.decode(memory["payload"]),
                "notes": [decoded(note, "persons") for note in notes],
            },
            StoredReceipt,
        )

    def submitted_in_session(self, producer_identity: str, scope_id: str) -> bool:
        return self._sql.one("submitted_in_session", producer_identity=producer_identity, scope_id=scope_id) is not None

    def place(self, memory_id: str) -> MemoryPlace | None:
        row = self._sql.one("memory_position", memory_id=memory_id)
        return convert(row, MemoryPlace) if row else None

    def newest(self, scopes: Sequence[tuple[str, str]], before: int | None, number: int) -> list[int]:
        page = {"before": _END if before is None else before, "number": number}
        found = [
            row["id"]
            for scope, scope_id in scopes
            for row in self._sql.all("newest_memories", submission_scope=scope, scope_id=scope_id, **page)
        ]
        return sorted(found, reverse=True)[:number]

    def items(self, memories: Sequence[int]) -> list[MemoryHit]:
        if not memories:
            return []
        records: dict[int, list[dict[str, Any]]] = {memory: [] for memory in memories}
        for row in self._sql.all("records_of_memories", memories=msgspec.json.encode(memories).decode()):
            records[row["memory"]].append(row)
        rows = self._sql.find("memory_item", [{"memory": memory} for memory in memories])
        return [_hit(row, records[row["id"]]) for row in rows if row is not None]

    def end(self, memory: int) -> MemoryEnd | None:
        row = self._sql.one("end_of_memory", memory=memory)
        return convert(row, MemoryEnd) if row else None


def _hit(row: dict[str, Any], records: list[dict[str, Any]]) -> MemoryHit:
    """Return a memory with the records of its approvals."""
    members = decoded(row, "payload", "source_span", "supersedes", "derived_from")
    approvals = {
        "approvals": len({record["person"] for record in records}),
        "review_record_ids": [record["review_record_id"] for record in records],
    }
    return convert({**members, **approvals}, MemoryHit)
