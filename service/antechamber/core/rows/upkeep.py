"""Rows of the upkeep of memories: who read them, and when they come up for review.

Times are microseconds since 1970 UTC.
"""

from typing import Any, Literal

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.contract import ProposalState, Scope
from antechamber.core.rows.memories import BrowsedMemory
from antechamber.core.rows.review import ProposalRow


class ReadCount(Struct, frozen=True, kw_only=True):
    """How often the holder of a token read a memory in an hour."""

    memory: int
    hour: int
    """Hours since 1970 UTC."""
    role: str
    name: str
    """The producer's identity, or the name of a reader's token."""
    number: int
    last_read_at: int


class ReaderRow(Struct, frozen=True, kw_only=True):
    """One holder of a token that read a memory."""

    role: str
    name: str
    number: int
    last_read_at: int


class UpkeepRow(Struct, frozen=True, kw_only=True):
    """When a memory comes up for review."""

    idle_since: int
    """When it was admitted, read or kept last."""
    last_read_at: int | None
    """When it was read last, to the hour; None if no read was counted."""
    review_after: int | None
    """The last microsecond of the day after which it comes up for review."""


class ReviewDateRow(Struct, frozen=True, kw_only=True):
    """One review date that a curator set; None took the date away."""

    review_date_id: str
    review_after: int | None
    person: str
    set_at: int


class ReviewDateWrite(Struct, frozen=True, kw_only=True):
    """Everything that a new review date writes."""

    review_date_id: str
    proposal: ProposalRow
    """The proposal of the memory."""
    account: Account
    before: int | None
    """The review date that it replaces."""
    review_after: int | None
    decision_key: str
    policy_digest: str
    set_at: int
    salt: bytes


class NamingProposal(Struct, frozen=True, kw_only=True):
    """A proposal that names a memory, with the member that does."""

    proposal_id: str
    payload: dict[str, Any]
    submission_scope: Scope
    scope_id: str
    state: ProposalState
    received_at: int
    producer_identity: str
    claim: Literal["derived_from", "supersedes"]


class DueMemory(BrowsedMemory, frozen=True, kw_only=True):
    """An active memory that comes up for review."""

    id: int
    due_at: int
    cause: Literal["date", "unread"]
    """Whether its review date has passed, or it was not read for too long."""
    idle_since: int
    last_read_at: int | None
    review_after: int | None


class DueCursor(Struct, frozen=True):
    """The position of a memory in the list of those that come up for review."""

    due_at: int = 0
    memory: int = 0
