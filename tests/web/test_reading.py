"""Reading over HTTP returns own receipts and granted memories, and reveals nothing else."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from antechamber.settings import Location
from support import Service, event, running, write_policies

NOWHERE = "00000000-0000-7000-8000-000000000000"
READER = ("lookout", "reader", ("project:apollo", "session:s-named"))

PENDING = {
    "state": "pending",
    "decided_at": None,
    "reason_code": None,
    "reason_text": None,
    "memory_id": None,
    "content": None,
    "notes": [],
}


def read(service: Service, location: str, *bearer: Any) -> httpx.Response:
    """Read a submission."""
    return service.client.get(f"/v1/submissions/{location}", headers=service.bearer(*bearer))


def both(service: Service, body: dict[str, Any], submission_id: str, *bearer: Any) -> dict[str, Any]:
    """Read a submission by id and by key, check that both agree, and return it."""
    by_id, by_key = (read(service, index, *bearer) for index in (submission_id, f"by-key/{body['idempotency_key']}"))
    assert by_id.status_code == by_key.status_code == 200
    assert by_id.headers["cache-control"] == by_key.headers["cache-control"] == "no-store"
    assert by_id.headers["content-type"].partition(";")[0] == "application/json"
    assert by_id.content == by_key.content
    answer: dict[str, Any] = by_id.json()
    return answer


def recall(service: Service, *bearer: Any, **query: Any) -> httpx.Response:
    """Read memories of project:apollo, or with the parameters in `query`; None omits a parameter."""
    params = {"submission_scope": "project", "scope_id": "apollo"} | query
    params = {name: value for name, value in params.items() if value is not None}
    return service.client.get("/v1/memories", params=params, headers=service.bearer(*bearer))


def contents(response: httpx.Response) -> list[str]:
    """Return the texts of a page."""
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return [item["content"] for item in response.json()["items"]]


def refusal(response: httpx.Response) -> tuple[Any, ...]:
    """Return status, codes and pointer of a refusal, and check the status in its body."""
    answer = response.json()
    assert response.headers["content-type"].partition(";")[0] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"
    assert answer["status"] == response.status_code
    return response.status_code, answer["reasons"][0]["code"], answer["reasons"][0]["pointer"]


def admit(service: Service, body: dict[str, Any]) -> None:
    """Submit an event and have a curator approve it."""
    response = service.submit(body)
    assert response.status_code == 201, response.text
    assert service.sign_in().decide(response.json()["proposal_id"], "approve").status_code == 303


@pytest.fixture(scope="module")
def library(lasting_place: Location) -> Iterator[Service]:
    """A service with memories, shared by tests that only read."""
    with running(lasting_place, write_policies(lasting_place.data.parent / "policies")) as service:
        for number in range(5):
            admit(service, event(f"Memory {number} about the Café."))
        admit(service, event('Say "deploy" AND rest; naïve pre-flight NOT done.'))
        admit(service, event("In a session.", submission_scope="session", scope_id="s-1"))
        watcher = event("Seen.", producer_identity="tool:watcher", submission_scope="session", scope_id="s-2")
        admit(service, watcher)
        service.submit(event("Waiting.", submission_scope="session", scope_id="s-named", idempotency_key="pending"))
        yield service


# Own submissions


def test_a_receipt_is_read_back_with_its_pending_review(service: Service) -> None:
    """Before a decision the receipt reads as it was answered, with a pending review."""
    body = event()
    receipt = service.submit(body).json()
    stored = both(service, body, receipt["submission_id"])
    assert stored.pop("review") == PENDING
    assert stored == receipt
    service.submit(body)
    assert both(service, body, receipt["submission_id"])["duplicate"] is False


def test_an_approval_names_the_memory(service: Service) -> None:
    """After an approval the producer, and each producer of evidence, can read its time and its memory."""
    body, duplicate, evidence = event(), event(), event(producer_identity="tool:watcher")
    ids = [service.submit(one).json()["submission_id"] for one in (body, duplicate, evidence)]
    proposal = service.submit(body).json()["proposal_id"]
    assert service.sign_in().decide(proposal, "approve").status_code == 303
    review = both(service, body, ids[0])["review"]
    assert (review["state"], review["reason_code"]) == ("approved", None)
    assert datetime.fromisoformat(review["decided_at"]).tzinfo is not None
    assert review["memory_id"] == service.recall()[0]["memory_id"]
    assert both(service, duplicate, ids[1])["review"] == review
    assert both(service, evidence, ids[2], "tool:watcher")["review"] == review


def test_a_rejection_names_its_reason(service: Service) -> None:
    """After a rejection the producer can read the reason, and there is no memory."""
    body = event()
    receipt = service.submit(body).json()
    assert service.sign_in().decide(receipt["proposal_id"], "reject", reason_code="outdated").status_code == 303
    review = both(service, body, receipt["submission_id"])["review"]
    assert (review["state"], review["reason_code"], review["memory_id"]) == ("rejected", "outdated", None)
    assert review["decided_at"] is not None


@pytest.mark.parametrize("decision", ["approve", "edit"])
def test_a_first_of_two_approvals_is_no_decision_yet(service: Service, decision: str) -> None:
    """While a second person is needed, the review stays pending and has no time."""
    scope = {"submission_scope": "organization", "scope_id": "labs"} if decision == "approve" else {}
    fields = {"content": "Better.", "reason_code": "unclear"} if decision == "edit" else {}
    body = event(**scope)
    receipt = service.submit(body).json()
    assert service.sign_in().decide(receipt["proposal_id"], decision, **fields).status_code == 303
    review = both(service, body, receipt["submission_id"])["review"]
    assert review == PENDING


@pytest.mark.parametrize("members", [{"scope_id": "gemini"}, {"observed_at": "2020-01-01T00:00:00Z"}])
def test_a_refusal_is_read_back_without_a_review(service: Service, members: dict[str, Any]) -> None:
    """A submission without a proposal reads as it was answered, with a null review."""
    body = event(**members)
    receipt = service.submit(body).json()
    assert both(service, body, receipt["submission_id"]) == receipt | {"review": None}


def test_a_private_refusal_is_read_back_without_its_hash(service: Service) -> None:
    """A private event reads without its hash, which was not kept."""
    body = event(visibility="private")
    receipt = service.submit(body).json()
    stored = both(service, body, receipt["submission_id"])
    assert stored == receipt | {"review": None, "source_event_hash": None}


def test_a_seal_is_read_back(service: Service) -> None:
    """A sealed key has a receipt that the key's owner can read."""
    receipt = service.client.put("/v1/submissions/by-key/k-1/seal", headers=service.bearer()).json()
    assert both(service, {"idempotency_key": "k-1"}, receipt["submission_id"]) == receipt | {"review": None}


def test_what_is_not_ones_own_reads_like_what_does_not_exist(service: Service) -> None:
    """Other producers' submissions and unknown ones give the same 404, for every kind of token."""
    body = event()
    submission_id = service.submit(body).json()["submission_id"]
    unknown = read(service, NOWHERE)
    assert unknown.status_code == 404
    assert unknown.headers["content-type"].partition(";")[0] == "application/problem+json"
    del unknown.headers["x-request-id"]
    places = (submission_id, f"by-key/{body['idempotency_key']}")
    bearers: tuple[tuple[Any, ...], ...] = (("tool:watcher",), ("worker:stranger",), READER, ("inspector", "auditor"))
    for bearer in bearers:
        for index in (*places, NOWHERE, "by-key/unknown", "by-key/%20", "x' OR 1=1 --"):
            response = read(service, index, *bearer)
            assert (response.status_code, response.content) == (404, unknown.content)
            del response.headers["x-request-id"]
            assert dict(response.headers) == dict(unknown.headers)


def test_one_key_of_two_producers_reads_as_each_ones_own(service: Service) -> None:
    """One key of two producers returns each reader's own submission."""
    for name in ("worker:release-bot", "tool:watcher"):
        service.submit(event(f"By {name}.", idempotency_key="same", producer_identity=name))
    for name in ("worker:release-bot", "tool:watcher"):
        assert read(service, "by-key/same", name).json()["producer_identity"] == name


@pytest.mark.parametrize("location", [NOWHERE, "by-key/k-1"])
def test_reading_needs_a_token(library: Service, location: str) -> None:
    """Without a token every path gives 401."""
    response = library.client.get(f"/v1/submissions/{location}")
    assert refusal(response)[:2] == (401, "unauthorized")


# Memories


def test_a_memory_has_all_its_members(service: Service) -> None:
    """A memory is returned with text, source and claim as admitted."""
    body = event(
        payload={"kind": "Fact", "content": " Deep. ", "tags": ["B", "a"], "attributes": {"n": 1, "x": [None]}},
        source_span={"uri": "repo://apollo/x", "start": 1, "end": 2},
        supersedes=NOWHERE,
        derived_from=["m-2", "m-1"],
    )
    admit(service, body)
    page = recall(service).json()
    assert set(page) == {"items", "next"}
    assert page["next"] is None
    (item,) = page["items"]
    assert datetime.fromisoformat(item.pop("admitted_at")).tzinfo is not None
    assert item.pop("memory_id")
    assert len(item.pop("review_record_ids")) == 1
    assert item == {
        "content": "Deep.",
        "kind": "fact",
        "tags": ["a", "b"],
        "attributes": {"n": 1, "x": [None]},
        "submission_scope": "project",
        "scope_id": "apollo",
        "source_span": {"uri": "repo://apollo/x", "start": 1, "end": 2},
        "supersedes": NOWHERE,
        "derived_from": ["m-1", "m-2"],
        "producer_identity": "worker:release-bot",
        "approvals": 1,
        "evidence": 0,
    }


def test_only_admitted_texts_are_memories(service: Service) -> None:
    """Pending and rejected proposals are not returned; an edited one is returned with its edited text."""
    service.submit(event("Pending."))
    rejected = service.submit(event("Rejected.")).json()["proposal_id"]
    edited = service.submit(event("Edited.")).json()["proposal_id"]
    service.sign_in().decide(rejected, "reject", reason_code="wrong")
    service.sign_in().decide(edited, "edit", content="Better.", reason_code="unclear")
    assert contents(recall(service)) == []
    assert service.sign_in("carol").decide(edited, "approve").status_code == 303
    assert contents(recall(service)) == ["Better."]


def test_memories_are_paged_newest_first(library: Service) -> None:
    """`next` leads from page to page until every memory was returned once."""
    everything = contents(recall(library))
    assert len(everything) == 6
    assert everything[1:] == [f"Memory {number} about the Café." for number in (4, 3, 2, 1, 0)]
    seen, after = [], None
    for expected in (4, 2):
        page = recall(library, limit=4, after=after)
        assert len(contents(page)) == expected
        seen += contents(page)
        after = page.json()["next"]
    assert after is None
    assert seen == everything
    assert recall(library, limit=6).json()["next"] is None


@pytest.mark.parametrize("limit", ["1", "200", "0050"])
def test_limits_within_the_bounds_are_taken(library: Service, limit: str) -> None:
    """A page may have 1 to 200 items."""
    assert len(contents(recall(library, limit=limit))) == min(int(limit), 6)


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "no scope": ({"submission_scope": None}, "/submission_scope"),
    "no id": ({"scope_id": None}, "/scope_id"),
    "neither": ({"submission_scope": None, "scope_id": None}, "/submission_scope"),
    "empty id": ({"scope_id": ""}, "/scope_id"),
    "unknown scope": ({"submission_scope": "galaxy"}, "/submission_scope"),
    "empty scope": ({"submission_scope": ""}, "/submission_scope"),
    **{
        f"limit {limit!r}": ({"limit": limit}, "/limit")
        for limit in ("0", "201", "-1", "1.5", "", "ten", "+5", " 5", "²", "9" * 5000)
    },
    "after nothing": ({"after": NOWHERE}, "/after"),
    "too many words": ({"q": "word " * 33}, "/q"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_question_that_is_not_clear_is_400(library: Service, name: str) -> None:
    """Exactly one scope must be named, and every parameter must be within its limits."""
    query, pointer = MISSING[name]
    assert refusal(recall(library, **query)) == (400, "malformed", pointer)


def test_after_must_lie_in_the_same_scope(library: Service) -> None:
    """A memory of another scope is not a valid cursor, even if it is readable."""
    session = recall(library, submission_scope="session", scope_id="s-1").json()["items"][0]["memory_id"]
    assert refusal(recall(library, after=session)) == (400, "malformed", "/after")


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("cafe", 5),
        ("CAFÉ", 5),
        ("cafe\u0301", 5),
        ("about  3", 1),
        ("3 café memory", 5),
        ("3 4", 2),
        ("caf", 0),
        ("caf*", 0),
        ("naive", 1),
        ("deploy AND rest", 1),
        ("deploy OR rest", 1),
        ("NOT done", 1),
        ("deploy NOT memory", 6),
        ('"deploy', 1),
        ("content:deploy", 1),
        ("pre-flight", 1),
        ("NEAR(deploy rest)", 1),
        ("(deploy", 1),
        ("deploy\0rest", 1),
        ("word" * 500, 0),
    ],
)
def test_words_match_whole_and_none_is_an_operator(library: Service, q: str, found: int) -> None:
    """Words match whole, regardless of case and accents; operators are treated as words."""
    assert len(contents(recall(library, q=q))) == found


@pytest.mark.parametrize("q", ["", "  ", "\t"])
def test_a_blank_search_is_none(library: Service, q: str) -> None:
    """A search without words returns everything in the scope."""
    assert len(contents(recall(library, q=q))) == 6


def test_a_search_is_paged_too(library: Service) -> None:
    """Search results have pages as well."""
    page = recall(library, q="cafe", limit=3)
    rest = recall(library, q="cafe", limit=3, after=page.json()["next"])
    assert (len(contents(page)), len(contents(rest)), rest.json()["next"]) == (3, 2, None)


DENIED = {
    "another project": {"scope_id": "gemini"},
    "a child": {"scope_id": "apollo/child"},
    "a prefix": {"scope_id": "apoll"},
    "a glob": {"scope_id": "*"},
    "submitted but not readable": {"submission_scope": "organization", "scope_id": "labs"},
    "same id, other scope": {"submission_scope": "agent_repo"},
    "a session of another": {"submission_scope": "session", "scope_id": "s-2"},
    "a session of nobody": {"submission_scope": "session", "scope_id": "s-3"},
}


@pytest.mark.parametrize("name", DENIED)
def test_what_is_not_granted_is_403(library: Service, name: str) -> None:
    """Only the granted pair is readable, never a parent, a child or another producer's session."""
    assert refusal(recall(library, **DENIED[name])) == (403, "scope-not-granted", "/submission_scope")


def test_a_denial_does_not_reveal_whether_memories_exist(library: Service) -> None:
    """A denied scope gives the same answer with and without memories, for every parameter."""
    for query in ({}, {"q": "seen"}, {"limit": 1}, {"after": NOWHERE}):
        full = recall(library, submission_scope="session", scope_id="s-2", **query).json()
        empty = recall(library, submission_scope="session", scope_id="s-9", **query).json()
        assert full | {"received_at": None} == empty | {"received_at": None}
        assert full["disposition"] is None
        assert (full["retry_same_key"], full["safe_new_key"]) == (False, False)


def test_a_session_is_read_by_the_producers_that_submitted_in_it(library: Service) -> None:
    """A session glob opens the sessions in which the same producer has an accepted submission, and no others."""
    assert contents(recall(library, submission_scope="session", scope_id="s-1")) == ["In a session."]
    assert contents(recall(library, submission_scope="session", scope_id="s-named")) == []
    assert recall(library, "tool:watcher", submission_scope="session", scope_id="s-1").status_code == 403
    assert contents(recall(library, "tool:watcher", submission_scope="session", scope_id="s-2")) == ["Seen."]


@pytest.mark.parametrize("members", [{"visibility": "private"}, {"observed_at": "2020-01-01T00:00:00Z"}])
def test_a_refused_submission_opens_no_session(service: Service, members: dict[str, Any]) -> None:
    """A refused submission into a session does not make the session readable."""
    session = {"submission_scope": "session", "scope_id": "s-1"}
    admit(service, event("Seen.", producer_identity="tool:watcher", **session))
    assert service.submit(event("Let me in.", **session, **members)).status_code == 422
    assert recall(service, **session).status_code == 403


def test_evidence_opens_its_session(service: Service) -> None:
    """A producer whose submission became evidence in a session may read that session."""
    session = {"submission_scope": "session", "scope_id": "s-1"}
    admit(service, event("Seen.", producer_identity="tool:watcher", **session))
    assert service.submit(event("Seen.", **session)).status_code == 200
    assert contents(recall(service, **session)) == ["Seen."]


def test_a_readers_token_reads_its_own_grants(library: Service) -> None:
    """A reader reads exactly the pairs in its token."""
    assert len(contents(recall(library, *READER))) == 6
    assert contents(recall(library, *READER, submission_scope="session", scope_id="s-named")) == []
    assert recall(library, *READER, submission_scope="session", scope_id="s-1").status_code == 403
    assert recall(library, *READER, submission_scope="organization", scope_id="labs").status_code == 403


@pytest.mark.parametrize("bearer", [("inspector", "auditor"), ("worker:stranger",)], ids=["auditor", "not listed"])
def test_other_tokens_read_no_memories(library: Service, bearer: tuple[Any, ...]) -> None:
    """Auditors and producers outside the policy cannot read memories here."""
    assert refusal(recall(library, *bearer))[:2] == (403, "scope-not-granted")


def test_memories_need_a_token(library: Service) -> None:
    """Without a token the answer is 401, even for an invalid query."""
    assert refusal(library.client.get("/v1/memories"))[:2] == (401, "unauthorized")


def test_a_withdrawn_grant_ends_reading(location: Location, tmp_path: Path) -> None:
    """Reading follows the policy in force, not the one under which a memory was admitted."""
    with running(location, write_policies(tmp_path / "policies")) as service:
        admit(service, event())
        assert len(contents(recall(service))) == 1
    closed = '[[producer]]\nidentity = "worker:release-bot"\nowner = "ada"\nsubmit = ["project:apollo"]\n'
    with running(location, write_policies(tmp_path / "closed", producers=closed)) as service:
        assert recall(service).status_code == 403


@pytest.mark.parametrize(
    ("name", "role", "read", "told"),
    [
        (
            "worker:release-bot",
            "producer",
            (),
            (["project:apollo", "session:*", "organization:labs"], ["project:apollo", "session:*"]),
        ),
        ("tool:watcher", "producer", ("project:apollo",), (["project:apollo", "session:*"], ["project:apollo"])),
        ("worker:stranger", "producer", (), ([], [])),
        ("lookout", "reader", ("project:gemini",), ([], ["project:gemini"])),
        ("checker", "auditor", (), ([], [])),
    ],
)
def test_an_agent_reads_the_name_and_permissions_of_its_token(
    service: Service, name: str, role: str, read: tuple[str, ...], told: tuple[list[str], list[str]]
) -> None:
    """An agent can read its own name and permissions, and nothing about others."""
    answer = service.client.get("/v1/token", headers=service.bearer(name, role, read))
    assert answer.json() == {"name": name, "role": role, "submit": told[0], "read": told[1], "expires_at": None}
    assert answer.headers["cache-control"] == "no-store"
