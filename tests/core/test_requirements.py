"""The requirements of an approval, one by one, in every state."""

from typing import Any

import pytest

from antechamber.core.admission.canonical import canonical
from antechamber.core.policy import Rules
from antechamber.core.review import requirements
from antechamber.core.review.decision import Approval, ReviewedProposal, Target, text_hash
from antechamber.core.review.requirements import CHECKS, Requirement, Situation, evaluate, obstacle
from support import GATE, gate_without

PAYLOAD = {"kind": "fact", "content": "Run the migration first."}
MAIL = {"kind": "fact", "content": "Ask ada@love" + "lace.dev."}


def situation(
    person: str = "bob", off: frozenset[str] = frozenset(), rules: Rules | None = None, **members: Any
) -> Situation:
    """Return a fresh proposal owned by ada, viewed by a person."""
    plain: dict[str, Any] = {
        "state": "pending",
        "version": 1,
        "payload": PAYLOAD,
        "owners": frozenset({"ada"}),
        "edited": False,
        "withdrawn": False,
        "approvals": [],
        "curators": 1,
    }
    proposal = ReviewedProposal(**plain | members)
    places = {"/payload": proposal.payload}
    findings, passed = gate_without(*off).scan(places), GATE.scan(places)
    return Situation(proposal=proposal, person=person, rules=rules or Rules(), findings=findings, passed=passed)


def states(of: Situation) -> dict[str, str]:
    """Return the state of each unsatisfied requirement."""
    return {one.code: one.state for one in evaluate(of) if one.state != "satisfied"}


def by(person: str) -> list[Approval]:
    """Return a person's approval of the text."""
    return [Approval(person=person, version=1, text_hash=text_hash(canonical(PAYLOAD)))]


TABLE: list[tuple[dict[str, Any], dict[str, str], bool]] = [
    ({}, {"target-active": "not-applicable"}, False),
    ({"person": "ada"}, {"other-person": "unsatisfied", "target-active": "not-applicable"}, True),
    ({"withdrawn": True}, {"not-withdrawn": "unsatisfied", "target-active": "not-applicable"}, True),
    ({"payload": MAIL}, {"no-private-data": "unsatisfied", "target-active": "not-applicable"}, True),
    (
        {"payload": MAIL, "off": frozenset({"email-address"})},
        {"no-private-data": "overridden", "target-active": "not-applicable"},
        False,
    ),
    ({"rules": Rules(max_bytes=10)}, {"fits-scope": "unsatisfied", "target-active": "not-applicable"}, True),
    ({"replaces": Target(memory_id="m", state="active")}, {}, False),
    ({"replaces": Target(memory_id="m", state="expired")}, {"target-active": "unsatisfied"}, True),
    ({"curators": 2}, {"persons": "unsatisfied", "target-active": "not-applicable"}, False),
    ({"curators": 2, "approvals": by("eve")}, {"target-active": "not-applicable"}, False),
    (
        {"curators": 2, "approvals": by("bob")},
        {"persons": "unsatisfied", "target-active": "not-applicable"},
        True,
    ),
    ({"second": True}, {"persons": "unsatisfied", "target-active": "not-applicable"}, False),
]
"""What differs from an ordinary situation; scans come in the tests, because each worker collects all files."""


@pytest.mark.parametrize(("of", "expected", "blocked"), TABLE)
def test_each_requirement_has_a_state(of: dict[str, Any], expected: dict[str, str], *, blocked: bool) -> None:
    """Only requirements that are unsatisfied or failed for this person block an approval."""
    given = situation(**of)
    assert states(given) == expected
    assert (obstacle(evaluate(given)) is not None) == blocked
    assert all(one.text.endswith(".") or one.state == "overridden" for one in evaluate(given))


def test_a_requirement_that_cannot_be_evaluated_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error is a separate state and never counts as satisfied."""

    def broken(_situation: Situation) -> Requirement:
        raise ArithmeticError

    monkeypatch.setitem(requirements.CHECKS, "fits-scope", broken)
    found = evaluate(situation())
    assert states(situation()) == {"fits-scope": "error", "target-active": "not-applicable"}
    assert obstacle(found) == "Whether fits-scope holds could not be found out (ArithmeticError)."
    assert list(CHECKS) == [one.code for one in found]
