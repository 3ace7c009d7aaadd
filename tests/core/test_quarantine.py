"""The rules of decisions on quarantined events."""

from typing import Any

import pytest

from antechamber.core.admission.canonical import canonical
from antechamber.core.errors import AntechamberError, ForbiddenDecisionError, StaleDecisionError
from antechamber.core.review.decision import QUICK_UNDO, CurrentDecision, InvalidDecisionError
from antechamber.core.review.quarantine import QuarantineFacts, QuarantineForm, settle

PAYLOAD = {"content": "Deploy on Fridays.", "kind": "fact"}
KEPT = CurrentDecision(review_record_id="r-1", kind="keep", person="bob", decided_at=0, shown=canonical(PAYLOAD))


def facts(**members: Any) -> QuarantineFacts:
    """Return a conflict that waits, or another event."""
    waiting = {"state": "waiting", "version": 0, "payload": PAYLOAD, "erased": False, "standing": None}
    return QuarantineFacts(**waiting | {"owners": frozenset({"ada"})} | members)


def settled(**members: Any) -> QuarantineFacts:
    """Return an event on which bob kept the original."""
    return facts(**{"state": "settled", "version": 1, "standing": KEPT} | members)


def form(kind: Any = "keep", **members: Any) -> QuarantineForm:
    """Return the form of a decision on a waiting event, or of another one."""
    return QuarantineForm(kind=kind, decision_key="key", **{"version": 0} | members)


def undo(**members: Any) -> QuarantineForm:
    """Return the form that undoes bob's decision."""
    return form("undo", **{"version": 1, "undoes": "r-1"} | members)


@pytest.mark.parametrize("kind", ["keep", "open", "dismiss"])
def test_a_decision_settles_a_waiting_event(kind: Any) -> None:
    """The event is settled, and the record has what was shown; a reason is optional."""
    ruling = settle(facts(), form(kind), "bob", 0)
    assert (ruling.state, ruling.reason_code, ruling.shown) == ("settled", None, canonical(PAYLOAD))
    assert settle(facts(), form(kind, reason_code="unsafe"), "bob", 0).reason_code == "unsafe"


def test_an_undo_returns_an_event_to_waiting() -> None:
    """The person who decided needs no reason for ten minutes; later, or for another person, one is required."""
    assert settle(settled(), undo(), "bob", QUICK_UNDO).state == "waiting"
    for person, now in (("bob", QUICK_UNDO + 1), ("eve", 0)):
        with pytest.raises(InvalidDecisionError, match="Choose a reason"):
            settle(settled(), undo(), person, now)
        assert settle(settled(), undo(reason_code="wrong"), person, now).reason_code == "wrong"


DESTROYED = CurrentDecision(review_record_id="r-1", kind="destroy", person="bob", decided_at=0, shown=b"null")


@pytest.mark.parametrize("kind", ["release", "destroy", "clear"])
def test_a_sealed_event_is_settled_by_decisions_of_its_own(kind: Any) -> None:
    """They show nothing in their record; without a sealed text, and for a conflict, they do not apply."""
    ruling = settle(facts(payload=None, sealed=True), form(kind), "bob", 0)
    assert (ruling.state, ruling.shown) == ("settled", b"null")
    for other in (facts(payload=None), facts()):
        with pytest.raises(InvalidDecisionError, match="not there any more"):
            settle(other, form(kind), "bob", 0)


REFUSED: dict[str, tuple[QuarantineFacts, QuarantineForm, type[AntechamberError], str]] = {
    "another version": (facts(version=1), form(), StaleDecisionError, "decided on this event first"),
    "settled already": (settled(), form(version=1), StaleDecisionError, "decided on this event first"),
    "by an owner": (facts(owners=frozenset({"bob"})), form(), ForbiddenDecisionError, "must judge its events"),
    "nothing to open": (facts(payload=None), form("open"), InvalidDecisionError, "Nothing of this event was kept"),
    "erased": (settled(payload=None, erased=True), undo(), ForbiddenDecisionError, "The text was erased"),
    "sealed": (facts(payload=None, sealed=True), form("dismiss"), InvalidDecisionError, "This event is sealed"),
    "destroyed": (settled(standing=DESTROYED), undo(), ForbiddenDecisionError, "cannot be undone"),
    "nothing to undo": (facts(version=1), undo(), InvalidDecisionError, "no decision to undo"),
    "another decision": (settled(), undo(undoes="r-0"), StaleDecisionError, "another decision was made"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_decision_that_cannot_be_made_is_refused(
    case: tuple[QuarantineFacts, QuarantineForm, type[AntechamberError], str],
) -> None:
    """Each refusal says why."""
    event, sent, error, text = case
    with pytest.raises(error, match=text):
        settle(event, sent, "bob", 0)


def test_an_event_without_a_payload_can_be_dismissed() -> None:
    """The record of an event of which nothing was kept shows `null`."""
    assert settle(facts(payload=None), form("dismiss"), "bob", 0).shown == b"null"
