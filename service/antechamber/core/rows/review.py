"""Rows of proposals and their review records."""

from typing import Any

from msgspec import Struct

from antechamber.core.contract import MemoryState, ProposalState, ReasonCode, Scope, Visibility
from antechamber.core.review.decision import RecordKind


class QueueRow(Struct, frozen=True, kw_only=True):
    """One pending proposal in the review queue."""

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
    """Whether a curator asked for a second person."""
    claimed_by: str | None
    claimed_until: int | None
    id: int
    fold: int
    """The fold that the row represents; 0 if the proposal is not sorted yet."""
    rank: int
    turn: int
    like_it: int
    """How many proposals of the fold wait, including this one."""


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
    """The current payload."""
    proposed: dict[str, Any]
    """The payload as it was submitted."""
    edited: bool
    source_span: dict[str, Any]
    visibility: Visibility | None
    supersedes: str | None
    derived_from: list[str] | None
    """Ids of the memories that the producer claims to have used, sorted."""
    observed_at: int | None
    received_at: int
    state: ProposalState
    version: int
    withdrawn: bool
    redacted_by: str | None
    """The person who redacted a sealed event into this text."""
    second: bool
    """Whether a curator asked for a second person."""
    replaces: str | None
    """The memory that this text supersedes once it is admitted, and that memory's state."""
    replaces_state: MemoryState | None
    memory_id: str | None
    """The memory that it became last, and that memory's state."""
    memory_state: MemoryState | None
    claimed_by: str | None
    claimed_until: int | None
    like_it: int
    """How many proposals of its fold wait, including this one."""
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
    declares_private: bool
    """Whether the producer declared the event private."""


class ReviewRecordRow(Struct, frozen=True, kw_only=True):
    """One decision on a proposal or a quarantined event."""

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
    """The review record that it undoes."""
    self_edit: bool
    """Whether the editor of the text was its only approver, as the policy allows."""


class LatestDecision(Struct, frozen=True, kw_only=True):
    """One decision in the list of the latest ones."""

    review_record_id: str
    decision: RecordKind
    reason_code: ReasonCode | None
    person: str
    decided_at: int
    shown: dict[str, Any] | None
    """The payload; None if nothing was kept of a quarantined event."""
    proposal_id: str | None
    quarantine_id: str | None


class ProducerRecord(Struct, frozen=True, kw_only=True):
    """The number of a producer's proposals by outcome."""

    approved: int
    rejected: int
    overturned: int
    """Decisions on them that were undone."""
    counted: int
    """How many of the latest 2,000 decisions on all proposals were on this producer's."""


class AuditRow(ReviewRecordRow, frozen=True, kw_only=True):
    """One decision with its proposal, as auditors list and export it."""

    sequence: int
    """The sequence of its leaf."""
    leaf: str
    salt: bytes | None
    """Salt of the leaf's commitment; None if the text was erased."""
    proposal_id: str | None
    quarantine_id: str | None
    """The quarantined event that was decided on, if it was not a proposal."""
    approvals_required: int
    submission_scope: Scope | None
    scope_id: str | None
    source_event_hash: str | None
    producer_identity: str
    memory_id: str | None


class AuditFilter(Struct, frozen=True, kw_only=True):
    """The conditions of an auditor's filter on review records; None is no condition."""

    since: int | None = None
    until: int | None = None
    submission_scope: str | None = None
    scope_id: str | None = None
    decision: str | None = None
    curator: str | None = None
    producer_identity: str | None = None
    reason_code: str | None = None
