"""The rules of a decision: what it does to a proposal, and who may make it."""

from typing import Any, Final, Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.admission.canonical import canonical, digest, normalize_text
from antechamber.core.contract import REASON_CODES, MemoryState, ProposalState, ReasonCode
from antechamber.core.errors import AntechamberError, ForbiddenDecisionError, StaleDecisionError

DecisionKind = Literal["approve", "edit", "supersede", "reject", "merge", "flag", "undo", "retract", "expire"]
SettlementKind = Literal["keep", "open", "dismiss", "release", "destroy", "clear"]
"""Outcomes of a quarantined event: keep the original, open the event as its own proposal, dismiss it as misuse; of a
sealed one: release it redacted as its own proposal, destroy it, clear it as a false alarm."""
RecordKind = DecisionKind | SettlementKind
DECISIONS: Final[tuple[DecisionKind, ...]] = get_args(DecisionKind)
SETTLEMENTS: Final[tuple[SettlementKind, ...]] = get_args(SettlementKind)
APPROVING: Final = frozenset({"approve", "edit", "supersede"})
"""Decisions that approve the text they result in."""
_OF_PENDING: Final = APPROVING | {"reject", "merge", "flag"}
_OF_MEMORY: Final[dict[str, MemoryState]] = {"retract": "retracted", "expire": "expired"}
_UNREASONED: Final = frozenset({"approve", "supersede", "flag"})
_TARGETED: Final = frozenset({"supersede", "merge"})
NAMING: Final = _TARGETED | {"edit"}
"""Decisions that name a memory; for an edit the memory is optional."""
EDITED_NEEDS: Final = 2
"""Persons that must approve an edited text, unless the policy lets its editor approve it alone."""
SECOND_NEEDS: Final = 2
"""Persons that must approve a text after a curator asked for a second person."""
ERASED: Final = '{"content":"(erased)","kind":"erased"}'
"""The payload that replaces an erased text; it is a normal payload, so that every page can show it."""
QUICK_UNDO: Final = 600_000_000
"""Microseconds within which persons can undo their own decisions without giving a reason."""


class InvalidDecisionError(AntechamberError):
    """Raised when a decision form is incomplete; the message explains what to fill in."""


class Approval(Struct, frozen=True, kw_only=True):
    """One earlier approval of a text."""

    person: str
    version: int
    text_hash: str


class Target(Struct, frozen=True, kw_only=True):
    """A memory of the same scope and scope id that a decision names."""

    memory_id: str
    state: MemoryState


class CurrentDecision(Struct, frozen=True, kw_only=True):
    """The last decision on a proposal that was not undone."""

    review_record_id: str
    kind: RecordKind
    person: str
    decided_at: int
    shown: bytes


class ReviewedProposal(Struct, frozen=True, kw_only=True):
    """The facts about a proposal that a decision depends on."""

    state: ProposalState
    version: int
    payload: dict[str, Any]
    owners: frozenset[str]
    """The producer's owners: when it submitted, when events opened as this proposal were quarantined, and now."""
    edited: bool
    editor: str | None = None
    self_edit: bool = False
    """Whether the policy lets the editor, the person who wrote the current text, be its only approver in this scope."""
    withdrawn: bool
    approvals: list[Approval]
    curators: int
    """Persons that the policy requires."""
    second: bool = False
    """Whether a curator asked for a second person."""
    replaces: Target | None = None
    """The memory that this text supersedes once it is admitted."""
    memory: MemoryState | None = None
    """The state of the memory that the proposal became last."""
    redactor: str | None = None
    """The person who redacted a sealed event into this text; never its only approver."""
    standing: CurrentDecision | None = None


class Decision(Struct, frozen=True, kw_only=True):
    """The values of a curator's decision form."""

    kind: DecisionKind
    version: int
    shown_hash: str
    decision_key: str
    reason_code: str | None = None
    reason_text: str = ""
    content: str = ""
    """The text of the edit field; empty if the form has none."""
    read: bool = False
    """Whether the end of the text was on the screen."""
    target: str = ""
    """The memory to supersede or to merge into; optional for an edit."""
    undoes: str = ""
    """The review record to undo, for an undo."""
    review_after: str | None = None
    """The review date of an approval, as typed; None leaves it as it is."""


class Ruling(Struct, frozen=True, kw_only=True):
    """The effect of a decision: the record to write and the proposal's next state."""

    state: ProposalState
    version: int
    reason_code: ReasonCode | None
    shown: bytes
    resulting: bytes | None = None
    """The canonical payload that was approved; None if nothing was approved."""
    approvals_required: int
    self_edit: bool = False
    """Whether the editor of the text is its only approver, as the policy allows."""
    admits: bool = False
    text: bytes
    """The canonical payload of the proposal after the decision."""
    second: bool
    target: str | None = None
    """The memory that the record names."""
    replaces: str | None = None
    """The memory that the proposal supersedes after the decision."""
    memory: MemoryState | None = None
    """The new state of the proposal's own memory; None if the decision does not change it."""
    undoes: str | None = None


class DecisionWrite(Struct, frozen=True, kw_only=True):
    """Everything that one decision writes."""

    decision: Decision
    ruling: Ruling
    review_record_id: str
    memory_id: str
    """The id of the new memory, if the ruling admits one."""
    policy_digest: str
    decided_at: int
    salt: bytes = b""
    """Salt of the log's commitment to what was shown, typed and decided."""


def text_hash(text: bytes) -> str:
    """Return the digest of a payload's canonical bytes, which identifies the exact text that a curator was shown."""
    return digest(text)


def required_persons(proposal: ReviewedProposal, person: str | None = None) -> int:
    """Return how many distinct persons must approve the current text, `person` being one of them."""
    redacted = proposal.redactor is not None and proposal.redactor in {person, *standing_approvals(proposal)}
    edited = EDITED_NEEDS if proposal.edited or redacted else 1
    return max(proposal.curators, edited, SECOND_NEEDS if proposal.second else 1)


def may_finish_alone(proposal: ReviewedProposal, person: str) -> bool:
    """Return whether the policy lets this person, the editor of the current text, be its only approver."""
    beside_edit = required_persons(replace(proposal, edited=False), person)
    return proposal.self_edit and proposal.editor == person and beside_edit == 1


def standing_approvals(proposal: ReviewedProposal) -> set[str]:
    """Return the persons who approved the current text at its current version."""
    current = text_hash(canonical(proposal.payload))
    return {a.person for a in proposal.approvals if a.version == proposal.version and a.text_hash == current}


def undo_needs_reason(standing: CurrentDecision, person: str, now: int) -> bool:
    """Return whether an undo needs a reason: the decision is another person's, or older than `QUICK_UNDO`."""
    return standing.person != person or now - standing.decided_at > QUICK_UNDO


def open_decisions(proposal: ReviewedProposal) -> list[DecisionKind]:
    """Return the decisions that a proposal's state allows, regardless of the person."""
    kinds: list[DecisionKind] = []
    if proposal.state == "pending":
        kinds += ["approve", "edit", "supersede", "reject", "merge", "flag"]
    elif proposal.state == "approved" and proposal.memory == "active":
        kinds += ["retract", "expire"]
    return [*kinds, "undo"] if proposal.standing is not None else kinds


def owner_obstacle(owners: frozenset[str], person: str, judged: str = "proposals") -> str | None:
    """Return why an owner cannot judge what a producer submitted, or None for another person; case is ignored."""
    if person.casefold() in map(str.casefold, owners):
        return f"You own or owned this producer, so another person must judge its {judged}. No setting changes that."
    return None


def withdrawal_obstacle(proposal: ReviewedProposal) -> str | None:
    """Return why a withdrawn proposal cannot be approved, or None if it is not withdrawn."""
    text = "The producer withdrew this event as private. Reject it with the reason private."
    return text if proposal.withdrawn else None


def target_obstacle(proposal: ReviewedProposal) -> str | None:
    """Return why a proposal cannot supersede the memory that it names, or None."""
    if proposal.replaces is None or proposal.replaces.state == "active":
        return None
    return f"The memory that this would supersede is {proposal.replaces.state} by now. Name another one, or edit."


def repeated_approval(proposal: ReviewedProposal, person: str) -> str | None:
    """Return why a person cannot approve the same text twice, or None before the first approval."""
    if person.casefold() in map(str.casefold, standing_approvals(proposal)) and not may_finish_alone(proposal, person):
        return "You have approved this text already. It needs a second person."
    return None


def blocker(proposal: ReviewedProposal, person: str, kind: DecisionKind) -> str | None:
    """Return why this person cannot make this decision now, or None."""
    if (obstacle := owner_obstacle(proposal.owners, person)) is not None:
        return obstacle
    if kind == "undo":
        return _undo_blocker(proposal)
    if kind == "flag" and proposal.second:
        return "A second review was requested already."
    if kind not in APPROVING:
        return None
    if (obstacle := withdrawal_obstacle(proposal)) is not None or kind != "approve":
        return obstacle
    return target_obstacle(proposal) or repeated_approval(proposal, person)


def _undo_blocker(proposal: ReviewedProposal) -> str | None:
    last = proposal.standing
    if last is None:
        return "There is no decision to undo."
    if canonical(proposal.payload) == ERASED.encode():
        return "The text was erased, so there is nothing left to decide."
    if last.kind in APPROVING and proposal.state == "approved" and proposal.memory != "active":
        return f"The memory is {proposal.memory} by another decision. Take that one back first."
    return None


def rule(
    proposal: ReviewedProposal, decision: Decision, person: str, now: int = 0, target: Target | None = None
) -> Ruling:
    """Apply a decision to a proposal at time `now`; `target` is the memory that the form names, if any.

    Raises StaleDecisionError if the proposal is not what the curator was shown, ForbiddenDecisionError if this person
    may not make this decision, InvalidDecisionError if the form is incomplete.
    """
    shown = canonical(proposal.payload)
    _check_fresh(proposal, decision, shown)
    if (reason := blocker(proposal, person, decision.kind)) is not None:
        raise ForbiddenDecisionError(reason)
    _check_target(decision, target)
    as_it_was = Ruling(
        state=proposal.state,
        version=proposal.version,
        reason_code=_reason_code(proposal, decision, person, now),
        shown=shown,
        approvals_required=required_persons(proposal, person),
        text=shown,
        second=proposal.second,
        target=target.memory_id if target else None,
        replaces=proposal.replaces.memory_id if proposal.replaces else None,
    )
    return _effect(proposal, decision, as_it_was, person)


def _effect(proposal: ReviewedProposal, decision: Decision, as_it_was: Ruling, person: str) -> Ruling:
    match decision.kind:
        case "reject" | "merge":
            return replace(as_it_was, state="rejected")
        case "flag":
            return replace(as_it_was, second=True, approvals_required=SECOND_NEEDS)
        case "edit":
            return _edit(replace(proposal, editor=person), as_it_was, _change_payload(proposal, decision))
        case "undo":
            return _undo(proposal, as_it_was)
        case "retract" | "expire":
            return replace(as_it_was, memory=_OF_MEMORY[decision.kind])
        case _:
            return _approve(proposal, as_it_was, person)


def _check_fresh(proposal: ReviewedProposal, decision: Decision, shown: bytes) -> None:
    """Raise StaleDecisionError unless the proposal is unchanged since the form was shown."""
    if decision.kind in _OF_PENDING and proposal.state != "pending":
        message = f"this proposal was {proposal.state} meanwhile"
        raise StaleDecisionError(message)
    if decision.kind in _OF_MEMORY and (proposal.state, proposal.memory) != ("approved", "active"):
        message = f"the memory is {proposal.memory or 'not there'} by now"
        raise StaleDecisionError(message)
    if decision.version != proposal.version or decision.shown_hash != text_hash(shown):
        message = "the text or its findings changed after this page was shown"
        raise StaleDecisionError(message)
    last = proposal.standing
    if decision.kind == "undo" and last is not None and decision.undoes != last.review_record_id:
        message = "another decision was made or undone meanwhile"
        raise StaleDecisionError(message)


def _check_target(decision: Decision, target: Target | None) -> None:
    """Check that the memory named by the form is active, or that none is required.

    Raises StaleDecisionError if the named memory is not active, InvalidDecisionError if a required one is missing.
    """
    if decision.target and (target is None or target.state != "active"):
        message = "the memory that was named is not an active one of this scope"
        raise StaleDecisionError(message)
    if decision.kind in _TARGETED and target is None:
        message = "Choose the memory."
        raise InvalidDecisionError(message)


def _approve(proposal: ReviewedProposal, ruling: Ruling, person: str) -> Ruling:
    """Approve the text; naming another memory to supersede raises the version, so that all persons approve the same."""
    replaces = ruling.target or ruling.replaces
    renamed = replaces != ruling.replaces
    approved = set() if renamed else standing_approvals(proposal)
    enough = len(approved | {person}) >= ruling.approvals_required
    alone = not enough and may_finish_alone(proposal, person)
    return replace(
        ruling,
        state="approved" if enough or alone else "pending",
        version=ruling.version + renamed,
        resulting=ruling.shown,
        replaces=replaces,
        target=replaces,
        admits=enough or alone,
        self_edit=alone,
    )


def _edit(proposal: ReviewedProposal, ruling: Ruling, resulting: bytes) -> Ruling:
    """Approve a changed text: the version rises, and earlier approvals become void."""
    alone = may_finish_alone(proposal, proposal.editor or "")
    return replace(
        ruling,
        state="approved" if alone else ruling.state,
        admits=alone,
        self_edit=alone,
        version=proposal.version + 1,
        resulting=resulting,
        text=resulting,
        # The edit form names the superseded memory again, if there is one.
        replaces=ruling.target,
        approvals_required=max(ruling.approvals_required, EDITED_NEEDS),
    )


def _undo(proposal: ReviewedProposal, ruling: Ruling) -> Ruling:
    """Undo the last current decision with a new record; the version rises, so that earlier approvals become void."""
    # The blocker refuses an undo without a current decision, so this is never None.
    last = cast("CurrentDecision", proposal.standing)
    ruling = replace(ruling, undoes=last.review_record_id)
    if last.kind in _OF_MEMORY:
        return replace(ruling, memory="active")
    return replace(
        ruling,
        state="pending",
        version=proposal.version + 1,
        text=last.shown,
        second=proposal.second and last.kind != "flag",
        replaces=None if last.kind in {"supersede", "edit"} else ruling.replaces,
        memory="retracted" if proposal.state == "approved" else None,
    )


def _change_payload(proposal: ReviewedProposal, decision: Decision) -> bytes:
    content = normalize_text(decision.content).strip("\t\n ")
    if not content:
        message = "The changed text is blank. Write the text to remember, or reject the proposal."
        raise InvalidDecisionError(message)
    if content == proposal.payload["content"]:
        message = "The text is unchanged. Change it, or approve it as it is."
        raise InvalidDecisionError(message)
    return canonical({**proposal.payload, "content": content})


def _reason_code(proposal: ReviewedProposal, decision: Decision, person: str, now: int) -> ReasonCode | None:
    if decision.kind == "merge":
        return "duplicate"
    quick = decision.kind == "undo" and proposal.standing and not undo_needs_reason(proposal.standing, person, now)
    return check_reason(decision.reason_code, required=not quick and decision.kind not in _UNREASONED)


def check_reason(code_given: str | None, *, required: bool) -> ReasonCode | None:
    """Return the reason code that a form gives.

    Raises InvalidDecisionError if the code is not listed, or is missing but required.
    """
    if code_given is None and not required:
        return None
    if code_given in REASON_CODES:
        return code_given
    message = "Choose a reason: " + ", ".join(REASON_CODES) + "."
    raise InvalidDecisionError(message)
