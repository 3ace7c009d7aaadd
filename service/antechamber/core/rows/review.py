"""Rows of proposals and their review records."""

from typing import Any

from msgspec import Struct

from antechamber.core.contract import MemoryState, ProposalState, ReasonCode, Scope, Visibility
from antechamber.core.review.decision import RecordKind


class QueueRow(Struct, frozen=True, kw_only=True):
    """One pending proposal in the queue."""

    proposal_id: str
    payload: dict[str, Any]
    submission_scope: Scope
    scope_id: str
    received_at: int
    version: int
    withdrawn: bool
    owner: str
    producer_identity: str
    owners: int
    """Distinct owners of independent evidence."""
    conflicts: int
    approvals: int
    second: bool
    """Whether a curator asked for a second one."""
    claimed_by: str | None
    claimed_until: int | None
    id: int
    fold: int
    """The fold that the row stands for; 0 for what is not sorted yet."""
    rank: int
    turn: int
    like_it: int
    """How many proposals of the fold wait, this one included."""


class ProposalRow(Struct, frozen=True, kw_only=True):
    """One proposal with its first submission."""

    id: int
    proposal_id: str
    producer_identity: str
    owner: str
    submission_scope: Scope
    scope_id: str
    source_event_hash: str
    payload: dict[str, Any]
    """The text as it stands now."""
    proposed: dict[str, Any]
    """The text as it was submitted."""
    edited: bool
    source_span: dict[str, Any]
    visibility: Visibility | None
    supersedes: str | None
    observed_at: int | None
    received_at: int
    state: ProposalState
    version: int
    withdrawn: bool
    second: bool
    """Whether a curator asked for a second one."""
    replaces: str | None
    """The memory that this text supersedes once it is admitted, and that memory's state."""
    replaces_state: MemoryState | None
    memory_id: str | None
    """The memory that it became last, and that memory's state."""
    memory_state: MemoryState | None
    claimed_by: str | None
    claimed_until: int | None
    like_it: int
    """How many proposals of its fold wait, this one included."""
    decided_at: int | None
    submission_id: str
    idempotency_key: str
    replays: int
    policy_digest: str


class EvidenceRow(Struct, frozen=True, kw_only=True):
    """Another producer's independent submission of the same event."""

    producer_identity: str
    owner: str
    received_at: int
    replays: int


class ConflictMark(Struct, frozen=True, kw_only=True):
    """A quarantined event under the key of a proposal."""

    quarantine_id: str
    received_at: int
    keyed: bool


class ReviewRecordRow(Struct, frozen=True, kw_only=True):
    """One decision on a proposal or a refused event."""

    review_record_id: str
    version: int
    resulting_version: int
    decision: RecordKind
    reason_code: ReasonCode | None
    reason_text: str
    curator: str
    person: str
    shown: str
    shown_hash: str
    resulting: str | None
    resulting_hash: str | None
    policy_digest: str
    decided_at: int
    target: str | None
    """The memory that the decision names."""
    undoes: str | None
    """The review record that it takes back."""


class LatestDecision(Struct, frozen=True, kw_only=True):
    """One decision in the list of the latest ones."""

    review_record_id: str
    decision: RecordKind
    reason_code: ReasonCode | None
    person: str
    decided_at: int
    shown: dict[str, Any] | None
    """The payload; None where nothing was kept of a refused event."""
    proposal_id: str | None
    quarantine_id: str | None


class ProducerRecord(Struct, frozen=True, kw_only=True):
    """What became of a producer's proposals."""

    approved: int
    rejected: int
    overturned: int
    """Decisions on them that were taken back."""
    counted: int
    """Its share of the latest 2,000 decisions on all proposals."""


class AuditRow(ReviewRecordRow, frozen=True, kw_only=True):
    """One decision with the proposal it belongs to, as auditors list and export it."""

    place: int
    sequence: int
    """Where its leaf stands in the log."""
    leaf: str
    salt: bytes | None
    """Of the leaf's commitment; None where the text was erased."""
    proposal_id: str | None
    quarantine_id: str | None
    """The refused event that was decided on, where it was not a proposal."""
    approvals_required: int
    submission_scope: Scope | None
    scope_id: str | None
    source_event_hash: str | None
    producer_identity: str
    memory_id: str | None


class AuditFilter(Struct, frozen=True, kw_only=True):
    """Which review records an auditor asks for; None means all."""

    since: int | None = None
    until: int | None = None
    submission_scope: str | None = None
    scope_id: str | None = None
    decision: str | None = None
    curator: str | None = None
    producer_identity: str | None = None
    reason_code: str | None = None
