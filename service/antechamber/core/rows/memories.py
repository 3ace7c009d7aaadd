"""Rows of memories and their changes."""

from typing import Any

from msgspec import Struct

from antechamber.core.contract import Change, MemoryState, ReasonCode, Scope
from antechamber.core.review.decision import RecordKind


class MemoryHit(Struct, frozen=True, kw_only=True):
    """One memory as agents read it."""

    id: int
    memory_id: str
    payload: dict[str, Any]
    submission_scope: Scope
    scope_id: str
    source_span: dict[str, Any]
    supersedes: str | None
    """The memory that the producer claims to supersede."""
    derived_from: list[str] | None
    """Ids of the memories that the producer claims to have used, sorted."""
    replaces: str | None
    """The memory that it superseded by the curators' decision."""
    admitted_at: int
    state: MemoryState
    producer_identity: str
    evidence: int
    """Number of other owners whose producers submitted the same event."""
    approvals: int
    """Number of persons who approved its text."""
    review_record_ids: list[str]
    """Ids of their review records, the earliest first."""


class MemoryPlace(Struct, frozen=True, kw_only=True):
    """Where a memory is: its integer key and its scope."""

    id: int
    submission_scope: Scope
    scope_id: str


class MemoryEnd(Struct, frozen=True, kw_only=True):
    """How a memory ended last."""

    ended_at: int
    review_record_id: str
    superseded_by: str | None


class FeedRow(Struct, frozen=True, kw_only=True):
    """One change in the change feed."""

    sequence: int
    change: Change
    changed_at: int
    memory: int
    memory_id: str
    state: MemoryState
    """The state of the memory now."""
    size: int
    """Number of characters of its payload; 0 if it is not active."""


class ChangedScope(Struct, frozen=True, kw_only=True):
    """The scope of a change, and its sequence."""

    submission_scope: str
    scope_id: str
    sequence: int


class MemoryFilter(Struct, frozen=True, kw_only=True):
    """The conditions of a filter on memories; an empty member is no condition."""

    words: list[str] = []
    """Words that the text must contain, all of them."""
    submission_scope: str = ""
    scope_id: str = ""
    at: int | None = None
    """Only memories active just before this time, in microseconds since 1970 UTC; None for memories in any state."""


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
    """One memory with its origin."""

    id: int
    text_hash: str
    source_span: dict[str, Any]
    supersedes: str | None
    """The memory that the producer claims to supersede."""
    derived_from: list[str] | None
    """Ids of the memories that the producer claims to have used, sorted."""
    replaces: str | None
    """The memory that it superseded by the curators' decision."""
    replaced_by: str | None
    version: int
    proposal: int
    proposal_id: str


class DerivedRow(Struct, frozen=True, kw_only=True):
    """A waiting proposal, or an active memory, that claims to be derived from a memory, directly or over others."""

    proposal_id: str
    memory_id: str | None
    """The active memory; None for a proposal that waits."""
    submission_scope: str
    scope_id: str
    payload: dict[str, Any]


class NearMemory(Struct, frozen=True, kw_only=True):
    """One active memory of a proposal's scope, and the event that proposed it."""

    memory_id: str
    payload: dict[str, Any]
    admitted_at: int
    source_span: dict[str, Any]
    producer_identity: str
    owner: str
    """Who owned the producer when it proposed the memory."""
    received_at: int


class MemoryChange(Struct, frozen=True, kw_only=True):
    """One state of a memory and the decision that caused it."""

    state: MemoryState
    changed_at: int
    review_record_id: str
    decision: RecordKind
    reason_code: ReasonCode | None
    reason_text: str
    person: str
