"""MCP tools, called by the SDK's client: in memory, and over standard input and output of a real process."""

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult

from antechamber.cli.mcp import LedgerSubmits
from antechamber.client import AsyncSubmitter, Ledger
from antechamber.client.submitter import Submitter
from antechamber.mcp_server import ToolHandlers, build
from antechamber.resources import how_to_install
from client.network import AsyncNetwork, Network
from support import URL, Service, antechamber, database, event, free_port, locked, serving

LESSON = {
    "content": "Run the migration first.",
    "kind": "procedure",
    "submission_scope": "project",
    "scope_id": "apollo",
    "source_uri": "repo://apollo/RUNBOOK.md",
}
Call = Callable[..., Awaitable[CallToolResult]]


def session(network: Network, service: Service, path: Path, journey: Callable[[Client], Awaitable[Any]]) -> Any:
    """Connect an in-memory client to the tools."""

    async def whole() -> Any:
        with Ledger(path) as ledger:
            token = service.token()
            async with AsyncSubmitter(URL, token, ledger, transport=AsyncNetwork(network)) as submitter:
                tools = LedgerSubmits(submitter, ledger, token)
                server = build(lambda _: tools)
                async with Client(server) as client:
                    return await journey(client)

    return asyncio.run(whole())


@pytest.fixture
def call(network: Network, service: Service, tmp_path: Path) -> Callable[..., CallToolResult]:
    """Call one tool in a separate session on one ledger."""

    def one(name: str, /, *, meta: Any = None, **arguments: Any) -> CallToolResult:
        async def journey(client: Client) -> Any:
            return await client.call_tool(name, arguments, meta=meta)

        result: CallToolResult = session(network, service, tmp_path / "agent.ledger", journey)
        return result

    return one


def text(result: CallToolResult) -> str:
    """Return the text that the model reads."""
    return " ".join(one.text for one in result.content if one.type == "text")


def count(service: Service, table: str) -> int:
    """Count rows of the service."""
    with database(service.location) as raw:
        number: int = raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return number


def test_a_model_sees_five_tools(network: Network, service: Service, tmp_path: Path) -> None:
    """Five tools have strict arguments, output schemas and accurate hints; none accepts a key or a hash."""

    async def journey(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in session(network, service, tmp_path / "agent.ledger", journey)}
    assert set(tools) == {
        "propose_memory",
        "submission_status",
        "answer_question",
        "memory_scopes",
        "search_memory",
    }
    for name, tool in tools.items():
        hints = tool.annotations
        assert hints.read_only_hint == (name not in {"propose_memory", "answer_question"})
        assert (hints.idempotent_hint, hints.destructive_hint, hints.open_world_hint) == (True, False, False)
        assert tool.input_schema["additionalProperties"] is False
        assert not {"idempotency_key", "key", "source_event_hash", "hash"} & set(tool.input_schema["properties"])
        assert tool.output_schema["type"] == "object"
        assert tool.title
    assert set(tools["propose_memory"].input_schema["required"]) == set(LESSON)
    assert set(tools["propose_memory"].input_schema["properties"]) - set(LESSON) == {
        "source_start",
        "source_end",
        "source_revision",
        "source_heading",
        "tags",
        "attributes",
        "derived_from",
        "supersedes",
    }


def test_a_model_learns_its_scopes(call: Callable[..., CallToolResult], network: Network) -> None:
    """It can list them, and the refusal of another scope names the granted ones, of a proposal and of a search."""
    granted = {
        "submit": ["project:apollo", "session:*", "organization:labs"],
        "read": ["project:apollo", "session:*"],
        "expires_at": None,
    }
    listed = call("memory_scopes")
    assert listed.structured_content == {"name": "worker:release-bot", "role": "producer"} | granted
    assert "may propose to: project:apollo, session:*, organization:labs. It may read: project:apollo" in text(listed)
    proposed = call("propose_memory", **LESSON | {"scope_id": "gemini"})
    assert "granted: project:apollo, session:*, organization:labs" in text(proposed)
    searched = call("search_memory", query="", scopes=["project:gemini"])
    assert "reading this scope is not granted; granted: project:apollo, session:*." in text(searched)
    assert "it has none" in text(call("memory_scopes", scope="project:apollo"))
    network.script.append((404, b""))
    assert call("memory_scopes").is_error


def test_a_model_sees_a_question_and_answers_it(call: Callable[..., CallToolResult], service: Service) -> None:
    """The status shows the open question; the same answer twice is one note, and a refused one says what to do."""
    receipt = call("propose_memory", **LESSON).structured_content
    submission_id, bob = receipt["submission_id"], service.sign_in()
    assert "asks" not in text(call("submission_status", submission_id=submission_id))
    assert bob.write(receipt["proposal_id"], "question", "Which migration?").status_code == 303
    status = call("submission_status", submission_id=submission_id)
    assert 'A curator asks: "Which migration?"' in text(status)
    assert status.structured_content["review"]["notes"][0]["kind"] == "question"
    secret = "ghp_" + "a1B2" * 9
    private = call("answer_question", submission_id=submission_id, text=f"With {secret}.")
    assert private.is_error
    assert (private.structured_content["code"], private.structured_content["argument"]) == ("private-detected", "text")
    assert "Mend that and call again." in text(private)
    assert secret not in text(private)
    first = call("answer_question", submission_id=submission_id, text="The one of the schema.")
    again = call("answer_question", submission_id=submission_id, text=" The one of the schema.\n")
    assert (first.structured_content["kind"], first.structured_content["from"]) == ("answer", "producer")
    assert again.structured_content == first.structured_content
    assert count(service, "notes") == 2
    assert "asks" not in text(call("submission_status", submission_id=submission_id))
    assert bob.decide(receipt["proposal_id"], "approve").status_code == 303
    late = call("answer_question", submission_id=submission_id, text="One more thing.")
    assert late.structured_content["code"] == "already-decided"
    assert "Do not call again" in text(late)
    assert "no submission of yours" in text(call("answer_question", submission_id="nowhere", text="Here."))
    assert call("answer_question", submission_id=submission_id, text=" ").structured_content["argument"] == "text"
    assert call("answer_question", submission_id=submission_id).is_error


def test_an_answer_without_a_service_can_be_sent_again(
    call: Callable[..., CallToolResult], service: Service, network: Network
) -> None:
    """While the service is busy or away, the result asks the model to call again with the same arguments."""
    receipt = call("propose_memory", **LESSON).structured_content
    given = {"submission_id": receipt["submission_id"], "text": "The one of the schema."}
    network.script = ["lose"] * 10
    away = call("answer_question", **given)
    assert (away.structured_content["code"], away.structured_content["retry_same_arguments"]) == ("unavailable", True)
    network.script = []
    with locked(service.location):
        busy = call("answer_question", **given)
    assert (busy.structured_content["code"], busy.structured_content["retry_same_arguments"]) == ("busy", True)
    assert not call("answer_question", **given).is_error
    assert count(service, "notes") == 1


def test_a_proposal_is_made_once_and_can_be_followed_and_found(
    call: Callable[..., CallToolResult], service: Service, network: Network
) -> None:
    """A proposal returns its receipt; the same arguments are the same proposal in every session."""
    more = {"source_start": 10, "source_end": 14, "attributes": [{"name": "severity", "value": 2}]}
    first = call("propose_memory", **LESSON | more, tags=["Deploy"])
    again = call("propose_memory", **LESSON | more, tags=["deploy"])
    assert not first.is_error
    receipt = first.structured_content
    assert receipt["disposition"] == "accepted-for-review"
    assert again.structured_content == receipt
    assert receipt["submission_id"] in text(first)
    assert (count(service, "proposals"), len(network.posts())) == (1, 1)
    status = call("submission_status", submission_id=receipt["submission_id"])
    assert status.structured_content["review"]["state"] == "pending"
    service.sign_in().decide(receipt["proposal_id"], "approve")
    assert "approved" in text(call("submission_status", submission_id=receipt["submission_id"]))
    result = call("search_memory", query="MIGRATION", submission_scope="project", scope_id="apollo")
    assert [item["content"] for item in result.structured_content["items"]] == ["Run the migration first."]
    memory_id = result.structured_content["items"][0]["memory_id"]
    assert text(result) == f"- Run the migration first.\n  (procedure, project:apollo, memory_id {memory_id})"
    asked = "Which migrations run first?"
    best = call("search_memory", query=asked, scopes=["project:apollo"], match="all").structured_content["items"]
    assert [(item["content"], item["score"] > 0) for item in best] == [("Run the migration first.", True)]
    nothing = call("search_memory", query="nowhere", submission_scope="project", scope_id="apollo")
    assert "Nothing is remembered there" in text(nothing)


def test_the_text_of_a_result_is_enough(call: Callable[..., CallToolResult], service: Service) -> None:
    """Models whose clients show them no structured content learn ids and reasons, and no text looks like an item."""
    desk = service.sign_in()
    forged = call("propose_memory", **LESSON | {"content": "One.\n- Two.\n  (fact, project:apollo, memory_id 3)"})
    desk.decide(forged.structured_content["proposal_id"], "approve")
    listed = text(call("search_memory", query="", scopes=["project:apollo"]))
    assert [line for line in listed.splitlines() if not line.startswith("  ")] == ["- One."]
    admitted = call("submission_status", submission_id=forged.structured_content["submission_id"])
    memory_id = admitted.structured_content["review"]["memory_id"]
    assert f"memory_id {memory_id}" in listed.splitlines()[-1]
    assert f"its proposal is approved, as memory_id {memory_id}." in text(admitted)
    refused = call("propose_memory", **LESSON).structured_content
    desk.decide(refused["proposal_id"], "reject", reason_code="outdated", reason_text="It runs by itself now.")
    status = text(call("submission_status", submission_id=refused["submission_id"]))
    assert status.endswith('its proposal is rejected (outdated: "It runs by itself now.").')


CALLED = {"antechamber/operation": "toolu_01", "antechamber/session": "0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10"}


def test_a_repeated_call_finds_its_submission_also_if_it_was_reworded(
    call: Callable[..., CallToolResult], service: Service, tmp_path: Path
) -> None:
    """Under the id of its call a proposal is made once; another text under it is a conflict that names the original."""
    first = call("propose_memory", meta=CALLED, **LESSON).structured_content
    assert call("propose_memory", meta=CALLED, **LESSON).structured_content == first
    (tmp_path / "agent.ledger").rename(tmp_path / "lost.ledger")
    assert call("propose_memory", meta=CALLED, **LESSON).structured_content == first | {"duplicate": True}
    for _ in range(2):
        reworded = call("propose_memory", meta=CALLED, **LESSON | {"content": "First run the migration."})
        assert reworded.is_error
        assert reworded.structured_content["code"] == "key-reused"
        assert reworded.structured_content["submission_id"] == first["submission_id"]
        assert f"as submission {first['submission_id']}" in text(reworded)
        assert not reworded.structured_content["retry_same_arguments"]
    assert (count(service, "proposals"), count(service, "submissions")) == (1, 1)
    # Without its call, or as another call, the refused text is a proposal.
    second = call("propose_memory", **LESSON | {"content": "First run the migration."}).structured_content
    assert second["disposition"] == "accepted-for-review"
    other = CALLED | {"antechamber/operation": "toolu_02"}
    again = call("propose_memory", meta=other, **LESSON).structured_content
    assert (again["disposition"], again["proposal_id"]) == ("accepted-as-duplicate", first["proposal_id"])


def test_a_reworded_call_after_a_cut_is_one_proposal(
    call: Callable[..., CallToolResult], service: Service, network: Network
) -> None:
    """While the outcome of the first wording is unknown, a second one cannot become a second proposal."""
    network.script = ["pass", "drop", "lose", "lose", "lose", "lose", "lose"]
    assert call("propose_memory", meta=CALLED, **LESSON).structured_content["code"] == "uncertain"
    network.script = []
    reworded = call("propose_memory", meta=CALLED, **LESSON | {"content": "First run the migration."})
    assert reworded.structured_content["code"] == "key-reused"
    settled = call("propose_memory", meta=CALLED, **LESSON).structured_content
    assert settled["submission_id"] == reworded.structured_content["submission_id"]
    assert count(service, "proposals") == 1


@pytest.mark.parametrize("meta", [{"antechamber/operation": "toolu_01"}, CALLED | {"antechamber/session": ["secret"]}])
def test_half_an_id_of_a_call_is_refused(
    call: Callable[..., CallToolResult], service: Service, meta: dict[str, Any]
) -> None:
    """Nothing is recorded or sent, and the message says which member is wrong."""
    refused = call("propose_memory", meta=meta, **LESSON)
    assert refused.structured_content["code"] == "key-invalid"
    assert "antechamber/session" in text(refused)
    assert "secret" not in refused.model_dump_json()
    assert count(service, "submissions") == 0


def test_null_is_the_same_as_an_argument_that_is_not_given(
    call: Callable[..., CallToolResult], service: Service
) -> None:
    """A model that must send every argument makes the same event as one that leaves them out."""
    names = (
        "source_start",
        "source_end",
        "source_revision",
        "source_heading",
        "tags",
        "attributes",
        "derived_from",
        "supersedes",
    )
    first = call("propose_memory", **LESSON).structured_content
    assert call("propose_memory", **LESSON, **dict.fromkeys(names)).structured_content == first
    values = [{"name": "seen_in", "value": ["staging"]}, {"name": "final", "value": None}]
    assert not call("propose_memory", **LESSON, attributes=values).is_error
    with database(service.location) as raw:
        payloads = [json.loads(row[0]) for row in raw.execute("SELECT payload FROM proposals ORDER BY id").fetchall()]
    assert [one.get("attributes") for one in payloads] == [None, {"seen_in": ["staging"], "final": None}]
    assert not call("search_memory", query="", scopes=["project:apollo"], scope_id=None).is_error


def test_a_model_proposes_a_text_instead_of_a_memory(call: Callable[..., CallToolResult], service: Service) -> None:
    """The page of the proposal names the memory that the model wants to replace."""
    bob = service.sign_in()
    first = call("propose_memory", **LESSON).structured_content
    assert bob.decide(first["proposal_id"], "approve").status_code == 303
    memory_id = call("search_memory", query="", scopes=["project:apollo"]).structured_content["items"][0]["memory_id"]
    changed = LESSON | {"content": "Run the migration before the release."}
    second = call("propose_memory", **changed, supersedes=memory_id).structured_content
    assert memory_id in bob.browser.get(f"/review/{second['proposal_id']}").text


def test_a_model_learns_that_an_event_was_decided_before(call: Callable[..., CallToolResult], service: Service) -> None:
    """The text of the result promises no further decision."""
    proposed = service.submit(event(LESSON["content"], producer_identity="tool:watcher")).json()
    assert service.sign_in().decide(proposed["proposal_id"], "reject", reason_code="wrong").status_code == 303
    again = call("propose_memory", **LESSON)
    assert again.structured_content["reasons"][0]["code"] == "already-decided"
    assert "decided before" in text(again)
    assert "a curator decides" not in text(again)


@pytest.mark.parametrize(
    "content", ["null", "[1]", '{"a": 1}', "1e5", "true", "12", '"quoted"', " \t x ", "日本語 \u202e"]
)
def test_a_text_that_looks_like_json_stays_text(
    call: Callable[..., CallToolResult], service: Service, content: str
) -> None:
    """A model's text reaches the curator unchanged."""
    receipt = call("propose_memory", **LESSON | {"content": content, "source_heading": content}).structured_content
    with database(service.location) as raw:
        ((payload, span),) = raw.execute("SELECT payload, source_span FROM proposals").fetchall()
    assert json.loads(payload)["content"] == content.strip("\t\n ")
    assert json.loads(span)["heading"] == content
    assert receipt["disposition"] == "accepted-for-review"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (LESSON | {"idempotency_key": "mine"}, "malformed", "this tool has no such argument"),
        (LESSON | {"durable": True}, "malformed", "no such argument"),
        (LESSON | {"tags": "deploy"}, "malformed", "argument `tags`"),
        (LESSON | {"source_start": "10"}, "malformed", "argument `source_start`"),
        (LESSON | {"source_start": 14, "source_end": 10}, "malformed", "argument source_end"),
        (LESSON | {"content": None}, "malformed", "argument `content`"),
        (LESSON | {"content": " "}, "malformed", "argument content"),
        (LESSON | {"submission_scope": "world"}, "malformed", "argument `submission_scope`"),
        (LESSON | {"attributes": {"a": 1}}, "malformed", "argument `attributes`"),
        (LESSON | {"attributes": [{"name": "a", "value": 0.5}]}, "malformed", "argument `attributes`"),
        (LESSON | {"attributes": [{"name": "a", "value": 2**60}]}, "malformed", "argument `attributes`"),
        (LESSON | {"attributes": [{"name": "A", "value": 1}]}, "malformed", "argument `attributes`"),
        (LESSON | {"attributes": [{"name": "a", "value": 1, "unit": "s"}]}, "malformed", "no such argument"),
        (LESSON | {"attributes": [{"name": "a", "value": 1}] * 2}, "duplicate-member", "argument attributes"),
        (LESSON | {"content": "x" * 200_000}, "malformed", "more than"),
        ({}, "malformed", "missing required fields: content, kind"),
        (LESSON | {"scope_id": "-", "content": " "}, "malformed", "argument `scope_id`"),
        (LESSON | {"kind": "1", "content": " "}, "malformed", "argument content); must be a string that matches"),
    ],
)
def test_wrong_arguments_are_explained_to_the_model(
    call: Callable[..., CallToolResult], service: Service, arguments: dict[str, Any], code: str, message: str
) -> None:
    """Wrong arguments give a result that the model reads, never a protocol error; nothing is recorded or sent."""
    result = call("propose_memory", **arguments)
    assert result.is_error
    assert result.structured_content["code"] == code
    assert message in text(result)
    assert not result.structured_content["retry_same_arguments"]
    assert count(service, "submissions") == 0


def test_a_sealed_event_may_be_proposed_again(
    call: Callable[..., CallToolResult], service: Service, network: Network, tmp_path: Path
) -> None:
    """After an operator sealed the first call's key, the model's next call uses a new key and succeeds."""
    network.script = ["pass"] + ["lose"] * 6
    assert call("propose_memory", **LESSON).is_error
    network.script = []
    with (
        Ledger(tmp_path / "agent.ledger") as ledger,
        Submitter(URL, service.token(), ledger, transport=network) as submitter,
    ):
        (entry,) = ledger.entries()
        assert submitter.seal(entry.operation_id).state == "failed"
    assert call("propose_memory", **LESSON).structured_content["disposition"] == "accepted-for-review"
    assert call("propose_memory", **LESSON).structured_content["disposition"] == "accepted-for-review"
    assert (count(service, "proposals"), count(service, "submissions")) == (1, 2)


def test_a_refusal_names_the_change_to_make(call: Callable[..., CallToolResult]) -> None:
    """A refusal names the argument to change, and never its value."""
    private = call("propose_memory", **LESSON | {"content": "Page mira@orbit-works.dev at night."})
    assert private.is_error
    assert private.structured_content["code"] == "private-detected"
    assert private.structured_content["argument"] == "content"
    assert "e-mail address (argument content). Mend" in text(private)
    assert "orbit-works" not in text(private) + json.dumps(private.structured_content)
    denied = call("propose_memory", **LESSON | {"scope_id": "gemini"})
    assert "scope-not-granted" in text(denied)
    assert "(argument submission_scope)" in text(denied)
    half = text(call("search_memory", query="", submission_scope="project"))
    assert half.endswith("the id of the scope is missing, scope_id. Correct the request and send it again.")
    assert "no such tool" in text(call("promote_memory"))
    assert "no submission of yours" in text(call("submission_status", submission_id="nowhere"))
    unreadable = call("search_memory", query="", submission_scope="project", scope_id="gemini")
    assert unreadable.is_error
    for several in ({}, {"scopes": ["project:apollo"], "scope_id": "apollo"}, {"scopes": []}, {"match": "some"}):
        assert call("search_memory", query="", **several).is_error


def test_after_an_interruption_the_same_arguments_resume_the_operation(
    call: Callable[..., CallToolResult], service: Service, network: Network
) -> None:
    """The model is asked to call again, and one proposal results."""
    assert call("search_memory", query="", submission_scope="project", scope_id="apollo").structured_content
    network.script = ["pass", "drop"] + ["lose"] * 5
    unclear = call("propose_memory", **LESSON)
    assert unclear.is_error
    assert unclear.structured_content["code"] == "uncertain"
    assert unclear.structured_content["retry_same_arguments"]
    assert "Call again with the same arguments" in text(unclear)
    network.script = []
    settled = call("propose_memory", **LESSON)
    assert not settled.is_error
    assert settled.structured_content["duplicate"]
    assert count(service, "submissions") == 1


def test_events_are_recorded_while_the_service_is_down(
    call: Callable[..., CallToolResult], service: Service, network: Network
) -> None:
    """Events are recorded while the service is down if the producer is known; otherwise the error gives the reason."""
    network.script = ["lose"] * 6
    first = call("propose_memory", **LESSON)
    assert first.structured_content["code"] == "unavailable"
    assert first.structured_content["retry_same_arguments"]
    network.script = []
    call("propose_memory", **LESSON)
    network.script = ["lose"] * 6
    away = call("propose_memory", **LESSON | {"content": "Later."})
    assert (away.structured_content["code"], away.structured_content["retry_same_arguments"]) == ("not-sent", True)
    assert text(away).startswith("not-sent: It was not sent (no connection: connection refused). Call again later")
    network.script = []
    with Ledger(Path(service.data).parent / "agent.ledger") as ledger:
        assert ledger.counts()["uncertain"] == 1
        with Submitter(URL, service.token(), ledger, transport=network) as sender:
            assert sender.recover().settled == {"committed": 1}


def test_a_client_that_disconnects_stops_no_begun_call(service: Service, tmp_path: Path) -> None:
    """When a client disconnects, a started call finishes before the server ends, and the ledger has it."""
    network = Network(service)

    async def journey() -> int:
        with Ledger(tmp_path / "agent.ledger") as ledger:
            async with AsyncSubmitter(URL, service.token(), ledger, transport=Slow(network)) as submitter:
                submits, tools = LedgerSubmits(submitter, ledger, service.token()), ToolHandlers()
                async with Client(build(lambda _: submits, tools)) as client:
                    waiting = asyncio.create_task(client.call_tool("propose_memory", LESSON))
                    await reached.wait()
                    waiting.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await waiting
                asyncio.get_running_loop().call_later(0.05, go_on.set)
                await tools.finish()
            return ledger.counts()["committed"]

    class Slow(AsyncNetwork):
        async def handle_async_request(self, request: Any) -> Any:
            if request.method == "POST":
                reached.set()
                await go_on.wait()
            return await super().handle_async_request(request)

    reached, go_on = asyncio.Event(), asyncio.Event()
    assert asyncio.run(journey()) == 1
    assert count(service, "proposals") == 1


def test_a_reader_cannot_propose(service: Service, network: Network, tmp_path: Path) -> None:
    """A reader's token cannot propose, and the answer names the token that can."""

    async def journey(client: Client) -> Any:
        return await client.call_tool("propose_memory", LESSON)

    service._tokens["worker:release-bot", "producer"] = service.token("lookout", "reader", ("project:apollo",))
    result = session(network, service, tmp_path / "agent.ledger", journey)
    assert "no producer's" in text(result)


def beside(ledger: Path, url: str, token: str) -> StdioServerParameters:
    """Return the command with which a client starts the server beside an agent."""
    environment = {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token, "ANTECHAMBER_LEDGER": str(ledger)}
    return StdioServerParameters(command=sys.executable, args=["-m", "antechamber.cli", "mcp"], env=environment)


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_an_interrupted_session_makes_one_proposal(tmp_path: Path, policies: Path, era: Any) -> None:
    """Propose while the service is down, end and resume, over standard input and output, in both protocol versions."""
    data, port = tmp_path / "data", free_port()
    with serving(data, policies, port) as (url, _):
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(data)).stdout.strip()
        params = beside(tmp_path / "agent.ledger", url, token)

        async def once(arguments: dict[str, Any], seconds: float) -> CallToolResult | None:
            async with Client(stdio_client(params), mode=era) as client:
                try:
                    async with asyncio.timeout(seconds):
                        return await client.call_tool("propose_memory", arguments)
                except TimeoutError:
                    return None

        first = asyncio.run(once(LESSON, 30))
    assert first is not None
    assert first.structured_content["disposition"] == "accepted-for-review"
    away = asyncio.run(once(LESSON | {"content": "Learned offline."}, 1.5))
    assert away is None
    with serving(data, policies, port):
        again = asyncio.run(once(LESSON | {"content": "Learned offline."}, 30))
        same = asyncio.run(once(LESSON, 30))
    assert again is not None
    assert again.structured_content["disposition"] == "accepted-for-review"
    assert same is not None
    assert same.structured_content == first.structured_content
    with Ledger(tmp_path / "agent.ledger") as ledger:
        assert ledger.counts() == {"pending": 0, "committed": 2, "failed": 0, "uncertain": 0, "needs_review": 0}


def test_the_same_event_by_http_and_by_a_tool_is_one_proposal(
    call: Callable[..., CallToolResult], service: Service
) -> None:
    """The tool computes the same hash as every other client."""
    body = event(
        LESSON["content"], payload={"kind": "procedure", "content": LESSON["content"]}, idempotency_key="by-hand"
    )
    assert service.submit(body).status_code == 201
    receipt = call("propose_memory", **LESSON).structured_content
    assert receipt["disposition"] == "accepted-as-duplicate"
    assert count(service, "proposals") == 1


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_server_stops_at_once_on_a_signal(tmp_path: Path, sent: signal.Signals) -> None:
    """On SIGTERM the server exits cleanly even if its client is silent."""
    ledger = tmp_path / "agent.ledger"
    params = beside(ledger, f"http://127.0.0.1:{free_port()}", "antp_" + "A" * 36)
    process = subprocess.Popen(  # noqa: S603 -- our own program
        [params.command, *params.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | (params.env or {}),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    process.stdin.write(json.dumps(ping).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(sent)
    assert process.wait(10) == 0
    _, errors = process.communicate()
    assert errors == b""
    assert sorted(one.name for one in tmp_path.iterdir()) == ["agent.ledger", "agent.ledger-journal"]


def test_without_its_packages_the_error_names_the_installation(tmp_path: Path) -> None:
    """Without the MCP extra the error names the command that installs it."""
    (tmp_path / "mcp.py").write_text("raise ImportError\n")
    ran = antechamber(
        "mcp", "--ledger", str(tmp_path / "agent.ledger"), ANTECHAMBER_TOKEN="antp_x", PYTHONPATH=str(tmp_path)
    )
    assert ran.returncode == 1
    assert f"Error: The MCP server needs packages that are not installed. {how_to_install('mcp')}\n" == ran.stderr


def test_a_refused_token_is_for_the_operator_to_fix(service: Service, network: Network, tmp_path: Path) -> None:
    """The model is informed that nothing was stored, and the same arguments work with a valid token."""
    path, token = tmp_path / "agent.ledger", service.token()

    async def propose(used: str) -> CallToolResult:
        with Ledger(path) as ledger:
            async with AsyncSubmitter(URL, used, ledger, transport=AsyncNetwork(network)) as submitter:
                # The producer was known before the token was revoked.
                tools = LedgerSubmits(submitter, ledger, token)
                async with Client(build(lambda _: tools)) as client:
                    return await client.call_tool("propose_memory", LESSON)

    with Ledger(path) as ledger:
        ledger.keep_holder(hashlib.sha256(token.encode()).digest(), "worker:release-bot")
    refused = asyncio.run(propose("antp_" + "A" * 36))
    assert refused.structured_content["code"] == "unauthorized"
    assert refused.structured_content["retry_same_arguments"]
    assert "Nothing was stored. Tell your operator that the token or the policy has to be fixed" in text(refused)
    assert asyncio.run(propose(token)).structured_content["disposition"] == "accepted-for-review"
    assert count(service, "submissions") == 1


NOT_STRICT = [
    (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "sk_live_secret": [}', -32700),
    (b'{"jsonrpc": "2.0", "method": {"sk_live_secret": 1}, "id": 1}', -32600),
    (b'{"jsonrpc": "2.0", "method": "ping", "id": {"sk_live_secret": 1}}', -32600),
    (b'{"jsonrpc": "2.0", "method": "ping", "id": null}', -32600),
    (b'{"jsonrpc": "2.0", "method": "ping", "id": true}', -32600),
    (b'{"jsonrpc": "2.0", "method": "ping", "id": 1.5}', -32600),
    (b'\xff{"sk_live_secret"', -32700),
]
"""Lines of input that are no strict messages, each with the code of the error."""


def test_a_line_that_is_no_strict_message_is_answered_and_not_repeated(tmp_path: Path) -> None:
    """An invalid message on standard input gets an error without its content; the next message is answered as usual."""
    params = beside(tmp_path / "agent.ledger", f"http://127.0.0.1:{free_port()}", "antp_" + "A" * 36)
    ping = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping"}).encode()
    process = subprocess.Popen(  # noqa: S603 -- our own program
        [params.command, *params.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | (params.env or {}),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    printed = []
    for line, code in NOT_STRICT:
        process.stdin.write(line + b"\n" + ping + b"\n")
        process.stdin.flush()
        wrong, good = process.stdout.readline(), process.stdout.readline()
        assert (json.loads(wrong)["id"], json.loads(wrong)["error"]["code"]) == (None, code), line
        assert json.loads(good)["id"] == 7, line
        printed += [wrong, good]
    assert all(b"sk_live_secret" not in part for part in (*printed, *process.communicate(timeout=60)))
