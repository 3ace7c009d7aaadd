"""The review: every transition of a proposal, who may make it, and what is refused."""

from typing import Any

import msgspec
import pytest

from antechamber.core.admission.canonical import canonical, digest
from antechamber.core.contract import REASON_CODES
from antechamber.core.errors import ForbiddenDecisionError, StaleDecisionError
from antechamber.core.review.decision import (
    QUICK_UNDO,
    Approval,
    CurrentDecision,
    Decision,
    DecisionKind,
    InvalidDecisionError,
    ReviewedProposal,
    Ruling,
    Target,
    blocker,
    open_decisions,
    owner_obstacle,
    required_persons,
    rule,
    standing_approvals,
    text_hash,
)
from antechamber.core.review.form_checks import MAX_REASON, check_note
from support import GATE, gate_without

PAYLOAD = {"kind": "fact", "content": "Run the migration first.", "tags": ["deploy"]}
SHOWN = canonical(PAYLOAD)
KINDS: tuple[DecisionKind, ...] = ("approve", "edit", "reject")
OLD = Target(memory_id="m-1", state="active")


def proposal(**members: Any) -> ReviewedProposal:
    """Return a fresh proposal owned by ada, except for the given `members`."""
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
    """Return a complete form for the shown proposal."""
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


def ruled(
    of: ReviewedProposal,
    kind: DecisionKind,
    person: str = "bob",
    now: int = 0,
    target: Target | None = None,
    **members: Any,
) -> Ruling:
    """Decide on the shown proposal."""
    named = {"target": target.memory_id} if target else {}
    return rule(of, decision(kind, of, **named | members), person, now, target)


def stands(kind: DecisionKind, person: str = "bob", shown: bytes = SHOWN) -> CurrentDecision:
    """Return a decision in force, made at time 0."""
    return CurrentDecision(review_record_id="r-1", kind=kind, person=person, decided_at=0, shown=shown)


def after(of: ReviewedProposal, ruling: Ruling, person: str) -> ReviewedProposal:
    """Return the proposal after a ruling."""
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
    """Apply decisions of persons one after another; an edit writes the given text."""
    ruling = None
    for person, kind, content in moves:
        ruling = ruled(of, kind, person, content=content)
        of = after(of, ruling, person)
    assert ruling is not None
    return of, ruling


def test_one_approval_admits_where_one_person_is_wanted() -> None:
    """With one required person, the shown text becomes the memory."""
    assert ruled(proposal(), "approve") == Ruling(
        state="approved",
        version=1,
        reason_code=None,
        shown=SHOWN,
        resulting=SHOWN,
        approvals_required=1,
        admits=True,
        text=SHOWN,
        second=False,
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
        text=SHOWN,
        second=False,
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
        text=edited,
        second=False,
    )


def test_two_persons_are_two_approvals() -> None:
    """With two required persons the first approval leaves the proposal pending and the second admits it."""
    wanted = proposal(curators=2)
    once, first = played(wanted, ("bob", "approve", ""))
    assert (first.state, first.admits, first.approvals_required, first.version) == ("pending", False, 2, 1)
    _, second = played(once, ("eve", "approve", ""))
    assert (second.state, second.admits, second.approvals_required) == ("approved", True, 2)


def test_one_veto_rejects() -> None:
    """After one approval of two, another person's rejection ends the proposal."""
    _, ruling = played(proposal(curators=2), ("bob", "approve", ""), ("eve", "reject", ""))
    assert (ruling.state, ruling.admits) == ("rejected", False)


def test_an_approver_may_still_reject_or_edit() -> None:
    """A person may change their decision before the second approval."""
    once, _ = played(proposal(curators=2), ("bob", "approve", ""))
    assert ruled(once, "reject").state == "rejected"
    assert ruled(once, "edit").version == 2


@pytest.mark.parametrize("curators", [1, 2])
def test_a_person_approves_the_same_text_only_once(curators: int) -> None:
    """A repeated approval by the same person does not count as a second person."""
    once, _ = played(proposal(curators=2), ("bob", "approve", ""))
    with pytest.raises(ForbiddenDecisionError, match="second person"):
        ruled(msgspec.structs.replace(once, curators=curators), "approve")


def test_an_editor_is_not_the_only_approver() -> None:
    """The editor's own approval counts, and a second person completes it."""
    edited, _ = played(proposal(), ("bob", "edit", "Another text."))
    assert standing_approvals(edited) == {"bob"}
    assert required_persons(edited) == 2
    for person in ("bob", "Bob"):
        with pytest.raises(ForbiddenDecisionError):
            ruled(edited, "approve", person)
    ruling = ruled(edited, "approve", "eve")
    assert (ruling.admits, ruling.approvals_required, ruling.resulting) == (True, 2, canonical(edited.payload))


def test_the_policy_lets_an_editor_finish_alone() -> None:
    """With self_edit, the edit admits the text at once, and the ruling says that its editor is the only approver."""
    edit = ruled(proposal(self_edit=True, version=4), "edit", content="Run it twice.")
    assert (edit.state, edit.admits, edit.self_edit) == ("approved", True, True)
    assert (edit.version, edit.approvals_required) == (5, 2)
    assert not ruled(proposal(self_edit=True), "approve").self_edit


def test_an_edit_that_waits_is_finished_by_its_editor() -> None:
    """Once the policy allows it, the editor approves the own edit, also as superseding; for others nothing changes."""
    edited, _ = played(proposal(), ("bob", "edit", "Another text."))
    allowed = msgspec.structs.replace(edited, self_edit=True, editor="bob")
    alone = ruled(allowed, "approve", "bob")
    assert (alone.admits, alone.self_edit, alone.approvals_required) == (True, True, 2)
    assert ruled(allowed, "supersede", "bob", target=OLD).self_edit
    second = ruled(allowed, "approve", "eve")
    assert (second.admits, second.self_edit) == (True, False)
    assert not ruled(allowed, "supersede", "eve", target=OLD).admits


@pytest.mark.parametrize(
    "limits", [{"curators": 2}, {"second": True}, {"redactor": "bob"}, {"self_edit": False}],
    ids=["two curators", "second review", "own redaction", "not allowed"],
)  # fmt: skip
def test_an_editor_does_not_finish_alone_where_two_are_wanted(limits: dict[str, Any]) -> None:
    """A scope of two, a requested second review, an own redaction and the shipped policy need a second person."""
    of = proposal(**{"self_edit": True} | limits)
    edit = ruled(of, "edit", content="Run it twice.")
    assert (edit.state, edit.admits, edit.self_edit) == ("pending", False, False)
    waiting = msgspec.structs.replace(after(of, edit, "bob"), editor="bob")
    with pytest.raises(ForbiddenDecisionError, match="second person"):
        ruled(waiting, "approve", "bob")


def test_an_edit_voids_earlier_approvals() -> None:
    """An approval of the old text does not count for the new one."""
    edited, _ = played(proposal(curators=2), ("bob", "approve", ""), ("eve", "edit", "Another text."))
    assert standing_approvals(edited) == {"eve"}
    assert ruled(edited, "approve").admits


def test_a_text_that_was_changed_back_needs_new_approvals() -> None:
    """Approvals belong to a version, so restoring the first text does not restore its approvals."""
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
    """Approvals count only for the current version and text."""
    wanted = proposal(curators=2, approvals=[approval])
    assert standing_approvals(wanted) == set()
    assert not ruled(wanted, "approve").admits


@pytest.mark.parametrize(("curators", "edited", "persons"), [(1, False, 1), (2, False, 2), (1, True, 2), (2, True, 2)])
def test_an_edited_text_needs_two_persons(curators: int, persons: int, *, edited: bool) -> None:
    """The policy may require more persons than an edit does, never fewer."""
    assert required_persons(proposal(curators=curators, edited=edited)) == persons


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("person", ["ada", "grace"])
def test_owners_then_and_now_judge_nothing(kind: DecisionKind, person: str) -> None:
    """The owner of the producer, at the submission or now, cannot decide."""
    owned = proposal(owners=frozenset({"ada", "grace"}))
    with pytest.raises(ForbiddenDecisionError, match="another person"):
        ruled(owned, kind, person)
    assert ruled(owned, kind, "bob").shown == SHOWN


@pytest.mark.parametrize(("kind", "blocked"), [("approve", True), ("edit", True), ("reject", False)])
def test_a_withdrawn_proposal_can_only_be_rejected(kind: DecisionKind, *, blocked: bool) -> None:
    """A proposal withdrawn as private can be neither approved nor edited."""
    assert (blocker(proposal(withdrawn=True), "bob", kind) is not None) == blocked
    assert ruled(proposal(withdrawn=True), "reject", reason_code="private").reason_code == "private"
    assert blocker(proposal(), "bob", kind) is None


@pytest.mark.parametrize("kind", ["approve", "edit"])
def test_a_withdrawn_proposal_admits_nothing(kind: DecisionKind) -> None:
    """The rule itself refuses what the page does not offer."""
    with pytest.raises(ForbiddenDecisionError, match="private"):
        ruled(proposal(withdrawn=True), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", ["approved", "rejected"])
def test_a_decided_proposal_is_not_decided_again(kind: DecisionKind, state: str) -> None:
    """The error shows the current state."""
    with pytest.raises(StaleDecisionError, match=state):
        ruled(proposal(state=state), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "members", [{"version": 1}, {"version": 3}, {"shown_hash": digest(b"{}")}, {"shown_hash": ""}], ids=str
)
def test_a_decision_on_another_text_is_stale(kind: DecisionKind, members: dict[str, Any]) -> None:
    """Version and hash of the shown text must be current."""
    with pytest.raises(StaleDecisionError):
        ruled(proposal(version=2), kind, **members)


def test_staleness_is_reported_before_any_other_error() -> None:
    """A stale form is reported as stale even if it is also incomplete or not allowed."""
    with pytest.raises(StaleDecisionError):
        ruled(proposal(withdrawn=True), "approve", "ada", version=9, reason_code="nonsense")


@pytest.mark.parametrize("code", REASON_CODES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_reason_may_be_given(kind: DecisionKind, code: str) -> None:
    """Nine reasons are accepted for every decision."""
    assert ruled(proposal(), kind, reason_code=code).reason_code == code


@pytest.mark.parametrize("code", [None, "", "Wrong", "stale", "bad reason"])
@pytest.mark.parametrize("kind", ["edit", "reject"])
def test_a_change_or_rejection_needs_a_reason_of_the_list(kind: DecisionKind, code: str | None) -> None:
    """The message lists the valid reasons."""
    with pytest.raises(InvalidDecisionError, match="wrong, outdated, duplicate, unclear"):
        ruled(proposal(), kind, reason_code=code)


def test_an_approval_needs_no_reason_but_no_wrong_one_either() -> None:
    """Approving without a reason is accepted; an unknown reason is not."""
    assert ruled(proposal(), "approve").reason_code is None
    with pytest.raises(InvalidDecisionError):
        ruled(proposal(), "approve", reason_code="nice")


def test_a_note_has_its_limit_and_repeats_nothing_private() -> None:
    """A note has at most 2,000 characters and no private value; a disabled rule finds nothing."""
    check_note("x" * MAX_REASON, GATE)
    with pytest.raises(InvalidDecisionError, match="2000"):
        check_note("x" * (MAX_REASON + 1), GATE)
    private = "Ask ada@love" + "lace.dev."
    with pytest.raises(InvalidDecisionError, match="private data"):
        check_note(private, GATE)
    check_note(private, gate_without("email-address"))


@pytest.mark.parametrize("content", ["", " \t\r\n\r "])
def test_a_blank_edit_is_refused(content: str) -> None:
    """A blank text is refused because it has nothing to remember."""
    with pytest.raises(InvalidDecisionError, match="blank"):
        ruled(proposal(), "edit", content=content)


@pytest.mark.parametrize("content", [PAYLOAD["content"], f"\r\n{PAYLOAD['content']} \t"])
def test_an_edit_that_changes_nothing_is_refused(content: str) -> None:
    """White space that the normal form removes is not a change."""
    with pytest.raises(InvalidDecisionError, match="unchanged"):
        ruled(proposal(), "edit", content=content)


def test_an_edited_text_is_brought_to_normal_form() -> None:
    """An edit is normalized as a submission is: NFC, LF, stripped of three characters, nothing else."""
    ruling = ruled(proposal(), "edit", content=" \r\nCafe\u0301\r\nA\rB\u00a0\n")
    assert ruling.resulting == canonical({**PAYLOAD, "content": "Caf\u00e9\nA\nB\u00a0"})


def test_superseding_approves_and_names_the_memory() -> None:
    """Naming a memory raises the version, so all approvals apply to the same decision."""
    ruling = ruled(proposal(), "supersede", target=OLD, reason_code=None)
    assert (ruling.state, ruling.version, ruling.replaces, ruling.target) == ("approved", 2, "m-1", "m-1")
    assert (ruling.admits, ruling.resulting) == (True, SHOWN)
    with_one = proposal(curators=2, approvals=[Approval(person="eve", version=1, text_hash=text_hash(SHOWN))])
    second = ruled(with_one, "supersede", target=OLD)
    assert (second.state, second.version, second.admits) == ("pending", 2, False)
    named = msgspec.structs.replace(
        with_one,
        version=2,
        replaces=OLD,
        approvals=[Approval(person="bob", version=2, text_hash=text_hash(SHOWN))],
    )
    last = ruled(named, "approve", "eve")
    assert (last.admits, last.version, last.replaces, last.target) == (True, 2, "m-1", "m-1")


@pytest.mark.parametrize("kind", ["supersede", "merge"])
def test_a_memory_has_to_be_named_and_active(kind: DecisionKind) -> None:
    """A missing memory, one of another scope and an ended one are refused."""
    with pytest.raises(InvalidDecisionError, match="Choose the memory"):
        ruled(proposal(), kind)
    with pytest.raises(StaleDecisionError):
        rule(proposal(), decision(kind, target="m-9"), "bob")
    with pytest.raises(StaleDecisionError):
        ruled(proposal(), kind, target=Target(memory_id="m-1", state="retracted"))


def test_a_proposal_that_supersedes_an_ended_memory_cannot_be_approved() -> None:
    """Such a proposal cannot be approved; naming another memory or editing is still possible."""
    ended = proposal(replaces=Target(memory_id="m-1", state="superseded"))
    with pytest.raises(ForbiddenDecisionError, match="superseded by now"):
        ruled(ended, "approve")
    assert ruled(ended, "supersede", target=Target(memory_id="m-2", state="active")).admits
    assert ruled(ended, "edit").replaces is None


def test_merging_ends_a_proposal_as_a_duplicate_of_a_memory() -> None:
    """Merging makes no memory, and the record names the existing one."""
    ruling = ruled(proposal(), "merge", target=OLD, reason_code=None)
    assert (ruling.state, ruling.reason_code, ruling.target, ruling.resulting) == ("rejected", "duplicate", "m-1", None)
    assert ruling.replaces is None


def test_asking_for_a_second_curator_wants_two_and_voids_nothing() -> None:
    """Text and approvals stay, two persons are required from then on, and asking twice is refused."""
    asked = ruled(proposal(), "flag", reason_code=None)
    assert (asked.state, asked.version, asked.second, asked.approvals_required) == ("pending", 1, True, 2)
    flagged = proposal(second=True)
    assert required_persons(flagged) == 2
    assert not ruled(flagged, "approve").admits
    with pytest.raises(ForbiddenDecisionError, match="requested already"):
        ruled(flagged, "flag", "eve")


def test_a_fresh_decision_of_ones_own_is_taken_back_without_a_reason() -> None:
    """Undoing one's own recent decision needs no reason; another person's or an old one does."""
    decided = proposal(state="rejected", standing=stands("reject"))
    ruling = ruled(decided, "undo", now=QUICK_UNDO, undoes="r-1", reason_code=None)
    assert (ruling.state, ruling.version, ruling.undoes, ruling.reason_code) == ("pending", 2, "r-1", None)
    for person, now in (("bob", QUICK_UNDO + 1), ("eve", 0)):
        with pytest.raises(InvalidDecisionError, match="Choose a reason"):
            ruled(decided, "undo", person, now, undoes="r-1", reason_code=None)
        assert ruled(decided, "undo", person, now, undoes="r-1", reason_code="other").reason_code == "other"


def test_taking_an_approval_back_retracts_its_memory() -> None:
    """The proposal is pending again under a new version without approvals."""
    approved = proposal(
        state="approved",
        memory="active",
        standing=stands("approve"),
        approvals=[Approval(person="bob", version=1, text_hash=text_hash(SHOWN))],
    )
    ruling = ruled(approved, "undo", undoes="r-1", reason_code=None)
    assert (ruling.state, ruling.version, ruling.memory, ruling.resulting) == ("pending", 2, "retracted", None)
    again = msgspec.structs.replace(approved, state="pending", version=2, memory="retracted", standing=None)
    assert standing_approvals(again) == set()
    assert open_decisions(again) == ["approve", "edit", "supersede", "reject", "merge", "flag"]


def test_taking_an_edit_back_restores_the_text_and_forgets_the_memory_to_supersede() -> None:
    """The text that was shown to the editor is restored."""
    edited = proposal(
        payload={**PAYLOAD, "content": "Another text."}, version=2, edited=True, replaces=OLD, standing=stands("edit")
    )
    ruling = ruled(edited, "undo", undoes="r-1", reason_code=None)
    assert (ruling.state, ruling.version, ruling.text, ruling.replaces) == ("pending", 3, SHOWN, None)
    assert ruling.memory is None


def test_taking_a_request_for_a_second_curator_back_wants_one_again() -> None:
    """Only the request's own effect is undone."""
    ruling = ruled(proposal(second=True, standing=stands("flag")), "undo", undoes="r-1", reason_code=None)
    assert (ruling.second, ruling.state) == (False, "pending")


def test_ending_a_memory_and_taking_that_back() -> None:
    """Retract and expire require a reason and an active memory; undo restores the memory."""
    remembered = proposal(state="approved", memory="active", standing=stands("approve"))
    for kind, state in (("retract", "retracted"), ("expire", "expired")):
        decided: DecisionKind = kind  # type: ignore[assignment]
        ruling = ruled(remembered, decided, reason_code="outdated")
        assert (ruling.state, ruling.version, ruling.memory) == ("approved", 1, state)
        with pytest.raises(InvalidDecisionError):
            ruled(remembered, decided, reason_code=None)
        ended = msgspec.structs.replace(remembered, memory=state, standing=stands(decided))
        with pytest.raises(StaleDecisionError):
            ruled(ended, decided)
        back = ruled(ended, "undo", undoes="r-1", reason_code=None)
        assert (back.state, back.version, back.memory) == ("approved", 1, "active")


def test_an_undo_names_the_current_decision() -> None:
    """An undone or superseded decision is stale; without a decision there is nothing to undo."""
    decided = proposal(state="rejected", standing=stands("reject"))
    with pytest.raises(StaleDecisionError):
        ruled(decided, "undo", undoes="r-0", reason_code=None)
    with pytest.raises(ForbiddenDecisionError, match="no decision"):
        ruled(proposal(), "undo", undoes="r-1", reason_code=None)
    superseded = proposal(state="approved", memory="superseded", standing=stands("approve"))
    with pytest.raises(ForbiddenDecisionError, match="superseded by another decision"):
        ruled(superseded, "undo", undoes="r-1", reason_code=None)


@pytest.mark.parametrize("kind", ["supersede", "merge", "flag", "undo", "retract", "expire"])
def test_owners_make_no_decision_of_any_kind(kind: DecisionKind) -> None:
    """Owners can neither end a memory nor undo a decision."""
    pending = kind in {"supersede", "merge", "flag"}
    of = proposal(state="pending" if pending else "approved", memory=None if pending else "active")
    of = msgspec.structs.replace(of, standing=stands("approve"))
    with pytest.raises(ForbiddenDecisionError, match="another person"):
        ruled(of, kind, "ada", target=OLD if pending and kind != "flag" else None, undoes="r-1")


def test_a_redactor_is_one_of_two_approvers_and_never_the_only_one() -> None:
    """An approval of the redactor waits for another person, who alone would be enough."""
    redacted = proposal(redactor="bob")
    assert (required_persons(redacted), required_persons(redacted, "bob")) == (1, 2)
    first = rule(redacted, decision("approve"), "bob")
    assert (first.admits, first.approvals_required) == (False, 2)
    alone = rule(redacted, decision("approve"), "eve")
    assert (alone.admits, alone.approvals_required) == (True, 1)
    own = Approval(person="bob", version=1, text_hash=text_hash(SHOWN))
    second = rule(proposal(redactor="bob", approvals=[own]), decision("approve"), "eve")
    assert (second.admits, second.approvals_required) == (True, 2)
    assert required_persons(proposal(redactor="bob", curators=2)) == 2


def test_an_owner_is_an_owner_in_any_case() -> None:
    """A person cannot judge own proposals as an account whose name has other letters of the same word."""
    assert owner_obstacle(frozenset({"owen"}), "Owen") is not None
    assert owner_obstacle(frozenset({"Owen"}), "owen") is not None
    assert owner_obstacle(frozenset({"owen"}), "owena") is None
