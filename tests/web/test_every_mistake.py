"""A refusal with status 400 lists everything that is wrong with a request, on every route of the API."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import Service, event, running, write_policies

MISTAKES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "/v1/memories": (
        {"submission_scope": "team", "limit": "many", "match": "some", "q": "why " * 40, "after": "last"},
        ["/submission_scope", "/scope_id", "/limit", "/match", "/q", "/after"],
    ),
    "/v1/memories?": (
        {"scope": ["team:a", "project:", "group:b"], "limit": "201", "query": "why", "offset": "1"},
        ["/scope", "/scope", "/limit", "/", "/"],
    ),
    "/v1/changes": (
        {"scope": "project:", "limit": "0", "wait": "31", "after": "x"},
        ["/scope", "/limit", "/wait", "/after"],
    ),
    "/v1/changes?": (
        {"wait": "soon", "limit": "99999", "q": "why"},
        ["/submission_scope", "/scope_id", "/limit", "/wait", "/"],
    ),
    "/v1/audit/review-records": (
        {"since": "today", "until": "never", "decision": "maybe", "format": "xml", "sinse": "1", "scop": "2"},
        ["/", "/", "/format", "/decision", "/since", "/until"],
    ),
    "/v1/audit/dispositions": (
        {"disposition": "lost", "reason_code": "none", "format": "xml"},
        ["/format", "/disposition", "/reason_code"],
    ),
    "/v1/audit/notes": ({"submission_scope": "team", "since": "x", "a": "1"}, ["/", "/submission_scope", "/since"]),
    "/v1/audit/checkpoint": ({"size": "all", "old": "1"}, ["/", "/size"]),
    "/v1/audit/proof/inclusion": ({"sequence": "first", "leaf": "1"}, ["/", "/sequence"]),
    "/v1/audit/proof/consistency": ({"old_size": "-1", "new_size": "2"}, ["/", "/old_size"]),
}
"""Parameters and the pointers of the reasons, by path; a `?` marks a second row of a path."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service on SQLite: nothing of a refused request reaches an engine."""
    folder: Path = tmp_path_factory.mktemp("mistakes")
    with running(folder / "data", write_policies(folder / "policies")) as made:
        yield made


def reasons(answer: Any) -> list[tuple[str, str | None]]:
    """Return code and pointer of each reason of a problem, whose detail has each message."""
    problem = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert all(reason["message"] in problem["detail"] for reason in problem["reasons"])
    assert problem["type"] == f"/contract#{problem['reasons'][0]['code']}"
    return [(reason["code"], reason["pointer"]) for reason in problem["reasons"]]


@pytest.mark.parametrize("path", MISTAKES)
def test_every_wrong_parameter_is_named(shared: Service, path: str) -> None:
    """Unknown parameters, wrong ones and missing ones are reasons of one answer."""
    parameters, pointers = MISTAKES[path]
    role = ("auditing", "auditor") if path.startswith("/v1/audit") else ()
    answer = shared.client.get(path.rstrip("?"), params=parameters, headers=shared.bearer(*role))
    named = reasons(answer)
    assert sorted(named) == sorted(("malformed", pointer) for pointer in pointers)


def test_a_misspelled_question_does_not_read_everything(shared: Service) -> None:
    """The refusal names the parameter and the known ones; a parameter that is given twice is named once."""
    query = {"scope": "project:apollo", "query": ["why", "when"]}
    problem = shared.client.get("/v1/memories", params=query, headers=shared.bearer()).json()
    known = "submission_scope, scope_id, scope, q, match, limit, after"
    assert problem["detail"].count(f"query is no parameter of this route; known are {known}") == 1
    followed = shared.client.get("/v1/changes", params=query, headers=shared.bearer()).json()
    known = "scope, submission_scope, scope_id, after, limit, wait"
    assert f"query is no parameter of this route; known are {known}" in followed["detail"]


def test_every_mistake_of_a_submission_is_named(shared: Service) -> None:
    """Header and body are read together, by the single route and by each line of a batch."""
    body = event(scope_id="-", observed_at="today", source_event_hash="blake3:0", colour="red")
    of_body = [
        ("unknown-member", "/colour"),
        ("malformed", "/scope_id"),
        ("malformed", "/observed_at"),
        ("malformed", "/source_event_hash"),
    ]
    answer = shared.submit(body, idempotency_key="no key")
    assert reasons(answer) == [("key-invalid", None), *of_body]
    assert (answer.json()["retry_same_key"], answer.json()["idempotency_key"]) == (True, None)
    line = shared.client.post("/v1/submissions/batch", json=body, headers=shared.bearer()).json()
    assert [(reason["code"], reason["pointer"]) for reason in line["reasons"]] == of_body


def test_every_mistake_of_a_note_is_named(shared: Service) -> None:
    """The key in the header, members and text are reasons of one answer; a known key is echoed."""
    path = f"/v1/submissions/{shared.submit(event()).json()['submission_id']}/notes"
    without_key = shared.client.post(path, json={"text": " ", "to": "bob"}, headers=shared.bearer())
    assert reasons(without_key) == [("key-missing", None), ("unknown-member", None), ("malformed", "/text")]
    keyed = shared.client.post(path, json={"to": "bob"}, headers=shared.bearer() | {"idempotency-key": "note-1"})
    assert reasons(keyed) == [("unknown-member", None), ("malformed", "/text")]
    assert keyed.headers["idempotency-key"] == "note-1"


@pytest.mark.parametrize(
    ("path", "parameters", "advice"),
    [
        ("/v1/memories", {}, "e.g. scope=project:apollo"),
        ("/v1/changes", {}, "e.g. scope=project:apollo"),
        ("/v1/memories", {"scope": "project"}, "write kind:id"),
        ("/v1/memories", {"scope": "project:gemini"}, "granted: project:apollo"),
        ("/v1/audit/checkpoint", {}, "Ask the operator for a token that may read it."),
    ],
)
def test_a_refused_read_says_how_to_write_it(
    shared: Service, path: str, parameters: dict[str, str], advice: str
) -> None:
    """The text of a refusal is enough to correct the request."""
    assert advice in shared.client.get(path, params=parameters, headers=shared.bearer()).json()["detail"]


def test_a_refused_note_gets_the_advice_of_a_note(shared: Service) -> None:
    """A note has its key in the header alone and has no attributes, so that its refusals offer neither."""
    path = f"/v1/submissions/{shared.submit(event()).json()['submission_id']}/notes"
    details = [
        shared.client.post(path, json=body, headers=shared.bearer() | headers).json()["detail"]
        for body, headers in (
            ({"text": "Yes."}, {}),
            ({"text": "Yes.", "idempotency_key": "n-1"}, {"idempotency-key": "n-1"}),
        )
    ]
    assert "header Idempotency-Key. Send one with each note" in details[0]
    assert "its key is a header. Send the member text alone." in details[1]


def test_a_token_of_another_caller_is_named(shared: Service) -> None:
    """The refusal names whose token it is, so that the sender need not ask."""
    other = shared.client.post("/v1/submissions", json=event(), headers=shared.bearer("tool:watcher")).json()
    assert "another producer, tool:watcher" in other["detail"]
    foreign = shared.client.post("/v1/submissions", json=event(), headers=shared.bearer("auditing", "auditor")).json()
    assert "of the role auditor" in foreign["detail"]


@pytest.mark.parametrize(
    ("path", "name"),
    [("/v1/memories", "scope_id"), ("/v1/memories", "q"), ("/v1/changes", "after"), ("/v1/audit/notes", "since")],
)
def test_a_parameter_with_one_value_is_refused_twice(shared: Service, path: str, name: str) -> None:
    """A second value is never left out silently: a reader would take the answer for one about both."""
    role = ("auditing", "auditor") if path.startswith("/v1/audit") else ()
    values = [("submission_scope", "project"), ("scope_id", "apollo"), (name, "apollo"), (name, "gemini")]
    answer = shared.client.get(path, params=values, headers=shared.bearer(*role))
    assert ("malformed", f"/{name}") in reasons(answer)
    assert f"{name} may be given once" in answer.json()["detail"]


def test_of_two_tokens_none_is_preferred(shared: Service) -> None:
    """A request with two Authorization fields is refused, also if both are valid."""
    own, other = shared.bearer(), shared.bearer("tool:watcher")
    for fields in ([*own.items(), *other.items()], [*own.items(), *own.items()]):
        read = shared.client.get("/v1/token", headers=fields)
        assert (read.status_code, read.json()["reasons"][0]["code"]) == (401, "unauthorized")
        assert shared.client.post("/v1/submissions", json=event(), headers=fields).status_code == 401
