"""Rows of the log, and what is written beside a leaf. Times are microseconds since 1970 UTC."""

from typing import Literal, NamedTuple

from msgspec import Struct

from antechamber.core.contract import Change

Role = Literal["producer", "reader", "curator", "auditor", "operator"]
Exported = Literal["log", "review-records", "dispositions", "notes"]
Format = Literal["jsonl", "csv"]


class SignedCheckpoint(Struct, frozen=True, kw_only=True):
    """A checkpoint as it was published."""

    size: int
    note: str
    signed_at: int


class LeafRow(Struct, frozen=True, kw_only=True):
    """One leaf and its sequence, which starts at 0."""

    sequence: int
    leaf: str
    salt: bytes | None


class ExportRow(Struct, frozen=True, kw_only=True):
    """One export: its actor, its content and the size of the log that it covers."""

    export_id: str
    exported: Exported
    format: Format
    filters: str
    """Canonical JSON."""
    size: int
    actor: str
    role: Role
    exported_at: int


class DispositionRow(LeafRow, frozen=True, kw_only=True):
    """One stored answer with its leaf; texts that may be private are None."""

    receipt: str | None
    payload: str | None
    source_span: str | None
    submission_scope: str | None
    scope_id: str | None


class FeedEntry(NamedTuple):
    """What the change feed says at a leaf: of one memory, or of those of a proposal, by their integer keys.

    `changed_at` is in microseconds since 1970 UTC.
    """

    change: Change
    changed_at: int
    memory: int | None = None
    proposal: int | None = None


class LeafWrite(NamedTuple):
    """A leaf to append, what it is found by, the salt of its commitment, and its change for the feed.

    `subject` is a public id or a name; of a submission's leaf the store finds by `submission`, its integer key.
    """

    leaf: bytes
    subject: str | None
    salt: bytes | None
    submission: int | None = None
    feed: FeedEntry | None = None
