"""Queries for the log: its leaves and tree, checkpoints, exports, recorded policies, and erasure of texts."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from antechamber.core.conversion import convert
from antechamber.core.log.leaf import of_direct_write, of_export, of_key, of_policy
from antechamber.core.log.rows import DispositionRow, ExportRow, LeafRow, SignedCheckpoint
from antechamber.core.rows.submissions import SubmissionFilter
from antechamber.store.erasures import Erasing, Erasures
from antechamber.store.receipts import receipt_of
from antechamber.store.statements import Statements

_POLICIES: Final = 100
"""Number of recorded policies, latest first, that are searched for the last owner of a producer."""


class LogQueries:
    """Implements core.log.ports.LogRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def size(self) -> int:
        return int(self._sql.all("log_size")[0]["size"])

    def leaf_texts(self, first: int, number: int) -> list[str]:
        return [row["leaf"] for row in self._sql.all("leaf_texts", first=first, end=first + number)]

    def leaf_of(self, subject: str) -> LeafRow | None:
        row = self._sql.one("leaf_of", subject=subject)
        return LeafRow(**row) if row else None

    def leaves_of_item(self, proposal_id: str) -> list[LeafRow]:
        return [LeafRow(**row) for row in self._sql.all("leaves_of_item", proposal_id=proposal_id)]

    def scope_of(self, sequence: int) -> tuple[str | None, str | None]:
        row = self._sql.one("scope_of", sequence=sequence)
        return (row["submission_scope"], row["scope_id"]) if row else (None, None)

    def changed_since(self, size: int) -> bool:
        return self._sql.one("changed_since", size=size) is not None

    def count_nodes(self, level: int) -> int:
        return int(self._sql.all("count_nodes", level=level)[0]["number"])

    def nodes(self, level: int, first: int, number: int) -> list[bytes]:
        return [row["hash"] for row in self._sql.all("nodes", level=level, first=first, end=first + number)]

    def add_nodes(self, level: int, first: int, hashes: Sequence[bytes]) -> None:
        rows = [{"level": level, "number": number, "hash": value} for number, value in enumerate(hashes, first)]
        self._sql.repeat("add_node", rows)

    def verifier_keys(self) -> list[str]:
        return [row["verifier_key"] for row in self._sql.all("log_keys")]

    def add_verifier_key(self, key: str, now: int, **abandoned: str) -> None:
        known = self.verifier_keys()
        self._sql.run("add_log_key", verifier_key=key, added_at=now)
        self._sql.append_leaves([of_key(key, known[-1] if known else None, now, **abandoned)])

    def checkpoint(self, size: int | None = None) -> SignedCheckpoint | None:
        row = self._sql.one("last_checkpoint") if size is None else self._sql.one("checkpoint_of_size", size=size)
        return SignedCheckpoint(**row) if row else None

    def add_checkpoint(self, signed: SignedCheckpoint) -> None:
        if self.checkpoint() is None:
            # A copy of the database file alone then shows that the log was signed.
            self._sql.write_through()
        self._sql.run("add_checkpoint", **msgspec.structs.asdict(signed))

    def add_export(self, row: ExportRow, salt: bytes) -> None:
        self._sql.run("add_export", **msgspec.structs.asdict(row))
        self._sql.append_leaves([of_export(row, salt)])

    def exports(self, number: int) -> list[ExportRow]:
        return convert(self._sql.all("exports", number=number), list[ExportRow])

    def dispositions(self, chosen: SubmissionFilter, first: int, end: int) -> list[DispositionRow]:
        rows = self._sql.all("logged_dispositions", first=first, end=end, **msgspec.structs.asdict(chosen))
        return [_disposition(row) for row in rows]

    def last_owner(self, producer_identity: str) -> str | None:
        """Return the producer's owner in the last policy that lists it, among the latest hundred policies."""
        for row in self._sql.all("recorded_policies", number=_POLICIES):
            producer = msgspec.json.decode(row["policy"])["producers"].get(producer_identity)
            if producer is not None:
                return str(producer["owner"])
        return None

    def recorded_policy(self) -> str | None:
        row = self._sql.one("last_policy")
        return row["policy_digest"] if row else None

    def note_policy(self, digest: str, policy: str, now: int) -> None:
        self._sql.all("hold_policy")
        previous = self.recorded_policy()
        if previous != digest:
            self._sql.run("add_policy", policy_digest=digest, previous=previous, policy=policy, changed_at=now)
            self._sql.append_leaves([of_policy(digest, previous, now)])

    def note_direct_write(self, producer_identity: str, hour: int, now: int) -> None:
        if self._sql.run("add_direct_write", producer_identity=producer_identity, hour=hour, asked_at=now):
            self._sql.append_leaves([of_direct_write(producer_identity, now)])

    def erase(self, erasure_id: str, subject: str, reason_code: str, now: int) -> None:
        erasures = Erasures(self._sql)
        erasures.erase(subject, Erasing(erasure_id, reason_code, now))
        erasures.finish()


def _disposition(row: dict[str, Any]) -> DispositionRow:
    if row["disposition"] == "accepted-for-review":
        row["receipt"] = receipt_of(row)
    return DispositionRow(**{name: row[name] for name in DispositionRow.__struct_fields__})
