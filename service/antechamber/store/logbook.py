"""The log beside what it tells of: each change has its leaf, each leaf its change, and both say the same."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from antechamber.core.canonical import canonical
from antechamber.core.log.checkpoint import NoteError, VerifierKey, read_checkpoint, read_key
from antechamber.core.log.leaf import commitment, decision_text, export_text, submission_text
from antechamber.core.log.merkle import BLOCK_LEVELS, Frontier, leaf_hash, up
from antechamber.core.log.rows import ExportRow
from antechamber.core.ports import Statements
from antechamber.core.submission import format_time
from antechamber.store.signer import verify

Found = dict[str, Any]


class Growing:
    """The tree, formed anew from all leaves, beside what was signed on the way."""

    def __init__(self, checkpoints: list[Found], keys: list[VerifierKey]) -> None:
        """Take the checkpoints of the store and the keys that may have signed them."""
        self._due: dict[int, list[str]] = {}
        for row in checkpoints:
            self._due.setdefault(row["size"], []).append(row["note"])
        self._keys = keys
        self._tree = Frontier()
        self.blocks: list[bytes] = []
        """The roots of the complete blocks of leaves."""
        self._block: list[bytes] = []

    def append(self, leaf: bytes) -> Iterator[str]:
        """Take in a leaf; yield the checkpoints of that size that say something else."""
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
            found = read_checkpoint(note, key, verify)
        except NoteError:
            return False
        return (found.size, found.root) == (self._tree.size, self._tree.root())

    def missing(self) -> Iterator[str]:
        """Yield the checkpoints that are of more leaves than there are."""
        for size in sorted(self._due):
            yield f"the log has {self._tree.size} leaves, and a checkpoint of {size} was signed"


class Logbook(Statements):
    """Compares the log with the rows of the store."""

    def check_log(self) -> Iterator[str]:
        """Yield whatever differs; nothing is mended."""
        number = 0
        tree = Growing(self.all("checkpoints"), [read_key(row["verifier_key"]) for row in self.all("log_keys")])
        for number, row in enumerate(self.each("leaves_in_order"), 1):
            if row["id"] != number - 1:
                yield f"leaf {number - 1} of the log is missing"
                return
            if canonical(msgspec.json.decode(row["leaf"])) != row["leaf"].encode():
                yield f"leaf {row['id']} of the log is not in its canonical form"
            yield from tree.append(row["leaf"].encode())
        yield from tree.missing()
        yield from self._check_nodes(tree.blocks)
        changes = 0
        for told in self._told():
            changes += 1
            if told:
                yield told
        if number != changes:
            yield f"the log has {number} leaves for {changes} changes"

    def _check_nodes(self, hashes: list[bytes]) -> Iterator[str]:
        """Compare the stored nodes with those that the leaves lead to."""
        level = BLOCK_LEVELS
        while hashes:
            for number, row in enumerate(self.each("nodes_of_level", level=level)):
                if row["number"] != number or number >= len(hashes) or row["hash"] != hashes[number]:
                    yield f"node {row['number']} of level {level} of the tree is not what its leaves lead to"
            for _ in range(BLOCK_LEVELS):
                hashes = up(hashes)
            level += BLOCK_LEVELS

    def _told(self) -> Iterator[str]:
        """Yield for each change what is wrong with its leaf, or nothing."""
        for row in self.each("logged_submissions"):
            text = submission_text(row["payload"], row["receipt"], row["source_span"])
            subject = f"submission {row['submission_id']}"
            yield _compared(subject, row, _submitted(row, row["disposition"], row["reason_code"]), text)
        for row in self.all("logged_conflicts"):
            text = submission_text(row["payload"], row["answer"], row["source_span"])
            expected = _submitted(row, "rejected-conflict", "key-reused")
            yield self._only(f"refused event {row['quarantine_id']}", row["quarantine_id"], expected, text)
        for row in self.all("logged_decisions"):
            text = decision_text(row["version"], row["reason_text"], row["resulting"], row["shown"])
            expected = {
                "action": row["decision"],
                "actor": row["curator"],
                "reason_code": row["reason_code"],
                "policy_digest": row["policy_digest"],
                "time": format_time(row["decided_at"]),
            }
            yield self._only(f"review record {row['review_record_id']}", row["review_record_id"], expected, text)
        yield from self._sequences()
        for row in self.all("logged_exports"):
            expected = {"action": "export", "actor": row["actor"], "to": row["exported"], "role": row["role"]}
            expected["time"] = format_time(row["exported_at"])
            text = export_text(msgspec.convert(row, ExportRow))
            yield self._only(f"export {row['export_id']}", row["export_id"], expected, text)
        for row in self.all("logged_erasures"):
            expected = {"action": "erase", "reason_code": row["reason_code"], "time": format_time(row["erased_at"])}
            yield self._only(f"erasure {row['erasure_id']}", row["erasure_id"], expected, None)

    def _only(self, what: str, subject: str, expected: Found, text: Found | None) -> str:
        leaves = self.all("leaves_of", subject=subject)
        if len(leaves) != 1:
            return f"{what} has {len(leaves)} leaves"
        return _compared(what, leaves[0], expected, text)

    def _sequences(self) -> Iterator[str]:
        """Compare what may have several leaves: memories by their states, tokens and people by their ends."""
        seen = Counter[str]()
        for row in self.all("logged_memories"):
            when = format_time(row["changed_at"])
            expected = {"action": "memory", "actor": row["curator"], "time": when, "to": row["state"]}
            yield self._next(seen, f"memory {row['memory_id']}", row["memory_id"], expected)
        for row in self.all("logged_access"):
            expected = {"action": row["action"], "to": row["became"]}
            if row["at"] is not None:
                expected["time"] = format_time(row["at"])
            yield self._next(seen, f"{row['action']} of {row['subject']}", row["subject"], expected)

    def _next(self, seen: Counter[str], what: str, subject: str, expected: Found) -> str:
        leaves = self.all("leaves_of", subject=subject)
        place = seen[subject]
        seen[subject] += 1
        if place >= len(leaves):
            return f"{what} has no leaf"
        return _compared(what, leaves[place], expected, None)


def _submitted(row: Found, disposition: str, reason_code: str | None) -> Found:
    return {
        "action": "seal" if reason_code == "sealed" else "submit",
        "actor": row["producer_identity"],
        "policy_digest": row["policy_digest"],
        "reason_code": reason_code,
        "time": format_time(row["received_at"]),
        "to": disposition,
    }


def _compared(what: str, row: Found, expected: Found, text: Found | None) -> str:
    """Say what is wrong with a leaf, or nothing; a commitment without its salt was erased and proves no text."""
    if row["leaf"] is None:
        return f"{what} has no leaf"
    leaf = msgspec.json.decode(row["leaf"])
    for name, value in expected.items():
        if leaf[name] != value:
            return f"{what} says {name} {value}, and its leaf {leaf[name]}"
    if text is not None and row["salt"] is not None and leaf["payload_commitment"] != commitment(row["salt"], text):
        return f"{what} differs from what its leaf commits to"
    return ""
