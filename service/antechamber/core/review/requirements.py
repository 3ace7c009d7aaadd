"""The requirements of an approval, modeled on Gerrit's submit requirements: each explains how to satisfy it.

Findings inform; only a requirement that is unsatisfied or could not be evaluated prevents the approval.
"""

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.admission.canonical import canonical
from antechamber.core.policy import Rules
from antechamber.core.privacy import Finding
from antechamber.core.review.decision import (
    ReviewedProposal,
    may_finish_alone,
    owner_obstacle,
    repeated_approval,
    required_persons,
    standing_approvals,
    target_obstacle,
    withdrawal_obstacle,
)

RequirementState = Literal["satisfied", "unsatisfied", "not-applicable", "overridden", "error"]
BLOCKING: Final = frozenset({"unsatisfied", "error"})


class Requirement(Struct, frozen=True):
    """One requirement of an approval."""

    code: str
    state: RequirementState
    text: str
    """The current situation, and what to do if it is unsatisfied."""
    blocks: bool = True
    """Whether it prevents this person from approving, and not only the text from being admitted."""


class Situation(Struct, frozen=True, kw_only=True):
    """The facts on which requirements are evaluated."""

    proposal: ReviewedProposal
    person: str
    rules: Rules
    findings: list[Finding]
    """What makes everything of the proposal that a memory would repeat private."""
    warnings: list[Finding] = []
    """What rules with the action `warn` find there."""
    passed: list[Finding]
    """What rules that the policy switched off would find there."""


def evaluate(situation: Situation) -> list[Requirement]:
    """Evaluate all requirements; one whose evaluation fails has the state `error` and blocks."""
    return [_evaluate_one(code, check, situation) for code, check in CHECKS.items()]


def obstacle(requirements: list[Requirement]) -> str | None:
    """Return what prevents a person from approving, or None."""
    return next(
        (requirement.text for requirement in requirements if requirement.blocks and requirement.state in BLOCKING), None
    )


def _evaluate_one(code: str, check: Callable[[Situation], Requirement], situation: Situation) -> Requirement:
    try:
        return check(situation)
    except Exception as error:  # noqa: BLE001 -- after any failure the requirement must not count as satisfied
        return Requirement(code, "error", f"Whether {code} holds could not be found out ({type(error).__name__}).")


def _other_person(situation: Situation) -> Requirement:
    if (text := owner_obstacle(situation.proposal.owners, situation.person)) is not None:
        return Requirement("other-person", "unsatisfied", text)
    return Requirement("other-person", "satisfied", "You are independent of this producer's owner.")


def _not_withdrawn(situation: Situation) -> Requirement:
    if (text := withdrawal_obstacle(situation.proposal)) is not None:
        return Requirement("not-withdrawn", "unsatisfied", text)
    return Requirement("not-withdrawn", "satisfied", "Not withdrawn by the producer.")


def _no_private_data(situation: Situation) -> Requirement:
    if situation.findings:
        names = _names(situation.findings)
        text = f"The text holds private data ({names}). Remove it, or reject the proposal with the reason private."
        return Requirement("no-private-data", "unsatisfied", text)
    if situation.passed:
        text = f"The policy switched these rules off, which found something: {_names(situation.passed)}."
        return Requirement("no-private-data", "overridden", text)
    return Requirement("no-private-data", "satisfied", "No private data detected.")


def _names(findings: list[Finding]) -> str:
    return ", ".join(sorted({finding.rule_id for finding in findings}))


def _fits(situation: Situation) -> Requirement:
    size, limit = len(canonical(situation.proposal.payload)), situation.rules.max_bytes
    if size > limit:
        return Requirement(
            "fits-scope", "unsatisfied", f"The text is too long: this scope takes {limit:,} bytes. Shorten it."
        )
    return Requirement("fits-scope", "satisfied", f"It has {size:,} of {limit:,} bytes.")


def _target_active(situation: Situation) -> Requirement:
    if situation.proposal.replaces is None:
        return Requirement("target-active", "not-applicable", "It supersedes no memory.")
    if (text := target_obstacle(situation.proposal)) is not None:
        return Requirement("target-active", "unsatisfied", text)
    return Requirement("target-active", "satisfied", "The memory that it supersedes is active.")


def _persons(situation: Situation) -> Requirement:
    proposal, person = situation.proposal, situation.person
    required, approved = required_persons(proposal, person), standing_approvals(proposal)
    if required == 1:
        return Requirement("persons", "satisfied", "One approval required.", blocks=False)
    who = f"approved by {', '.join(sorted(approved))}" if approved else "not approved yet"
    if may_finish_alone(proposal, person):
        return Requirement("persons", "satisfied", "You edited it, and the policy lets its editor approve it alone.")
    if (text := repeated_approval(proposal, person)) is not None:
        return Requirement("persons", "unsatisfied", text + _what_would_allow(proposal, person))
    state: RequirementState = "satisfied" if len(approved) + 1 >= required else "unsatisfied"
    redacted = (
        " You redacted this text, so another person has to approve it too." if person == proposal.redactor else ""
    )
    return Requirement("persons", state, f"It needs {required} persons: {who}.{redacted}", blocks=False)


def _what_would_allow(proposal: ReviewedProposal, person: str) -> str:
    """Return which setting would let the editor of a text approve it alone; empty if none would."""
    if may_finish_alone(replace(proposal, self_edit=True), person):
        return " The policy would let you approve your own edit with self_edit = true for this scope."
    return ""


CHECKS: Final[dict[str, Callable[[Situation], Requirement]]] = {
    "other-person": _other_person,
    "not-withdrawn": _not_withdrawn,
    "no-private-data": _no_private_data,
    "fits-scope": _fits,
    "target-active": _target_active,
    "persons": _persons,
}
