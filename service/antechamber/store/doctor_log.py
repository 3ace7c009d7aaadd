"""The doctor's check of the log against the tables: every change has exactly one leaf, and they agree."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import msgspec

from antechamber.checkpoint_signer import verify
from antechamber.core.admission.canonical import canonical, digest
from antechamber.core.admission.submission import fingerprint
from antechamber.core.conversion import convert
from antechamber.core.log.blind_leaf import actor_of, item_text
from antechamber.core.log.blind_leaf import decision_text as blind_decision_text
from antechamber.core.log.checkpoint_text import NoteError, VerifierKey, read_checkpoint, read_key
from antechamber.core.log.leaf import (
    DecisionFacts,
    commitment,
    decision_text,
    export_text,
    reveal_text,
    submission_text,
)
from antechamber.core.log.merkle import BLOCK_LEVELS, Frontier, leaf_hash, up
from antechamber.core.log.note_leaf import note_text
from antechamber.core.log.review_date_leaf import review_date_text
from antechamber.core.log.rows import ExportRow
from antechamber.core.review.review_date import day_name
from antechamber.core.times import format_time
from antechamber.store.receipts import receipt_of
from antechamber.store.statements import Statements

SqlRow = dict[str, Any]


class Growing:
    """The tree, rebuilt from all leaves and compared with the signed checkpoints on the way.

    `checkpoints` are the rows of the store; `keys` are the keys that may have signed them.
    """

    def __init__(self, checkpoints: list[SqlRow], keys: list[VerifierKey]) -> None:
        self._due: dict[int, list[str]] = {}
        for row in checkpoints:
            self._due.setdefault(row["size"], []).append(row["note"])
        self._keys = keys
        self._tree = Frontier()
        self.blocks: list[bytes] = []
        """Roots of the complete blocks of leaves."""
        self._block: list[bytes] = []

    def append(self, leaf: bytes) -> Iterator[str]:
        """Append a leaf; yield a finding for each checkpoint of the resulting size that does not match."""
        if not self._tree.size:
            yield from self._compare()
        value = leaf_hash(leaf)
        self._tree.append(value)
        self._block.append(value)
        if len(self._block) == 1 << BLOCK_LEVELS:
            while len(self._block) > 1:
                self._block = up(self._block)
            self.blocks += self._block
            self._block = []
        yield from self._compare()

    def _compare(self) -> Iterator[str]:
        size = self._tree.size
        for note in self._due.pop(size, []):
            if not any(self._holds(note, key) for key in self._keys):
                yield f"the checkpoint of {size} leaves is not that of the first {size} leaves of the log"

    def _holds(self, note: str, key: VerifierKey) -> bool:
        try:
            checkpoint = read_checkpoint(note, key, verify)
        except NoteError:
            return False
        return (checkpoint.size, checkpoint.root) == (self._tree.size, self._tree.root())

    def missing(self) -> Iterator[str]:
        """Yield a finding for each checkpoint of more leaves than the log has."""
        for size in sorted(self._due):
            yield f"the log has {self._tree.size} leaves, and a checkpoint of {size} was signed"


class LogCheck:
    """Compares the log with the rows of the store."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def check(self) -> Iterator[str]:
        """Yield a finding for each difference; nothing is repaired."""
        number = 0
        tree = Growing(self._sql.all("checkpoints"), [key for row in self._sql.all("log_keys") if (key := _key(row))])
        for number, row in enumerate(self._sql.each("leaves_in_order"), 1):
            if row["sequence"] != number - 1:
                yield f"leaf {number - 1} of the log is missing"
                return
            if not _is_canonical(row["leaf"]):
                yield f"leaf {row['sequence']} of the log is not in its canonical form"
            yield from tree.append(row["leaf"].encode())
        yield from tree.missing()
        yield from self._check_nodes(number, tree.blocks)
        changes = 0
        for finding in self._findings():
            changes += 1
            if finding:
                yield finding
        if number != changes:
            yield f"the log has {number} leaves for {changes} changes"

    def _check_nodes(self, size: int, hashes: list[bytes]) -> Iterator[str]:
        """Compare the stored nodes with those computed from the leaves."""
        level = BLOCK_LEVELS
        while hashes:
            for number, row in enumerate(self._sql.each("nodes_of_level", level=level)):
                if row["number"] != number or number >= len(hashes) or row["hash"] != hashes[number]:
                    yield f"node {row['number']} of level {level} of the tree is not what its leaves lead to"
            for _ in range(BLOCK_LEVELS):
                hashes = up(hashes)
            level += BLOCK_LEVELS
        for row in self._sql.all("node_levels"):
            if row["level"] % BLOCK_LEVELS or row["number"] > size >> row["level"]:
                yield f"level {row['level']} of the tree has {row['number']} nodes, more than its leaves lead to"

    def _findings(self) -> Iterator[str]:
        """Yield one text for each change: the finding about its leaf, or an empty text."""
        for row in self._sql.each("logged_submissions"):
            yield _guarded(f"submission {row['submission_id']}", partial(_submission, row))
        for name, kind, compare in (
            ("logged_conflicts", "refused event", self._conflict),
            ("logged_decisions", "review record", self._decision),
            ("logged_exports", "export", self._export),
            ("logged_erasures", "erasure", self._erasure),
            ("logged_retention", "run of retention", self._retention),
            ("logged_reveals", "revealed span", self._reveal),
            ("logged_passwords", "password change", self._password),
            ("logged_notes", "note", self._note),
            ("logged_review_dates", "review date", self._review_date),
            ("logged_blind_items", "blind item", self._blind_item),
            ("logged_blind_decisions", "decision on a blind item", self._blind_decision),
        ):
            for row in self._sql.all(name):
                yield _guarded(f"{kind} {next(iter(row.values()))}", partial(compare, row))
        yield from self._sequences()

    def _conflict(self, row: SqlRow, what: str) -> str:
        text = submission_text(row["payload"], row["answer"], row["source_span"])
        expected = _submitted(row, "rejected-conflict", "key-reused")
        if finding := self._only(what, row["quarantine_id"], expected, text, erased=row["erased"]):
            return finding
        differing = _beside(row, row["answer"])
        return f"{what} has another {differing} than its answer" if differing else ""

    def _decision(self, row: SqlRow, what: str) -> str:
        facts = {name: row[name] for name in DecisionFacts.__struct_fields__}
        text = decision_text(DecisionFacts(**facts | {"self_edit": bool(row["self_edit"])}))
        expected = {
            "action": row["decision"],
            "actor": row["curator"],
            "reason_code": row["reason_code"],
            "policy_digest": row["policy_digest"],
            "time": format_time(row["decided_at"]),
            "subject": {name: row[name] for name in _DECIDED if row[name] is not None},
        }
        if finding := self._only(what, row["review_record_id"], expected, text, erased=row["erased"]):
            return finding
        return f"{what} has another hash than its text" if row["erased"] is None and not _hashes_hold(row) else ""

    def _export(self, row: SqlRow, what: str) -> str:
        expected = {"action": "export", "actor": row["actor"], "to": row["exported"], "role": row["role"]}
        expected["time"] = format_time(row["exported_at"])
        return self._only(what, row["export_id"], expected, export_text(convert(row, ExportRow)))

    def _erasure(self, row: SqlRow, what: str) -> str:
        subject = {name: row[name] for name in _ERASED if row[name] is not None}
        expected = {"action": "erase", "reason_code": row["reason_code"], "subject": subject}
        return self._only(what, row["erasure_id"], expected | {"time": format_time(row["erased_at"])}, None)

    def _retention(self, row: SqlRow, what: str) -> str:
        subject = {name: str(row[name]) for name in ("retention_id", "archive", "items", "size")}
        expected = {"action": "retention", "policy_digest": row["policy_digest"], "subject": subject}
        return self._only(what, row["retention_id"], expected | {"time": format_time(row["begun_at"])}, None)

    def _reveal(self, row: SqlRow, what: str) -> str:
        names = {name: row[name] for name in ("reveal_id", "quarantine_id")}
        expected = {"action": "reveal", "actor": row["curator"], "policy_digest": row["policy_digest"]}
        expected |= {"subject": names, "time": format_time(row["revealed_at"])}
        return self._only(what, row["reveal_id"], expected, reveal_text(row["person"], row), erased=row["erased"])

    def _password(self, row: SqlRow, what: str) -> str:
        names = {"password_change_id": row["password_change_id"], "user": row["name"]}
        subject = names | {"password": row["password_digest"]}
        expected = {"action": "set-password", "actor": row["actor"], "role": row["role"], "subject": subject}
        return self._only(what, row["password_change_id"], expected | {"time": format_time(row["changed_at"])}, None)

    def _note(self, row: SqlRow, what: str) -> str:
        names = {name: row[name] for name in ("note_id", "proposal_id", "answers") if row[name] is not None}
        expected = {"action": row["kind"], "actor": row["author"], "policy_digest": row["policy_digest"]}
        expected |= {"subject": names, "time": format_time(row["written_at"])}
        text = note_text(row | {"persons": msgspec.json.decode(row["persons"])})
        return self._only(what, row["note_id"], expected, text, erased=row["erased"])

    def _review_date(self, row: SqlRow, what: str) -> str:
        expected = {"action": "schedule-review", "actor": row["curator"], "policy_digest": row["policy_digest"]}
        expected |= {"subject": {name: row[name] for name in ("review_date_id", "proposal_id")}}
        expected |= {"time": format_time(row["set_at"]), "from": day_name(row["before"])}
        expected |= {"to": day_name(row["review_after"]) or "none"}
        return self._only(what, row["review_date_id"], expected, review_date_text(row))

    def _blind_item(self, row: SqlRow, what: str) -> str:
        expected = {"action": "blind-item", "actor": actor_of(row["kind"]), "policy_digest": row["policy_digest"]}
        expected |= {"time": format_time(row["added_at"])}
        return self._only(what, row["blind_item_id"], expected, item_text(row), erased=row["erased"])

    def _blind_decision(self, row: SqlRow, what: str) -> str:
        names = {name: row[name] for name in ("blind_decision_id", "blind_item_id")}
        expected = {"action": "blind-decision", "actor": row["curator"], "policy_digest": row["policy_digest"]}
        expected |= {"subject": names, "time": format_time(row["decided_at"])}
        return self._only(what, row["blind_decision_id"], expected, blind_decision_text(row))

    def _only(
        self, what: str, subject: str, expected: SqlRow, text: SqlRow | None, *, erased: int | None = None
    ) -> str:
        leaves = self._sql.all("leaves_of", subject=subject)
        if len(leaves) != 1:
            return f"{what} has {len(leaves)} leaves"
        return _compared(what, leaves[0] | {"erased": erased}, expected, text)

    def _sequences(self) -> Iterator[str]:
        """Compare changes whose subject may have several leaves: states of memories, tokens, accounts, policies."""
        seen = Counter[str]()
        for row in self._sql.all("logged_memories"):
            expected = {"action": "memory", "actor": row["curator"], "to": row["state"]}
            expected["subject"] = {name: row[name] for name in ("memory_id", "review_record_id")}
            compare = partial(self._next, seen, row["memory_id"], row["changed_at"], expected)
            yield _guarded(f"memory {row['memory_id']}", compare)
        for row in self._sql.all("logged_access"):
            compare = partial(
                self._next, seen, row["subject"], row["at"], {"action": row["action"], "to": row["became"]}
            )
            yield _guarded(f"{row['action']} of {row['subject']}", compare)
        for row in self._sql.all("logged_policies"):
            digest_now = row["policy_digest"]
            expected = {"action": "policy", "from": row["previous"], "to": digest_now, "policy_digest": digest_now}
            compare = partial(self._next, seen, digest_now, row["changed_at"], expected)
            wrong = "" if digest(row["policy"].encode()) == digest_now else f"policy {digest_now} has another text"
            yield wrong or _guarded(f"policy {digest_now}", compare)

    def _next(self, seen: Counter[str], subject: str, at: int | None, expected: SqlRow, what: str) -> str:
        leaves = self._sql.all("leaves_of", subject=subject)
        index = seen[subject]
        seen[subject] += 1
        if index >= len(leaves):
            return f"{what} has no leaf"
        when = {} if at is None else {"time": format_time(at)}
        return _compared(what, leaves[index], expected | when, None)


_ERASED: Final = ("erasure_id", "proposal_id", "quarantine_id", "retention_id")
_DECIDED: Final = ("review_record_id", "proposal_id", "quarantine_id", "undoes")


def _hashes_hold(row: SqlRow) -> bool:
    """Return whether the hashes of a review record match its texts."""
    resulting = None if row["resulting"] is None else digest(row["resulting"].encode())
    return (digest(row["shown"].encode()), resulting) == (row["shown_hash"], row["resulting_hash"])


def _guarded(what: str, compare: Callable[[str], str]) -> str:
    """Return the finding of `compare`, or one that the row or its leaf cannot be read."""
    try:
        return compare(what)
    except (msgspec.MsgspecError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return f"{what} or its leaf cannot be read: {error}"


def _is_canonical(leaf: str) -> bool:
    try:
        return canonical(msgspec.json.decode(leaf)) == leaf.encode()
    except (msgspec.MsgspecError, ValueError):
        return False


def _key(row: SqlRow) -> VerifierKey | None:
    """Return the verifier key; None if it cannot be read, so that no checkpoint signed by it is valid."""
    try:
        return read_key(row["verifier_key"])
    except NoteError:
        return None


def _submission(row: SqlRow, what: str) -> str:
    receipt = receipt_of(row)
    text = submission_text(row["payload"], receipt, row["source_span"])
    if finding := _compared(what, row, _submitted(row, row["disposition"], row["reason_code"]), text):
        return finding
    differing = _beside(row, receipt) or _other_print(row)
    return f"{what} has another {differing} than its receipt" if differing else ""


_RECEIPT: Final = (
    "submission_id",
    "producer_identity",
    "idempotency_key",
    "disposition",
    "status",
    "submission_scope",
    "scope_id",
    "source_event_hash",
    "proposal_id",
    "quarantine_id",
    "duplicate_of",
    "policy_digest",
)
"""Members of a receipt that also have a column of their own."""


def _beside(row: SqlRow, receipt: str) -> str | None:
    """Return the name of the first column that differs from the receipt that the leaf commits to."""
    members = msgspec.json.decode(receipt)
    return next((name for name in _RECEIPT if name in members and row[name] != members[name]), None)


def _other_print(row: SqlRow) -> str | None:
    """Compare the fingerprint that recognizes a replay, if everything that it is computed from is stored."""
    if row["keyed"] or row["payload"] is None or row["erased"] is not None:
        return None
    claims = [None if row[name] is None else msgspec.json.decode(row[name]) for name in ("supersedes", "derived_from")]
    compared = [row["source_event_hash"], row["submission_scope"], row["scope_id"], row["visibility"], *claims]
    return None if bytes(row["fingerprint"]) == fingerprint(canonical(compared)) else "fingerprint, visibility or claim"


def _submitted(row: SqlRow, disposition: str, reason_code: str | None) -> SqlRow:
    return {
        "action": "seal" if reason_code == "sealed" else "submit",
        "actor": row["producer_identity"],
        "policy_digest": row["policy_digest"],
        "reason_code": reason_code,
        "time": format_time(row["received_at"]),
        "to": disposition,
    }


def _compared(what: str, row: SqlRow, expected: SqlRow, text: SqlRow | None) -> str:
    """Return what is wrong with a leaf, or an empty text; an erased text has no salt and is not compared."""
    if row["leaf"] is None:
        return f"{what} has no leaf"
    leaf = msgspec.json.decode(row["leaf"])
    for name, value in expected.items():
        if leaf[name] != value:
            return f"{what} says {name} {value}, and its leaf {leaf[name]}"
    if text is None or row["erased"] is not None:
        return ""
    if row["salt"] is None:
        return f"{what} lost the salt of its commitment, and no erasure says so"
    return f"{what} differs from what its leaf commits to" if _differs(leaf, row["salt"], text) else ""


def _differs(leaf: SqlRow, salt: bytes, text: SqlRow) -> bool:
    """Return whether the leaf's commitment is to another text."""
    return bool(leaf["payload_commitment"] != commitment(salt, text))
