"""Rows of a policy rehearsal: stored submissions with all that a policy judges, and the decisions on them."""

from msgspec import Struct

from antechamber.core.contract import Disposition, ProposalState, Scope, Visibility
from antechamber.core.review.decision import RecordKind


class RehearsalWindow(Struct, frozen=True, kw_only=True):
    """The submissions that a rehearsal reads, by their integer keys, both included."""

    first: int
    last: int
    number: int
    """How many they are, with those that cannot be replayed."""


class RehearsedSubmission(Struct, frozen=True, kw_only=True):
    """One stored submission; `payload` is None if the store has no text of it.

    Of a duplicate, payload and source span are those of the proposal that it joined, which are equal; its claims and
    `observed_at` are not stored.
    """

    id: int
    submission_id: str
    producer_identity: str
    idempotency_key: str
    disposition: Disposition
    reason_code: str | None
    submission_scope: Scope | None
    scope_id: str | None
    source_event_hash: str | None
    visibility: Visibility | None
    received_at: int
    """Microseconds since 1970 UTC."""
    proposal: int | None
    """The proposal that it made or joined."""
    proposal_id: str | None
    proposal_state: ProposalState | None
    erased: bool
    """Whether the text was erased."""
    sealed: bool
    """Whether it is private, and kept encrypted."""
    payload: str | None
    """Canonical JSON, as are source span and claims."""
    source_span: str | None
    supersedes: str | None
    derived_from: str | None
    observed_at: int | None
    owner: str | None
    """Who answered for the producer of the proposal when it was submitted."""
    edited: bool
    second: bool
    """Whether a curator asked for a second person."""
    redacted_by: str | None
    memory_payload: str | None
    """The text of the active memory that it became; None if there is none, or for a duplicate."""
    memory_version: int | None


class RehearsedDecision(Struct, frozen=True, kw_only=True):
    """One decision on a proposal."""

    proposal: int
    decision: RecordKind
    person: str
    resulting_version: int
    resulting_hash: str | None
