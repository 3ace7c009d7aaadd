"""The review: every transition of a proposal, who may make it, and what is refused."""

from typing import Any

import msgspec
import pytest

from antechamber.core.canonical import canonical, digest
from antechamber.core.contract import REASON_CODES
from antechamber.core.errors import ForbiddenDecisionError, StaleDecisionError
from antechamber.core.review import (
    MAX_REASON,
    Approval,
    Decision,
    DecisionKind,
    InvalidDecisionError,
    ReviewedProposal,
    Ruling,
    blocker,
    required_persons,
    rule,
    standing_approvals,
    text_hash,
)

PAYLOAD = {"kind": "fact", "content": "Run the migration first.", "tags": ["deploy"]}
SHOWN = canonical(PAYLOAD)
KINDS: tuple[DecisionKind, ...] = ("approve", "edit", "reject")


def proposal(**members: Any) -> ReviewedProposal:
    """Return a fresh proposal that ada answers for, unless `members` say otherwise."""
    plain = {
        "state": "pending",
        "version": 1,
        "payload": PAYLOAD,
        "owners": frozenset({"ada"}),
        "edited": False,
        "withdrawn": False,
        "approvals": [],
        "curators": 1,
    }
    return ReviewedProposal(**plain | members)


def decision(kind: DecisionKind, of: ReviewedProposal | None = None, **members: Any) -> Decision:
    """Return a complete form for what is shown of a proposal."""
    shown = of or proposal()
    plain = {
        "kind": kind,
        "version": shown.version,
        "shown_hash": text_hash(canonical(shown.payload)),
        "decision_key": "k",
        "reason_code": None if kind == "approve" else "unclear",
        "content": "Run the migration before the deploy." if kind == "edit" else "",
    }
    return Decision(**plain | members)


def ruled(of: ReviewedProposal, kind: DecisionKind, person: str = "bob", **members: Any) -> Ruling:
    """Decide on what is shown of a proposal."""
    return rule(of, decision(kind, of, **members), person)


def after(of: ReviewedProposal, ruling: Ruling, person: str) -> ReviewedProposal:
    """Return the proposal as a ruling leaves it."""
    approvals = list(of.approvals)
    payload = of.payload
    if ruling.resulting is not None:
        approvals.append(Approval(person=person, version=ruling.version, text_hash=text_hash(ruling.resulting)))
        payload = msgspec.json.decode(ruling.resulting)
    return msgspec.structs.replace(
        of,
        state=ruling.state,
        version=ruling.version,
        payload=payload,
        edited=of.edited or ruling.version > of.version,
        approvals=approvals,
    )


def played(of: ReviewedProposal, *moves: tuple[str, DecisionKind, str]) -> tuple[ReviewedProposal, Ruling]:
    """Play decisions of persons one after another; an edit writes the given text."""
    ruling = None
    for person, kind, content in moves:
        ruling = ruled(of, kind, person, content=content)
        of = after(of, ruling, person)
    assert ruling is not None
    return of, ruling


def test_one_approval_admits_where_one_person_is_wanted() -> None:
    """The text that was shown becomes the memory."""
    assert ruled(proposal(), "approve") == Ruling(
        state="approved",
        version=1,
        reason_code=None,
        shown=SHOWN,
        resulting=SHOWN,
        approvals_required=1,
        admits=True,
    )


def test_a_rejection_ends_a_proposal() -> None:
    """A rejection has a reason and no resulting text."""
    assert ruled(proposal(), "reject", reason_code="wrong") == Ruling(
        state="rejected",
        version=1,
        reason_code="wrong",
        shown=SHOWN,
        resulting=None,
        approvals_required=1,
        admits=False,
    )


def test_an_edit_raises_the_version_and_waits_for_a_second_person() -> None:
    """Only the content changes, and the edited text is not yet admitted."""
    edited = canonical({**PAYLOAD, "content": "Run it twice."})
    assert ruled(proposal(version=4), "edit", content="Run it twice.") == Ruling(
        state="pending",
        version=5,
        reason_code="unclear",
        shown=SHOWN,
        resulting=edited,
        approvals_required=2,
        admits=False,
    )


def test_two_persons_are_two_approvals() -> None:
    """Where two are wanted the first approval leaves the proposal pending and the second admits."""
    wanted = proposal(curators=2)
    once, first = played(wanted, ("bob", "approve", ""))
    assert (first.state, first.admits, first.approvals_required, first.version) == ("pending", False, 2, 1)
    _, second = played(once, ("eve", "approve", ""))
    assert (second.state, second.admits, second.approvals_required) == ("approved", True, 2)


def test_one_veto_rejects() -> None:
    """After one approval of two, another person's rejection ends the proposal."""
    _, ruling = played(proposal(curators=2), ("bob", "approve", ""), ("eve", "reject", ""))
    assert (ruling.state, ruling.admits) == ("rejected", False)


def test_whoever_approved_may_still_reject_or_edit() -> None:
    """A person may change their mind before the second approval."""
    once, _ = played(proposal(curators=2), ("bob", "approve", ""))
    assert ruled(once, "reject").state == "rejected"
    assert ruled(once, "edit").version == 2


@pytest.mark.parametrize("curators", [1, 2])
def test_nobody_approves_the_same_text_twice(curators: int) -> None:
    """A second approval by the same person does not count as a second person."""
    once, _ = played(proposal(curators=2), ("bob", "approve", ""))
    with pytest.raises(ForbiddenDecisionError, match="second person"):
        ruled(msgspec.structs.replace(once, curators=curators), "approve")


def test_whoever_edited_is_not_the_only_approver() -> None:
    """The editor's own approval counts, and a second person completes it."""
    edited, _ = played(proposal(), ("bob", "edit", "Another text."))
    assert standing_approvals(edited) == {"bob"}
    assert required_persons(edited) == 2
    with pytest.raises(ForbiddenDecisionError):
        ruled(edited, "approve")
    ruling = ruled(edited, "approve", "eve")
    assert (ruling.admits, ruling.approvals_required, ruling.resulting) == (True, 2, canonical(edited.payload))


def test_an_edit_voids_earlier_approvals() -> None:
    """An approval of the old text is no approval of the new one."""
    edited, _ = played(proposal(curators=2), ("bob", "approve", ""), ("eve", "edit", "Another text."))
    assert standing_approvals(edited) == {"eve"}
    assert ruled(edited, "approve").admits


def test_a_text_that_was_changed_back_is_approved_anew() -> None:
    """Approvals belong to a version, so the first text's approvals do not return with it."""
    moves: tuple[tuple[str, DecisionKind, str], ...] = (
        ("bob", "approve", ""),
        ("eve", "edit", "Another text."),
        ("eve", "edit", PAYLOAD["content"]),
    )
    back, _ = played(proposal(curators=2), *moves)
    assert (back.payload, back.version) == (PAYLOAD, 3)
    assert standing_approvals(back) == {"eve"}


@pytest.mark.parametrize(
    "approval",
    [
        Approval(person="eve", version=2, text_hash=digest(SHOWN)),
        Approval(person="eve", version=1, text_hash=digest(b"another text")),
    ],
    ids=["another version", "another text"],
)
def test_approvals_of_something_else_do_not_count(approval: Approval) -> None:
    """Version and text must both be the current ones."""
    wanted = proposal(curators=2, approvals=[approval])
    assert standing_approvals(wanted) == set()
    assert not ruled(wanted, "approve").admits


@pytest.mark.parametrize(("curators", "edited", "persons"), [(1, False, 1), (2, False, 2), (1, True, 2), (2, True, 2)])
def test_an_edited_text_needs_two_persons(curators: int, persons: int, *, edited: bool) -> None:
    """The policy may ask for more than an edit does, never for less."""
    assert required_persons(proposal(curators=curators, edited=edited)) == persons


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("person", ["ada", "grace"])
def test_owners_then_and_now_judge_nothing(kind: DecisionKind, person: str) -> None:
    """Whoever answered for the producer when it submitted, or does now, cannot decide."""
    owned = proposal(owners=frozenset({"ada", "grace"}))
    with pytest.raises(ForbiddenDecisionError, match="somebody else"):
        ruled(owned, kind, person)
    assert ruled(owned, kind, "bob").shown == SHOWN


@pytest.mark.parametrize(("kind", "blocked"), [("approve", True), ("edit", True), ("reject", False)])
def test_a_withdrawn_proposal_can_only_be_rejected(kind: DecisionKind, *, blocked: bool) -> None:
    """What turned private is neither approved nor edited."""
    assert (blocker(proposal(withdrawn=True), "bob", kind) is not None) == blocked
    assert ruled(proposal(withdrawn=True), "reject", reason_code="private").reason_code == "private"
    assert blocker(proposal(), "bob", kind) is None


@pytest.mark.parametrize("kind", ["approve", "edit"])
def test_a_withdrawn_proposal_admits_nothing(kind: DecisionKind) -> None:
    """The rule refuses what the page does not offer."""
    with pytest.raises(ForbiddenDecisionError, match="private"):
        ruled(proposal(withdrawn=True), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", ["approved", "rejected"])
def test_a_decided_proposal_is_not_decided_again(kind: DecisionKind, state: str) -> None:
    """The page says what stands."""
    with pytest.raises(StaleDecisionError, match=state):
        ruled(proposal(state=state), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "members", [{"version": 1}, {"version": 3}, {"shown_hash": digest(b"{}")}, {"shown_hash": ""}], ids=str
)
def test_a_decision_on_another_text_is_stale(kind: DecisionKind, members: dict[str, Any]) -> None:
    """Version and hash of the shown text must be the current ones."""
    with pytest.raises(StaleDecisionError):
        ruled(proposal(version=2), kind, **members)


def test_staleness_is_said_before_anything_else() -> None:
    """A stale form is stale first, even where it is incomplete or not allowed either."""
    with pytest.raises(StaleDecisionError):
        ruled(proposal(withdrawn=True), "approve", "ada", version=9, reason_code="nonsense")


@pytest.mark.parametrize("code", REASON_CODES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_reason_may_be_given(kind: DecisionKind, code: str) -> None:
    """Nine reasons are offered for every decision."""
    assert ruled(proposal(), kind, reason_code=code).reason_code == code


@pytest.mark.parametrize("code", [None, "", "Wrong", "stale", "bad reason"])
@pytest.mark.parametrize("kind", ["edit", "reject"])
def test_a_change_or_rejection_needs_a_reason_of_the_list(kind: DecisionKind, code: str | None) -> None:
    """The message lists the reasons there are."""
    with pytest.raises(InvalidDecisionError, match="wrong, outdated, duplicate, unclear"):
        ruled(proposal(), kind, reason_code=code)


def test_an_approval_needs_no_reason_but_no_wrong_one_either() -> None:
    """Approving without a reason is fine; an unknown reason is not."""
    assert ruled(proposal(), "approve").reason_code is None
    with pytest.raises(InvalidDecisionError):
        ruled(proposal(), "approve", reason_code="nice")


@pytest.mark.parametrize("kind", KINDS)
def test_a_note_has_its_limit(kind: DecisionKind) -> None:
    """Two thousand characters pass, one more does not."""
    assert ruled(proposal(), kind, reason_text="x" * MAX_REASON).shown == SHOWN
    with pytest.raises(InvalidDecisionError, match="2000"):
        ruled(proposal(), kind, reason_text="x" * (MAX_REASON + 1))


@pytest.mark.parametrize("content", ["", " \t\r\n\r "])
def test_a_blank_edit_is_refused(content: str) -> None:
    """There is nothing to remember in a blank text."""
    with pytest.raises(InvalidDecisionError, match="blank"):
        ruled(proposal(), "edit", content=content)


@pytest.mark.parametrize("content", [PAYLOAD["content"], f"\r\n{PAYLOAD['content']} \t"])
def test_an_edit_that_changes_nothing_is_refused(content: str) -> None:
    """White space that the normal form drops is no change."""
    with pytest.raises(InvalidDecisionError, match="unchanged"):
        ruled(proposal(), "edit", content=content)


def test_an_edited_text_is_brought_to_normal_form() -> None:
    """An edit is normalized as a submission is: NFC, LF, trimmed of three characters, nothing else."""
    ruling = ruled(proposal(), "edit", content=" \r\nCafe\u0301\r\nA\rB\u00a0\n")
    assert ruling.resulting == canonical({**PAYLOAD, "content": "Caf\u00e9\nA\nB\u00a0"})
