"""Rows of submissions."""

from msgspec import Struct

from antechamber.core.contract import Channel, Disposition, ProposalState, ReasonCode, Scope


class StoredReceipt(Struct, frozen=True, kw_only=True):
    """A receipt as it was answered, and what became of its proposal."""

    receipt: str
    state: ProposalState | None
    decided_at: int | None
    reason_code: ReasonCode | None
    memory_id: str | None


class SubmissionFilter(Struct, frozen=True, kw_only=True):
    """Which submissions are asked for; None means all. Times are microseconds since 1970 UTC."""

    since: int | None = None
    until: int | None = None
    disposition: Disposition | None = None
    producer_identity: str | None = None
    submission_scope: Scope | None = None
    scope_id: str | None = None
    reason_code: str | None = None


class ListedSubmission(Struct, frozen=True, kw_only=True):
    """One submission, or one refused event that came under the key of another."""

    place: str
    """Its id, by which lists are ordered: ids begin with their time."""
    producer_identity: str
    idempotency_key: str | None
    """None for a private event: the key may say what it is about."""
    disposition: Disposition
    reason_code: str | None
    submission_scope: Scope | None
    scope_id: str | None
    received_at: int
    replays: int
    channel: Channel | None
    """By which way it came first; None for a refused event under another's key."""
    proposal_id: str | None
    quarantine_id: str | None
