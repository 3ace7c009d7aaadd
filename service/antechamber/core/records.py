"""What the store keeps, as the flows and pages see it: one struct per kind of row.

Times are microseconds since 1970 UTC.
"""

from typing import Any

from msgspec import Struct

from antechamber.core.contract import MemoryState, ProposalState, ReasonCode, Scope, Visibility
from antechamber.core.privacy import Finding
from antechamber.core.review import RecordKind
from antechamber.core.roles import PersonRole, TokenRole


class StoredReceipt(Struct, frozen=True, kw_only=True):
    """A receipt as it was answered, and what became of its proposal."""

    receipt: str
    state: ProposalState | None
    decided_at: int | None
    reason_code: ReasonCode | None
    memory_id: str | None


class MemoryHit(Struct, frozen=True, kw_only=True):
    """One memory that retrieval found."""

    memory_id: str
    payload: dict[str, Any]
    submission_scope: Scope
    scope_id: str
    source_span: dict[str, Any]
    supersedes: str | None
    """What the producer claimed."""
    replaces: str | None
    """What it superseded by the curators' decision."""
    admitted_at: int


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


class MemoryFilter(Struct, frozen=True, kw_only=True):
    """Which memories are asked for; what is empty asks for nothing."""

    words: list[str] = []
    """All of them must be in the text."""
    submission_scope: str = ""
    scope_id: str = ""
    at: int | None = None
    """Only what was active before this moment, in microseconds since 1970 UTC; None for all, whatever their state."""


class BrowsedMemory(Struct, frozen=True, kw_only=True):
    """One memory in the desk's list."""

    memory_id: str
    payload: dict[str, Any]
    submission_scope: Scope
    scope_id: str
    state: MemoryState
    admitted_at: int
    producer_identity: str


class MemoryRow(BrowsedMemory, frozen=True, kw_only=True):
    """One memory with where it came from."""

    id: int
    text_hash: str
    source_span: dict[str, Any]
    supersedes: str | None
    """What the producer claimed."""
    replaces: str | None
    """The memory that it superseded by the curators' decision."""
    replaced_by: str | None
    version: int
    proposal: int
    proposal_id: str


class NearMemory(Struct, frozen=True, kw_only=True):
    """One active memory of a proposal's scope."""

    memory_id: str
    payload: dict[str, Any]
    admitted_at: int


class MemoryChange(Struct, frozen=True, kw_only=True):
    """One state of a memory and the decision that brought it about."""

    state: MemoryState
    changed_at: int
    review_record_id: str
    decision: RecordKind
    reason_code: ReasonCode | None
    reason_text: str
    person: str


class QuarantineRow(Struct, frozen=True, kw_only=True):
    """One refused event, beside the original it collided with."""

    id: int
    quarantine_id: str
    kind: str
    state: str
    keyed: bool
    source_event_hash: str | None
    producer_identity: str
    idempotency_key: str | None
    submission_scope: Scope | None
    scope_id: str | None
    visibility: Visibility | None
    supersedes: str | None
    payload: dict[str, Any] | None
    source_span: dict[str, Any] | None
    findings: list[Finding]
    owner: str
    """Who answered for the producer when the event was refused."""
    received_at: int
    proposal_id: str | None
    original_payload: dict[str, Any] | None
    original_span: dict[str, Any] | None
    original_scope: Scope | None
    original_scope_id: str | None
    original_visibility: Visibility | None
    original_supersedes: str | None
    original_disposition: str
    original_received_at: int
    original_owner: str | None
    """Who answered for the producer when it submitted the original."""
    version: int
    """How many decisions were made on it."""
    opened_as: str | None
    """The proposal that it became when a curator opened it."""


class TokenRow(Struct, frozen=True, kw_only=True):
    """One token as operators list it; the secret is nowhere."""

    token_id: str
    name: str
    role: TokenRole
    read: list[str]
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


class TokenCheck(Struct, frozen=True, kw_only=True):
    """What decides whether a presented token is good."""

    id: int
    name: str
    role: TokenRole
    read: list[str]
    expires_at: int | None
    revoked_at: int | None


class UserRow(Struct, frozen=True, kw_only=True):
    """One account; `person` tells two accounts of the same human apart from two humans."""

    id: int
    name: str
    person: str
    role: PersonRole
    password: str | None
    created_at: int
    disabled_at: int | None


class SessionRow(Struct, frozen=True, kw_only=True):
    """A session with its user."""

    id: int
    name: str
    person: str
    role: PersonRole
    keys: str | None
    views: str | None
    created_at: int
    seen_at: int
    proof: str


class TallyRow(Struct, frozen=True, kw_only=True):
    """How often something happened, in an hour or to a producer's submissions."""

    name: str
    number: int
    hour: int = 0
    producer_identity: str = ""


class DecisionFigure(Struct, frozen=True, kw_only=True):
    """One decision on a proposal as figures need it; times are microseconds."""

    decision: RecordKind
    reason_code: ReasonCode | None
    waited: int


class OldestPending(Struct, frozen=True, kw_only=True):
    """The proposal that has waited longest."""

    proposal_id: str
    received_at: int


class ProcessRow(Struct, frozen=True, kw_only=True):
    """A running process and the policy it enforces."""

    process_id: str
    name: str
    policy_digest: str | None
    seen_at: int
