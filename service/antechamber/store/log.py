"""Queries for the log: its leaves and tree, checkpoints, exports, recorded policies, and erasure of texts."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from antechamber.core.errors import EraseError
from antechamber.core.log.leaf import of_direct_write, of_erasure, of_export, of_key, of_policy
from antechamber.core.log.rows import DispositionRow, ExportRow, FeedEntry, LeafRow, SignedCheckpoint
from antechamber.core.review.decision import ERASED
from antechamber.core.review.queue_order import spaced
from antechamber.core.review.similarity import plain
from antechamber.core.rows.submissions import SubmissionFilter
from antechamber.core.search_terms import words_of
from antechamber.store.receipts import receipt_of
from antechamber.store.statements import Statements

ERASED_SPAN: Final = '{"uri":"erased:"}'
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
        return msgspec.convert(self._sql.all("exports", number=number), list[ExportRow])

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
        proposal, event = (
            self._sql.one("erasable_proposal", subject=subject),
            self._sql.one("erasable_event", subject=subject),
        )
        row = _erasable(subject, proposal, event)
        ids = {"proposal": row["id"] if proposal else None, "quarantine": None if proposal else row["id"]}
        self._sql.run("add_erasure", erasure_id=erasure_id, reason_code=reason_code, erased_at=now, **ids)
        if proposal:
            self._forget_words(row["id"])
            self._sql.run("erase_memories", id=row["id"], mark=ERASED, span=ERASED_SPAN)
            self._sql.run("erase_proposal", id=row["id"], mark=ERASED, span=ERASED_SPAN)
            for answer in self._sql.all("answer_of_proposal", id=row["id"]):
                self._sql.run("keep_receipt", id=row["id"], receipt=receipt_of(answer))
            self._sql.run("erase_explanation", id=row["id"])
            self._erase_fold(row["id"])
            self._sql.run("erase_notes", id=row["id"])
        else:
            self._sql.run("erase_event", id=row["id"])
            self._sql.run("erase_reveals", id=row["id"])
        self._sql.run("erase_records", mark=ERASED, **ids)
        self._sql.run("erase_salts", **ids)
        name = "proposal_id" if proposal else "quarantine_id"
        feed = FeedEntry("erased", now, proposal=row["id"]) if proposal else None
        self._sql.append_leaves([of_erasure(erasure_id, reason_code, now, **{name: subject})._replace(feed=feed)])
        self._sql.announce()

    def _erase_fold(self, proposal: int) -> None:
        """Show another waiting text in the queue row that showed the erased proposal's text, or no text."""
        other = self._sql.one("other_of_fold", id=proposal)
        payload = msgspec.json.decode(other["payload"]) if other else {"content": ""}
        self._sql.run(
            "erase_fold", id=proposal, content=plain(payload["content"]), tags=spaced(payload.get("tags", []))
        )

    def _forget_words(self, proposal: int) -> None:
        """Remove the words of the proposal's memories from the full-text index."""
        for row in self._sql.all("memories_of_proposal", id=proposal):
            words = " ".join(words_of(msgspec.json.decode(row["payload"])["content"]))
            self._sql.run("forget_words", memory=row["id"], words=words)
        self._sql.run("tidy_words")


def _disposition(row: dict[str, Any]) -> DispositionRow:
    if row["disposition"] == "accepted-for-review":
        row["receipt"] = receipt_of(row)
    return DispositionRow(**{name: row[name] for name in DispositionRow.__struct_fields__})


def _erasable(subject: str, proposal: dict[str, Any] | None, event: dict[str, Any] | None) -> dict[str, Any]:
    """Return the row of the proposal or quarantined event to erase.

    Raises EraseError if there is none, or if it must not be erased.
    """
    row = proposal or event
    if row is None:
        message = f"there is no proposal and no refused event {subject}"
    elif row["erased"] is not None:
        message = f"{subject} was erased before"
    elif row["state"] in {"pending", "waiting"}:
        message = f"{subject} still waits; decide it at the desk first"
    elif row.get("active"):
        message = f"{subject} is a memory; retract it at the desk first"
    else:
        return row
    raise EraseError(message)
