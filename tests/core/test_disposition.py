"""The judgement: every row of the table of outcomes, and that each situation has exactly one outcome."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.admission.disposition import (
    AdmissionWrite,
    Candidate,
    Judgement,
    Known,
    KnownConflict,
    KnownProposal,
    KnownSubmission,
    decide,
    make_candidate,
)
from antechamber.core.admission.receipt import answer_of, echo_of, form_receipt
from antechamber.core.admission.submission import read_draft, read_event
from antechamber.core.contract import CODES, Problem, Reason, Receipt
from antechamber.core.errors import RequestRefusedError
from antechamber.core.outcomes import ACCEPTED, DUPLICATE, FIXTURES, OUTCOMES, RETRY_AFTER
from antechamber.core.policy import Limits, Verdict
from antechamber.core.privacy import Finding
from support import GATE, event

SECRET = bytes(range(32))
DIGEST = "blake3:" + "0" * 64
LIMITS = Limits(conflicts_per_key=2, waiting_per_producer=3)
PENDING = KnownProposal(id=7, proposal_id="p-7", state="pending", own_submission=None, own_submission_id=None)
MINE = msgspec.structs.replace(PENDING, own_submission=4, own_submission_id="s-4")
FOUND = [Finding("/payload/content", "email-address")]

# code: status, disposition, key bound, retry same key, safe new key
TABLE: dict[str, tuple[int, str | None, bool | None, bool, bool]] = {
    "key-missing": (400, "rejected-invalid", False, True, False),
    "key-invalid": (400, "rejected-invalid", False, True, False),
    "key-header-differs": (400, "rejected-invalid", False, True, False),
    "malformed": (400, "rejected-invalid", False, True, False),
    "unknown-member": (400, "rejected-invalid", False, True, False),
    "duplicate-member": (400, "rejected-invalid", False, True, False),
    "out-of-profile": (400, "rejected-invalid", False, True, False),
    "hash-missing": (400, "rejected-invalid", False, True, False),
    "hash-mismatch": (400, "rejected-invalid", False, True, False),
    "direct-write": (403, "rejected-invalid", False, True, False),
    "producer-mismatch": (403, None, False, True, False),
    "unauthorized": (401, None, False, True, False),
    "body-too-large": (413, None, False, True, False),
    "rate-limited": (429, None, False, True, False),
    "busy": (409, None, False, True, False),
    "unavailable": (503, None, False, True, False),
    "scope-not-granted": (422, "rejected-invalid", True, False, True),
    "kind-unsupported": (422, "rejected-invalid", True, False, True),
    "stale": (422, "rejected-invalid", True, False, True),
    "observed-in-future": (422, "rejected-invalid", True, False, True),
    "too-large-for-scope": (422, "rejected-invalid", True, False, True),
    "private-declared": (422, "rejected-private", True, False, True),
    "private-detected": (422, "rejected-private", True, False, True),
    "key-reused": (422, "rejected-conflict", None, False, False),
    "sealed": (422, "rejected-invalid", None, False, True),
    "already-decided": (200, "accepted-as-duplicate", True, False, False),
}


def made(findings: list[Finding] | None = None, **members: Any) -> Candidate:
    """Return a candidate with the given findings."""
    submission = read_event(read_draft(msgspec.json.encode(event(**members))))
    return make_candidate(submission, findings or [], SECRET, verdict())


def judge(of: Candidate, says: Verdict, known: Known) -> Judgement:
    """Judge a build_candidate about which the policy says this."""
    return decide(msgspec.structs.replace(of, verdict=says), known)


def verdict(*codes: Any) -> Verdict:
    """Return a policy verdict with these reasons."""
    reasons = [Reason(code=code, message=f"the policy says {code}") for code in codes]
    return Verdict(reasons=reasons, owner="ada", policy_digest=DIGEST, limits=LIMITS)


def stored(of: Candidate, **members: Any) -> KnownSubmission:
    """Return the stored facts of a candidate accepted before, except for the given `members`."""
    known = {
        "id": 4,
        "submission_id": "s-4",
        "disposition": "accepted-for-review",
        "reason_code": None,
        "fingerprint": of.keyed_fingerprint if of.private else of.fingerprint,
        "keyed": of.private,
        "visibility": of.submission.visibility,
        "status": 201,
        "receipt": "the first answer",
        "proposal_id": "p-7",
        "proposal_state": "pending",
    }
    return KnownSubmission(**known | members)


def codes(judgement: Judgement) -> list[str]:
    """Return the codes of a judgement's reasons."""
    return [reason.code for reason in judgement.reasons]


def writes(judgement: Judgement) -> set[str]:
    """Return the names of what a judgement writes."""
    names = ("bind", "propose", "evidence", "quarantine", "withdraw")
    return {name for name in names if getattr(judgement, name)}


def test_the_table_of_outcomes_is_complete_and_right() -> None:
    """Every listed code has its status, disposition and flags, and there is no other code."""
    names = ("status", "disposition", "key_bound", "retry_same_key", "safe_new_key")
    assert set(CODES) == set(TABLE)
    assert {code: tuple(getattr(row, name) for name in names) for code, row in OUTCOMES.items()} == TABLE


def test_acceptance_has_its_two_rows() -> None:
    """A new event is 201 and a duplicate 200; both bind the key and neither is to be sent again."""
    names = ("status", "disposition", "key_bound", "retry_same_key", "safe_new_key")
    assert [getattr(ACCEPTED, name) for name in names] == [201, "accepted-for-review", True, False, False]
    assert [getattr(DUPLICATE, name) for name in names] == [200, "accepted-as-duplicate", True, False, False]


@pytest.mark.parametrize("code", CODES)
def test_an_outcome_explains_itself(code: str) -> None:
    """Each outcome has a title and advice that ends as a sentence."""
    outcome = OUTCOMES[code]  # type: ignore[index]
    assert outcome.title
    assert outcome.advice.endswith(".")


@pytest.mark.parametrize("code", CODES)
def test_a_key_that_was_left_free_may_be_used_again(code: str) -> None:
    """An outcome that leaves the key free allows a retry with it; one that binds it does not."""
    outcome = OUTCOMES[code]  # type: ignore[index]
    assert outcome.retry_same_key == (outcome.key_bound is False) == (outcome.status not in {200, 201, 422})
    assert not (outcome.retry_same_key and outcome.safe_new_key)


def test_temporary_refusals_have_retry_after() -> None:
    """The answers of a busy service, and no others, carry Retry-After."""
    assert {OUTCOMES[code].status for code in RETRY_AFTER} == {409, 429, 503}
    assert all(seconds > 0 for seconds in RETRY_AFTER.values())


def test_a_new_event_makes_one_proposal() -> None:
    """A new event that passes binds its key and creates a proposal."""
    judgement = judge(made(), verdict(), Known())
    assert (judgement.outcome, judgement.reasons, judgement.replay) == (ACCEPTED, [], None)
    assert writes(judgement) == {"bind", "propose"}


@pytest.mark.parametrize("codes_now", [[], ["stale"], ["scope-not-granted", "kind-unsupported"]])
def test_the_same_event_under_the_same_key_is_replayed(codes_now: list[str]) -> None:
    """The first answer is repeated whatever the current policy, and nothing is written."""
    first = made()
    judgement = judge(made(), verdict(*codes_now), Known(submission=stored(first), proposal=PENDING))
    assert judgement.replay == "the first answer"
    assert writes(judgement) == set()
    assert judgement.original == stored(first)


@pytest.mark.parametrize(("status", "outcome"), [(201, ACCEPTED), (200, DUPLICATE)])
def test_a_replay_keeps_the_outcome_of_the_first_answer(status: int, outcome: Any) -> None:
    """An accepted event stays accepted, as a proposal or as a duplicate."""
    assert judge(made(), verdict(), Known(submission=stored(made(), status=status))).outcome == outcome


def test_a_replay_is_recognized_although_the_rules_changed() -> None:
    """An accepted event replays even if a new rule would find it private today."""
    judgement = judge(made(FOUND), verdict(), Known(submission=stored(made())))
    assert (judgement.replay, writes(judgement)) == ("the first answer", set())


def test_a_private_event_is_recognized_by_its_keyed_fingerprint() -> None:
    """A refused private event replays even if its rule is disabled now."""
    first = stored(made(FOUND), disposition="rejected-private", status=422, receipt="refused")
    assert first.keyed
    for again in (made(FOUND), made()):
        assert judge(again, verdict(), Known(submission=first)).replay == "refused"


OTHERS: list[dict[str, Any]] = [
    {"content": "Another text."},
    {"submission_scope": "session"},
    {"scope_id": "gemini"},
    {"visibility": "shareable"},
    {"supersedes": "0198c7f2"},
]


@pytest.mark.parametrize("members", OTHERS, ids=lambda members: next(iter(members)))
def test_another_event_under_the_same_key_is_a_conflict(members: dict[str, Any]) -> None:
    """Each compared member alone makes a conflict, which is quarantined; the original is unchanged."""
    judgement = judge(made(**members), verdict("stale"), Known(submission=stored(made()), proposal=PENDING))
    assert codes(judgement) == ["key-reused"]
    assert judgement.outcome == OUTCOMES["key-reused"]
    assert (writes(judgement), judgement.replay, judgement.proposal) == ({"quarantine"}, None, None)
    assert judgement.original is not None
    assert judgement.original.submission_id == "s-4"


def test_the_time_of_observation_is_not_compared() -> None:
    """A retry with another observed_at is a replay."""
    again = made(observed_at="2026-11-20T10:00:00Z")
    assert judge(again, verdict(), Known(submission=stored(made()))).replay == "the first answer"


def test_the_same_refused_event_gets_the_same_conflict_again() -> None:
    """A known conflict gets the same answer and is quarantined once."""
    known = Known(submission=stored(made()), conflict=KnownConflict(answer="the conflict"), conflicts_of_key=1)
    judgement = judge(made(content="Another text."), verdict(), known)
    assert (judgement.replay, judgement.outcome, writes(judgement)) == ("the conflict", OUTCOMES["key-reused"], set())


@pytest.mark.parametrize(
    ("of_key", "of_producer", "kept"), [(0, 0, True), (1, 2, True), (2, 0, False), (0, 3, False), (9, 9, False)]
)
def test_conflicts_are_kept_up_to_the_limits(of_key: int, of_producer: int, *, kept: bool) -> None:
    """Beyond the limits of the policy the answer is the same, but the event is not quarantined."""
    known = Known(submission=stored(made()), conflicts_of_key=of_key, waiting_of_producer=of_producer)
    judgement = judge(made(content="Another text."), verdict(), known)
    assert (codes(judgement), judgement.quarantine) == (["key-reused"], kept)


def test_a_conflict_with_a_private_finding_names_it() -> None:
    """The findings of the quarantined event follow the conflict's code."""
    judgement = judge(made(FOUND, content="Other.", visibility="private"), verdict(), Known(submission=stored(made())))
    assert codes(judgement) == ["key-reused", "private-declared", "private-detected"]
    assert [reason.pointer for reason in judgement.reasons] == ["/idempotency_key", "/visibility", "/payload/content"]


@pytest.mark.parametrize("conflict", [None, KnownConflict(answer="the conflict")], ids=["new", "seen"])
def test_a_retry_that_turned_private_withdraws_the_proposal(conflict: KnownConflict | None) -> None:
    """The retry is a conflict, and the pending proposal is withdrawn."""
    known = Known(submission=stored(made()), conflict=conflict)
    judgement = judge(made(visibility="private"), verdict(), known)
    assert judgement.outcome == OUTCOMES["key-reused"]
    assert judgement.withdraw


@pytest.mark.parametrize(
    "members",
    [
        {"proposal_state": "approved"},
        {"proposal_state": "rejected"},
        {"disposition": "accepted-as-duplicate", "status": 200},
        {"visibility": "private", "disposition": "rejected-private", "status": 422, "proposal_state": None},
    ],
    ids=["approved", "rejected", "duplicate", "private before"],
)
def test_only_a_pending_proposal_of_its_own_is_withdrawn(members: dict[str, Any]) -> None:
    """A decided proposal, another producer's, or one private from the start is unchanged."""
    known = Known(submission=stored(made(), **members))
    judgement = judge(made(visibility="private", content="Other."), verdict(), known)
    assert (codes(judgement)[0], judgement.withdraw) == ("key-reused", False)


def test_a_sealed_key_answers_with_its_seal() -> None:
    """Every event under a sealed key gets the seal's receipt, and nothing is quarantined."""
    seal = stored(
        made(), reason_code="sealed", disposition="rejected-invalid", fingerprint=None, status=422, receipt="seal"
    )
    for late in (made(), made(FOUND), made(visibility="private")):
        judgement = judge(late, verdict("stale"), Known(submission=seal, proposal=PENDING))
        assert (judgement.outcome, judgement.replay, writes(judgement)) == (OUTCOMES["sealed"], "seal", set())


@pytest.mark.parametrize("state", ["pending", "approved", "rejected"])
@pytest.mark.parametrize(("proposal", "evidence"), [(MINE, False), (PENDING, True)], ids=["own", "other"])
def test_the_same_content_under_another_key_is_a_duplicate(
    state: str, proposal: KnownProposal, *, evidence: bool
) -> None:
    """A producer's own repetition is no evidence, another's is; a decided proposal is named and unchanged."""
    known = Known(proposal=msgspec.structs.replace(proposal, state=state))
    judgement = judge(made(), verdict(), known)
    assert judgement.outcome == DUPLICATE
    assert codes(judgement) == ([] if state == "pending" else ["already-decided"])
    assert writes(judgement) == {"bind"} | ({"evidence"} if evidence else set())
    assert judgement.proposal == known.proposal


@pytest.mark.parametrize(
    ("findings", "visibility", "expected"),
    [
        (FOUND, None, ["private-detected"]),
        ([], "private", ["private-declared"]),
        (FOUND, "private", ["private-declared", "private-detected"]),
    ],
)
@pytest.mark.parametrize(("waiting", "room"), [(0, True), (2, True), (3, False)])
def test_a_private_event_is_refused_before_policy_and_content(
    findings: list[Finding], visibility: str | None, expected: list[str], waiting: int, *, room: bool
) -> None:
    """Privacy precedes policy and content look-up; the event is quarantined while there is room."""
    known = Known(proposal=PENDING, waiting_of_producer=waiting)
    judgement = judge(made(findings, visibility=visibility), verdict("stale"), known)
    assert codes(judgement) == expected
    assert judgement.outcome == OUTCOMES[judgement.reasons[0].code]
    assert writes(judgement) == {"bind"} | ({"quarantine"} if room else set())
    assert judgement.proposal is None


def test_private_reasons_name_rule_and_place_but_no_value() -> None:
    """A reason names rule and pointer but no value."""
    address = "ada@" + "lovelace.dev"
    found = GATE.scan({"/payload": {"content": f"Ask {address}."}})
    (reason,) = judge(made(found, content=f"Ask {address}."), verdict(), Known()).reasons
    assert reason.pointer == "/payload/content"
    assert reason.message.startswith("email-address")
    assert address not in reason.message


@pytest.mark.parametrize(
    "code", ["scope-not-granted", "kind-unsupported", "stale", "observed-in-future", "too-large-for-scope"]
)
def test_what_the_policy_refuses_binds_the_key_and_makes_nothing(code: str) -> None:
    """The policy's first reason decides, without a look-up of the content."""
    judgement = judge(made(), verdict(code, "stale"), Known(proposal=PENDING))
    assert (judgement.outcome, writes(judgement)) == (OUTCOMES[code], {"bind"})  # type: ignore[index]
    assert codes(judgement) == [code, "stale"]


def test_a_private_scope_id_is_hidden() -> None:
    """Only a finding in the scope id itself hides it."""
    assert made([Finding("/scope_id", "email-address")]).hides_scope
    assert not made(FOUND).hides_scope


events = st.builds(
    made,
    st.sampled_from([[], FOUND, [Finding("/scope_id", "iban"), *FOUND]]),
    content=st.sampled_from(["One.", "Two."]),
    visibility=st.sampled_from([None, "shareable", "private"]),
)
verdicts = st.lists(st.sampled_from(["stale", "kind-unsupported", "scope-not-granted"]), max_size=2).map(
    lambda names: verdict(*names)
)
proposals = st.builds(
    msgspec.structs.replace,
    st.sampled_from([PENDING, MINE]),
    state=st.sampled_from(["pending", "approved", "rejected"]),
)
submissions = st.builds(
    stored,
    events,
    disposition=st.sampled_from(
        ["accepted-for-review", "accepted-as-duplicate", "rejected-private", "rejected-invalid"]
    ),
    reason_code=st.sampled_from([None, "sealed", "stale"]),
    status=st.sampled_from([200, 201, 422]),
    proposal_state=st.sampled_from([None, "pending", "approved", "rejected"]),
)
knowns = st.builds(
    Known,
    submission=st.none() | submissions,
    proposal=st.none() | proposals,
    conflict=st.none() | st.just(KnownConflict(answer="the conflict")),
    conflicts_of_key=st.integers(0, 3),
    waiting_of_producer=st.integers(0, 4),
)


@given(events, verdicts, knowns)
def test_every_situation_has_exactly_one_outcome(of: Candidate, says: Verdict, known: Known) -> None:
    """For any facts a judgement is one row of the table and writes only what that row allows."""
    judgement = judge(of, says, known)
    assert judgement == judge(of, says, known)
    bound = known.submission is not None
    new = not bound
    accepted = new and not of.private and not says.reasons
    assert judgement.bind == new
    assert judgement.propose == (accepted and known.proposal is None)
    assert judgement.evidence == (accepted and known.proposal is not None and known.proposal.own_submission is None)
    assert (judgement.original is not None) == bound
    assert (judgement.replay is None) or bound
    assert not judgement.quarantine or known.waiting_of_producer < LIMITS.waiting_per_producer
    assert not judgement.quarantine or of.private or bound
    assert not judgement.withdraw or (bound and of.submission.visibility == "private")
    if judgement.replay is None and judgement.reasons:
        assert judgement.outcome == OUTCOMES[judgement.reasons[0].code]
    if judgement.replay is None and not judgement.reasons:
        assert judgement.outcome in (ACCEPTED, DUPLICATE)
    if not judgement.replay and judgement.outcome.status == 422:
        assert not judgement.propose
        assert not judgement.evidence


def test_a_receipt_has_every_member_and_null_for_what_does_not_exist() -> None:
    """An accepted answer is not a problem document and omits no member."""
    candidate = msgspec.structs.replace(made(), received_at=1_000_000)
    submission, judgement = candidate.submission, decide(candidate, Known())
    given_answer = answer_of(
        AdmissionWrite(candidate=candidate, judgement=judgement, submission_id="s", proposal_id="p")
    )
    assert type(given_answer) is Receipt
    assert msgspec.to_builtins(given_answer) == {
        "status": 201,
        "submission_id": "s",
        "idempotency_key": submission.idempotency_key,
        "producer_identity": "worker:release-bot",
        "submission_scope": "project",
        "scope_id": "apollo",
        "source_event_hash": submission.source_event_hash,
        "disposition": "accepted-for-review",
        "duplicate": False,
        "duplicate_of": None,
        "proposal_id": "p",
        "quarantine_id": None,
        "reasons": [],
        "retry_same_key": False,
        "safe_new_key": False,
        "policy_digest": DIGEST,
        "received_at": "1970-01-01T00:00:01.000000Z",
    }


@pytest.mark.parametrize("code", sorted(set(CODES) - {"already-decided"}))
def test_a_refusal_is_a_problem_document_with_the_same_members(code: Any) -> None:
    """A refusal adds type, title and detail; its type links to its code on the contract page."""
    reasons = [Reason(code=code, message="first", pointer="/a"), Reason(code="stale", message="second")]
    problem = form_receipt(OUTCOMES[code], reasons, echo_of(made().submission), DIGEST, 0)
    assert isinstance(problem, Problem)
    assert set(Receipt.__struct_fields__) < set(msgspec.to_builtins(problem))
    status, disposition, _, again, new = TABLE[code]
    flags = (problem.status, problem.disposition, problem.retry_same_key, problem.safe_new_key)
    assert flags == (status, disposition, again, new)
    assert problem.type == f"/contract#{code}"
    assert problem.title == OUTCOMES[code].title
    place = "/a: " if disposition else ""
    assert problem.detail == f"{place}first; second. {OUTCOMES[code].advice}"
    assert problem.reasons == reasons


def refused(body: dict[str, Any]) -> RequestRefusedError:
    """Read a body that must be refused."""
    with pytest.raises(RequestRefusedError) as caught:
        read_event(read_draft(msgspec.json.encode(body)))
    return caught.value


def test_the_fixtures_are_the_five_of_the_contract() -> None:
    """Each published negative fixture has a test below."""
    exercised = {name.removeprefix("test_fixture_").replace("_", " ") for name in globals() if "test_fixture_" in name}
    assert exercised == set(FIXTURES)


def test_fixture_same_key_same_hash() -> None:
    """The first answer is repeated and nothing new is stored."""
    judgement = judge(made(), verdict(), Known(submission=stored(made())))
    assert (judgement.replay, writes(judgement)) == ("the first answer", set())


def test_fixture_same_key_different_hash() -> None:
    """A conflict is quarantined and the original is unchanged."""
    judgement = judge(made(content="Other."), verdict(), Known(submission=stored(made())))
    assert (judgement.outcome.status, judgement.outcome.disposition) == (422, "rejected-conflict")
    assert (codes(judgement), writes(judgement)) == (["key-reused"], {"quarantine"})


def test_fixture_no_source_hash() -> None:
    """Without a hash the event is refused and the key stays free."""
    code = refused(event() | {"source_event_hash": None}).code
    assert (code, OUTCOMES[code].status, OUTCOMES[code].key_bound) == ("hash-missing", 400, False)


def test_fixture_private_data_in_payload() -> None:
    """Rule ids and pointers are returned, never the value."""
    address = "ada@" + "lovelace.dev"
    of = made(GATE.scan({"/payload": {"content": address}}), content=address)
    judgement = judge(of, verdict(), Known())
    assert (judgement.outcome.status, judgement.outcome.disposition) == (422, "rejected-private")
    assert codes(judgement) == ["private-detected"]
    problem = answer_of(AdmissionWrite(candidate=of, judgement=judgement, submission_id="s"))
    assert isinstance(problem, Problem)
    assert address not in msgspec.json.encode(problem).decode()


def test_a_private_scope_id_is_not_echoed() -> None:
    """An answer repeats the members of its event, except a scope id that is itself a private value."""
    of = made([Finding("/scope_id", "email-address")])
    answer = answer_of(AdmissionWrite(candidate=of, judgement=decide(of, Known()), submission_id="s"))
    assert (answer.scope_id, answer.submission_scope) == (None, "project")
    assert answer.source_event_hash == of.submission.source_event_hash


def test_fixture_worker_asks_for_a_durable_write() -> None:
    """A direct write is refused before anything is stored and the key stays free."""
    code = refused(event(durable=True)).code
    assert (code, OUTCOMES[code].status, OUTCOMES[code].key_bound) == ("direct-write", 403, False)
