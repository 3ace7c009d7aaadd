"""Exports of the log, review records and dispositions, each record with its sequence, in constant memory.

An export first signs a checkpoint, which also ends it. What the checkpoint covers never changes, so it serves as the
snapshot: all leaves up to its size and no later ones, read in windows.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from antechamber.core.admission.canonical import canonical
from antechamber.core.csv import csv_row
from antechamber.core.errors import NotFoundError, refuse
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.log.merkle import inclusion_proof, leaf_hash
from antechamber.core.log.rows import DispositionRow, Exported, ExportRow, Format, LeafRow, Role, SignedCheckpoint
from antechamber.core.log.tree import Tree
from antechamber.core.policy import covers
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.rows.notes import AuditNoteRow, NoteFilter
from antechamber.core.rows.review import AuditFilter, AuditRow
from antechamber.core.rows.submissions import ListedSubmission, SubmissionFilter
from antechamber.core.times import format_time
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.log_proofs import LogProofs

MEDIA_TYPES: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv"}
CLOSING: Final = "closing"
_CHUNK: Final = 65_536
"""Bytes that are collected before they are yielded."""
_WINDOW: Final = 256
"""Sequences covered by one read; each has a text of 64 kB at most."""
_LEAVES: Final = 4096
"""Leaves of one read."""
_OWN: Final = {"leaf", "salt"}
"""Members of a row that an export writes in a different form."""
_END_COLUMNS: Final = ("count", "complete", "last_sequence")
_TEXTS: Final = ("text_shown", "text_resulting", "kind", "tags")
"""Columns of a review record in the place of the exact payloads, which are for programs."""
COLUMNS: Final = (
    "record", *sorted({*AuditRow.__struct_fields__, "leaf_hash"} - _OWN - {"shown", "resulting"}), *_TEXTS,
    *_END_COLUMNS,
)  # fmt: skip
_DISPOSITION_COLUMNS: Final = (
    "record", "sequence", "leaf_hash", "time", "producer_identity", "disposition", "reason_code", "submission_scope",
    "scope_id", "submission_id", "proposal_id", "quarantine_id", "policy_digest",
    "content", "kind", "tags", "source_uri", *_END_COLUMNS,
)  # fmt: skip
_NOTE_COLUMNS: Final = (
    "record", "sequence", "leaf_hash", "written_at", "kind", "author", "person", "persons", "text", "note_id",
    "answers", "proposal_id", "producer_identity", "submission_scope", "scope_id", "policy_digest", *_END_COLUMNS,
)  # fmt: skip
_AnyFilter = AuditFilter | SubmissionFilter | NoteFilter
_Write = Callable[[dict[str, Any]], bytes]
_Filter = TypeVar("_Filter", AuditFilter, SubmissionFilter, NoteFilter)
_Row = TypeVar("_Row", AuditRow, DispositionRow, AuditNoteRow)


class Exporter(Struct, frozen=True):
    """The person or token that takes an export, and the scopes that it is limited to; None for all."""

    name: str
    role: Role
    grants: list[str] | None = None


class Export:
    """Lists and exports decisions and stored answers from a store; `checkpoints` signs one for each export."""

    def __init__(
        self, store: Store, checkpoints: Checkpoints, proofs: LogProofs, clock: Clock, randomness: Randomness
    ) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._proofs = proofs
        self._clock = clock
        self._randomness = randomness

    def latest(self, wanted: AuditFilter, after: str | None, limit: int) -> tuple[list[AuditRow], str | None]:
        """Return review records, newest first, and the cursor of the next page."""
        with self._store.read() as tx:
            items = tx.reports.latest_review_records(wanted, after, limit + 1)
        return items[:limit], items[limit - 1].review_record_id if len(items) > limit else None

    def submissions(
        self, wanted: SubmissionFilter, after: str | None, limit: int
    ) -> tuple[list[ListedSubmission], str | None]:
        """Return submissions, newest first, and the cursor of the next page."""
        with self._store.read() as tx:
            items, end = tx.reports.listed_submissions(wanted, after, limit + 1)
        return items[:limit], items[limit - 1].cursor if len(items) > limit else end

    def history(self, limit: int) -> list[ExportRow]:
        """Return the latest exports."""
        with self._store.read() as tx:
            return tx.log.exports(limit)

    def record(self, review_record_id: str, grants: list[str] | None = None) -> dict[str, Any]:
        """Return one review record with the proof that the log includes its leaf.

        Raises NotFoundError if there is no such record or the auditor may not see it; raises LogError.
        """
        with self._store.read() as tx:
            row = tx.reports.review_record(review_record_id)
        if row is None or not _may_see(grants, row):
            message = "There is no such review record."
            raise NotFoundError(message)
        return _review_record(row, None) | {"tlog_proof": self._proofs.prove_inclusion(row.sequence).proof}

    def review_records(self, wanted: AuditFilter, form: Format, taker: Exporter) -> Iterator[bytes]:
        """Yield review records in chunks; the last record contains their number.

        Raises LogError, BusyError or UnavailableError before the first chunk.
        """
        return self._export(_REVIEW_RECORDS, wanted, form, taker)

    def dispositions(self, wanted: SubmissionFilter, form: Format, taker: Exporter) -> Iterator[bytes]:
        """Yield the stored answers in chunks, with the events that were kept; otherwise as `review_records`."""
        return self._export(_DISPOSITIONS, wanted, form, taker)

    def notes(self, wanted: NoteFilter, form: Format, taker: Exporter) -> Iterator[bytes]:
        """Yield notes, questions, answers and assignments in chunks; otherwise as `review_records`."""
        return self._export(_NOTES, wanted, form, taker)

    def _export(self, kind: "_Kind[_Filter, _Row]", wanted: _Filter, form: Format, taker: Exporter) -> Iterator[bytes]:
        signed = self._begin(kind.exported, form, wanted, taker)
        write, head = _writer(form, kind.columns)

        def records(tx: Rows, first: int) -> Iterator[dict[str, Any]]:
            tree = Tree(tx.log, signed.size) if form == "jsonl" else None
            for row in kind.read(tx, wanted, first, min(first + _WINDOW, signed.size)):
                if _may_see(taker.grants, row):
                    yield kind.record(row, tree)

        return _chunks(self._lines(head, write, records, signed.size, self._closing(signed, form, wanted, taker)))

    def log(self, taker: Exporter) -> Iterator[bytes]:
        """Yield every leaf of the log in chunks, and last the checkpoint of these leaves; raises as `signed_log`."""
        return self.signed_log(taker)[1]

    def signed_log(self, taker: Exporter) -> tuple[SignedCheckpoint, Iterator[bytes]]:
        """Return a checkpoint and every leaf that it covers, in chunks, which end with the checkpoint.

        Raises RequestRefusedError (`scope-not-granted`) if the auditor is limited to some scopes; raises LogError,
        BusyError or UnavailableError before the first chunk.
        """
        if taker.grants is not None:
            raise refuse(
                "scope-not-granted", "the whole log is for auditors of all scopes; export your records instead"
            )
        signed = self._begin("log", "jsonl", None, taker)
        closing = {"checkpoint": signed.note, "complete": True, "count": signed.size, "record": CLOSING}
        closing["last_sequence"] = signed.size - 1 if signed.size else None
        return signed, _chunks(self._leaves(signed.size, closing))

    def _leaves(self, size: int, closing: dict[str, Any]) -> Iterator[bytes]:
        sha256 = hashlib.sha256
        for first in range(0, size, _LEAVES):
            with self._store.read() as tx:
                leaves = tx.log.leaf_texts(first, min(_LEAVES, size - first))
            for sequence, text in enumerate(leaves, first):
                # A leaf is in canonical form, and so is the line, because its members are sorted by name.
                leaf = text.encode()
                digest = sha256(b"\x00" + leaf).hexdigest()
                yield b'{"leaf":%b,"leaf_hash":"%b","record":"leaf","sequence":%d}\n' % (
                    leaf,
                    digest.encode(),
                    sequence,
                )
        yield canonical(closing) + b"\n"

    def _begin(self, exported: Exported, form: Format, wanted: _AnyFilter | None, taker: Exporter) -> SignedCheckpoint:
        """Sign the log and record the export; a log that contradicts the last checkpoint is not exported.

        Raises LogError, BusyError or UnavailableError.
        """
        signed = self._checkpoints.checkpoint()
        now = self._clock()
        row = ExportRow(
            export_id=uuid7(now, self._randomness(10)),
            exported=exported,
            format=form,
            filters=canonical(_filters(wanted)).decode(),
            size=signed.size,
            actor=taker.name,
            role=taker.role,
            exported_at=now,
        )
        salt = self._randomness(SALT_SIZE)
        self._store.write(lambda tx: tx.log.add_export(row, salt)).result()
        return signed

    def _closing(self, signed: SignedCheckpoint, form: Format, wanted: _AnyFilter, taker: Exporter) -> dict[str, Any]:
        """Return the last record; `complete` is False, because selected records never prove that none is missing."""
        closing: dict[str, Any] = {"record": CLOSING, "complete": False, "checkpoint": signed.note}
        if form == "csv":
            return closing
        limits = {} if taker.grants is None else {"scopes": taker.grants}
        return closing | {"filters": _filters(wanted) | limits, "exported_at": format_time(self._clock())}

    def _lines(
        self,
        head: bytes,
        write: _Write,
        records: Callable[[Rows, int], Iterator[dict[str, Any]]],
        end: int,
        closing: dict[str, Any],
    ) -> Iterator[bytes]:
        """Yield lines, one window of the log at a time, so that a slow or lost reader holds no read snapshot."""
        count, last = 0, None
        yield head
        for first in range(0, end, _WINDOW):
            with self._store.read() as tx:
                lines = [(record["sequence"], write(record)) for record in records(tx, first)]
            for sequence, line in lines:
                count, last = count + 1, sequence
                yield line
        yield write(closing | {"count": count, "last_sequence": last})


def _filters(wanted: _AnyFilter | None) -> dict[str, Any]:
    members = {} if wanted is None else msgspec.structs.asdict(wanted)
    return {name: value for name, value in members.items() if value is not None}


def _may_see(grants: list[str] | None, row: AuditRow | DispositionRow | AuditNoteRow) -> bool:
    # A quarantined event with a private scope has no scope here; only auditors of all scopes may see it.
    return grants is None or covers(grants, row.submission_scope or "", row.scope_id or "")


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _prove(row: LeafRow | AuditRow | AuditNoteRow, tree: Tree | None) -> dict[str, Any]:
    """Return a record's leaf hash and sequence and, if there is a tree, its leaf and inclusion proof."""
    proven = {"sequence": row.sequence, "leaf_hash": leaf_hash(row.leaf.encode()).hex()}
    if tree is None:
        return proven
    path = inclusion_proof(row.sequence, tree.size, tree.nodes)
    return proven | {
        "leaf": msgspec.json.decode(row.leaf),
        "salt": None if row.salt is None else _base64(row.salt),
        "proof": [_base64(sibling) for sibling in path],
    }


def _review_record(row: AuditRow, tree: Tree | None) -> dict[str, Any]:
    members = {name: value for name, value in msgspec.structs.asdict(row).items() if name not in _OWN}
    members |= {"record": "review", "decided_at": format_time(row.decided_at)} | _prove(row, tree)
    if tree is None:
        shown, resulting = _decoded(row.shown), _decoded(row.resulting)
        members |= {"text_shown": shown.get("content"), "text_resulting": resulting.get("content")}
        members |= _cells(resulting or shown)
    return members


def _disposition_record(row: DispositionRow, tree: Tree | None) -> dict[str, Any]:
    """Return a stored answer with the exact texts that its leaf commits to; null texts if the commitment has no salt.

    Without a tree, return the members of a table row from the leaf.
    """
    members = {"record": "disposition"} | _prove(row, tree)
    if tree is not None:
        texts = {"receipt": row.receipt, "payload": row.payload, "source_span": row.source_span}
        return members | (dict.fromkeys(texts) if row.salt is None else texts)
    leaf = msgspec.json.decode(row.leaf)
    return members | {
        "producer_identity": leaf["actor"],
        "disposition": leaf["to"],
        "submission_scope": row.submission_scope,
        "scope_id": row.scope_id,
        **{name: leaf[name] for name in ("time", "reason_code", "policy_digest")},
        **leaf["subject"],
        "content": (payload := _decoded(row.payload if row.salt else None)).get("content"),
        "source_uri": _decoded(row.source_span if row.salt else None).get("uri"),
        **_cells(payload),
    }


def _decoded(text: str | None) -> dict[str, Any]:
    """Return an object that is kept as JSON; an empty one for None, and for null in a record of an encrypted event."""
    return dict(msgspec.json.decode(text) or {}) if text else {}


def _cells(payload: dict[str, Any]) -> dict[str, Any]:
    """Return kind and tags of a payload as cells of a table."""
    return {"kind": payload.get("kind"), "tags": " ".join(payload.get("tags", ()))}


def _note_record(row: AuditNoteRow, tree: Tree | None) -> dict[str, Any]:
    members = {name: value for name, value in msgspec.structs.asdict(row).items() if name not in _OWN}
    persons = row.persons if tree is not None else " ".join(row.persons)
    return (
        members | {"record": "note", "written_at": format_time(row.written_at), "persons": persons} | _prove(row, tree)
    )


class _Kind(Struct, Generic[_Filter, _Row], frozen=True):
    """One kind of export of records."""

    exported: Exported
    columns: tuple[str, ...]
    read: Callable[[Rows, _Filter, int, int], Iterable[_Row]]
    """Reads rows by a filter, from one sequence up to another."""
    everything: _Filter
    """The filter that selects all rows."""
    record: Callable[[_Row, Tree | None], dict[str, Any]]
    """Returns a record, with its proof if there is a tree, otherwise as cells of a table."""


_REVIEW_RECORDS: Final[_Kind[AuditFilter, AuditRow]] = _Kind(
    "review-records",
    COLUMNS,
    lambda tx, chosen, first, end: tx.reports.export_review_records(chosen, first, end),
    AuditFilter(),
    _review_record,
)
_DISPOSITIONS: Final[_Kind[SubmissionFilter, DispositionRow]] = _Kind(
    "dispositions",
    _DISPOSITION_COLUMNS,
    lambda tx, chosen, first, end: tx.log.dispositions(chosen, first, end),
    SubmissionFilter(),
    _disposition_record,
)

_NOTES: Final[_Kind[NoteFilter, AuditNoteRow]] = _Kind(
    "notes",
    _NOTE_COLUMNS,
    lambda tx, chosen, first, end: tx.notes.export(chosen, first, end),
    NoteFilter(),
    _note_record,
)
KINDS: Final[tuple[_Kind[Any, Any], ...]] = (_DISPOSITIONS, _REVIEW_RECORDS, _NOTES)
"""All kinds of records whose leaves commit to texts."""


def _writer(form: Format, columns: tuple[str, ...]) -> tuple[_Write, bytes]:
    """Return the function that writes a record, and the head of the export."""
    if form == "jsonl":
        return lambda members: canonical(members) + b"\n", b""
    return lambda members: csv_row(members.get(name) for name in columns), csv_row(columns)


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    chunk = bytearray()
    for line in lines:
        chunk += line
        if len(chunk) >= _CHUNK:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)
