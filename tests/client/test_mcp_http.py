"""The service's own MCP endpoint: the same tools, tokens and proposals."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from antechamber.client import Ledger, Submitter
from antechamber.resources import how_to_install
from client.test_mcp import CALLED, LESSON, count
from support import HANG_SECONDS, Service, event, full

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def session(url: str, token: str, journey: Callable[[Client], Awaitable[Any]], mode: Any = "auto") -> Any:
    """Connect the SDK's client to the tools over HTTP."""

    async def whole() -> Any:
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=HANG_SECONDS) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
        ):
            return await journey(client)

    return asyncio.run(whole())


def calling(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON-RPC request that calls a tool."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_proposes_follows_and_searches(live: tuple[str, str], mode: str) -> None:
    """Both versions of the protocol work."""

    async def journey(client: Client) -> list[Any]:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        first = await client.call_tool("propose_memory", LESSON)
        again = await client.call_tool("propose_memory", LESSON)
        number = first.structured_content["submission_id"]
        status = await client.call_tool("submission_status", {"submission_id": number})
        nowhere = await client.call_tool("submission_status", {"submission_id": "nowhere"})
        search = {"query": "", "submission_scope": "project", "scope_id": "apollo"}
        results = await client.call_tool("search_memory", search)
        several = await client.call_tool("search_memory", {"query": "", "scopes": ["project:apollo"], "match": "any"})
        assert several.structured_content == results.structured_content
        denied = await client.call_tool("search_memory", search | {"scope_id": "gemini"})
        return [tools, first, again, status, nowhere, results, denied]

    tools, first, again, status, nowhere, results, denied = session(*live, journey, mode)
    assert tools == ["propose_memory", "submission_status", "answer_question", "memory_scopes", "search_memory"]
    assert first.structured_content["disposition"] == "accepted-for-review"
    assert str(first.structured_content["idempotency_key"]).startswith("ev1-")
    assert again.structured_content == first.structured_content | {"duplicate": True}
    assert status.structured_content["review"]["state"] == "pending"
    assert nowhere.is_error
    assert results.structured_content == {"items": [], "next": None}
    assert denied.structured_content["code"] == "scope-not-granted"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_id_of_a_call_is_its_key_over_http(live: tuple[str, str], mode: str) -> None:
    """A retry is a replay, a reworded retry a conflict that names the original, and half an id is refused."""

    async def journey(client: Client) -> list[Any]:
        first = await client.call_tool("propose_memory", LESSON, meta=CALLED)
        again = await client.call_tool("propose_memory", LESSON, meta=CALLED)
        reworded = await client.call_tool("propose_memory", LESSON | {"content": "First run it."}, meta=CALLED)
        half = await client.call_tool("propose_memory", LESSON, meta={"antechamber/session": "x" * 16})
        return [first, again, reworded, half]

    first, again, reworded, half = (result.structured_content for result in session(*live, journey, mode))
    assert str(first["idempotency_key"]).startswith("call1-")
    assert again == first | {"duplicate": True}
    assert (reworded["code"], reworded["submission_id"]) == ("key-reused", first["submission_id"])
    assert half["code"] == "key-invalid"


def test_a_client_answers_a_question_over_http(live: tuple[str, str]) -> None:
    """The tool of the service keeps an answer once; without a question it is a note, and refusals have their codes."""

    async def journey(client: Client) -> list[Any]:
        number = (await client.call_tool("propose_memory", LESSON)).structured_content["submission_id"]
        given = {"submission_id": number, "text": "By the way."}
        first = await client.call_tool("answer_question", given)
        again = await client.call_tool("answer_question", given)
        private = await client.call_tool("answer_question", given | {"text": "ghp_" + "a1B2" * 9})
        nowhere = await client.call_tool("answer_question", given | {"submission_id": "nowhere"})
        return [first, again, private, nowhere]

    first, again, private, nowhere = session(*live, journey)
    assert first.structured_content["kind"] == "note"
    assert again.structured_content == first.structured_content
    assert private.structured_content["code"] == "private-detected"
    assert (nowhere.is_error, nowhere.structured_content["code"]) == (True, "refused")


def test_one_event_over_three_ways_is_one_proposal(live: tuple[str, str], tmp_path: Path) -> None:
    """One event over HTTP, a local tool and a tool of the service has one hash and one proposal."""
    url, token = live
    payload = {"kind": LESSON["kind"], "content": LESSON["content"]}
    body = event(payload=payload, idempotency_key="by-hand")
    headers = {"authorization": f"Bearer {token}"}
    by_http = httpx.post(f"{url}/v1/submissions", json=body, headers=headers, timeout=HANG_SECONDS).json()
    own = {name: value for name, value in body.items() if name not in {"idempotency_key", "source_event_hash"}}
    with Ledger(tmp_path / "agent.ledger") as ledger, Submitter(url, token, ledger) as submitter:
        by_ledger = submitter.submit(own)

    async def journey(client: Client) -> Any:
        return (await client.call_tool("propose_memory", LESSON)).structured_content

    by_tool = session(url, token, journey)
    assert {by_http["source_event_hash"], by_ledger.source_event_hash, by_tool["source_event_hash"]} == {
        body["source_event_hash"]
    }
    with Ledger(tmp_path / "tool.ledger") as ledger, Submitter(url, token, ledger, channel="mcp") as beside:
        beside.submit(own)
    listed = sqlite3.connect(tmp_path / "data" / "antechamber.db")
    with contextlib.closing(listed):
        ways = [row[0] for row in listed.execute("SELECT channel FROM submissions ORDER BY id")]
    assert ways == ["http", "http", "mcp", "mcp"]
    assert {by_http["proposal_id"], by_ledger.proposal_id, by_tool["proposal_id"]} == {by_http["proposal_id"]}


def test_the_endpoint_needs_a_token(service: Service) -> None:
    """Without a token, with a session or with a revoked token the request is refused before its MCP content is read."""
    for headers in ({}, {"authorization": "Bearer antp_nonsense"}):
        answer = service.client.post("/mcp", json=calling("propose_memory", LESSON), headers=HEADERS | headers)
        assert (answer.status_code, answer.json()["reasons"][0]["code"]) == (401, "unauthorized")
    desk = service.sign_in()
    assert desk.browser.post("/mcp", json=calling("propose_memory", LESSON), headers=HEADERS).status_code == 401
    assert count(service, "submissions") == 0


def test_a_reader_searches_and_cannot_propose(service: Service) -> None:
    """A reader's token can search but not propose."""
    reader = service.bearer("lookout", "reader", ("project:apollo",))

    def call(name: str, **arguments: Any) -> Any:
        asked = calling(name, arguments)
        return service.client.post("/mcp", json=asked, headers=HEADERS | reader).json()["result"]

    assert call("search_memory", query="", submission_scope="project", scope_id="apollo")["structuredContent"] == {
        "items": [],
        "next": None,
    }
    assert "no producer's" in call("propose_memory", **LESSON)["content"][0]["text"]
    rights = {"name": "lookout", "role": "reader", "submit": [], "read": ["project:apollo"], "expires_at": None}
    assert call("memory_scopes")["structuredContent"] == rights
    assert "may propose to: no scope." in call("memory_scopes")["content"][0]["text"]
    assert count(service, "submissions") == 0


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_there_are_no_sessions_and_no_streams(service: Service, method: str) -> None:
    """Only POST is supported, and OPTIONS lists it."""
    answer = service.client.request(method, "/mcp", headers=HEADERS | service.bearer())
    assert answer.status_code == 405
    asked = service.client.options("/mcp", headers=service.bearer())
    assert (asked.status_code, asked.headers["allow"]) == (204, "OPTIONS, POST")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no JSON",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
        json.dumps(calling("propose_memory", LESSON)).encode()[:-40],
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "propose_memory", "arguments": [1]}}',
        b"[" * 50_000,
        b" " * 5_000_000,
    ],
)
def test_a_broken_request_is_refused_and_harms_nothing(service: Service, body: bytes) -> None:
    """A malformed request never causes a server error, and the next request is answered."""
    answer = service.client.post("/mcp", content=body, headers=HEADERS | service.bearer())
    assert 200 <= answer.status_code < 500
    assert '"result":' not in answer.text or '"isError":true' in answer.text
    good = service.client.post(
        "/mcp", json=calling("propose_memory", LESSON), headers=HEADERS | service.bearer()
    ).json()
    assert good["result"]["structuredContent"]["disposition"] == "accepted-for-review"


@pytest.mark.parametrize("literal", ["NaN", "Infinity", '"\\ud800"', "1e400", "0.5", "12345678901234567890"])
def test_numbers_and_texts_outside_json_are_refused(service: Service, literal: str) -> None:
    """Invalid JSON numbers and texts are refused even if the SDK's parser would accept them."""
    body = json.dumps(calling("propose_memory", LESSON | {"attributes": {"a": "HERE"}})).replace('"HERE"', literal)
    answer = service.client.post("/mcp", content=body, headers=HEADERS | service.bearer())
    assert answer.status_code < 500
    assert '"isError":true' in answer.text or '"error"' in answer.text
    assert count(service, "submissions") == 0


def test_without_the_extra_the_endpoint_names_the_missing_package(service: Service) -> None:
    """Without the extra the endpoint reports the missing package to callers with a token."""
    service.state.tools._start = None
    answer = service.client.post("/mcp", json=calling("search_memory", {}), headers=HEADERS | service.bearer())
    assert answer.status_code == 404
    assert how_to_install("mcp") in answer.json()["detail"]


def test_a_server_that_cannot_start_is_an_error_each_time(service: Service) -> None:
    """When the SDK fails to start, each call reports an error of the service, and other routes are unaffected."""

    @contextlib.asynccontextmanager
    async def broken(_: Any) -> Any:
        message = "cannot be imported"
        raise ImportError(message)
        yield

    service.state.tools._start = broken
    for _ in range(2):
        answer = service.client.post("/mcp", json=calling("search_memory", {}), headers=HEADERS | service.bearer())
        assert answer.status_code == 500
    assert service.submit(event()).status_code == 201


def test_concurrent_calls_start_one_server(service: Service) -> None:
    """Concurrent first requests start one server, and each gets its answer."""
    with ThreadPoolExecutor(8) as pool:
        asked = [calling("propose_memory", LESSON | {"content": f"Lesson {number}."}) for number in range(16)]
        answers = list(
            pool.map(lambda one: service.client.post("/mcp", json=one, headers=HEADERS | service.bearer()), asked)
        )
    assert {one.json()["result"]["structuredContent"]["status"] for one in answers} == {201}
    assert count(service, "proposals") == 16


def test_a_store_that_cannot_commit_leaves_the_call_open(service: Service) -> None:
    """When the store is busy, the model is asked to call again, and the call succeeds then."""
    asked = calling("propose_memory", LESSON | {"content": "What is learned at length. " * 2000})
    with full(service):
        result = service.client.post("/mcp", json=asked, headers=HEADERS | service.bearer()).json()["result"]
    assert result["isError"]
    assert result["structuredContent"]["code"] == "uncertain"
    assert result["structuredContent"]["retry_same_arguments"]
    landed = service.client.post("/mcp", json=asked, headers=HEADERS | service.bearer()).json()["result"]
    assert landed["structuredContent"]["disposition"] == "accepted-for-review"
    assert not landed["structuredContent"]["duplicate"]


def test_a_permanent_error_is_not_marked_as_retryable(service: Service) -> None:
    """A permanent error does not ask the model to call again, which would never end."""
    reader = service.bearer("lookout", "reader", ("project:apollo",))
    result = service.client.post("/mcp", json=calling("propose_memory", LESSON), headers=HEADERS | reader).json()[
        "result"
    ]
    assert (result["structuredContent"]["code"], result["structuredContent"]["retry_same_arguments"]) == (
        "refused",
        False,
    )


def test_an_answer_that_the_service_refuses_has_its_code(service: Service) -> None:
    """A private answer is refused by its code and the argument, and never repeated."""
    proposed = service.client.post("/mcp", json=calling("propose_memory", LESSON), headers=HEADERS | service.bearer())
    number = proposed.json()["result"]["structuredContent"]["submission_id"]
    secret = "ghp_" + "a1B2" * 9
    asked = calling("answer_question", {"submission_id": number, "text": f"Use {secret}."})
    answer = service.client.post("/mcp", json=asked, headers=HEADERS | service.bearer())
    assert answer.json()["result"]["structuredContent"]["code"] == "private-detected"
    assert secret not in answer.text


def test_an_unexpected_error_is_a_result(service: Service) -> None:
    """An internal error is reported to the model without details."""
    recall = service.state.recall
    service.state.recall._store = None
    asked = calling("search_memory", {"query": "", "submission_scope": "project", "scope_id": "apollo"})
    result = service.client.post("/mcp", json=asked, headers=HEADERS | service.bearer()).json()["result"]
    recall._store = service.state.desk._store
    assert result["isError"]
    assert result["structuredContent"]["code"] == "failed"
    assert "NoneType" not in json.dumps(result)


SECRET = "sk_live_AbCdEf0123456789"


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "tools/list"}',
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search_memory", "name": "x"}}',
        json.dumps(calling("propose_memory", LESSON)).replace('"kind"', '"content": "Another.", "kind"'),
        json.dumps(calling("propose_memory", LESSON | {"attributes": {"a": 1}})).replace('"a"', '"\\u0061": 2, "a"'),
    ],
)
def test_a_duplicate_member_is_refused(service: Service, body: str) -> None:
    """A duplicate member is refused at any depth, because the SDK's parser would silently drop one."""
    answer = service.client.post("/mcp", content=body.encode(), headers=HEADERS | service.bearer())
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
    assert "names a member twice" in answer.json()["error"]["message"]
    assert count(service, "submissions") == 0


@pytest.mark.parametrize(
    "asked",
    [
        calling("propose_memory", LESSON | {SECRET: "x"}),
        calling("propose_memory", LESSON | {f"{SECRET}` - at `$.content": "x"}),
        calling("propose_memory", LESSON | {"submission_scope": SECRET}),
        calling("propose_memory", LESSON | {"tags": [SECRET, 5]}),
        calling("propose_memory", LESSON | {"attributes": {SECRET: 0.5}}),
        calling("propose_memory", LESSON | {"attributes": [{"name": SECRET, "value": SECRET}]}),
        calling("propose_memory", LESSON | {"attributes": [{"name": "a", "value": {SECRET: 1.5}}]}),
        calling("propose_memory", LESSON) | {"params": {"name": "propose_memory", "_meta": CALLED | {SECRET: SECRET}}},
        calling("memory_scopes", {})
        | {"params": {"name": "memory_scopes", "_meta": {f"antechamber/{SECRET}": SECRET}}},
        calling("search_memory", {"query": 5, SECRET: SECRET}),
        calling(SECRET, {}),
        calling("propose_memory", LESSON) | {"params": {SECRET: SECRET}},
        calling("propose_memory", LESSON) | {"params": [SECRET]},
        calling("propose_memory", LESSON) | {"jsonrpc": SECRET},
        calling("propose_memory", LESSON) | {"method": {SECRET: SECRET}},
        {SECRET: SECRET},
        [SECRET],
        SECRET,
    ],
)
def test_a_result_never_repeats_refused_values(service: Service, asked: Any) -> None:
    """Refused names and values are not repeated: they may be secrets, and transcripts and logs keep answers."""
    answer = service.client.post("/mcp", json=asked, headers=HEADERS | service.bearer())
    assert answer.status_code < 500
    assert '"error"' in answer.text or '"isError":true' in answer.text
    assert SECRET not in answer.text
