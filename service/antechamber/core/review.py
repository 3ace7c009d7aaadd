"""The review: what a curator's decision does to a proposal, and who may make it."""

from typing import Any, Final, Literal

from msgspec import Struct

from antechamber.core.canonical import canonical, digest, normalize_text
from antechamber.core.contract import REASON_CODES, ReasonCode
from antechamber.core.errors import AntechamberError, ForbiddenDecisionError, StaleDecisionError

DecisionKind = Literal["approve", "edit", "reject"]
MAX_REASON: Final = 2000
"""Characters of a typed reason."""
EDITED_NEEDS: Final = 2
"""Persons that an edited text needs: whoever edited is not the only approver."""


class InvalidDecisionError(AntechamberError):
    """A decision form that is incomplete; the text says what to fill in."""


class Approval(Struct, frozen=True, kw_only=True):
    """One earlier approval of a text."""

    person: str
    version: int
    text_hash: str


class ReviewedProposal(Struct, frozen=True, kw_only=True):
    """What a decision needs to know of a proposal."""

    state: str
    version: int
    payload: dict[str, Any]
    owners: frozenset[str]
    """The persons who answered for the producer when it submitted, and who do now."""
    edited: bool
    withdrawn: bool
    approvals: list[Approval]
    curators: int
    """Persons that the policy wants."""


class Decision(Struct, frozen=True, kw_only=True):
    """What a curator's form says."""

    kind: DecisionKind
    version: int
    shown_hash: str
    decision_key: str
    reason_code: str | None = None
    reason_text: str = ""
    content: str = ""
    """The changed text, for an edit."""


class Ruling(Struct, frozen=True, kw_only=True):
    """What a decision does: the record to write and the proposal's next state."""

    state: Literal["pending", "approved", "rejected"]
    version: int
    reason_code: ReasonCode | None
    shown: bytes
    resulting: bytes | None
    """The canonical payload that was approved; None for a rejection."""
    approvals_required: int
    admits: bool


class Entry(Struct, frozen=True, kw_only=True):
    """Everything that a decision writes, in one piece."""

    decision: Decision
    ruling: Ruling
    review_record_id: str
    memory_id: str
    """The id that the memory gets, if the ruling admits one."""
    policy_digest: str
    decided_at: int


def text_hash(text: bytes) -> str:
    """Name the exact text that a curator was shown: the digest of a payload's canonical bytes."""
    return digest(text)


def required_persons(proposal: ReviewedProposal) -> int:
    """Return how many distinct persons must approve the current text."""
    return max(proposal.curators, EDITED_NEEDS) if proposal.edited else proposal.curators


def standing_approvals(proposal: ReviewedProposal) -> set[str]:
    """Return who approved the current text at its current version."""
    current = text_hash(canonical(proposal.payload))
    return {a.person for a in proposal.approvals if a.version == proposal.version and a.text_hash == current}


def blocker(proposal: ReviewedProposal, person: str, kind: DecisionKind) -> str | None:
    """Say why this person cannot make this decision now, or None."""
    if person in proposal.owners:
        return "You answer for this producer, so somebody else has to judge its proposals."
    if kind == "reject":
        return None
    if proposal.withdrawn:
        return "The producer withdrew this event as private. Reject it with the reason private."
    if kind == "approve" and person in standing_approvals(proposal):
        return "You have approved this text already. It needs a second person."
    return None


def rule(proposal: ReviewedProposal, decision: Decision, person: str) -> Ruling:
    """Apply a decision to a proposal.

    Raises StaleDecisionError when the proposal is not what the curator was shown, ForbiddenDecisionError when this
    person may not decide so, InvalidDecisionError when the form lacks something.
    """
    shown = canonical(proposal.payload)
    if proposal.state != "pending":
        message = f"this proposal was {proposal.state} meanwhile"
        raise StaleDecisionError(message)
    if decision.version != proposal.version or decision.shown_hash != text_hash(shown):
        message = "the text or its findings changed after this page was shown"
        raise StaleDecisionError(message)
    if (reason := blocker(proposal, person, decision.kind)) is not None:
        raise ForbiddenDecisionError(reason)
    code = _reason_code(decision)
    match decision.kind:
        case "reject":
            return Ruling(
                state="rejected",
                version=proposal.version,
                reason_code=code,
                shown=shown,
                resulting=None,
                approvals_required=required_persons(proposal),
                admits=False,
            )
        case "edit":
            return _edited(proposal, shown, _changed(proposal, decision), code)
        case _:
            return _approved(proposal, shown, person, code)


def _approved(proposal: ReviewedProposal, shown: bytes, person: str, code: ReasonCode | None) -> Ruling:
    required = required_persons(proposal)
    admits = len(standing_approvals(proposal) | {person}) >= required
    return Ruling(
        state="approved" if admits else "pending",
        version=proposal.version,
        reason_code=code,
        shown=shown,
        resulting=shown,
        approvals_required=required,
        admits=admits,
    )


def _edited(proposal: ReviewedProposal, shown: bytes, resulting: bytes, code: ReasonCode | None) -> Ruling:
    """Approve a changed text: it raises the version, voids earlier approvals and waits for a second person."""
    return Ruling(
        state="pending",
        version=proposal.version + 1,
        reason_code=code,
        shown=shown,
        resulting=resulting,
        approvals_required=max(proposal.curators, EDITED_NEEDS),
        admits=False,
    )


def _changed(proposal: ReviewedProposal, decision: Decision) -> bytes:
    content = normalize_text(decision.content).strip("\t\n ")
    if not content:
        message = "The changed text is blank. Write the text to remember, or reject the proposal."
        raise InvalidDecisionError(message)
    if content == proposal.payload["content"]:
        message = "The text is unchanged. Change it, or approve it as it stands."
        raise InvalidDecisionError(message)
    return canonical({**proposal.payload, "content": content})


def _reason_code(decision: Decision) -> ReasonCode | None:
    if len(decision.reason_text) > MAX_REASON:
        message = f"Shorten the note to {MAX_REASON} characters."
        raise InvalidDecisionError(message)
    if decision.reason_code is None and decision.kind == "approve":
        return None
    for code in REASON_CODES:
        if code == decision.reason_code:
            return code
    message = "Choose a reason: " + ", ".join(REASON_CODES) + "."
    raise InvalidDecisionError(message)
