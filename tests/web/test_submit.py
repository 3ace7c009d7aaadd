"""Submission over HTTP: every row of the table of outcomes."""

import contextlib
import itertools
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from antechamber.settings import Location
from support import MEMBERS, PRODUCERS, Service, belgian, dump, event, full, locked, running, write_policies

PROBLEM_MEMBERS = {"type", "title", "detail"}
PRODUCER = ("worker:release-bot", "producer")
READER = ("lookout", "reader", ("project:apollo",))
TOKEN_LIKE = "gh" + "p_" + "a" * 36
DECLARED = "Only between us two."
MAIL_LIKE = "ada" + "@" + "lovelace.dev"
NOWHERE = "00000000-0000-7000-8000-000000000000"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared(lasting_place: Location) -> Iterator[Service]:
    """One service for tables whose rows are independent of each other."""
    with running(lasting_place, write_policies(lasting_place.data.parent / "policies")) as made:
        yield made


def fresh(**members: Any) -> dict[str, Any]:
    """Return a body with content that was not sent before."""
    return event(f"Sentence number {next(_numbers)}.", **members)


def check_shape(response: httpx.Response) -> dict[str, Any]:
    """Check the properties common to all answers of a submit route and return the body."""
    answer: dict[str, Any] = response.json()
    problem = response.status_code >= 400
    assert set(answer) == MEMBERS | (PROBLEM_MEMBERS if problem else set())
    assert answer["status"] == response.status_code
    media_type = "application/problem+json" if problem else "application/json"
    assert response.headers["content-type"].partition(";")[0] == media_type
    assert response.headers["cache-control"] == "no-store"
    assert response.headers.get("submission-disposition") == answer["disposition"]
    assert response.headers.get("idempotency-key") == answer["idempotency_key"]
    assert response.headers.get("idempotent-replayed") == ("true" if answer["duplicate"] else None)
    created = f"/v1/submissions/{answer['submission_id']}" if answer["disposition"] == "accepted-for-review" else None
    assert response.headers.get("location") == created
    assert datetime.fromisoformat(answer["received_at"]).tzinfo is not None
    assert re.fullmatch("blake3:[0-9a-f]{64}", answer["policy_digest"])
    for reason in answer["reasons"]:
        assert set(reason) == {"code", "message", "pointer"}
    if problem:
        assert answer["type"] == f"/contract#{answer['reasons'][0]['code']}"
        assert answer["title"]
        assert answer["detail"]
    return answer


def said(answer: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values of an answer for the table's columns."""
    codes = [reason["code"] for reason in answer["reasons"]]
    return answer["status"], answer["disposition"], codes, answer["retry_same_key"], answer["safe_new_key"]


def is_replay(first: httpx.Response, again: httpx.Response) -> bool:
    """Return whether an answer equals another byte for byte, apart from `duplicate`."""
    expected = first.content.replace(b'"duplicate":false', b'"duplicate":true')
    same = again.status_code == first.status_code and again.headers.get("location") == first.headers.get("location")
    return same and again.content == expected and again.headers.get("idempotent-replayed") == "true"


def times(**distance: float) -> str:
    """Return the time at this offset from now."""
    return (datetime.now(UTC) + timedelta(**distance)).isoformat()


def quarantined(service: Service) -> list[str]:
    """Return the rows of the quarantine page."""
    text = service.sign_in("quentin").browser.get("/quarantine").text
    return re.findall(r"<li data-item>.*?</li>", text, re.DOTALL)


@contextlib.contextmanager
def limited(location: Location, limits: str) -> Iterator[Service]:
    """Run the service with the given [limits] table."""
    policies = write_policies(location.data.parent / "limited", scopes=f"[limits]\n{limits}\n")
    with running(location, policies) as service:
        yield service


# New events


def test_a_new_event_is_accepted_for_review_with_a_location(service: Service) -> None:
    """A new event gets 201, accepted-for-review, and a Location."""
    body = event()
    response = service.submit(body)
    answer = check_shape(response)
    assert said(answer) == (201, "accepted-for-review", [], False, False)
    assert response.headers["location"] == f"/v1/submissions/{answer['submission_id']}"
    echoed = ("idempotency_key", "producer_identity", "submission_scope", "scope_id", "source_event_hash")
    assert {name: answer[name] for name in echoed} == {name: body[name] for name in echoed}
    assert answer["proposal_id"] is not None
    assert (answer["duplicate"], answer["duplicate_of"], answer["quarantine_id"]) == (False, None, None)


def test_all_optional_members_are_accepted(service: Service) -> None:
    """A body that uses every optional member is accepted."""
    payload = {
        "kind": "Procedure",
        "content": "Run it.",
        "tags": ["B", "a", "b"],
        "attributes": {"severity": 2, "deep": [None, {"x": None}]},
    }
    span = {"uri": "repo://apollo/RUNBOOK.md", "start": 10, "end": 14, "revision": "9f1c2ab", "heading": "Deploy"}
    body = event(
        payload=payload,
        source_span=span,
        observed_at=times(hours=-1),
        visibility="shareable",
        durable=False,
        supersedes=NOWHERE,
        derived_from=[NOWHERE],
    )
    assert check_shape(service.submit(body))["status"] == 201


def test_the_whole_way_to_a_memory(service: Service) -> None:
    """An approved event is readable for agents, and not before."""
    proposal = service.submit(event()).json()["proposal_id"]
    assert service.recall() == []
    assert service.sign_in().decide(proposal, "approve").status_code == 303
    assert [item["content"] for item in service.recall()] == ["Run the migration before the deploy."]


def test_the_same_event_in_another_scope_is_a_proposal_of_its_own(service: Service) -> None:
    """Content is compared within one scope only, so the same event in another scope becomes a separate proposal."""
    first = service.submit(event()).json()
    second = check_shape(service.submit(event(submission_scope="session", scope_id="s-1")))
    assert second["status"] == 201
    assert second["proposal_id"] != first["proposal_id"]


# Replays


REPLAYED = {
    "accepted": ({}, 201),
    "declared private": ({"visibility": "private"}, 422),
    "detected private": ({"payload": {"kind": "fact", "content": f"Use {TOKEN_LIKE}."}}, 422),
    "unsupported kind": ({"payload": {"kind": "gossip", "content": "Psst."}}, 422),
    "stale": ({"observed_at": "2020-01-01T00:00:00Z"}, 422),
    "not granted": ({"scope_id": "gemini"}, 422),
    "private scope id": ({"scope_id": MAIL_LIKE}, 422),
}


@pytest.mark.parametrize("name", REPLAYED)
def test_a_replay_repeats_the_first_answer_byte_for_byte(shared: Service, name: str) -> None:
    """A replay has the first answer's status, Location and body, except that `duplicate` is true."""
    members, status = REPLAYED[name]
    body = fresh(**members)
    first = shared.submit(body)
    assert check_shape(first)["status"] == status
    for _ in range(2):
        again = shared.submit(body)
        check_shape(again)
        assert is_replay(first, again)


def test_a_duplicates_replay_repeats_it(service: Service) -> None:
    """An accepted-as-duplicate answer replays like any other."""
    service.submit(event())
    body = event()
    first, again = service.submit(body), service.submit(body)
    assert check_shape(first)["disposition"] == "accepted-as-duplicate"
    assert check_shape(again)["duplicate"]
    assert is_replay(first, again)


def test_a_replay_does_not_care_how_the_event_was_spelled(service: Service) -> None:
    """Another spelling of the same normal form, another observed_at and the key in the header still replay."""
    body = event("Line one\nline two", observed_at=times(hours=-2))
    first = service.submit(body)
    key = body["idempotency_key"]
    spelled = {**body, "payload": {"kind": "PROCEDURE", "content": "\t Line one\r\nline two \n"}}
    later = {**body, "observed_at": times(hours=-1)}
    del later["idempotency_key"]
    assert is_replay(first, service.submit(spelled))
    assert is_replay(first, service.submit(later, Idempotency_Key=key))


def test_a_replay_outlives_policy_and_restart(location: Location, tmp_path: Path) -> None:
    """A receipt replays byte for byte after a restart under a policy that would refuse the event now."""
    body, private = event(observed_at=times(days=-100)), event(visibility="private")
    with running(location, write_policies(tmp_path / "policies")) as service:
        first, first_private = service.submit(body), service.submit(private)
    stricter = write_policies(tmp_path / "stricter", scopes="[defaults]\nstale_after_days = 1\n")
    with running(location, stricter) as service:
        assert is_replay(first, service.submit(body))
        assert is_replay(first_private, service.submit(private))
        assert service.submit(event("Another.", observed_at=times(days=-100))).json()["reasons"][0]["code"] == "stale"


# Conflicts

DIFFERENT: dict[str, dict[str, Any]] = {
    "payload": {"payload": {"kind": "procedure", "content": "Deploy first."}},
    "source_span": {"source_span": {"uri": "repo://apollo/OTHER.md"}},
    "scope": {"submission_scope": "session"},
    "scope_id": {"scope_id": "gemini"},
    "visibility": {"visibility": "shareable"},
    "supersedes": {"supersedes": NOWHERE},
    "derived_from": {"derived_from": [NOWHERE]},
}


def changed(body: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a body under the same key with other members and the right hash."""
    rest = {name: value for name, value in body.items() if name != "source_event_hash"}
    return event(**(rest | members))


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_event_under_the_same_key_is_a_conflict(shared: Service, name: str) -> None:
    """If any compared member differs, the second event is quarantined and the original is unchanged."""
    body = fresh()
    first = shared.submit(body)
    other = changed(body, **DIFFERENT[name])
    refused = shared.submit(other)
    answer = check_shape(refused)
    assert said(answer) == (422, "rejected-conflict", ["key-reused"], False, False)
    assert answer["duplicate"] is False
    assert answer["submission_id"] == first.json()["submission_id"]
    assert answer["proposal_id"] is None
    assert answer["source_event_hash"] == other["source_event_hash"]
    assert answer["quarantine_id"] is not None
    assert is_replay(first, shared.submit(body))


def test_the_same_refused_event_again_gets_the_same_answer(service: Service) -> None:
    """A conflict is quarantined once per distinct event, and its answer replays."""
    body = event()
    service.submit(body)
    second, third = changed(body, scope_id="gemini"), changed(body, scope_id="gemini-2")
    refused = service.submit(second)
    assert is_replay(refused, service.submit(second))
    another = check_shape(service.submit(third))
    assert another["duplicate"] is False
    assert another["quarantine_id"] != refused.json()["quarantine_id"]
    assert len(quarantined(service)) == 2
    assert is_replay(refused, service.submit(second))


@pytest.mark.parametrize(
    "members",
    [{"payload": {"kind": "gossip", "content": "Psst."}}, {"visibility": "private"}, {"scope_id": "gemini"}],
    ids=["unsupported", "private", "not granted"],
)
def test_a_refused_original_defends_its_key_too(service: Service, members: dict[str, Any]) -> None:
    """A key bound to a refusal accepts no other event."""
    body = event(**members)
    first = service.submit(body)
    answer = check_shape(service.submit(event("Mended.", idempotency_key=body["idempotency_key"])))
    assert said(answer) == (422, "rejected-conflict", ["key-reused"], False, False)
    assert answer["submission_id"] == first.json()["submission_id"]
    assert is_replay(first, service.submit(body))


def test_two_producers_may_use_the_same_key(service: Service) -> None:
    """Keys are separate for each producer."""
    first = service.submit(event(idempotency_key="shared")).json()
    second = check_shape(
        service.submit(event("Other text.", idempotency_key="shared", producer_identity="tool:watcher"))
    )
    assert second["status"] == 201
    assert second["submission_id"] != first["submission_id"]


def test_conflicts_beyond_the_cap_of_a_key_are_answered_but_not_kept(location: Location) -> None:
    """Conflicts beyond the cap of a key get the same answer but are not quarantined."""
    with limited(location, "conflicts_per_key = 2") as service:
        body = event()
        service.submit(body)
        answers = [check_shape(service.submit(changed(body, scope_id=f"gemini-{n}"))) for n in range(4)]
        assert {said(answer)[:2] for answer in answers} == {(422, "rejected-conflict")}
        assert [answer["quarantine_id"] is not None for answer in answers] == [True, True, False, False]
        assert len(quarantined(service)) == 2
        other = event("Second key.")
        service.submit(other)
        assert check_shape(service.submit(changed(other, scope_id="gemini")))["quarantine_id"] is not None


def test_no_more_than_the_cap_of_a_producer_waits(location: Location) -> None:
    """Conflicts and private events share one quarantine cap per producer; another producer has its own."""
    with limited(location, "waiting_per_producer = 2") as service:
        body = event()
        service.submit(body)
        bodies = [changed(body, scope_id="gemini"), event("One.", visibility="private")]
        bodies += [event("Two.", visibility="private"), changed(body, scope_id="gemini-2")]
        answers = [check_shape(service.submit(one)) for one in bodies]
        assert [answer["quarantine_id"] is not None for answer in answers] == [True, True, False, False]
        assert {answer["status"] for answer in answers} == {422}
        assert len(quarantined(service)) == 2
        watchers = event("Three.", producer_identity="tool:watcher", visibility="private")
        assert check_shape(service.submit(watchers))["quarantine_id"] is not None


def test_a_private_conflict_keeps_no_payload(service: Service) -> None:
    """For a conflict with a private finding only rule and pointer are kept, and its answer still replays."""
    body = event()
    service.submit(body)
    other = changed(body, payload={"kind": "procedure", "content": f"Sign in with {TOKEN_LIKE}."})
    refused = service.submit(other)
    answer = check_shape(refused)
    assert said(answer) == (422, "rejected-conflict", ["key-reused", "private-detected"], False, False)
    assert answer["reasons"][1]["pointer"] == "/payload/content"
    assert answer["source_event_hash"] == other["source_event_hash"]
    assert TOKEN_LIKE not in refused.text
    assert is_replay(refused, service.submit(other))
    (row,) = quarantined(service)
    assert "Private: nothing of it was kept." in row
    assert "github-token" in row
    stored = dump(service.location)
    assert TOKEN_LIKE not in stored
    assert other["source_event_hash"].removeprefix("blake3:") not in stored


def test_a_retry_that_turned_private_withdraws_the_proposal(service: Service) -> None:
    """A retry declared private is a conflict, and its proposal can no longer be approved."""
    body = event()
    proposal = service.submit(body).json()["proposal_id"]
    desk = service.sign_in()
    form = desk.form(proposal)
    assert "withdrawn as private" not in desk.browser.get(f"/review/{proposal}").text
    answer = check_shape(service.submit({**body, "visibility": "private"}))
    assert said(answer)[:3] == (422, "rejected-conflict", ["key-reused", "private-declared"])
    assert "withdrawn as private" in desk.browser.get(f"/review/{proposal}").text
    assert desk.post(f"/review/{proposal}/approve", form).status_code == 409
    assert desk.decide(proposal, "approve").status_code == 403
    assert service.recall() == []
    assert desk.decide(proposal, "reject", reason_code="private").status_code == 303


def test_the_caps_do_not_hinder_a_withdrawal(location: Location) -> None:
    """A retry that turned private withdraws its proposal even if its conflict exceeds the cap."""
    with limited(location, "conflicts_per_key = 0") as service:
        body = event()
        proposal = service.submit(body).json()["proposal_id"]
        assert check_shape(service.submit({**body, "visibility": "private"}))["quarantine_id"] is None
        assert service.sign_in().decide(proposal, "approve").status_code == 403


# Duplicates and evidence


def test_the_same_content_again_is_a_duplicate_of_the_own_submission(service: Service) -> None:
    """The answer for another key with the same content names the producer's own earlier submission."""
    first = service.submit(event()).json()
    answer = check_shape(service.submit(event()))
    assert said(answer) == (200, "accepted-as-duplicate", [], False, False)
    assert answer["duplicate"] is False
    assert answer["duplicate_of"] == first["submission_id"]
    assert answer["proposal_id"] == first["proposal_id"]
    assert answer["submission_id"] != first["submission_id"]


def test_the_same_content_of_another_producer_is_evidence(service: Service) -> None:
    """Another producer's submission becomes evidence for the proposal, not a duplicate."""
    proposal = service.submit(event()).json()["proposal_id"]
    answer = check_shape(service.submit(event(producer_identity="tool:watcher")))
    assert said(answer) == (200, "accepted-as-duplicate", [], False, False)
    assert answer["duplicate_of"] is None
    assert answer["proposal_id"] == proposal
    page = service.sign_in().browser.get(f"/review/{proposal}").text
    assert "tool:watcher · owner grace" in page
    again = check_shape(service.submit(event(producer_identity="tool:watcher")))
    assert again["duplicate_of"] == answer["submission_id"]
    assert service.sign_in().browser.get(f"/review/{proposal}").text.count("owner grace") == 1


@pytest.mark.parametrize("decision", ["approve", "reject"])
@pytest.mark.parametrize("producer", ["worker:release-bot", "tool:watcher"])
def test_a_decided_proposal_is_not_reopened(service: Service, decision: str, producer: str) -> None:
    """The same content after a decision is a duplicate with the reason already-decided."""
    first = service.submit(event()).json()
    fields = {"reason_code": "wrong"} if decision == "reject" else {}
    assert service.sign_in().decide(first["proposal_id"], decision, **fields).status_code == 303
    answer = check_shape(service.submit(event(producer_identity=producer)))
    assert said(answer) == (200, "accepted-as-duplicate", ["already-decided"], False, False)
    own = first["submission_id"] if producer == "worker:release-bot" else None
    assert answer["duplicate_of"] == own
    assert answer["proposal_id"] == first["proposal_id"]
    # Also true once the memory was retracted or superseded or has expired: the receipt replays forever.
    assert "also where its memory has ended since" in answer["reasons"][0]["message"]
    assert first["proposal_id"] not in service.sign_in("carol").browser.get("/review").text


def test_what_made_no_proposal_is_no_original_of_duplicates(service: Service) -> None:
    """A refused submission is not an original when the same content is submitted correctly later."""
    service.submit(event(visibility="private"))
    service.submit(event(observed_at="2020-01-01T00:00:00Z"))
    answer = check_shape(service.submit(event()))
    assert (answer["status"], answer["duplicate_of"]) == (201, None)


# Private events and refusals by policy


PRIVATE: dict[str, tuple[dict[str, Any], list[tuple[str, str]], str]] = {
    "declared": (
        {"visibility": "private", "payload": {"kind": "fact", "content": DECLARED}},
        [("private-declared", "/visibility")],
        DECLARED,
    ),
    "content": (
        {"payload": {"kind": "fact", "content": f"Ask {MAIL_LIKE}."}},
        [("private-detected", "/payload/content")],
        MAIL_LIKE,
    ),
    "tag": (
        {"payload": {"kind": "fact", "content": "Ask.", "tags": ["a", MAIL_LIKE]}},
        [("private-detected", "/payload/tags/1")],
        MAIL_LIKE,
    ),
    "attribute": (
        {"payload": {"kind": "fact", "content": "Ask.", "attributes": {"by": {"whom": [TOKEN_LIKE]}}}},
        [("private-detected", "/payload/attributes/by/whom/0")],
        TOKEN_LIKE,
    ),
    "name": (
        {"payload": {"kind": "fact", "content": "Ask.", "attributes": {TOKEN_LIKE: 1}}},
        [("private-detected", "/payload/attributes")],
        TOKEN_LIKE,
    ),
    "span": (
        {"source_span": {"uri": f"repo://{TOKEN_LIKE}"}},
        [("private-detected", "/source_span/uri")],
        TOKEN_LIKE,
    ),
    "supersedes": ({"supersedes": TOKEN_LIKE}, [("private-detected", "/supersedes")], TOKEN_LIKE),
    "derived_from": (
        {"derived_from": ["a", TOKEN_LIKE]},
        [("private-detected", f"/derived_from/{sorted(['a', TOKEN_LIKE]).index(TOKEN_LIKE)}")],
        TOKEN_LIKE,
    ),
    "both": (
        {"visibility": "private", "payload": {"kind": "fact", "content": MAIL_LIKE}},
        [("private-declared", "/visibility"), ("private-detected", "/payload/content")],
        MAIL_LIKE,
    ),
}


@pytest.mark.parametrize("name", PRIVATE)
def test_private_events_are_refused_with_rules_and_pointers(shared: Service, name: str) -> None:
    """A private event binds its key; answer and database hold pointers, but neither the value nor an unkeyed hash."""
    members, reasons, value = PRIVATE[name]
    body = fresh(**members)
    response = shared.submit(body)
    answer = check_shape(response)
    assert (answer["status"], answer["disposition"]) == (422, "rejected-private")
    assert (answer["retry_same_key"], answer["safe_new_key"]) == (False, True)
    assert [(reason["code"], reason["pointer"]) for reason in answer["reasons"]] == reasons
    assert (answer["proposal_id"], answer["duplicate_of"]) == (None, None)
    assert answer["quarantine_id"] is not None
    assert answer["source_event_hash"] == body["source_event_hash"]
    assert value not in response.text
    stored = dump(shared.location)
    assert value not in stored
    assert body["source_event_hash"].removeprefix("blake3:") not in stored


def test_private_comes_before_policy(service: Service) -> None:
    """An event that is private and violates the policy is refused as private."""
    answer = check_shape(service.submit(event(visibility="private", scope_id="gemini")))
    assert said(answer)[:3] == (422, "rejected-private", ["private-declared"])


INVALID: dict[str, tuple[dict[str, Any], str, str]] = {
    "stale": ({"observed_at": times(days=-401)}, "stale", "/observed_at"),
    "future": ({"observed_at": times(days=1)}, "observed-in-future", "/observed_at"),
    "kind": ({"payload": {"kind": "gossip", "content": "Psst."}}, "kind-unsupported", "/payload/kind"),
    "scope id": ({"scope_id": "gemini"}, "scope-not-granted", "/submission_scope"),
    "scope": ({"submission_scope": "agent_team"}, "scope-not-granted", "/submission_scope"),
    "parent": ({"scope_id": "apollo/child"}, "scope-not-granted", "/submission_scope"),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_the_policy_refuses_binds_its_key(shared: Service, name: str) -> None:
    """A refusal by policy is bound to its key, and a new key may be used."""
    members, code, pointer = INVALID[name]
    body = fresh(**members)
    answer = check_shape(shared.submit(body))
    assert said(answer) == (422, "rejected-invalid", [code], False, True)
    assert answer["reasons"][0]["pointer"] == pointer
    assert answer["submission_id"] is not None
    assert (answer["proposal_id"], answer["quarantine_id"]) == (None, None)
    mended = fresh()
    assert check_shape(shared.submit({**mended, "idempotency_key": body["idempotency_key"]}))["status"] == 422
    assert check_shape(shared.submit(mended))["status"] == 201


@pytest.mark.parametrize("distance", [{"minutes": 4}, {"days": -399}], ids=["soon", "long ago"])
def test_a_clock_may_be_a_little_wrong(service: Service, distance: dict[str, float]) -> None:
    """An event up to five minutes in the future, and up to the scope's maximum age, is accepted."""
    assert check_shape(service.submit(event(observed_at=times(**distance))))["status"] == 201


def test_a_scope_may_take_only_small_events(location: Location, tmp_path: Path) -> None:
    """An event larger than the scope allows is refused and binds its key."""
    policies = write_policies(tmp_path / "policies", scopes="[scope.project]\nmax_bytes = 200\n")
    with running(location, policies) as service:
        answer = check_shape(service.submit(event("x" * 200)))
        assert said(answer) == (422, "rejected-invalid", ["too-large-for-scope"], False, True)
        session = event("x" * 200, submission_scope="session", scope_id="s-1")
        assert check_shape(service.submit(session))["status"] == 201


def test_all_broken_rules_of_the_policy_are_named(service: Service) -> None:
    """An event that violates several rules gets all reasons at once."""
    payload = {"kind": "gossip", "content": "Psst."}
    answer = check_shape(service.submit(event(payload=payload, scope_id="gemini", observed_at=times(days=-500))))
    assert {reason["code"] for reason in answer["reasons"]} == {"scope-not-granted", "kind-unsupported", "stale"}


# Malformed bodies leave the key free


def without(path: str) -> dict[str, Any]:
    """Return a body that lacks one member."""
    body = json.loads(json.dumps(event(idempotency_key="mended")))
    *parents, name = path.strip("/").split("/")
    holder = body
    for parent in parents:
        holder = holder[parent]
    del holder[name]
    return body


def with_member(path: str, value: Any) -> dict[str, Any]:
    """Return a body with one member replaced or added and the hash unchanged."""
    body = json.loads(json.dumps(event(idempotency_key="mended")))
    *parents, name = path.strip("/").split("/")
    holder = body
    for parent in parents:
        holder = holder.setdefault(parent, {})
    holder[name] = value
    return body


def nested(levels: int) -> Any:
    """Return nested arrays."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


MALFORMED: dict[str, tuple[dict[str, Any], str, str]] = {
    **{
        f"no {path}": (without(path), "malformed", path)
        for path in (
            "/producer_identity",
            "/submission_scope",
            "/scope_id",
            "/payload",
            "/payload/kind",
            "/payload/content",
            "/source_span",
            "/source_span/uri",
        )
    },
    "unknown top member": (with_member("/surprise", 1), "unknown-member", "/surprise"),
    "unknown payload member": (with_member("/payload/surprise", 1), "unknown-member", "/payload/surprise"),
    "unknown span member": (with_member("/source_span/surprise", 1), "unknown-member", "/source_span/surprise"),
    "no hash": (without("/source_event_hash"), "hash-missing", "/source_event_hash"),
    "null hash": (with_member("/source_event_hash", None), "hash-missing", "/source_event_hash"),
    "other hash": (with_member("/source_event_hash", "blake3:" + "0" * 64), "hash-mismatch", "/source_event_hash"),
    "upper-case hash": (with_member("/source_event_hash", "blake3:" + "A" * 64), "malformed", "/source_event_hash"),
    "other algorithm": (with_member("/source_event_hash", "sha256:" + "0" * 64), "malformed", "/source_event_hash"),
    "numeric hash": (with_member("/source_event_hash", 7), "malformed", "/source_event_hash"),
    "blank content": (with_member("/payload/content", " \r\n\t"), "malformed", "/payload/content"),
    "kind with space": (with_member("/payload/kind", "a b"), "malformed", "/payload/kind"),
    "content of the wrong type": (with_member("/payload/content", 1), "malformed", "/payload/content"),
    "tag with space": (with_member("/payload/tags", ["a b"]), "malformed", "/payload/tags"),
    "long tag": (with_member("/payload/tags", ["a" * 65]), "malformed", "/payload/tags"),
    "many tags": (with_member("/payload/tags", [str(n) for n in range(33)]), "malformed", "/payload/tags"),
    "empty uri": (with_member("/source_span/uri", ""), "malformed", "/source_span/uri"),
    "line zero": (with_member("/source_span/start", 0), "malformed", "/source_span/start"),
    "lines backwards": (
        with_member("/source_span", {"uri": "a", "start": 3, "end": 2}),
        "malformed",
        "/source_span/end",
    ),
    "boolean line": (with_member("/source_span/start", value=True), "malformed", "/source_span/start"),
    "unknown scope": (with_member("/submission_scope", "galaxy"), "malformed", "/submission_scope"),
    "bad scope id": (with_member("/scope_id", "a b"), "malformed", "/scope_id"),
    "long scope id": (with_member("/scope_id", "a" * 129), "malformed", "/scope_id"),
    "bad producer": (with_member("/producer_identity", "person:ada"), "malformed", "/producer_identity"),
    "time without offset": (with_member("/observed_at", "2026-11-20T10:00:00"), "malformed", "/observed_at"),
    "day that is none": (with_member("/observed_at", "2026-02-30T10:00:00Z"), "malformed", "/observed_at"),
    "visibility": (with_member("/visibility", "secret"), "malformed", "/visibility"),
    "durable as text": (with_member("/durable", "true"), "malformed", "/durable"),
    "null visibility": (with_member("/visibility", None), "malformed", "/visibility"),
    "float": (with_member("/payload/attributes/x", 1.5), "out-of-profile", "/payload/attributes/x"),
    "large integer": (with_member("/payload/attributes/x", 2**53), "out-of-profile", "/payload/attributes/x"),
    "huge integer": (with_member("/payload/attributes/x", 10**30), "out-of-profile", "/payload/attributes/x"),
    "upper-case name": (with_member("/payload/attributes/X", 1), "out-of-profile", "/payload/attributes"),
    "null tags": (with_member("/payload/tags", None), "out-of-profile", "/payload/tags"),
    "null attributes": (with_member("/payload/attributes", None), "out-of-profile", "/payload/attributes"),
    "too deep": (
        with_member("/payload/attributes/x", nested(14)),
        "out-of-profile",
        "/payload/attributes/x" + "/0" * 13,
    ),
    "no key": (without("/idempotency_key"), "key-missing", "/idempotency_key"),
    "null key": (with_member("/idempotency_key", None), "key-invalid", "/idempotency_key"),
    "empty key": (with_member("/idempotency_key", ""), "key-invalid", "/idempotency_key"),
    "key with space": (with_member("/idempotency_key", "a b"), "key-invalid", "/idempotency_key"),
    "key with newline": (with_member("/idempotency_key", "a\n"), "key-invalid", "/idempotency_key"),
    "long key": (with_member("/idempotency_key", "a" * 129), "key-invalid", "/idempotency_key"),
    "key begins with a dot": (with_member("/idempotency_key", ".a"), "key-invalid", "/idempotency_key"),
    "private key": (with_member("/idempotency_key", TOKEN_LIKE), "key-invalid", "/idempotency_key"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_body_leaves_its_key_free(shared: Service, name: str) -> None:
    """A malformed body is refused with code and pointer, and its key stays free."""
    body, code, pointer = MALFORMED[name]
    mended = fresh()
    keyed = body.get("idempotency_key") == "mended"
    sent = {**body, "idempotency_key": mended["idempotency_key"]} if keyed else body
    answer = check_shape(shared.submit(msgspec.json.encode(sent)))
    assert said(answer) == (400, "rejected-invalid", [code], True, False)
    assert answer["reasons"][0]["pointer"] == pointer
    stored = ("submission_id", "proposal_id", "quarantine_id", "duplicate_of")
    assert {answer[member] for member in stored} == {None}
    assert answer["idempotency_key"] == (mended["idempotency_key"] if keyed else None)
    assert check_shape(shared.submit(mended))["status"] == 201


def test_the_deepest_allowed_body_is_accepted(service: Service) -> None:
    """Sixteen levels are allowed, counting the body as the first."""
    payload = {"kind": "fact", "content": "Deep.", "attributes": {"x": nested(13)}}
    assert check_shape(service.submit(event(payload=payload)))["status"] == 201


RAW: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "malformed"),
    "no JSON": (b"{", "malformed"),
    "array": (b"[]", "malformed"),
    "null": (b"null", "malformed"),
    "not UTF-8": (b'{"idempotency_key":"\xff"}', "malformed"),
    "UTF-16": ("{}".encode("utf-16"), "malformed"),
    "byte order mark": (b"\xef\xbb\xbf{}", "malformed"),
    "NaN": (b'{"observed_at":NaN}', "malformed"),
    "number without end": (b'{"observed_at":1e999}', "out-of-profile"),
    "two values": (b"{}{}", "malformed"),
    "deep arrays": (b"[" * 30_000, "out-of-profile"),
    "twice the same name": (b'{"scope_id":"apollo","scope_id":"apollo"}', "duplicate-member"),
    "twice, once escaped": (rb'{"scope_id":"apollo","sc\u006fpe_id":"apollo"}', "duplicate-member"),
    "twice inside": (b'{"payload":{"attributes":{"a":1,"a":1}}}', "duplicate-member"),
}


@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_body_are_refused(shared: Service, name: str) -> None:
    """Bytes that a strict JSON parser rejects give 400 with all members of an answer."""
    raw, code = RAW[name]
    answer = check_shape(shared.submit(raw))
    assert said(answer) == (400, "rejected-invalid", [code], True, False)


@pytest.mark.parametrize("text", [rb"\ud800", rb"\udc00\ud800"], ids=["high", "swapped"])
def test_a_lone_surrogate_is_refused(shared: Service, text: bytes) -> None:
    """A lone surrogate is refused, and the key stays free."""
    body = fresh()
    raw = msgspec.json.encode(body).replace(b"Sentence", text)
    answer = check_shape(shared.submit(raw))
    assert said(answer) == (400, "rejected-invalid", ["out-of-profile"], True, False)
    assert check_shape(shared.submit(body))["status"] == 201


def test_the_hash_is_compared_over_the_normal_form(service: Service) -> None:
    """A hash over the normal form is accepted for every spelling of the event."""
    body = event("Café\nzwei")
    spelled = {**body, "payload": {"kind": "Procedure", "content": " Cafe\u0301\r\nzwei\t"}}
    assert check_shape(service.submit(spelled))["source_event_hash"] == body["source_event_hash"]


# Keys in body and header


@pytest.mark.parametrize("sent", ["k-1", '"k-1"', "  k-1  ", '\t"k-1"'], ids=["bare", "quoted", "padded", "both"])
def test_the_key_may_come_as_a_header(service: Service, sent: str) -> None:
    """The header's key may be bare or a structured-field string, alone or with the same key in the body."""
    body = event(idempotency_key=None)
    first = service.submit(body, Idempotency_Key=sent)
    assert check_shape(first)["status"] == 201
    assert first.headers["idempotency-key"] == "k-1"
    assert is_replay(first, service.submit({**body, "idempotency_key": "k-1"}, Idempotency_Key=sent))
    assert is_replay(first, service.submit({**body, "idempotency_key": "k-1"}))


def test_header_and_body_must_agree(service: Service) -> None:
    """Two different keys in one request are refused, and both stay free."""
    answer = check_shape(service.submit(event(idempotency_key="one"), Idempotency_Key="two"))
    assert said(answer) == (400, "rejected-invalid", ["key-header-differs"], True, False)
    for number, key in enumerate(("one", "two", "ONE")):
        assert check_shape(service.submit(event(f"Text {number}.", idempotency_key=key)))["status"] == 201


@pytest.mark.parametrize(
    "sent",
    ["", '""', '"k-1', 'k-1"', "k 1", "k-1;a=b", '"k-1";a=b', "k-1, k-2", ".k", "a" * 129, r'"k\-1"', "'k-1'"],
)
def test_a_header_that_is_no_key_is_refused(shared: Service, sent: str) -> None:
    """A header that is not one plain key is refused, even with a good key in the body."""
    answer = check_shape(shared.submit(event(), Idempotency_Key=sent))
    assert said(answer) == (400, "rejected-invalid", ["key-invalid"], True, False)
    assert answer["idempotency_key"] is None


@pytest.mark.parametrize("second", ["k-1", "k-2"])
def test_a_repeated_header_is_refused(shared: Service, second: str) -> None:
    """A repeated key header is refused, even if both lines agree."""
    body = event(idempotency_key=None)
    headers = [("idempotency-key", "k-1"), ("idempotency-key", second), *shared.bearer().items()]
    response = shared.client.post("/v1/submissions", content=msgspec.json.encode(body), headers=headers)
    answer = check_shape(response)
    assert said(answer) == (400, "rejected-invalid", ["key-invalid"], True, False)


def test_keys_are_case_sensitive_and_use_their_whole_alphabet(service: Service) -> None:
    """Keys are case-sensitive; the longest key and every allowed character are accepted."""
    keys = ["abc", "ABC", "0._:~-Z", "a" * 128]
    answers = [check_shape(service.submit(event(f"Text {key}.", idempotency_key=key))) for key in keys]
    assert [answer["status"] for answer in answers] == [201] * 4
    assert len({answer["submission_id"] for answer in answers}) == 4


# Unauthorized callers


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer nonsense", "Basic YTpi", "Bearer ant" + "p_" + "0" * 36],
)
def test_a_bad_token_is_401(shared: Service, header: str | None) -> None:
    """Without a valid token there is no disposition, nothing is stored and the key stays free."""
    body = fresh()
    headers = {} if header is None else {"authorization": header}
    response = shared.client.post("/v1/submissions", json=body, headers=headers)
    answer = check_shape(response)
    assert said(answer) == (401, None, ["unauthorized"], True, False)
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert check_shape(shared.submit(body))["status"] == 201


def test_a_revoked_token_is_401(service: Service) -> None:
    """A revoked token gives 401."""
    token_id, secret = service.state.access.tokens.issue("worker:release-bot", "producer", [], None)
    headers = {"authorization": f"Bearer {secret}"}
    assert service.state.access.tokens.revoke(token_id) == 1
    answer = check_shape(service.client.post("/v1/submissions", json=event(), headers=headers))
    assert said(answer) == (401, None, ["unauthorized"], True, False)


@pytest.mark.parametrize(
    ("bearer", "producer"),
    [
        (("tool:watcher", "producer"), "worker:release-bot"),
        (("worker:stranger", "producer"), "worker:stranger"),
        (("worker:stranger", "producer"), "worker:release-bot"),
        (READER, "worker:release-bot"),
        (("inspector", "auditor"), "worker:release-bot"),
    ],
    ids=["another producer", "not listed", "not listed, another", "reader", "auditor"],
)
def test_a_token_that_may_not_submit_is_403(shared: Service, bearer: tuple[Any, ...], producer: str) -> None:
    """A token that does not belong to the named and listed producer gets no disposition, and the key stays free."""
    body = fresh()
    sent = {**body, "producer_identity": producer}
    response = shared.client.post("/v1/submissions", json=sent, headers=shared.bearer(*bearer))
    answer = check_shape(response)
    assert said(answer) == (403, None, ["producer-mismatch"], True, False)
    assert check_shape(shared.submit(body))["status"] == 201


def test_a_producer_that_left_the_policy_cannot_submit(location: Location, tmp_path: Path) -> None:
    """A token of a producer that the policy no longer lists submits nothing, not even a replay."""
    body = event(producer_identity="tool:watcher")
    with running(location, write_policies(tmp_path / "policies")) as service:
        assert service.submit(body).status_code == 201
    shorter = write_policies(tmp_path / "shorter", producers=PRODUCERS.partition('\n[[producer]]\nidentity = "tool')[0])
    with running(location, shorter) as service:
        assert said(check_shape(service.submit(body))) == (403, None, ["producer-mismatch"], True, False)


# Sizes


def padded(size: int, **members: Any) -> bytes:
    """Return a good body of exactly this many bytes."""
    raw = msgspec.json.encode(event(**members))
    return raw + b" " * (size - len(raw))


def test_a_body_of_64_kib_is_taken_and_one_byte_more_is_not(service: Service) -> None:
    """The limit is 65,536 bytes; beyond it nothing is stored and the key stays free."""
    assert check_shape(service.submit(padded(65_536)))["status"] == 201
    body = event("Later.")
    answer = check_shape(service.submit(msgspec.json.encode(body).ljust(65_537)))
    assert said(answer) == (413, None, ["body-too-large"], True, False)
    assert check_shape(service.submit(body))["status"] == 201


def test_a_large_body_without_a_length_is_refused_too(service: Service) -> None:
    """A streamed body is refused at the same limit."""
    chunks = (b" " * 1000 for _ in range(66))
    answer = check_shape(service.client.post("/v1/submissions", content=chunks, headers=service.bearer()))
    assert said(answer) == (413, None, ["body-too-large"], True, False)


def test_who_asks_comes_before_how_much(service: Service) -> None:
    """An oversized body without a token gives 401."""
    assert check_shape(service.client.post("/v1/submissions", content=b" " * 70_000))["status"] == 401


# Direct writes


@pytest.mark.parametrize("others", [{}, {"visibility": "private"}, {"scope_id": "gemini"}])
def test_a_durable_write_is_refused(service: Service, others: dict[str, Any]) -> None:
    """A submission that asks for a direct write is refused, and its key stays free."""
    body = event(durable=True, **others)
    answer = check_shape(service.submit(body))
    assert said(answer) == (403, "rejected-invalid", ["direct-write"], True, False)
    assert answer["submission_id"] is None
    assert answer["idempotency_key"] == body["idempotency_key"]
    assert check_shape(service.submit(event(idempotency_key=body["idempotency_key"])))["status"] == 201


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/memories", "/v1/memories/", f"/v1/memories/{NOWHERE}", "/v1/memories/a/b"])
@pytest.mark.parametrize("bearer", [PRODUCER, READER, ("inspector", "auditor")], ids=["producer", "reader", "auditor"])
def test_no_token_writes_memories(shared: Service, method: str, path: str, bearer: tuple[Any, ...]) -> None:
    """Every write to memories is refused for every token."""
    response = shared.client.request(method, path, content=b"{" * 70_000, headers=shared.bearer(*bearer))
    assert said(check_shape(response)) == (403, "rejected-invalid", ["direct-write"], True, False)


def test_a_write_without_a_token_is_401(service: Service) -> None:
    """Authentication precedes the refusal of a direct write."""
    assert check_shape(service.client.post("/v1/memories", json={}))["status"] == 401


# Sealing


def seal(service: Service, key: str, *bearer: Any) -> httpx.Response:
    """Seal a key as the release bot, or with another token."""
    return service.client.put(f"/v1/submissions/by-key/{key}/seal", headers=service.bearer(*bearer))


def test_a_sealed_key_takes_no_event(service: Service) -> None:
    """A submission under a sealed key gets the seal's receipt, and nothing is quarantined."""
    sealed = seal(service, "k-1")
    assert sealed.status_code == 201
    receipt = sealed.json()
    assert set(receipt) >= MEMBERS
    assert (receipt["disposition"], receipt["duplicate"]) == ("rejected-invalid", False)
    assert [reason["code"] for reason in receipt["reasons"]] == ["sealed"]
    assert (receipt["submission_scope"], receipt["scope_id"], receipt["source_event_hash"]) == (None, None, None)
    assert sealed.headers["cache-control"] == "no-store"
    assert sealed.headers["idempotency-key"] == "k-1"
    for content in ("First.", "Second."):
        late = service.submit(event(content, idempotency_key="k-1"))
        answer = check_shape(late)
        assert said(answer) == (422, "rejected-invalid", ["sealed"], False, True)
        assert answer["duplicate"] is True
        assert late.content == sealed.content.replace(b'"duplicate":false', b'"duplicate":true')
    assert quarantined(service) == []


def test_sealing_again_returns_the_seal(service: Service) -> None:
    """A second seal is a 200 with the same receipt as a replay."""
    first, again = seal(service, "k-1"), seal(service, "k-1")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json() | {"duplicate": True}
    assert again.headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize("members", [{}, {"visibility": "private"}, {"scope_id": "gemini"}])
def test_sealing_a_used_key_returns_what_is_there(service: Service, members: dict[str, Any]) -> None:
    """Sealing a used key gives 200 with the submission's unchanged receipt."""
    body = event(**members)
    first = service.submit(body)
    late = seal(service, body["idempotency_key"])
    assert late.status_code == 200
    for name in ("submission_id", "disposition", "status", "received_at", "reasons", "proposal_id"):
        assert late.json()[name] == first.json()[name]
    assert late.json()["duplicate"] is True
    assert is_replay(first, service.submit(body))


@pytest.mark.parametrize("key", [".bad", "a" * 129, "a b", TOKEN_LIKE], ids=["dot", "long", "space", "private"])
def test_a_bad_key_cannot_be_sealed(shared: Service, key: str) -> None:
    """An invalid key is refused without being repeated."""
    response = seal(shared, key)
    assert said(check_shape(response)) == (400, "rejected-invalid", ["key-invalid"], True, False)
    assert key not in response.text


@pytest.mark.parametrize("bearer", [("worker:stranger", "producer"), READER], ids=["not listed", "reader"])
def test_who_may_not_submit_may_not_seal(shared: Service, bearer: tuple[Any, ...]) -> None:
    """A token that could not submit under the key cannot seal it."""
    body = fresh()
    answer = check_shape(seal(shared, body["idempotency_key"], *bearer))
    assert said(answer) == (403, None, ["producer-mismatch"], True, False)
    assert check_shape(shared.submit(body))["status"] == 201


def test_a_key_that_may_be_submitted_may_be_sealed(location: Location, tmp_path: Path) -> None:
    """A privacy rule that the policy switches off does not prevent a seal."""
    policies = write_policies(tmp_path / "policies", privacy='off = ["github-token"]\n')
    with running(location, policies) as service:
        assert check_shape(service.submit(event(idempotency_key=TOKEN_LIKE)))["status"] == 201
        assert seal(service, "gh" + "p_" + "b" * 36).status_code == 201


def test_another_producers_seal_does_not_touch_a_key(service: Service) -> None:
    """A seal applies to one producer's key only."""
    assert seal(service, "k-1", "tool:watcher").status_code == 201
    assert check_shape(service.submit(event(idempotency_key="k-1")))["status"] == 201


# Busy, full, too many


def test_a_store_held_by_another_process_is_409(service: Service) -> None:
    """While another process writes, the answer is 409 with Retry-After, and later the same key is accepted."""
    body = event()
    service.token()
    with locked(service.location):
        response = service.submit(body)
    answer = check_shape(response)
    assert said(answer) == (409, None, ["busy"], True, False)
    assert int(response.headers["retry-after"]) > 0
    assert answer["idempotency_key"] == body["idempotency_key"]
    accepted = check_shape(service.submit(body))
    assert (accepted["status"], accepted["duplicate"]) == (201, False)


def test_a_store_that_cannot_commit_is_503(service: Service) -> None:
    """On a full disk nothing is stored, the answer has Retry-After, and later the same key is accepted."""
    body = event("x" * 60_000)
    service.token()
    with full(service):
        response = service.submit(body)
        read = service.client.get(f"/v1/submissions/by-key/{body['idempotency_key']}", headers=service.bearer())
    assert said(check_shape(response)) == (503, None, ["unavailable"], True, False)
    assert int(response.headers["retry-after"]) > 0
    assert read.status_code == 404
    accepted = check_shape(service.submit(body))
    assert (accepted["status"], accepted["duplicate"]) == (201, False)


def test_too_many_attempts_are_429(location: Location) -> None:
    """Over a producer's rate limit the answer is 429 with Retry-After; other producers are not limited."""
    with limited(location, "attempts_per_minute = 2") as service:
        bodies = [event(f"Text {number}.") for number in range(3)]
        responses = [service.submit(body) for body in bodies]
        answers = [check_shape(response) for response in responses]
        assert [answer["status"] for answer in answers] == [201, 201, 429]
        assert said(answers[2]) == (429, None, ["rate-limited"], True, False)
        assert int(responses[2].headers["retry-after"]) > 0
        assert check_shape(service.submit(event("Other.", producer_identity="tool:watcher")))["status"] == 201


def test_a_refusal_that_reads_no_body_echoes_the_key_of_the_header(location: Location) -> None:
    """The key of the header comes back with 429 and with the 403 of another role, as a key in the body does."""
    with limited(location, "attempts_per_minute = 1") as service:
        body = event(idempotency_key=None)
        assert service.submit(body, idempotency_key="k-1").status_code == 201
        refused = service.submit(body, idempotency_key="k-2")
        sent = service.bearer("auditing", "auditor") | {"idempotency-key": "k-3"}
        foreign = service.client.post("/v1/submissions", json=body, headers=sent)
        for answer, status, key in ((refused, 429, "k-2"), (foreign, 403, "k-3")):
            assert answer.status_code == status
            assert answer.headers["idempotency-key"] == answer.json()["idempotency_key"] == key


def test_a_text_with_too_many_look_alikes_is_refused_with_the_remedy(service: Service) -> None:
    """A text that exceeds the scan budget counts as private; the reason names the remedy, and nothing is kept."""
    text = " ".join(belgian(number) for number in range(1, 3_600))
    answer = check_shape(service.submit(event(text)))
    assert said(answer) == (422, "rejected-private", ["private-detected"], False, True)
    (reason,) = answer["reasons"]
    assert reason["pointer"] == "/payload/content"
    assert reason["message"].startswith("too-many-look-alikes: more look-alikes")
    assert "split the text" in reason["message"]
    assert "too-many-look-alikes" in service.sign_in().browser.get("/quarantine").text
    assert check_shape(service.submit(event(text[:10_000])))["status"] == 201
