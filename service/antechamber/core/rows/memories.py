"""Rows of memories and their changes."""

from typing import Any

from msgspec import Struct

from antechamber.core.contract import MemoryState, ReasonCode, Scope
from antechamber.core.review.decision import RecordKind


class MemoryHit(Struct, frozen=True, kw_only=True):
    """One memory in a result of retrieval."""

    memory_id: str
    payload: dict[str, Any]
    submission_scope: Scope
    scope_id: str
    source_span: dict[str, Any]
    supersedes: str | None
    """The memory that the producer claims to supersede."""
    replaces: str | None
    """The memory that it superseded by the curators' decision."""
    admitted_at: int


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
    """One state of a memory and the decision that caused it."""

    state: MemoryState
    changed_at: int
    review_record_id: str
    decision: RecordKind
    reason_code: ReasonCode | None
    reason_text: str
    person: str
