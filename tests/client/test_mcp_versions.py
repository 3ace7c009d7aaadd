"""The MCP server over version 1 of the SDK, which some adapters need; all other tests use version 2."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from client.test_mcp import CALLED, LESSON
from client.test_mcp_http import HEADERS
from support import HANG_SECONDS, Desk, antechamber, event, serving

FIRST = Path(sys.prefix) / "mcp1"
"""Version 1, as scripts/setup installs it beside the environment."""
SECRET = "sk_live_AbCdEf0123456789"


def asked(number: int, method: str, **params: Any) -> dict[str, Any]:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def conversation() -> list[dict[str, Any]]:
    """Return requests: a listing, a proposal, its retry, a reworded retry, and wrong arguments."""
    named = {"name": "propose_memory", "_meta": CALLED}
    return [
        asked(2, "tools/list"),
        asked(3, "tools/call", **named, arguments=LESSON),
        asked(4, "tools/call", **named, arguments=LESSON),
        asked(5, "tools/call", **named, arguments=LESSON | {"content": "First run the migration."}),
        asked(6, "tools/call", name="propose_memory", arguments=LESSON | {SECRET: SECRET}),
    ]


def check(listed: Any, first: Any, again: Any, reworded: Any, wrong: Any) -> None:
    """Compare the answers with those that version 2 gives."""
    tools = {tool["name"]: tool for tool in listed["result"]["tools"]}
    assert len(tools) == 5
    assert tools["search_memory"]["annotations"]["readOnlyHint"] is True
    assert tools["propose_memory"]["inputSchema"]["additionalProperties"] is False
    receipt, replay = first["result"]["structuredContent"], again["result"]["structuredContent"]
    assert receipt["disposition"] == "accepted-for-review"
    assert replay | {"duplicate": True} == receipt | {"duplicate": True}
    conflict = reworded["result"]["structuredContent"]
    assert (conflict["code"], conflict["submission_id"]) == ("key-reused", receipt["submission_id"])
    assert wrong["result"]["isError"] is True
    assert SECRET not in json.dumps(wrong)


def test_version_one_serves_the_same_tools_over_both_transports(
    tmp_path: Path, policies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tools, keys of calls and strict messages are the same at the service's /mcp and beside an agent."""
    assert (FIRST / "mcp").is_dir(), "run scripts/setup dev"
    monkeypatch.setenv("PYTHONPATH", str(FIRST))
    with serving(tmp_path / "data", policies) as (url, _):
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(tmp_path / "data")).stdout.strip()
        with httpx.Client(headers=HEADERS | {"authorization": f"Bearer {token}"}, timeout=HANG_SECONDS) as client:
            answers = [client.post(f"{url}/mcp", json=message).json() for message in conversation()]
            unclear = client.post(f"{url}/mcp", content=b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}')
        check(*answers)
        assert (unclear.status_code, unclear.json()["id"], unclear.json()["error"]["code"]) == (400, None, -32700)
        beside(url, token, tmp_path)


def beside(url: str, token: str, tmp_path: Path) -> None:
    """Hold the same conversation over standard input and output, with a ledger."""
    hello = asked(
        1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
    )
    lines: list[Any] = [hello, {"jsonrpc": "2.0", "method": "notifications/initialized"}, *conversation()]
    environment = {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token, "ANTECHAMBER_LEDGER": str(tmp_path / "a.ledger")}
    command = [sys.executable, "-m", "antechamber.cli", "mcp"]
    process = subprocess.Popen(  # noqa: S603 -- our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: list[Any] = []
    with process:
        for line in lines:
            process.stdin.write(f"{json.dumps(line)}\n")
            process.stdin.flush()
            if "id" in line:
                answers.append(json.loads(process.stdout.readline()))
        process.stdin.write("{'no': JSON}\n")
        process.stdin.flush()
        unclear = json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait(HANG_SECONDS) == 0
    assert answers[0]["result"]["serverInfo"]["name"] == "antechamber"
    check(*answers[1:])
    assert (unclear["id"], unclear["error"]["code"]) == (None, -32700)


class Lines:
    """An MCP client that writes and reads the lines of a process."""

    def __init__(self, writing: IO[str], reading: IO[str]) -> None:
        self._writing, self._reading = writing, reading
        self._number = 0
        self.heard: list[dict[str, Any]] = []

    def ask(self, method: str, **params: Any) -> Any:
        """Return the answer to a request; notifications that come before it are kept."""
        self._number += 1
        self.send(asked(self._number, method, **params))
        while "id" not in (message := self.read()):
            self.heard.append(message)
        assert message["id"] == self._number
        return message

    def send(self, message: dict[str, Any]) -> None:
        """Write a message."""
        self._writing.write(f"{json.dumps(message)}\n")
        self._writing.flush()

    def read(self) -> dict[str, Any]:
        """Read a message."""
        message: dict[str, Any] = json.loads(self._reading.readline())
        return message

    def hear(self, wanted: set[tuple[str, str | None]]) -> None:
        """Read until each of these notifications came: method and address."""
        while not wanted <= {(one["method"], one.get("params", {}).get("uri")) for one in self.heard}:
            self.heard.append(self.read())


@pytest.mark.parametrize("first", [True, False], ids=["version 1", "version 2"])
def test_resources_and_subscriptions_over_standard_output(tmp_path: Path, policies: Path, first: bool) -> None:  # noqa: FBT001
    """A process of either version declares subscriptions, and notifies of an admission and a retraction."""
    assert (FIRST / "mcp").is_dir(), "run scripts/setup dev"
    data = tmp_path / "data"
    with serving(data, policies) as (url, _), httpx.Client(base_url=url, timeout=HANG_SECONDS) as browser:
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(data)).stdout.strip()
        link = antechamber("user", "add", "bob", "--role", "curator", "--data", str(data), "--url", url).stdout
        assert browser.post("/login", data={"link": link.strip().partition("link=")[2]}).status_code == 303
        own = {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token, "ANTECHAMBER_LEDGER": str(tmp_path / "a.ledger")}
        process = subprocess.Popen(
            [sys.executable, "-m", "antechamber.cli", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | own | ({"PYTHONPATH": str(FIRST)} if first else {}),
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process:

            def propose() -> str:
                answer = browser.post(
                    "/v1/submissions", json=event(LESSON["content"]), headers={"authorization": f"Bearer {token}"}
                )
                return str(answer.json()["proposal_id"])

            follow(Lines(process.stdin, process.stdout), propose, Desk(browser))  # type: ignore[arg-type]
            process.stdin.close()
            assert process.wait(HANG_SECONDS) == 0


def follow(client: Lines, propose: Callable[[], str], desk: Desk) -> None:
    """Subscribe to a scope and to a memory, and see the memory come and go."""
    info = {"name": "t", "version": "1"}
    hello = client.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
    assert hello["result"]["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert len(client.ask("resources/templates/list")["result"]["resourceTemplates"]) == 2
    assert client.ask("resources/list")["result"]["resources"] == []
    scope = "antechamber://scopes/project/apollo"
    assert client.ask("resources/subscribe", uri=scope)["result"] == {}
    wrong = client.ask("resources/subscribe", uri="antechamber://memories/nowhere")["error"]
    assert (wrong["code"], wrong["message"]) == (-32002, "Resource not found")
    proposal = propose()
    assert desk.decide(proposal, "approve").status_code == 303
    client.hear({("notifications/resources/updated", scope), ("notifications/resources/list_changed", None)})
    (listed,) = client.ask("resources/list")["result"]["resources"]
    text, item = client.ask("resources/read", uri=listed["uri"])["result"]["contents"]
    assert (text["text"], listed["annotations"]["lastModified"]) == (
        LESSON["content"],
        json.loads(item["text"])["admitted_at"],
    )
    assert client.ask("resources/subscribe", uri=listed["uri"])["result"] == {}
    assert client.ask("resources/unsubscribe", uri=scope)["result"] == {}
    client.heard.clear()
    assert desk.decide(proposal, "retract", reason_code="wrong").status_code == 303
    client.hear({("notifications/resources/updated", listed["uri"]), ("notifications/resources/list_changed", None)})
    assert client.ask("resources/read", uri=listed["uri"])["error"] == wrong
