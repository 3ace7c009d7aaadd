"""Decision tables: expected outcomes of a policy, checked before it is in force."""

from typing import Any

import pytest

from antechamber.core.policy import Case, Policy, Privacy, Producer, Rules
from antechamber.core.policy_tests import failures, outcome
from support import RULES

BOT = Producer(identity="worker:release-bot", owner="ada", submit=["project:apollo"], read=["project:*"])
STRANGER = Producer(identity="worker:stranger", owner="eve", submit=["project:gemini"], read=["project:apollo"])
MAIL = "ada@" + "lovelace.dev"


def policy(*cases: Case, **members: Any) -> Policy:
    """Return a policy with the release bot and these cases."""
    return Policy(producers={BOT.identity: BOT}, cases=list(cases), **{"detectors": RULES} | members)


def case(expect: str = "accepted-for-review", **members: Any) -> Case:
    """Return a case of the release bot in its project."""
    return Case(**{"name": "a case", "producer": BOT.identity, "scope": "project:apollo", "expect": expect} | members)


SAID: list[tuple[dict[str, Any], str]] = [
    ({}, "accepted-for-review"),
    ({"scope": "project:gemini"}, "scope-not-granted"),
    ({"producer": "worker:stranger"}, "producer-mismatch"),
    ({"producer": "worker:stranger", "action": "read"}, "producer-mismatch"),
    ({"action": "read", "scope": "project:gemini"}, "allowed"),
    ({"action": "read", "scope": "session:s1"}, "scope-not-granted"),
    ({"kind": "gossip"}, "kind-unsupported"),
    ({"kind": "FACT"}, "accepted-for-review"),
    ({"age_days": 400}, "accepted-for-review"),
    ({"age_days": 401}, "stale"),
    ({"age_days": -1}, "observed-in-future"),
    ({"content": MAIL}, "private-detected"),
    ({"content": MAIL, "scope": "project:gemini"}, "private-detected"),
    ({"producer": STRANGER}, "scope-not-granted"),
    ({"producer": STRANGER, "scope": "project:gemini"}, "accepted-for-review"),
    ({"producer": STRANGER, "action": "read"}, "allowed"),
]


@pytest.mark.parametrize(("members", "said"), SAID)
def test_a_case_evaluates_the_policy(members: dict[str, Any], said: str) -> None:
    """Cases cover reading, submitting, privacy, grants, kinds and age, also for a producer defined in the case."""
    assert outcome(policy(), case(**members)) == said


def test_a_case_obeys_the_policy_it_belongs_to() -> None:
    """Disabled rules and rules of the scope apply to cases too."""
    assert outcome(policy(privacy=Privacy(off=["email-address"])), case(content=MAIL)) == "accepted-for-review"
    assert outcome(policy(defaults=Rules(max_bytes=10)), case()) == "too-large-for-scope"


@pytest.mark.parametrize(("members", "said"), SAID)
def test_a_case_that_comes_out_as_expected_is_silent(members: dict[str, Any], said: str) -> None:
    """Passing cases produce no message."""
    assert failures(policy(case(said, **members))) == []


def test_every_broken_case_is_described() -> None:
    """Each failed case is named with the expected and the actual outcome."""
    said = failures(policy(case("stale", name="one"), case(), case("allowed", name="two", kind="gossip")))
    assert said == [
        'test "one": expected stale, the policy says accepted-for-review; change the policy or the test',
        'test "two": expected allowed, the policy says kind-unsupported; change the policy or the test',
    ]
    (said,) = failures(policy(case(producer="worker:stranger")))
    assert said.endswith(
        "the policy says producer-mismatch; producers.toml does not list worker:stranger: list it, or "
        "define it in the test with producer = {identity = …}"
    )


def test_an_unknown_expectation_is_described() -> None:
    """A misspelled code is reported as unknown, not as a failed expectation."""
    (said,) = failures(policy(case("accepted")))
    assert said.startswith('test "a case": expect "accepted" is neither accepted-for-review nor allowed')
