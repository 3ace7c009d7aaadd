"""Rows of blind items: calibration items and second looks, and the decisions on them."""

from msgspec import Struct

from antechamber.core.contract import ReasonCode, Scope
from antechamber.core.review.blind import BlindKind, Verdict, verdict_of
from antechamber.core.review.decision import DecisionKind


class BlindEvent(Struct, frozen=True, kw_only=True):
    """The event that a blind item shows; texts are in their canonical form, times in microseconds since 1970 UTC."""

    producer_identity: str
    owner: str
    submission_scope: Scope
    scope_id: str
    payload: str
    source_span: str
    supersedes: str | None
    derived_from: str | None
    """A JSON array."""
    visibility: str | None
    observed_at: int | None
    received_at: int
    hash: str
    """Takes the place of the event's hash, which another event must never have."""


class BlindItemWrite(Struct, frozen=True, kw_only=True):
    """Everything that a new blind item writes."""

    blind_item_id: str
    proposal_id: str
    kind: BlindKind
    event: BlindEvent
    review_record_id: str | None = None
    """The decision that a second look is compared with."""
    verdict: Verdict
    explanation: str
    policy_digest: str
    added_at: int
    salt: bytes


class BlindItem(Struct, frozen=True, kw_only=True):
    """One blind item, and the decision on it if there is one."""

    id: int
    blind_item_id: str
    kind: BlindKind
    proposal_id: str
    verdict: Verdict
    explanation: str
    original: int | None
    """The integer key of the proposal that a second look repeats."""
    decision: DecisionKind | None
    person: str | None
    added_at: int
    decided_at: int | None

    @property
    def agrees(self) -> bool | None:
        """Whether the decision came to the verdict; None before it, and for a request for a second person."""
        judged = None if self.decision is None else verdict_of(self.decision)
        return None if judged is None else judged == self.verdict


class BlindDecisionWrite(Struct, frozen=True, kw_only=True):
    """Everything that a decision on a blind item writes."""

    blind_decision_id: str
    item: BlindItem
    decision: DecisionKind
    reason_code: ReasonCode | None
    warned: bool
    decision_key: str
    policy_digest: str
    decided_at: int
    salt: bytes
