"""Rows of counters and processes."""

from msgspec import Struct

from antechamber.core.contract import ReasonCode
from antechamber.core.review.decision import RecordKind


class CountRow(Struct, frozen=True, kw_only=True):
    """How often something happened in an hour, or to a producer's submissions."""

    name: str
    number: int
    hour: int = 0
    producer_identity: str = ""


class DecisionFigure(Struct, frozen=True, kw_only=True):
    """One decision on a proposal, for figures; times are microseconds."""

    decision: RecordKind
    reason_code: ReasonCode | None
    waited: int


class OldestPending(Struct, frozen=True, kw_only=True):
    """The proposal that has waited longest."""

    proposal_id: str
    received_at: int


class ProcessRow(Struct, frozen=True, kw_only=True):
    """A running process and the policy that it enforces."""

    process_id: str
    name: str
    policy_digest: str | None
    seen_at: int
