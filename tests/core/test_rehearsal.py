"""The comparison of two policies: equal ones change nothing, and each difference is named once, with its cause."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.admission.submission import Submission
from antechamber.core.policy import DAY, Limits, Policy, Producer, Rules, ScopeRules
from antechamber.core.privacy import Finding
from antechamber.core.rehearsal import (
    EXAMPLES,
    MAX_GROUPS,
    Change,
    RehearsalTally,
    Treatment,
    compare,
    compare_grants,
    compare_memory,
    compare_review,
    known_of,
    submission_of,
    treat,
)
from antechamber.core.review.decision import text_hash
from antechamber.core.rows.rehearsal import RehearsedDecision, RehearsedSubmission

NOW = 20_000 * DAY
BOT = Producer(identity="worker:release-bot", owner="ada", submit=["project:apollo", "session:*"])
TEXT = '{"content":"Deploy on Fridays.","kind":"procedure"}'
EMAIL = Finding("/payload/content", "email-address", "reject")
PHONE = Finding("/payload/content", "phone-number", "warn")
IN_KEY = Finding("/idempotency_key", "email-address", "reject")
IN_SCOPE = Finding("/scope_id", "email-address", "reject")
PRIVATE = ("rejected-private", "private-detected", "email-address")
INVALID_KEY = ("rejected-invalid", "key-invalid", "email-address")


def policy(**members: Any) -> Policy:
    """Return a policy that lists the release bot."""
    return Policy(**{"producers": {BOT.identity: BOT}} | members)


def listing(**members: Any) -> Policy:
    """Return a policy whose release bot differs in some members."""
    return policy(producers={BOT.identity: msgspec.structs.replace(BOT, **members)})


def row(**members: Any) -> RehearsedSubmission:
    """Return a stored submission that made a proposal."""
    usual = {
        "id": 1,
        "submission_id": "s-1",
        "producer_identity": BOT.identity,
        "idempotency_key": "key",
        "disposition": "accepted-for-review",
        "reason_code": None,
        "submission_scope": "project",
        "scope_id": "apollo",
        "source_event_hash": "blake3:" + "0" * 64,
        "visibility": None,
        "received_at": NOW,
        "proposal": 1,
        "proposal_id": "p-1",
        "proposal_state": "pending",
        "erased": False,
        "sealed": False,
        "payload": TEXT,
        "source_span": '{"uri":"repo://apollo/RUNBOOK.md"}',
        "supersedes": '"m-1"',
        "derived_from": None,
        "observed_at": NOW - 10 * DAY,
        "owner": "ada",
        "edited": False,
        "second": False,
        "redacted_by": None,
        "memory_payload": None,
        "memory_version": None,
    }
    return RehearsedSubmission(**usual | members)


def parsed(**members: Any) -> Submission:
    """Return the submission of a row that has a text."""
    submission = submission_of(row(**members))
    assert submission is not None
    return submission


def treated(by: Policy, *found: Finding, **members: Any) -> Treatment:
    """Return what a policy does with a row in which something was found."""
    private, warnings = [one for one in found if one.is_private], [one for one in found if not one.is_private]
    return treat(by, parsed(**members), known_of(row(**members)), private, warnings, NOW)


def decided(person: str, decision: Any = "approve", **members: Any) -> RehearsedDecision:
    """Return a decision on the proposal of `row`."""
    usual = {"proposal": 1, "resulting_version": 1, "resulting_hash": text_hash(TEXT.encode())}
    return RehearsedDecision(person=person, decision=decision, **usual | members)


def test_a_stored_submission_is_read_as_it_was_parsed() -> None:
    """Kind and size follow from the text, and claims are decoded; without a text there is no submission."""
    submission = parsed(derived_from='["m-2"]')
    assert (submission.kind, submission.supersedes, submission.derived_from) == ("procedure", "m-1", ["m-2"])
    assert submission.size == len('{"payload":,"source_span":,"version":1}' + TEXT) + len(
        '{"uri":"repo://apollo/RUNBOOK.md"}'
    )
    assert submission_of(row(payload=None)) is None


CHANGED = st.sampled_from(
    [
        policy(),
        listing(submit=["session:*"]),
        listing(owner="grace"),
        policy(producers={}),
        policy(defaults=Rules(kinds=["fact"])),
        policy(defaults=Rules(stale_after_days=5)),
        policy(defaults=Rules(max_bytes=20)),
        policy(defaults=Rules(curators=2)),
        policy(limits=Limits(waiting_per_producer=0)),
    ]
)
FOUND = st.lists(st.sampled_from([EMAIL, PHONE, IN_KEY, IN_SCOPE]), unique=True)


@given(of=CHANGED, found=FOUND, scope_id=st.sampled_from(["apollo", "zeus"]), duplicate=st.booleans())
def test_the_same_policy_changes_nothing(of: Policy, found: list[Finding], scope_id: str, duplicate: bool) -> None:  # noqa: FBT001 -- drawn by Hypothesis
    """Whatever was found and wherever it was submitted, a policy agrees with itself."""
    members = {"scope_id": scope_id, "proposal": 2 if duplicate else 1, "memory_payload": TEXT, "memory_version": 1}
    same = treated(of, *found, **members)
    assert list(compare(same, treated(of, *found, **members))) == []
    assert list(compare_review(of, of, row(**members), [decided("bob"), decided("ada", "reject")])) == []
    assert list(compare_grants(of, of, row(payload=None, reason_code="scope-not-granted"))) == []
    assert list(compare_memory(same.causes, same.causes)) == []


@given(st.lists(st.sampled_from(["apollo", "zeus", "hera"]), max_size=30))
def test_a_removed_grant_refuses_exactly_its_submissions(scopes: list[str]) -> None:
    """Each submission to the scope changes from accepted to refused, and no other one changes."""
    before, after = listing(submit=["project:*"]), listing(submit=["project:apollo", "project:hera"])
    tally = RehearsalTally()
    for number, scope_id in enumerate(scopes):
        one = row(submission_id=f"s-{number}", scope_id=scope_id)
        tally.replay()
        changes = list(compare(treated(before, scope_id=scope_id), treated(after, scope_id=scope_id)))
        tally.add(one, changes, hides_scope=False)
    report, refused = tally.report(), [f"s-{number}" for number, name in enumerate(scopes) if name == "zeus"]
    assert (report.replayed, report.changed) == (len(scopes), len(refused))
    assert [(one.scope, one.reason, one.number, one.examples) for one in report.groups] == (
        [("project:zeus", "scope-not-granted", len(refused), refused[-EXAMPLES:])] if refused else []
    )


@pytest.mark.parametrize(
    ("after", "found", "expected"),
    [
        (
            policy(defaults=Rules(kinds=["fact"], stale_after_days=5)),
            [],
            [
                Change("disposition", "accepted-for-review", "rejected-invalid", "kind-unsupported"),
                Change("disposition", "accepted-for-review", "rejected-invalid", "stale"),
            ],
        ),
        (policy(), [EMAIL], [Change("disposition", "accepted-for-review", *PRIVATE)]),
        (policy(), [IN_KEY], [Change("disposition", "accepted-for-review", *INVALID_KEY)]),
        (policy(), [PHONE], [Change("finding", "none", "warn", rule_id="phone-number")]),
        (policy(producers={}), [], [Change("disposition", "accepted-for-review", "unlisted", "producer-mismatch")]),
        (policy(scopes={"project": ScopeRules(curators=2)}), [], [Change("approvals", "1", "2")]),
        (policy(defaults=Rules(curators=2)), [PHONE], [
            Change("finding", "none", "warn", rule_id="phone-number"), Change("approvals", "1", "2"),
        ]),
    ],
)  # fmt: skip
def test_each_difference_is_named_with_its_cause(after: Policy, found: list[Finding], expected: list[Change]) -> None:
    """Compared with a policy that accepts the event without a warning; the other direction has the same causes."""
    plain, other = treated(policy()), treated(after, *found)
    assert list(compare(plain, other)) == expected
    back = [(one.kind, one.after, one.before, one.reason, one.rule_id) for one in compare(other, plain)]
    assert back == [tuple(one) for one in expected]


def test_a_refusal_for_other_reasons_is_a_change() -> None:
    """What stays refused is compared by its codes and rules; an action that changes is named with both."""
    before, after = policy(defaults=Rules(kinds=["fact"])), policy(defaults=Rules(stale_after_days=5))
    assert list(compare(treated(before), treated(after))) == [
        Change("reason", "absent", "present", "stale"),
        Change("reason", "present", "absent", "kind-unsupported"),
    ]
    quarantined = Finding("/payload/content", "email-address", "quarantine")
    assert list(compare(treated(policy(), EMAIL), treated(policy(), quarantined))) == [
        Change("finding", "reject", "quarantine", rule_id="email-address")
    ]
    assert treated(policy(), quarantined, EMAIL).actions == {"email-address": "reject"}


def test_a_duplicate_stays_one() -> None:
    """A submission that joined a proposal is accepted as a duplicate, and needs no approvals of its own."""
    assert treated(policy(), proposal=2).disposition == "accepted-as-duplicate"
    assert list(compare(treated(policy(), proposal=2), treated(policy(defaults=Rules(curators=2)), proposal=2))) == []


def test_a_granted_scope_ends_a_refusal_without_a_text() -> None:
    """Only a refusal for its scope ends so, and only if the present policy refuses it too."""
    refused = row(payload=None, proposal=None, reason_code="scope-not-granted", scope_id="zeus")
    wider = listing(submit=["project:zeus"])
    assert list(compare_grants(policy(), wider, refused)) == [
        Change("grant", "missing", "granted", "scope-not-granted")
    ]
    assert list(compare_grants(wider, wider, refused)) == []
    assert list(compare_grants(policy(), policy(producers={}), refused)) == []
    assert list(compare_grants(policy(), wider, msgspec.structs.replace(refused, reason_code="stale"))) == []


def test_a_memory_that_was_refusable_before_is_no_change() -> None:
    """Only a memory that the present policy would admit is named."""
    cause = frozenset({("private-detected", "email-address")})
    assert list(compare_memory(frozenset(), cause)) == [
        Change("memory", "admitted", "refused", "private-detected", "email-address")
    ]
    assert list(compare_memory(cause, cause)) == []


def review(after: Policy, *decisions: RehearsedDecision, before: Policy | None = None, **members: Any) -> list[Change]:
    """Compare the decisions on an admitted proposal."""
    admitted = row(**{"memory_payload": TEXT, "memory_version": 1} | members)
    return list(compare_review(before or policy(), after, admitted, decisions))


def test_approvals_that_no_longer_suffice_are_named() -> None:
    """One person of one is enough; of two only with a second one, and an approval of another version counts nothing."""
    two = policy(defaults=Rules(curators=2))
    short = [Change("second-person", "1", "2")]
    assert review(two, decided("bob")) == short
    assert review(two, decided("bob"), decided("eve", "reject")) == short
    assert review(two, decided("bob"), decided("eve")) == []
    assert review(two, decided("bob"), decided("eve", resulting_version=2)) == short
    assert review(two, decided("bob"), memory_payload=None) == []
    assert review(policy(), decided("bob"), before=two) == []


def test_an_editor_alone_is_enough_only_where_the_policy_says_so() -> None:
    """Without `self_edit`, the text that one person edited and approved needs a second person."""
    alone = policy(defaults=Rules(self_edit=True))
    edit = decided("bob", "edit")
    assert review(policy(), edit, before=alone, edited=True) == [Change("second-person", "2", "2")]
    assert review(alone, edit, before=alone, edited=True) == []
    assert review(policy(), decided("bob"), before=alone) == []


def test_decisions_of_a_new_owner_are_named() -> None:
    """Each decision of the person counts; an owner of today or of then could not decide."""
    grace = listing(owner="grace")
    owned = Change("owner", "another person", "owner")
    assert review(grace, decided("grace"), decided("bob"), decided("grace", "undo")) == [owned, owned]
    assert review(grace, decided("grace"), before=grace) == []
    assert review(grace, decided("grace"), owner="grace") == []
    assert review(policy(producers={}), decided("grace"), owner=None) == []


@pytest.mark.parametrize(
    ("cause", "members"),
    [
        ("erased", {"erased": True}),
        ("private", {"disposition": "rejected-private"}),
        ("encrypted", {"disposition": "rejected-private", "sealed": True}),
        ("invalid", {"disposition": "rejected-invalid", "reason_code": "stale"}),
        ("sealed-key", {"disposition": "rejected-invalid", "reason_code": "sealed"}),
    ],
)
def test_what_cannot_be_replayed_is_counted_by_its_cause(cause: str, members: dict[str, Any]) -> None:
    """Each cause has a count of its own."""
    tally = RehearsalTally()
    tally.skip(row(payload=None, **members))
    report = tally.report()
    assert (report.not_replayed, report.replayed, report.groups) == ({cause: 1}, 0, [])


def test_groups_are_sorted_and_name_their_latest_submissions() -> None:
    """Equal changes count together, the most frequent first; decisions count one by one, submissions once."""
    tally = RehearsalTally()
    approvals, owner = Change("approvals", "1", "2"), Change("owner", "another person", "owner")
    for number in range(5):
        tally.add(row(submission_id=f"s-{number}"), [approvals], hides_scope=False)
    tally.add(
        row(submission_id="s-5"), [owner, owner, Change("finding", "none", "warn", rule_id="x")], hides_scope=False
    )
    tally.add(row(), [], hides_scope=False)
    report = tally.report()
    assert [(one.change, one.number, one.examples) for one in report.groups] == [
        ("approvals", 5, ["s-2", "s-3", "s-4"]),
        ("owner", 2, ["s-5"]),
        ("finding", 1, ["s-5"]),
    ]
    assert (report.changed, report.totals) == (6, {"approvals": 5, "owner": 2, "finding": 1})


def test_no_report_names_a_private_scope_or_every_session() -> None:
    """Sessions are one group, a private scope id is hidden, and the number of groups is bounded."""
    change = Change("approvals", "1", "2")
    tally = RehearsalTally()
    tally.add(row(submission_scope="session", scope_id="s1"), [change], hides_scope=False)
    tally.add(row(submission_scope="session", scope_id="s2"), [change], hides_scope=False)
    tally.add(row(scope_id="zoe.quill"), [change], hides_scope=True)
    assert [(one.scope, one.number) for one in tally.report().groups] == [("session:*", 2), ("project:*", 1)]
    for number in range(MAX_GROUPS + 20):
        tally.add(row(scope_id=f"p{number}"), [change], hides_scope=False)
    tally.add(row(scope_id="p0"), [change], hides_scope=False)
    counted = {one.scope: one.number for one in tally.report().groups}
    assert len(counted) == MAX_GROUPS
    assert (counted["project:*"], counted["project:p0"]) == (23, 2)
    assert treated(policy(), IN_SCOPE).hides_scope
    assert not treated(policy(), EMAIL).hides_scope
