"""The MCP server over version 1 of the SDK, which some adapters need; all other tests use version 2."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from client.test_mcp import CALLED, LESSON
from client.test_mcp_http import HEADERS
from support import HANG_SECONDS, antechamber, serving

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
