"""README's promises: its commands run as they stand there."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from mcp import Client
from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult, Tool

from antechamber.cli import main
from antechamber.client import Ledger
from support import HANG_SECONDS, Databases, antechamber, apart, database, free_port, place_of, serving

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def own_environment() -> dict[str, str]:
    """Return the environment without what a reader of README does not have: it sets what it uses."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ANTECHAMBER_")}


@contextlib.contextmanager
def shell(script: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a block of README in a shell of its own process group, and end all of it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(  # noqa: S603 -- our own README
        ["/bin/sh", "-ec", script],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=own_environment() | {"PATH": path, "PYTHONUNBUFFERED": "1"} | environment,
    )
    watchdog = threading.Timer(90, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=30)


def read_until(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """Read the output until a pattern appears in it."""
    seen = ""
    assert process.stdout is not None
    for line in process.stdout:
        seen += line
        if match := re.search(pattern, seen):
            return match
    pytest.fail(f"{pattern} never appeared in:\n{seen}")


def test_the_sixty_second_start_ends_with_a_memory() -> None:
    """The first block starts the demo; whoever opens its link and approves sees the memory as an agent reads it."""
    with shell(BLOCKS[0], ROOT) as demo:
        link = read_until(demo, r"(http://\S+)/login\?link=(\S+)")
        with httpx.Client(base_url=link.group(1), follow_redirects=True, timeout=HANG_SECONDS) as browser:
            page = browser.post("/login", data={"link": link.group(2)}).text
            found = re.search(r'href="(/review/[^"]+)">Run the database', page)
            assert found
            proposal = browser.get(found.group(1)).text
            fields = dict(re.findall(r'name="(csrf|version|shown_hash|decision_key)" value="([^"]*)"', proposal))
            assert "Approved" in browser.post(f"{found.group(1)}/approve", data=fields).text
        read_until(demo, r"An agent now remembers:\s+Run the database migration")


def by_hand(port: int) -> str:
    """Return the recipe for a shell, on a port that is free, waiting where a person would look whether it is ready."""
    script = BLOCKS[1]
    for words, instead in (
        (
            "serve --data data &\n",
            f"serve --data data --port {port} > log &\nuntil grep -q ready log; do sleep 0.1; done\n",
        ),
        ("http://127.0.0.1:8080", f"http://127.0.0.1:{port}"),
    ):
        assert script.count(words) == 1
        script = script.replace(words, instead)
    return script


def test_the_start_by_hand_accepts_and_then_replays(tmp_path: Path) -> None:
    """The second block, typed into an empty folder, submits twice: accepted, then replayed."""
    with shell(by_hand(free_port()), tmp_path) as session:
        read_until(session, r"1 accepted-for-review\n(.|\n)*1 accepted-for-review, of which 1 replayed")


def test_the_blocks_for_agents_run_in_the_shell_of_the_recipe(tmp_path: Path) -> None:
    """One after another, in the order of README, with nothing but what the blocks before set: all are one proposal."""
    (tmp_path / "client.py").write_text(PYTHON[0], encoding="utf-8")
    (tmp_path / "tools.py").write_text(PYTHON[1], encoding="utf-8")
    script = f"{by_hand(free_port())}\n{BLOCKS[2]}\npython client.py\npython tools.py"
    with shell(script, tmp_path) as session:
        seen = read_until(session, r"(accepted-as-duplicate|accepted-for-review): a curator decides(.*)\n")
        assert "It was proposed before" in seen[0] or "duplicate" in seen[0]
    assert proposals(tmp_path) == 2


@pytest.fixture
def live(tmp_path: Path, policies: Path) -> Iterator[dict[str, str]]:
    """A service, and how an agent is told of it."""
    data = tmp_path / "data"
    with serving(data, policies) as (url, _):
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(data)).stdout.strip()
        yield {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token}


def proposals(tmp_path: Path) -> int:
    """Count proposals."""
    with database(place_of(tmp_path / "data")) as raw:
        number: int = raw.execute("SELECT count(*) FROM proposals").fetchone()[0]
    return number


def test_curl_is_cut_off_and_makes_one_proposal(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for curl, line by line."""
    with shell(BLOCKS[2], tmp_path, **live) as session:
        read_until(session, r"accepted-for-review(.|\n)*accepted-for-review")
        assert session.wait(30) == 0
    assert proposals(tmp_path) == 1


def test_an_auditor_verifies_and_finds_what_was_altered(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for auditors: the export holds, and the altered byte is named."""
    data = str(tmp_path / "data")
    token = antechamber("token", "issue", "auditing", "--role", "auditor", "--data", data).stdout.strip()
    with shell(BLOCKS[3], tmp_path, **live, AUDITOR_TOKEN=token) as session:
        read_until(session, r"Verified: \d+ leaves(.|\n)*Nothing is missing(.|\n)*NOT verified: leaf 1 (.|\n)*found it")


def test_growing_takes_three_commands(postgres: Databases, tmp_path: Path) -> None:
    """The fifth block makes the schema and starts two processes on one database, both ready."""
    url, ports = postgres.empty(), [free_port(), free_port()]
    script = re.sub(r"export ANTECHAMBER_DATABASE_URL=\S+", f"export ANTECHAMBER_DATABASE_URL='{url}'", BLOCKS[4])
    for named, port in zip(("8080", "8081"), ports, strict=True):
        assert f"--port {named}" in script
        script = script.replace(f"--port {named}", f"--port {port}")
    with shell(script, tmp_path) as session:
        read_until(session, r"Took step(.|\n)*Antechamber is ready(.|\n)*Antechamber is ready")
        for port in ports:
            assert httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=HANG_SECONDS).json() == {"status": "ready"}
    postgres.drop(url)


def test_the_python_client_is_cut_off_and_makes_one_proposal(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for Python, run twice in an agent's folder, gets one receipt."""
    wanted = re.search(r"<<'EVENT'\n(.*?)EVENT", BLOCKS[2], re.DOTALL)
    assert wanted
    (tmp_path / "event.json").write_text(wanted[1], encoding="utf-8")
    command = [sys.executable, "-c", PYTHON[0]]
    environment = own_environment() | live
    ran = [
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 -- our own README
        for _ in range(2)
    ]
    assert ran[0].stdout.startswith("accepted-for-review ")
    assert ran[1].stdout == ran[0].stdout
    assert proposals(tmp_path) == 1


def test_an_mcp_client_is_cut_off_and_makes_one_proposal(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for MCP, which starts the server as the configuration that is to be pasted does."""
    (pasted,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    named = json.loads(pasted)["mcpServers"]["antechamber"]
    assert (named["command"], named["args"]) == ("antechamber", ["mcp"])
    assert set(named["env"]) == {*live, "ANTECHAMBER_LEDGER"}
    (tmp_path / "tools.py").write_text(PYTHON[1], encoding="utf-8")
    with shell("python tools.py", tmp_path, **live) as session:
        read_until(session, r"accepted-for-review: a curator decides")
        assert session.wait(30) == 0
    assert proposals(tmp_path) == 1


def within(block: str, **known: Any) -> Any:
    """Run a block that awaits, and return its `result`."""
    lines = [*block.splitlines(), "return result"]
    names: dict[str, Any] = {"asyncio": asyncio, "contextlib": contextlib} | known
    exec("async def whole():\n" + textwrap.indent("\n".join(lines), "    "), names)  # noqa: S102 -- our own README
    return apart(names["whole"]())


def test_a_tool_that_writes_elsewhere_is_guarded(tmp_path: Path) -> None:
    """The block for other tools, in front of a server in memory."""
    written: list[dict[str, str]] = []

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        known = {"create_ticket": ("title", "body"), "search_tickets": ("query",), "charge": ("idempotency_key",)}
        schemas = {name: {"type": "object", "properties": dict.fromkeys(known[name])} for name in known}
        return ListToolsResult(tools=[Tool(name=name, input_schema=schema) for name, schema in schemas.items()])

    async def call_tool(_: Any, asked: Any) -> CallToolResult:
        written.append(asked.arguments)
        return CallToolResult(content=[])

    block = "async with Client(server) as session:\n" + textwrap.indent(PYTHON[2], "    ")
    with Ledger(tmp_path / "agent.ledger") as ledger:
        server = Server("tracker", on_list_tools=list_tools, on_call_tool=call_tool)
        for _ in range(2):
            within(block, server=server, Client=Client, ledger=ledger, CallToolResult=CallToolResult)
        (entry,) = ledger.entries()
    assert [one["body"] for one in written] == [f"On Gemini.\n\nref {entry.operation_id}"]


def test_every_command_is_documented() -> None:
    """Each command of the command line stands in README."""
    for name, command in main.commands.items():
        assert f"`antechamber {name}" in README
        if isinstance(command, click.Group):
            for verb in command.commands:
                assert f"{name} {verb}" in README


def test_nothing_recommends_what_no_index_has() -> None:
    """An extra is installed from a checkout or a wheel, and there is one text that says so."""
    sources = [*(ROOT / "service").rglob("*.py"), *(ROOT / "templates").rglob("*.html"), ROOT / "README.md"]
    wrong = re.compile(r"pip install '?antechamber")
    assert [file.name for file in sources if wrong.search(file.read_text(encoding="utf-8"))] == []
    for extra in ("mcp", "postgres"):
        assert f"`scripts/setup {extra}`" in README
        assert f"`pip install 'PATH-TO-WHEEL[{extra}]'`" in README
