"""The policy: grants, conditions on proposals, and its digest."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.admission.submission import Submission, read_draft, read_event
from antechamber.core.contract import SCOPES, Scope
from antechamber.core.policy import (
    DAY,
    FUTURE_TOLERANCE,
    Limits,
    Policy,
    Privacy,
    Producer,
    Rules,
    ScopeRules,
    covers,
    covers_by_name,
    evaluate,
    may_read,
    name_grants,
)
from antechamber.core.times import format_time
from support import event

NOW = 20_000 * DAY
BOT = Producer(identity="worker:release-bot", owner="ada", submit=["project:apollo", "session:*"])


def policy(**members: Any) -> Policy:
    """Return a policy that lists the release bot."""
    return Policy(**{"producers": {BOT.identity: BOT}} | members)


def submitted(*, age: int | None = None, **members: Any) -> Submission:
    """Return a submission that was observed `age` microseconds before now."""
    observed = None if age is None else format_time(NOW - age)
    return read_event(read_draft(msgspec.json.encode(event(observed_at=observed, **members))))


def verdict(policy: Policy, submission: Submission) -> list[tuple[str, str | None]]:
    """Return code and pointer of each reason of the policy."""
    return [(reason.code, reason.pointer) for reason in evaluate(policy, submission, NOW)]


def test_what_the_policy_grants_passes() -> None:
    """A listed producer with a granted scope and a known kind passes."""
    assert verdict(policy(), submitted()) == []


@pytest.mark.parametrize(
    ("grants", "named"),
    [
        ([], "no scope is granted"),
        (["project:apollo", "session:*"], "granted: project:apollo, session:*"),
        (["project:a"] * 18, f"granted: {', '.join(['project:a'] * 16)} and 2 more"),
    ],
    ids=["none", "two", "many"],
)
def test_granted_scopes_are_named(grants: list[str], named: str) -> None:
    """A refusal says what is granted instead; of many scopes it names the first ones."""
    assert name_grants(grants) == named


def test_the_shipped_policy_admits_no_producer() -> None:
    """Without listed producers every submission is refused."""
    assert verdict(Policy(), submitted()) == [("scope-not-granted", "/submission_scope")]


@pytest.mark.parametrize(
    ("scope", "scope_id", "granted"),
    [
        ("project", "apollo", True),
        ("project", "apollo2", False),
        ("project", "apoll", False),
        ("project", "Apollo", False),
        ("project", "gemini", False),
        ("session", "a", True),
        ("session", "x/y@z", True),
        ("organization", "apollo", False),
        ("agent_team", "apollo", False),
    ],
)
def test_only_granted_scopes_take_submissions(scope: str, scope_id: str, *, granted: bool) -> None:
    """A grant names one exact scope; a star matches any id."""
    refused = [] if granted else [("scope-not-granted", "/submission_scope")]
    assert verdict(policy(), submitted(submission_scope=scope, scope_id=scope_id)) == refused


@pytest.mark.parametrize(
    ("grants", "scope", "scope_id", "covered"),
    [
        ([], "project", "apollo", False),
        (["*:*"], "cross_organization", "x", True),
        (["*:apollo"], "agent_repo", "apollo", True),
        (["*:apollo"], "agent_repo", "gemini", False),
        (["project:ap*"], "project", "apollo", True),
        (["project:ap*"], "project", "ap", True),
        (["project:ap*"], "project", "a", False),
        (["project:*lo"], "project", "apollo", True),
        (["project:a*o*2"], "project", "apollo-2", True),
        (["project:a.c"], "project", "abc", False),
        (["project:a.c"], "project", "a.c", True),
        (["project:a", "project:b"], "project", "b", True),
        (["organization:*"], "cross_organization", "x", False),
        (["cross_organization:*"], "organization", "x", False),
    ],
)
def test_a_star_matches_anything(grants: list[str], scope: str, scope_id: str, *, covered: bool) -> None:
    """Only the star is special, and a grant must match the whole pair."""
    assert covers(grants, scope, scope_id) == covered


@given(st.sampled_from(SCOPES), st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._/@-]{0,20}", fullmatch=True))
def test_a_grant_without_star_covers_its_own_pair_only(scope: str, scope_id: str) -> None:
    """A grant is a pattern only if it contains a star."""
    grants = [f"{scope}:{scope_id}"]
    assert covers(grants, scope, scope_id)
    assert covers_by_name(grants, scope, scope_id)
    assert not covers(grants, scope, scope_id + "x")
    assert not covers(grants, scope, "x" + scope_id)
    assert not any(covers(grants, other, scope_id) for other in SCOPES if other != scope)


@pytest.mark.parametrize(
    ("grants", "scope", "submitted_there", "allowed"),
    [
        (["session:*"], "session", False, False),
        (["session:*"], "session", True, True),
        (["*:*"], "session", False, False),
        (["session:s1"], "session", False, True),
        (["session:s2"], "session", True, False),
        (["project:*"], "project", False, True),
        ([], "project", True, False),
        ([], "session", True, False),
    ],
)
def test_a_star_opens_only_sessions_one_took_part_in(
    grants: list[str], scope: str, *, submitted_there: bool, allowed: bool
) -> None:
    """A session granted by star is readable if the reader submitted in it; other scopes need a grant alone."""
    assert may_read(grants, scope, "s1", submitted=submitted_there) == allowed


@pytest.mark.parametrize(
    ("age", "code"),
    [
        (None, None),
        (0, None),
        (400 * DAY, None),
        (400 * DAY + 1, "stale"),
        (5000 * DAY, "stale"),
        (-FUTURE_TOLERANCE, None),
        (-FUTURE_TOLERANCE - 1, "observed-in-future"),
    ],
)
def test_an_event_is_neither_too_old_nor_from_the_future(age: int | None, code: str | None) -> None:
    """The limits are 400 days and five minutes, to the microsecond; an event without a time passes."""
    assert verdict(policy(), submitted(age=age)) == ([(code, "/observed_at")] if code else [])


@pytest.mark.parametrize("kind", ["fact", "procedure", "preference", "decision", "warning", "WARNING"])
def test_the_shipped_kinds_are_supported(kind: str) -> None:
    """Five kinds are accepted in every scope."""
    assert verdict(policy(), submitted(payload={"kind": kind, "content": "x"})) == []


def test_another_kind_is_unsupported() -> None:
    """The reason lists the valid kinds and does not repeat the invalid one."""
    (reason,) = evaluate(policy(), submitted(payload={"kind": "gossip", "content": "x"}), NOW)
    assert (reason.code, reason.pointer) == ("kind-unsupported", "/payload/kind")
    assert "fact" in reason.message
    assert "gossip" not in reason.message


def test_size_is_that_of_the_canonical_event() -> None:
    """An event of exactly the maximum size passes, and one byte more does not."""
    submission = submitted()
    fits = policy(defaults=Rules(max_bytes=submission.size))
    tight = policy(defaults=Rules(max_bytes=submission.size - 1))
    assert verdict(fits, submission) == []
    assert verdict(tight, submission) == [("too-large-for-scope", "/payload")]


def test_all_reasons_are_given_in_their_order() -> None:
    """An event that violates several rules gets all reasons in order."""
    strict = policy(defaults=Rules(kinds=["fact"], max_bytes=1))
    assert [code for code, _ in verdict(strict, submitted(age=500 * DAY, scope_id="gemini"))] == [
        "scope-not-granted",
        "kind-unsupported",
        "stale",
        "too-large-for-scope",
    ]


def test_rules_of_a_scope_replace_the_defaults_one_by_one() -> None:
    """Settings that a scope omits keep their defaults."""
    special = policy(scopes={"session": ScopeRules(kinds=["fact"], stale_after_days=1, curators=2)})
    assert special.rules("session") == Rules(kinds=["fact"], stale_after_days=1, curators=2)
    assert special.rules("project") == Rules()
    assert verdict(special, submitted(submission_scope="session", scope_id="s", age=2 * DAY)) == [
        ("kind-unsupported", "/payload/kind"),
        ("stale", "/observed_at"),
    ]


@pytest.mark.parametrize("scope", SCOPES)
def test_the_widest_scopes_want_two_persons(scope: Scope) -> None:
    """By default only organization and cross_organization require a second curator."""
    assert Policy().rules(scope).curators == (2 if scope in {"organization", "cross_organization"} else 1)


def test_the_owner_is_who_answers_now() -> None:
    """A producer that is not listed has no owner."""
    assert policy().owner("worker:release-bot") == "ada"
    assert policy().owner("worker:stranger") is None


def test_the_digest_names_what_is_in_force() -> None:
    """Equal policies have equal digests, whatever the order of their producers."""
    other = Producer(identity="tool:watcher", owner="grace")
    first = Policy(producers={BOT.identity: BOT, other.identity: other})
    second = Policy(producers={other.identity: other, BOT.identity: BOT})
    assert first.digest() == second.digest()
    assert first.digest().startswith("blake3:")
    assert len(first.digest()) == len("blake3:") + 64


@pytest.mark.parametrize(
    "members",
    [
        {"producers": {}},
        {"producers": {BOT.identity: msgspec.structs.replace(BOT, owner="grace")}},
        {"producers": {BOT.identity: msgspec.structs.replace(BOT, read=["project:apollo"])}},
        {"defaults": Rules(curators=2)},
        {"scopes": {}},
        {"limits": Limits(attempts_per_minute=60)},
        {"privacy": Privacy(off=["iban"])},
    ],
)
def test_every_change_gives_another_digest(members: dict[str, Any]) -> None:
    """Every change gives another digest, so a receipt identifies the rules it was judged by."""
    assert policy(**members).digest() != policy().digest()
