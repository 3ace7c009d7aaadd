"""Rows of submissions."""

from typing import Any

from msgspec import Struct

from antechamber.core.contract import Channel, Disposition, ProposalState, ReasonCode, Scope
from antechamber.core.rows.notes import NoteRow


class StoredReceipt(Struct, frozen=True, kw_only=True):
    """A stored receipt, and the review status of its proposal."""

    receipt: str
    state: ProposalState | None
    decided_at: int | None
    reason_code: ReasonCode | None
    reason_text: str | None
    """None if the proposal is another producer's."""
    memory_id: str | None
    payload: dict[str, Any] | None
    """The payload as it was admitted."""
    notes: list[NoteRow]
    """Empty if the proposal is another producer's."""


class SubmissionFilter(Struct, frozen=True, kw_only=True):
    """The conditions of a filter on submissions; None is no condition. Times are microseconds since 1970 UTC."""

    since: int | None = None
    until: int | None = None
    disposition: Disposition | None = None
    producer_identity: str | None = None
    submission_scope: Scope | None = None
    scope_id: str | None = None
    reason_code: str | None = None


class ListedSubmission(Struct, frozen=True, kw_only=True):
    """One submission, or one quarantined event under the key of another submission."""

    cursor: str
    """The id, which also orders the list, because ids begin with their time."""
    producer_identity: str
    idempotency_key: str | None
    """None for a private event, because the key may reveal its content."""
    disposition: Disposition
    reason_code: str | None
    submission_scope: Scope | None
    scope_id: str | None
    received_at: int
    replays: int
    channel: Channel | None
    """The channel of the first attempt; None for a quarantined event under another submission's key."""
    proposal_id: str | None
    quarantine_id: str | None
