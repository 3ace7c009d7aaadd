"""`antechamber guard audit`: what the guard would do with the tools of servers that really run."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antechamber.cli import main
from antechamber.client.guard_audit import audit
from antechamber.client.resend_strategy import IdempotencyKey, NeverResend, ReadOnly, ReconcileRead
from antechamber.client.tool_listing import ListedTool

SERVER = """
import json, sys
def schema(*names): return {"type": "object", "properties": {name: {"type": "string"} for name in names}}
TOOLS = [
    {"name": "search_tickets", "inputSchema": schema("query"), "annotations": {"readOnlyHint": True}},
    {"name": "create_ticket", "inputSchema": schema("title", "body")},
    {"name": "charge", "inputSchema": schema("amount", "idempotency_key")},
    {"name": "set_label", "inputSchema": schema("label"), "annotations": {"idempotentHint": True}},
    {"name": "clear\\x1b[2Jscreen", "inputSchema": schema()},
]
print("a line of a log that belongs to standard error", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        continue
    if asked["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}), flush=True)
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"}}
    elif "--refuses" in sys.argv:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "no"}}), flush=True)
        continue
    elif "--other" in sys.argv:
        result = {"tools": [{"title": "nameless"}]}
    else:
        second = asked["params"].get("cursor")
        result = {"tools": TOOLS[3:]} if second else {"tools": TOOLS[:3], "nextCursor": "2"}
        result |= {"nextCursor": "2"} if "--endless" in sys.argv else {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    """The command of a small server."""
    script = tmp_path / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    return [sys.executable, "-S", str(script)]


def audited(*words: str) -> Result:
    """Run the verb."""
    return CliRunner().invoke(main, ["guard", "audit", *words])


def test_a_table_shows_what_the_guard_would_do(server: list[str]) -> None:
    """Each tool has its treatment, a suggested declaration and the reads that could verify it, from all pages."""
    shown = audited(*server)
    assert shown.exit_code == 0
    rows = [line.split("  ") for line in shown.output.splitlines()]
    table = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in rows}
    reconcile = 'ReconcileRead(argument="body", read="search_tickets", …)'
    assert table["search_tickets"] == ["read-only"]
    assert table["create_ticket"] == ["never-resent", reconcile, "search_tickets"]
    assert table["charge"] == ["never-resent", 'IdempotencyKey(argument="idempotency_key")']
    assert table["set_label"] == ["annotated", "ResendTolerant()"]
    assert table["clear?[2Jscreen"] == ["never-resent", "NeverResend()"]
    assert shown.output.endswith("1 read-only, 0 declared, 1 annotated, 3 never resent\n")
    listed = json.loads(audited("--json", *server, "--endless").output)
    assert [tool["tool"] for tool in listed][:2] == ["search_tickets", "create_ticket"]
    assert listed[1]["verified_by"] == ["search_tickets"]


def test_declarations_are_checked_against_the_server(
    server: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strategies of an agent are imported; one that could not work is named, and the exit status is 1."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "audited_agent.py").write_text(
        "from antechamber.client.guard import IdempotencyKey\n"
        "GOOD = {'charge': IdempotencyKey(argument='idempotency_key')}\n"
        "BAD = {'create_ticket': IdempotencyKey(argument='key'), 'gone': IdempotencyKey(argument='key')}\n"
        "WRONG = ['charge']\n",
        encoding="utf-8",
    )
    good = audited("--declared", "audited_agent:GOOD", *server)
    assert (good.exit_code, "1 read-only, 1 declared, 1 annotated, 2 never resent" in good.output) == (0, True)
    bad = audited("--declared", "audited_agent:BAD", *server)
    assert bad.exit_code == 1
    assert "create_ticket: create_ticket has no argument key" in bad.output
    assert "gone: the server lists no tool of this name" in bad.output
    for wrong in ("audited_agent:WRONG", "audited_agent:NONE", "audited_agent", "no_such_module:X", ":"):
        refused = audited("--declared", wrong, *server)
        assert (refused.exit_code, f"--declared {wrong}" in refused.output) == (2, True)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["no-such-command-anywhere"], "no-such-command-anywhere could not be started: No such file or directory"),
        (["."], "could not be started: Permission denied"),
        (["sh", "-c", "echo hello; echo broken >&2; exit 3"], "ended with status 3 before it listed its tools"),
        (["cat"], "does not speak MCP: it repeats what it reads"),
        (["yes"], "does not speak MCP; it printed: y"),
        (["sh", "-c", "printf 'a\\033[2Jb\\n'; sleep 600"], "within 0.5 seconds; it printed: a?[2Jb"),
        (["head", "-c", "40000000", "/dev/zero"], "printed a line of more than 16 MiB"),
    ],
)
def test_a_command_that_is_no_server_is_explained(command: list[str], message: str) -> None:
    """A command that does not start, ends, never answers or prints without end gets an error that says so."""
    limit = "0.5" if "sleep 600" in command[-1] else "60"
    refused = audited("--timeout", limit, *command)
    assert refused.exit_code == 1
    assert message in refused.output


def test_a_server_that_lists_no_tools_is_explained(server: list[str]) -> None:
    """A refusal is shown, and a listing of another form is no empty listing."""
    assert 'refused tools/list: {"code": -1, "message": "no"}' in audited(*server, "--refuses").output
    assert "answered tools/list with something else" in audited(*server, "--other").output
    assert audited("--timeout", "0", *server).exit_code == 2
    assert audited().exit_code == 2


def test_the_tools_of_the_sdk_s_server_are_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of the official SDK is listed: our own, whose proposals are found by its search."""
    monkeypatch.setenv("ANTECHAMBER_TOKEN", "antp_x")
    monkeypatch.setenv("ANTECHAMBER_LEDGER", str(tmp_path / "agent.ledger"))
    shown = audited("--json", "--timeout", "100", sys.executable, "-m", "antechamber.cli", "mcp")
    tools = {tool["tool"]: tool for tool in json.loads(shown.output)}
    assert tools["search_memory"]["guard"] == "read-only"
    assert tools["propose_memory"]["guard"] == "annotated"
    assert tools["propose_memory"]["verified_by"] == ["search_memory"]


def listed(name: str, *texts: str, **hints: bool) -> ListedTool:
    """Return a tool with text arguments."""
    properties = {text: {"type": "string"} for text in texts}
    return ListedTool(name=name, input_schema={"properties": properties}, annotations=hints or None)


def test_reads_are_found_by_their_names_and_arguments() -> None:
    """A read shares a noun with the write, or has none; one that takes no text cannot look for a token."""
    tools = [
        listed("createIssue", "title"),
        listed("getIssues", "query"),
        listed("list_issues"),
        listed("search", "q"),
        listed("find_users", "name"),
        listed("get_issue_writer", "id", readOnlyHint=False),
        listed("wipe_issue", "id", readOnlyHint=True, destructiveHint=True),
        listed("look_at_issue", "id", readOnlyHint=True),
    ]
    first = audit(tools, {})[0]
    assert first.verified_by == ["getIssues", "look_at_issue", "search"]
    assert first.declare == 'ReconcileRead(argument="title", read="getIssues", …)'
    assert [one.guard for one in audit(tools, {})][-2:] == ["never-resent", "read-only"]


@pytest.mark.parametrize(
    ("strategy", "problem"),
    [
        (IdempotencyKey(argument="title"), None),
        (NeverResend(), None),
        (ReadOnly(), None),
        ("never", "'never' is no strategy"),
        (IdempotencyKey(argument="key"), "create has no argument key"),
        (
            ReconcileRead(argument="title", read="gone", arguments={"q": "{token}"}, found=lambda *_: True),
            "the server lists no tool gone",
        ),
    ],
)
def test_a_declaration_has_a_problem_where_the_guard_would_refuse_it(strategy: Any, problem: str | None) -> None:
    """The audit says before a start what the guard says at it."""
    (found,) = audit([listed("create", "title")], {"create": strategy})
    assert found.guard == ("read-only" if strategy == ReadOnly() else "declared")
    assert found.problem is None if problem is None else str(found.problem).startswith(problem)


def test_a_schema_of_any_form_is_read() -> None:
    """Properties that are no object, enumerations and unions do not stop an audit."""
    schemas: list[Any] = [
        {"properties": []},
        {"properties": {"a": 5, "b": {"type": ["string", "null"]}}},
        {"properties": {"c": {"type": "string", "enum": ["x"]}, "d": {"anyOf": [5, {"type": "string"}]}}},
    ]
    found = audit([ListedTool(name=f"post_{n}", input_schema=schema) for n, schema in enumerate(schemas)], {})
    assert [one.declare for one in found] == ["NeverResend()"] * 3
