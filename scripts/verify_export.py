#!/usr/bin/env python3
"""Verify an export of Antechamber without Antechamber: this one file needs Python 3.11 and nothing else.

An export of the whole log is proven complete: its leaves, in their order and nothing else, add up to the root of a
signed checkpoint (RFC 6962 section 2.1; c2sp.org/tlog-checkpoint, c2sp.org/signed-note). An export of review records,
dispositions or notes, or an archive of retention with all of these (--records), proves each record that it holds, and
never that none is missing.
"""

import argparse
import base64
import binascii
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

LONGEST_LINE = 8 << 20
LONGEST_TEXT = 600
MAX_PLACES = 20
"""Maximum number of records without salt that are named by their leaf; all of them are counted."""
CLOCKS = timedelta(minutes=1)
"""Tolerated clock difference between machines before an out-of-order time is reported."""
NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
NAME = re.compile(r"[^\s+]+")
KEY = re.compile(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)")
LEAF = {
    "action", "actor", "from", "payload_commitment", "policy_digest", "reason_code", "role", "subject", "time", "to",
    "version",
}  # fmt: skip
LOG_CLOSING = {"checkpoint", "complete", "count", "last_sequence", "record"}
SAID = {"exported_at", "filters"}
"""Members of the closing record of an export of records that nothing proves."""
CLOSING = LOG_CLOSING | SAID
PROVEN = {
    "decision": "action", "curator": "actor", "decided_at": "time", "reason_code": "reason_code",
    "policy_digest": "policy_digest",
}  # fmt: skip
"""Members of a review record, and the members of its leaf with the same values."""
NOTE_PROVEN = {"kind": "action", "author": "actor", "written_at": "time", "policy_digest": "policy_digest"}
"""The same of a note."""
IDS = {
    "review": {"review_record_id", "proposal_id", "quarantine_id", "undoes"},
    "note": {"note_id", "proposal_id", "answers"},
}
TEXT = {
    "review": {"reason_text", "resulting", "shown"},
    "disposition": {"payload", "receipt", "source_span"},
    "note": {"text"},
}
COMMITTED = {"person", "producer_identity", "scope_id", "self_edit", "submission_scope", "target", "version"}
"""Members of a review record that its leaf commits to, together with its texts: the salt proves all of them or none."""
NOTE_COMMITTED = {"person", "persons", "producer_identity", "scope_id", "submission_scope"}
"""The same of a note."""
BESIDE = {
    "approvals_required", "memory_id", "resulting_hash", "resulting_version", "shown_hash", "source_event_hash",
}  # fmt: skip
"""Members included for reading only: neither leaf nor commitment covers them."""
CLAIMS = {"derived_from", "supersedes"}
"""Members of an event in an archive of retention, if it has claims; included for reading only."""
LOST = {"review": COMMITTED, "disposition": TEXT["disposition"], "note": NOTE_COMMITTED}
"""Members that nothing proves once the salt is gone."""
PLACE = {"leaf", "leaf_hash", "record", "sequence"}
MEMBERS = {
    "leaf": PLACE,
    "disposition": PLACE | {"proof", "salt"} | TEXT["disposition"],
    "review": PLACE | {"proof", "salt"} | TEXT["review"] | COMMITTED | set(PROVEN) | IDS["review"] | BESIDE,
    "note": PLACE | {"proof", "salt"} | TEXT["note"] | NOTE_COMMITTED | set(NOTE_PROVEN) | IDS["note"],
}
ACTIONS = {
    "disposition": {"submit", "seal"},
    "note": {"note", "question", "answer", "assignment"},
    "review": {
        "approve", "edit", "supersede", "reject", "merge", "flag", "undo", "retract", "expire", "keep", "open",
        "dismiss", "release", "destroy", "clear",
    },
}  # fmt: skip
ERASED = {None, "", "(erased)", '{"content":"(erased)","kind":"erased"}'}
"""Values that may replace an erased text."""


class BadError(Exception):
    """A failed check; the text names it."""


class UsageError(Exception):
    """Invalid arguments; nothing was verified."""


class EmptyError(Exception):
    """An export without records: no check failed, and nothing was verified."""


class Key(NamedTuple):
    """A verifier key."""

    name: str
    key_id: bytes
    public: bytes
    """32 bytes (Ed25519)."""

    def __str__(self) -> str:
        """Return the key in its text form."""
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(bytes([1]) + self.public).decode()}"


class Checkpoint(NamedTuple):
    """A signed state of the log: its origin, size and root, and the key that signed it."""

    origin: str
    size: int
    root: bytes
    signer: Key


def bad(text: str) -> NoReturn:
    """Raise BadError with this text."""
    raise BadError(text)


def raw_of(text: str) -> bytes:
    """Decode canonical base64; return empty bytes for any other form."""
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return b""
    return raw if binascii.b2a_base64(raw, newline=False).decode() == text else b""


def decode(text: str, size: int, what: str) -> bytes:
    """Decode base64 of an exact size."""
    raw = raw_of(text)
    if len(raw) != size:
        bad(f"{what} is not base64 of {size} bytes")
    return raw


def read_keys(text: str, algorithm: int = 1) -> list[Key]:
    """Read one or more verifier keys, separated by white space; 1 is the type of a log's, and 4 of a witness's."""
    keys = []
    for word in text.split():
        match = KEY.fullmatch(word)
        if match is None:
            # The error does not repeat the word, which may come from a file with secrets.
            message = (
                "this is the private key that signs the log; give its verifier key, which antechamber log key prints"
                if word.startswith("PRIVATE+KEY+")
                else f"a word of {len(word)} characters is no verifier key, name+hex+base64; one in a file is given as "
                "--key-file FILE"
            )
            raise UsageError(message)
        raw = decode(match[3], 33, "the verifier key")
        key_id = hashlib.sha256(f"{match[1]}\n".encode() + raw).digest()[:4]
        if raw[0] != algorithm or key_id.hex() != match[2]:
            kind = "Ed25519 key" if algorithm == 1 else "key of a witness"
            bad(f"{word} is no {kind}, or its id does not belong to it")
        keys.append(Key(match[1], key_id, raw[1:]))
    return keys or bad("the key is empty")


def read_note(note: str, keys: Sequence[Key], what: str) -> Checkpoint:
    """Read a checkpoint signed by one of the keys, of several by the first; signatures of unknown keys are ignored."""
    text, blank, signatures = note.rpartition("\n\n")
    if not blank or not signatures.endswith("\n") or re.search(r"[\x00-\x09\x0b-\x1f]", note):
        bad(f"{what} is no signed note: a text, an empty line, and lines that sign it")
    text += "\n"
    lines = signatures.split("\n")[:-1]
    signers = [key for key in keys if sum(signs(line, key, text, what) for line in lines)]
    if not signers:
        bad(f"{what} is not signed by a given key; after a change of keys give all that you trust, the newest first")
    match text.split("\n"):
        case [origin, size, root, *extensions, ""] if NUMBER.fullmatch(size) and all(extensions):
            if origin == signers[0].name:
                return Checkpoint(origin, int(size), decode(root, 32, f"the root of {what}"), signers[0])
    bad(f"{what} is no checkpoint of this log")


def signs(line: str, key: Key, text: str, what: str) -> bool:
    """Return whether a line is a valid signature of a key; raise BadError if it is an invalid one of that key.

    A line with another name, key id or length belongs to an unknown key or algorithm, and is ignored.
    """
    dash, _, rest = line.partition(" ")
    name, _, signature = rest.partition(" ")
    raw = raw_of(signature)
    if dash != "\N{EM DASH}" or not NAME.fullmatch(name) or len(raw) < 5:  # noqa: PLR2004 -- a key id and more
        bad(f"a line below the text of {what} is no signature")
    if name != key.name or raw[:4] != key.key_id or len(raw) != 68:  # noqa: PLR2004 -- a key id and an Ed25519 signature
        return False
    return is_signed(key.public, raw[4:], text.encode()) or bad(f"the signature of {what} is wrong")


def check_witness(note: str, witness: Key, what: str) -> None:
    """Raise BadError unless a witness cosigned a note that `read_note` accepted (c2sp.org/tlog-cosignature)."""
    text, _, signatures = note.rpartition("\n\n")
    found = 0
    for line in signatures.split("\n")[:-1]:
        _, name, signature = line.split(" ", 2)
        raw = raw_of(signature)
        if name != witness.name or raw[:4] != witness.key_id or len(raw) != 76:  # noqa: PLR2004 -- id, time, signature
            continue
        signed = f"cosignature/v1\ntime {int.from_bytes(raw[4:12], 'big')}\n{text}\n".encode()
        found += is_signed(witness.public, raw[12:], signed) or bad(f"the cosignature of {name} on {what} is wrong")
    if not found:
        bad(f"{what} is not cosigned by the witness {witness.name}")


PRIME = 2**255 - 19
"""Ed25519 (RFC 8032 section 5.1): the field, the order of the base point, and the curve's constant."""
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, PRIME) % PRIME
Point = tuple[int, int, int, int]
"""A point in extended coordinates: x = X/Z, y = Y/Z, x * y = T/Z."""


def add(first: Point, second: Point) -> Point:
    """Add two points (RFC 8032 section 5.1.4)."""
    a = (first[1] - first[0]) * (second[1] - second[0]) % PRIME
    b = (first[1] + first[0]) * (second[1] + second[0]) % PRIME
    c = 2 * first[3] * second[3] * CURVE % PRIME
    d = 2 * first[2] * second[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME


def times(number: int, point: Point) -> Point:
    """Multiply a point by a number."""
    found: Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            found = add(found, point)
        point = add(point, point)
        number >>= 1
    return found


def point_of(raw: bytes) -> Point | None:
    """Decode a point (RFC 8032 section 5.1.3); None if the bytes are not the form of one."""
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if (x * x - square) % PRIME:
        x = x * pow(2, (PRIME - 1) // 4, PRIME) % PRIME
    if (x * x - square) % PRIME or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else PRIME - x
    return x, y, 1, x * y % PRIME


def form_of(point: Point) -> bytes:
    """Encode a point."""
    inverse = pow(point[2], -1, PRIME)
    x, y = point[0] * inverse % PRIME, point[1] * inverse % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


@lru_cache(maxsize=64)
def is_signed(public: bytes, signature: bytes, text: bytes) -> bool:
    """Return whether an Ed25519 signature of 64 bytes is that of a public key of 32 bytes (RFC 8032 section 5.1.7)."""
    key, base = point_of(public), point_of((4 * pow(5, -1, PRIME) % PRIME).to_bytes(32, "little"))
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or base is None or scalar >= ORDER:
        return False
    hashed = int.from_bytes(hashlib.sha512(signature[:32] + public + text).digest(), "little") % ORDER
    minus = (PRIME - key[0], key[1], key[2], PRIME - key[3])
    return form_of(add(times(scalar, base), times(hashed, minus))) == signature[:32]


def leaf_hash(data: bytes) -> bytes:
    """Hash a leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two nodes."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A growing Merkle tree, kept as its complete subtrees, largest first."""

    def __init__(self) -> None:
        self.size = 0
        self.hashes: list[bytes] = []

    def append(self, value: bytes) -> None:
        """Append the hash of a leaf."""
        bits = self.size
        while bits & 1:
            value = node_hash(self.hashes.pop(), value)
            bits >>= 1
        self.hashes.append(value)
        self.size += 1

    def root(self) -> bytes:
        """Return the root."""
        if not self.hashes:
            return hashlib.sha256().digest()
        found = self.hashes[-1]
        for left in self.hashes[-2::-1]:
            found = node_hash(left, found)
        return found


def root_by(path: Sequence[bytes], value: bytes, index: int, size: int) -> bytes | None:
    """Return the root of an inclusion proof (RFC 9162 section 2.1.3.2); None if a length is wrong.

    Each value must have the length of a SHA-256 hash.
    """
    if not 0 <= index < size or any(len(one) != 32 for one in (value, *path)):  # noqa: PLR2004 -- SHA-256
        return None
    at, last = index, size - 1
    for sibling in path:
        if last == 0:
            return None
        if at & 1 or at == last:
            value = node_hash(sibling, value)
            while at and not at & 1:
                at, last = at >> 1, last >> 1
        else:
            value = node_hash(value, sibling)
        at, last = at >> 1, last >> 1
    return value if last == 0 else None


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 form for the content of exports: no floats, and ASCII member names at the levels checked."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def no_float(text: str) -> NoReturn:
    """Reject a float, which canonical JSON of exports never contains."""
    bad(f"{text} is a number that no record holds")


def read_line(line: bytes, location: str) -> dict[str, Any]:
    """Parse a record and check that it is in canonical form."""
    if line.endswith(b"\r\n"):
        bad(f"{location} ends with CR LF: the file was converted on its way, and has to come as it was")
    try:
        record = json.loads(line.decode(), parse_float=no_float, parse_constant=no_float)
        same = line.endswith(b"\n") and canonical(record) == line[:-1]
    except (ValueError, RecursionError):
        bad(f"{location} is no JSON record, or was cut off")
    if not same or not isinstance(record, dict):
        bad(f"{location} is not in its canonical form")
    return record


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield lines, rejecting any over the maximum length."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            bad("a line is longer than any record")
        yield line


def is_count(value: Any) -> bool:
    """Return whether a value is a non-negative integer; booleans are not."""
    return type(value) is int and value >= 0


def check_leaf(record: dict[str, Any], location: str) -> bytes:
    """Check a record's leaf and return its hash."""
    leaf = record.get("leaf")
    if not isinstance(leaf, dict) or set(leaf) != LEAF:
        bad(f"{location} has no leaf with the members of one")
    value = leaf_hash(canonical(leaf))
    if record.get("leaf_hash") != value.hex():
        bad(f"{location} was altered: its leaf has another hash")
    return value


class Export:
    """Verifies an export line by line against its checkpoint.

    `records` expects an export of records instead of the whole log.
    """

    def __init__(self, keys: list[Key], checkpoint: Checkpoint, previous: Checkpoint | None, *, records: bool) -> None:
        self.keys = keys
        self.records = records
        self.checkpoint = checkpoint
        self.previous = previous
        self.tree = Tree()
        self.count = 0
        self.last: int | None = None
        self.kind = ""
        self.kinds: set[str] = set()
        self.claims = False
        self.without = 0
        self.places: list[int] = []
        self.closed = False
        self.latest: datetime | None = None
        self.back: tuple[timedelta, int] = (timedelta(0), 0)
        self.whole = False
        self.notes: list[str] = []
        self.successors: list[tuple[int, str]] = []

    def read(self, file: BinaryIO) -> None:
        """Verify the whole file."""
        self.pass_previous()
        for number, line in enumerate(lines_of(file), 1):
            if number == 1 and not line.startswith(b"{"):
                message = (
                    "EXPORT is no export as JSONL; a CSV cannot be verified, and a checkpoint belongs to --checkpoint"
                )
                raise UsageError(message)
            if number == 1 and (b'"tlog_proof":' in line or b'"old_size":' in line):
                message = "EXPORT is a single record or proof, and no export"
                raise UsageError(message)
            if self.closed:
                bad(f"line {number} comes after the closing record")
            where = f"leaf {self.tree.size}" if self.kind in {"", "leaf"} else f"the record of line {number}"
            record = read_line(line, f"{where} (line {number})")
            self.take(record, number)
        if not self.closed:
            end = f"after leaf {self.last}" if self.last is not None else "before its first record"
            bad(f"the export was cut off {end}: it has no closing record; export it again")

    def take(self, record: dict[str, Any], number: int) -> None:
        """Verify one record."""
        kind = record.get("record")
        if kind == "closing":
            self.close(record)
            return
        if (
            not isinstance(kind, str)
            or kind not in MEMBERS
            or (self.kind and (kind == "leaf") != (self.kind == "leaf"))
        ):
            bad(f"leaf {self.tree.size} (line {number}) is no record of this export")
        self.expect(whole=kind == "leaf")
        self.kind = kind
        self.kinds.add(kind)
        claims = kind == "disposition" and set(record) >= CLAIMS
        self.claims = self.claims or claims
        if set(record) - (CLAIMS if claims else set()) != MEMBERS[kind]:
            bad(f"leaf {self.tree.size} (line {number}) has other members than a record of its kind")
        if kind == "leaf":
            self.take_leaf(record, number)
        else:
            self.take_proven(record, number)
        self.count += 1

    def expect(self, *, whole: bool) -> None:
        """Refuse an export of the other kind, because it proves something other than requested."""
        if whole and self.records:
            message = "EXPORT is the whole log; leave out --records, and it is also proven that nothing is missing"
            raise UsageError(message)
        if not whole and not self.records:
            message = (
                "EXPORT is no whole log, so it cannot prove that nothing is missing; verify the whole log "
                "(/v1/audit/export, or: antechamber export log), or with --records each record by its own proof"
            )
            raise UsageError(message)

    def take_leaf(self, record: dict[str, Any], number: int) -> None:
        """Verify the next leaf of the whole log."""
        expected = self.tree.size
        sequence = record["sequence"] if is_count(record.get("sequence")) else "no number"
        if sequence != expected:
            bad(f"leaf {expected} is missing or out of place: line {number} has leaf {sequence}")
        self.tree.append(check_leaf(record, f"leaf {expected} (line {number})"))
        self.last = expected
        if record["leaf"]["action"] == "log-key":
            self.note_key(expected, record["leaf"])
        self.look_at_time(record["leaf"]["time"], expected)
        self.pass_previous()

    def look_at_time(self, text: Any, sequence: int) -> None:
        """Record how far a leaf's time is behind an earlier leaf's: clocks differ, and can be changed."""
        try:
            time = datetime.fromisoformat(text)
            step = time - (self.latest or time)
        except (TypeError, ValueError):
            bad(f"leaf {sequence} has no time")
        self.latest = time if step >= timedelta(0) else self.latest
        self.back = max(self.back, (-step, sequence))

    def note_key(self, sequence: int, leaf: dict[str, Any]) -> None:
        """Record a change of keys and the note that an auditor needs about it."""
        self.successors.append((sequence, str(leaf["to"])))
        if leaf["reason_code"] == "restored":
            subject = dict(leaf["subject"])
            end = f", whose last leaf is {subject['backup_sequence']}" if "backup_sequence" in subject else ""
            lost = subject.get("abandoned_size", "unknown size")
            self.notes.append(
                f"Leaf {sequence}: a backup was restored{end}; a checkpoint of {lost} leaves was given up."
            )
        elif leaf["from"] is not None:
            self.notes.append(f"Leaf {sequence}: from here on another key signs, {leaf['to']}.")

    def pass_previous(self) -> None:
        """Compare the tree with the earlier checkpoint when it reaches that size."""
        if self.previous is None or self.tree.size != self.previous.size or self.kind not in {"", "leaf"}:
            return
        if self.tree.root() != self.previous.root:
            bad(
                f"the log was rewritten: its first {self.tree.size} leaves do not add up to the root of the earlier "
                f"checkpoint; at least one of leaf 0 to leaf {self.tree.size - 1} was altered"
            )

    def take_proven(self, record: dict[str, Any], number: int) -> None:
        """Verify a record by its own inclusion proof."""
        sequence, proof = record.get("sequence"), record.get("proof")
        if not is_count(sequence) or not isinstance(proof, list) or not all(isinstance(one, str) for one in proof):
            bad(f"line {number} has no sequence and no proof")
        location = f"leaf {sequence} (line {number})"
        if self.last is not None and sequence <= self.last:
            bad(f"{location} is out of order, or there twice")
        path = [decode(one, 32, f"a hash of the proof of {location}") for one in proof]
        value, size = check_leaf(record, location), self.checkpoint.size
        if sequence >= size or root_by(path, value, sequence, size) != self.checkpoint.root:
            bad(f"{location} does not stand in the log of this checkpoint")
        check_members(record, location)
        if record["salt"] is None:
            self.without += 1
            self.places = [*self.places, sequence][:MAX_PLACES]
        self.last = sequence

    def close(self, record: dict[str, Any]) -> None:
        """Verify the closing record."""
        self.closed = True
        self.whole = set(record) == LOG_CLOSING
        allowed = {"leaf": (LOG_CLOSING,), "": (LOG_CLOSING, CLOSING)}.get(self.kind, (CLOSING,))
        if set(record) not in allowed:
            bad("the closing record has other members than one of this export")
        self.expect(whole=self.whole)
        for name, expected in (("count", self.count), ("last_sequence", self.last)):
            if record[name] != expected or isinstance(record[name], bool):
                bad(f"the closing record says {name} {record[name]}, and it is {expected}")
        if not isinstance(record["checkpoint"], str):
            bad("the closing record has no checkpoint")
        own = read_note(record["checkpoint"], self.keys, "the closing checkpoint")
        if own[:3] != self.checkpoint[:3]:
            bad(self.other_checkpoint(own))
        if self.whole:
            self.close_log(record, own)
        else:
            self.close_some(record)
        self.check_newest(own)

    def check_newest(self, own: Checkpoint) -> None:
        """Refuse an export that only an older key signed: with a stolen one a log can be made without its successor."""
        if self.keys[0] not in (self.checkpoint.signer, own.signer):
            bad(
                "the checkpoint is signed by an older key than the first one that was given, and a replaced key proves "
                "nothing: export again; only an export that you kept since before the change of keys can be verified "
                "with the keys of that time"
            )

    def close_some(self, record: dict[str, Any]) -> None:
        """Check the end of an export of records."""
        if record["complete"] is True:
            bad(
                "the closing record claims that the export is complete, and only the whole log can prove that; do not "
                "rely on this file: export the whole log, and verify that without --records"
            )
        if record["complete"] is not False or not isinstance(record["filters"], dict):
            bad("the closing record does not say what was chosen")

    def other_checkpoint(self, own: Checkpoint) -> str:
        """Return the problem with two different checkpoints."""
        given = self.checkpoint
        if own.size == given.size:
            return f"two checkpoints of {own.size} leaves have different roots: the log was forked"
        return (
            f"the export ends with the checkpoint of {own.size} leaves, and the given one is of {given.size}: "
            + ("an earlier one belongs to --previous" if given.size < own.size else "so the export ends before it")
            + f"; the export's own is at /v1/audit/checkpoint?size={own.size}"
        )

    def check_signer(self, checkpoint: Checkpoint) -> None:
        """Refuse a checkpoint signed by a replaced key: its last one ends with the leaf that names the successor.

        Both sign that one.
        """
        named = [(sequence, key) for sequence, key in self.successors if sequence + 1 < checkpoint.size]
        last = [key for sequence, key in self.successors if sequence + 1 == checkpoint.size]
        if named and str(checkpoint.signer) not in (named[-1][1], *last):
            bad(f"the checkpoint is signed by a key that leaf {named[-1][0]} replaced by {named[-1][1]}; give that one")

    def close_log(self, record: dict[str, Any], own: Checkpoint) -> None:
        """Compare the complete tree with the checkpoint."""
        for one in (own, self.checkpoint):
            self.check_signer(one)
        if record["complete"] is not True:
            bad("the closing record does not say that the export is complete")
        if self.tree.size != self.checkpoint.size:
            bad(f"leaf {self.tree.size} is missing: the checkpoint is of {self.checkpoint.size} leaves")
        if self.tree.root() != self.checkpoint.root:
            first = self.previous.size if self.previous and self.previous.size < self.tree.size else 0
            bad(
                f"the leaves do not add up to the root of the checkpoint: leaf {first} or a later one was altered, and "
                "its hash with it"
            )


def check_members(record: dict[str, Any], location: str) -> None:
    """Compare a record's members with its leaf and verify the commitment; a record without salt must have no text."""
    leaf, salt, kind = record["leaf"], record["salt"], record["record"]
    if leaf["action"] not in ACTIONS[kind]:
        bad(f"{location} is a leaf of something else")
    committed = {name: record[name] for name in TEXT[kind]}
    if kind == "review":
        check_same(record, location, PROVEN)
        committed |= {("proposal_version" if name == "version" else name): record[name] for name in COMMITTED}
        if record["self_edit"] is False:
            # Only an approval of the editor alone says so in its commitment.
            del committed["self_edit"]
    elif kind == "note":
        check_same(record, location, NOTE_PROVEN)
        committed |= {name: record[name] for name in NOTE_COMMITTED}
    if salt is None:
        if any(isinstance(record[name], list | dict) or record[name] not in ERASED for name in TEXT[kind]):
            bad(f"{location} has a text without the salt that would prove it")
        return
    raw = (
        decode(salt, 32, f"the salt of {location}")
        if isinstance(salt, str)
        else bad(f"the salt of {location} is no text")
    )
    if leaf["payload_commitment"] != "sha256:" + hashlib.sha256(raw + canonical(committed)).hexdigest():
        bad(f"{location} was altered: one of {', '.join(sorted(committed))} is not what its leaf commits to")


def check_same(record: dict[str, Any], location: str, proven: dict[str, str]) -> None:
    """Compare the members of a review record or note that its leaf also has."""
    leaf = record["leaf"]
    told = {name: leaf[other] for name, other in proven.items()}
    told |= {name: leaf["subject"].get(name) for name in IDS[record["record"]]}
    for name, expected in told.items():
        if record[name] != expected:
            bad(f"{location} was altered: its {name} is {record[name]}, and that of its leaf {expected}")


def parser(program: str = "verify_export.py") -> argparse.ArgumentParser:
    """Return the argument parser; `program` is its name in usage and help."""
    made = argparse.ArgumentParser(
        prog=program,
        description="Verify an export of Antechamber offline: the whole log, which proves that nothing is missing.",
        epilog="Exit status: 0 all of it holds; 1 something does not hold; 2 the arguments or files cannot be used; "
        "3 the export holds no records, so that nothing was verified.",
    )
    made.add_argument("export", metavar="EXPORT", type=Path, help="the whole log as JSONL (/v1/audit/export)")
    made.add_argument(
        "--checkpoint", required=True, type=Path, metavar="FILE", help="the signed checkpoint of the export"
    )
    key = made.add_mutually_exclusive_group(required=True)
    key.add_argument(
        "--key", metavar="VKEY", help="verifier key of the log; after a change of keys several, the newest first"
    )
    key.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="file with the verifier keys, the newest first, which has to have signed",
    )
    made.add_argument("--previous", type=Path, metavar="FILE", help="checkpoint kept from an earlier visit")
    made.add_argument(
        "--witness",
        action="append",
        default=[],
        metavar="VKEY",
        help="verifier key of a witness that has to have cosigned the checkpoint; may be repeated",
    )
    made.add_argument(
        "--records",
        action="store_true",
        help="EXPORT holds records, or is an archive of retention: prove each record, and not that none is missing",
    )
    return made


def text_of(path: Path) -> str:
    """Read a small file without translating its line ends."""
    with path.open(encoding="utf-8", newline="") as file:
        try:
            return file.read(1 << 20)
        except UnicodeDecodeError:
            message = f"{path} is no text, so it is neither a checkpoint nor a key"
            raise UsageError(message) from None


def verify(arguments: argparse.Namespace) -> str:
    """Verify an export and return the result as text."""
    keys = read_keys(text_of(arguments.key_file) if arguments.key is None else arguments.key)
    note = text_of(arguments.checkpoint)
    checkpoint = read_note(note, keys, "the checkpoint")
    for witness in read_keys(" ".join(arguments.witness), 4) if arguments.witness else []:
        check_witness(note, witness, "the checkpoint")
    previous = None
    if arguments.previous is not None:
        previous = read_note(text_of(arguments.previous), keys, "the earlier checkpoint")
        if arguments.records:
            message = "only an export of the whole log can be compared with an earlier checkpoint; leave out --previous"
            raise UsageError(message)
        check_previous(previous, checkpoint)
    export = Export(keys, checkpoint, previous, records=arguments.records)
    with arguments.export.open("rb") as file:
        export.read(file)
    return told_of_log(export) if export.whole else told_of_records(export)


def check_previous(previous: Checkpoint, checkpoint: Checkpoint) -> None:
    """Refuse an earlier checkpoint that cannot be compared with the later one."""
    if previous.size == 0:
        message = "the earlier checkpoint is of 0 leaves, so that it proves nothing of later ones; leave out --previous"
        raise UsageError(message)
    if previous.size > checkpoint.size:
        bad(f"the earlier checkpoint is of {previous.size} leaves, and the later one of {checkpoint.size}")


def told_of_log(export: Export) -> str:
    """Return what an export of the whole log proves."""
    since = f", and begin with the {export.previous.size} of the earlier checkpoint" if export.previous else ""
    by, sequence = export.back
    if by > CLOCKS:
        export.notes.append(f"Leaf {sequence}: its time lies {by} before that of one in front of it.")
    number = f"{export.tree.size} leaves, all that {export.checkpoint.origin} signed{since}"
    return "\n".join([f"Verified: {number}. Nothing is missing.", *map(plain, export.notes)])


def told_of_records(export: Export) -> str:
    """Return what an export of records proves, and what it does not."""
    if not export.count:
        message = "the export holds no records. That does not prove that there are none; only the whole log can."
        raise EmptyError(message)
    proven = (
        f"Verified: {export.count} records, each in the log of {export.checkpoint.size} leaves that "
        f"{export.checkpoint.origin} signed."
    )
    unproven = ["Not proven: that no record is missing.", f"Not proven of the export: {', '.join(sorted(SAID))}."]
    beside = (BESIDE if "review" in export.kinds else set()) | (CLAIMS if export.claims else set())
    if beside:
        unproven.append(f"Not proven of any record: {', '.join(sorted(beside))}.")
    if export.without:
        lost = sorted(set().union(*(LOST[kind] for kind in export.kinds)))
        places = ", ".join(map(str, export.places)) + (", …" if export.without > len(export.places) else "")
        unproven.append(
            f"Not proven of {export.without} records without salt, whose texts are erased or were never kept: "
            f"{', '.join(lost)} (leaf {places})."
        )
    return "\n".join(map(plain, [proven, *unproven]))


def plain(text: str) -> str:
    """Return a text of limited length without terminal control characters."""
    shown = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    return shown if len(shown) <= LONGEST_TEXT else f"{shown[:LONGEST_TEXT]} …"


def main(arguments: Sequence[str] | None = None, program: str = "verify_export.py") -> int:
    """Verify and print the result; return the exit status that --help explains."""
    given = parser(program).parse_args(arguments)
    try:
        print(verify(given))
    except BadError as error:
        print(plain(f"NOT verified: {error}"), file=sys.stderr)
        return 1
    except (RecursionError, UnicodeEncodeError):
        print("NOT verified: something is nested too deeply, or is no Unicode text", file=sys.stderr)
        return 1
    except EmptyError as error:
        print(plain(f"Verified nothing: {error}"), file=sys.stderr)
        return 3
    except (OSError, UsageError) as error:
        print(plain(f"nothing was verified: {error}"), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
