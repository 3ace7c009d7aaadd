"""The documents: their code blocks run as written, their links resolve, and every option and code is documented."""

import asyncio
import contextlib
import json
import os
import re
import shutil
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

import verify_export
from antechamber.cli import main
from antechamber.client import Ledger
from antechamber.core.outcomes import OUTCOMES
from antechamber.core.policy_help import WANTED
from antechamber.core.review.calibration import read_calibration
from antechamber.core.review.source_links import link_to
from antechamber.policy_files import read_policy
from antechamber.web.contract_members import ContractMember, members
from antechamber.web.openapi import document
from support import (
    HANG_SECONDS,
    Databases,
    antechamber,
    database,
    event,
    free_port,
    place_of,
    running,
    serving,
)

ROOT = Path(__file__).resolve().parent.parent
CLIENT = "service/antechamber/client/README.md"
LOG = "service/antechamber/core/log/README.md"
NAMES = (
    "README.md",
    "CHANGELOG.md",
    "service/README.md",
    "service/DECISIONS.md",
    CLIENT,
    LOG,
    "templates/README.md",
    "policies/README.md",
    "scripts/README.md",
    "tests/README.md",
)
DOCUMENTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
CHAPTERS = "\n".join(text for name, text in DOCUMENTS.items() if name != "CHANGELOG.md")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
"""A link: its target, and the target's heading if it names one."""


def sections(text: str) -> dict[str, str]:
    """Return the text below each heading of a document; lines in code blocks are not headings."""
    found, heading, fenced = {"": ""}, "", False
    for line in text.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        if not fenced and (match := re.match(r"#+ (.+)", line)):
            heading = match[1]
            found[heading] = ""
        else:
            found[heading] += line
    return found


def slug(heading: str) -> str:
    """Return the link fragment of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def block(name: str, heading: str, language: str, number: int = 0) -> str:
    """Return a code block of a document by its heading."""
    blocks = [code for kind, code in BLOCK.findall(sections(DOCUMENTS[name])[heading]) if kind == language]
    return blocks[number]


DEMO = block("README.md", "Sixty seconds", "sh")
BY_HAND = block("README.md", "Sixty seconds", "sh", 1)
CURL = block(CLIENT, "HTTP with curl", "sh")
PYTHON = block(CLIENT, "Python client and ledger", "python")
FOLLOWING = block(CLIENT, "Follow changes", "python")
FILES = block(CLIENT, "Memory files", "sh")
PASTED = block(CLIENT, "MCP", "json")
TOOLS = block(CLIENT, "MCP", "python")
RECIPES = [
    block(CLIENT, f"Recipe: {name}", "python")
    for name in ("MCP with the official SDK", "LangGraph", "OpenAI Agents SDK")
]
GUARD = block(CLIENT, "Guard: any other tool that writes", "python")
AUDIT = block(LOG, "Export and verify", "sh")
GROWING = block("service/README.md", "Growing: several processes on PostgreSQL", "sh")
CALIBRATION = block("service/README.md", "Oversight", "json")
HOOK = block("service/README.md", "Scan files", "yaml")
POLICY_TEST = block("policies/README.md", "tests.toml", "toml")
DETECTOR = block("policies/README.md", "Add a rule in three minutes", "toml")
SOURCES = block("policies/README.md", "guidelines.toml", "toml")
PROVIDER = block("policies/README.md", "Providers", "toml")
WITNESS = block(LOG, "Witnesses", "toml")


def own_environment() -> dict[str, str]:
    """Return the environment of a reader of the documents: the blocks set every variable that they use."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ANTECHAMBER_")}


@contextlib.contextmanager
def shell(script: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a block in a shell with its own process group, and end the group afterwards."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(  # noqa: S603 -- our own documents
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
    """Read the output until a pattern appears."""
    seen = ""
    assert process.stdout is not None
    for line in process.stdout:
        seen += line
        if match := re.search(pattern, seen):
            return match
    pytest.fail(f"{pattern} never appeared in:\n{seen}")


def test_the_sixty_second_start_ends_with_a_memory() -> None:
    """The first block starts the demo; after an approval it shows the memory as an agent reads it."""
    with shell(DEMO, ROOT) as demo:
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
    """Return the manual start as a shell script on a free port, with waits for readiness."""
    script = BY_HAND
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
    """The second block, run in an empty folder, submits twice: accepted, then replayed."""
    with shell(by_hand(free_port()), tmp_path) as session:
        read_until(session, r"1 accepted-for-review\n(.|\n)*1 accepted-for-review, of which 1 replayed")


def test_the_blocks_for_agents_run_in_the_shell_of_the_recipe(tmp_path: Path) -> None:
    """In order, each block uses only the variables of earlier blocks, and all submit one proposal."""
    (tmp_path / "client.py").write_text(PYTHON, encoding="utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    script = f"{by_hand(free_port())}\n{CURL}\npython client.py\npython tools.py"
    with shell(script, tmp_path) as session:
        seen = read_until(session, r"(accepted-as-duplicate|accepted-for-review): a curator decides(.*)\n")
        assert "It was proposed before" in seen[0] or "duplicate" in seen[0]
    assert proposals(tmp_path) == 2


@pytest.fixture
def live(tmp_path: Path, policies: Path) -> Iterator[dict[str, str]]:
    """A service, and the environment that leads an agent to it."""
    data = tmp_path / "data"
    with serving(data, policies) as (url, _):
        token = antechamber("token", "issue", "worker:release-bot", "--data", str(data)).stdout.strip()
        yield {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token}


def proposals(tmp_path: Path) -> int:
    """Return the number of proposals."""
    with database(place_of(tmp_path / "data")) as raw:
        number: int = raw.execute("SELECT count(*) FROM proposals").fetchone()[0]
    return number


def test_curl_is_cut_off_and_makes_one_proposal(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for curl runs line by line."""
    with shell(CURL, tmp_path, **live) as session:
        read_until(session, r"accepted-for-review(.|\n)*accepted-for-review")
        assert session.wait(30) == 0
    assert proposals(tmp_path) == 1


def test_an_auditor_verifies_and_finds_what_was_altered(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for auditors verifies the export and names the altered byte."""
    data = str(tmp_path / "data")
    token = antechamber("token", "issue", "auditing", "--role", "auditor", "--data", data).stdout.strip()
    with shell(AUDIT, tmp_path, **live, AUDITOR_TOKEN=token) as session:
        read_until(session, r"Verified: \d+ leaves(.|\n)*Nothing is missing(.|\n)*NOT verified: leaf 1 (.|\n)*found it")


def test_growing_takes_three_commands(postgres: Databases, tmp_path: Path) -> None:
    """The block creates the schema and starts two processes on one database, both ready."""
    url, ports = postgres.empty(), [free_port(), free_port()]
    script = re.sub(r"export ANTECHAMBER_DATABASE_URL=\S+", f"export ANTECHAMBER_DATABASE_URL='{url}'", GROWING)
    for named, port in zip(("8080", "8081"), ports, strict=True):
        assert f"--port {named}" in script
        script = script.replace(f"--port {named}", f"--port {port}")
    with shell(script, tmp_path) as session:
        read_until(session, r"Took \d+ steps(.|\n)*Antechamber is ready(.|\n)*Antechamber is ready")
        for port in ports:
            assert httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=HANG_SECONDS).json() == {"status": "ready"}
    postgres.drop(url)


def test_the_python_client_is_cut_off_and_makes_one_proposal(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for Python, run twice in an agent's folder, gets one receipt."""
    wanted = re.search(r"<<'EVENT'\n(.*?)EVENT", CURL, re.DOTALL)
    assert wanted
    (tmp_path / "event.json").write_text(wanted[1], encoding="utf-8")
    command = [sys.executable, "-c", PYTHON]
    environment = own_environment() | live
    ran = [
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 -- our own documents
        for _ in range(2)
    ]
    assert ran[0].stdout.startswith("accepted-for-review ")
    assert ran[1].stdout == ran[0].stdout
    assert proposals(tmp_path) == 1


def test_a_reader_follows_the_changes(tmp_path: Path, policies: Path) -> None:
    """The block for changes mirrors what a curator admitted, and prints its admission."""
    with running(tmp_path / "data", policies) as service:
        proposal = service.submit(event("Deploys run on Friday.")).json()["proposal_id"]
        assert service.sign_in().decide(proposal, "approve").status_code == 303
        token = service.token()
    with serving(tmp_path / "data", policies) as (url, _):
        environment = own_environment() | {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token}
        command = [sys.executable, "-c", FOLLOWING]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 -- our own documents
    assert re.fullmatch(r"1 memories\n\d+ admitted [0-9a-f-]{36}\n", ran.stdout)


def test_a_guide_is_imported_and_kept_current(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for memory files proposes an item once and leaves a current file."""
    (tmp_path / "AGENTS.md").write_text("- Deploys run on Friday.\n", encoding="utf-8")
    with shell(FILES, tmp_path, **live) as session:
        read_until(session, r"(?:1 proposals, 0 unchanged\n(.|\n)*){2}written\n(.|\n)*unchanged\n")
        assert session.wait(30) == 0
    assert proposals(tmp_path) == 1


def test_an_mcp_client_is_cut_off_and_makes_one_proposal(tmp_path: Path, live: dict[str, str]) -> None:
    """The block for MCP starts the server as the configuration to paste does."""
    named = json.loads(PASTED)["mcpServers"]["antechamber"]
    assert (named["command"], named["args"]) == ("antechamber", ["mcp"])
    assert set(named["env"]) == {*live, "ANTECHAMBER_LEDGER"}
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    with shell("python tools.py", tmp_path, **live) as session:
        read_until(session, r"accepted-for-review: a curator decides")
        assert session.wait(30) == 0
    assert proposals(tmp_path) == 1


def within(block: str, **known: Any) -> Any:
    """Run a block that uses await, and return its `result`."""
    lines = [*block.splitlines(), "return result"]
    names: dict[str, Any] = {"asyncio": asyncio, "contextlib": contextlib} | known
    exec("async def whole():\n" + textwrap.indent("\n".join(lines), "    "), names)  # noqa: S102 -- our own documents
    return asyncio.run(names["whole"]())


def test_a_tool_that_writes_elsewhere_is_guarded(tmp_path: Path) -> None:
    """The block for other tools runs in front of an in-memory server."""
    written: list[dict[str, str]] = []

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        known = {"create_ticket": ("title", "body"), "search_tickets": ("query",), "charge": ("idempotency_key",)}
        schemas = {name: {"type": "object", "properties": dict.fromkeys(known[name])} for name in known}
        return ListToolsResult(tools=[Tool(name=name, input_schema=schema) for name, schema in schemas.items()])

    async def call_tool(_: Any, asked: Any) -> CallToolResult:
        written.append(asked.arguments)
        return CallToolResult(content=[])

    block = "async with Client(server) as session:\n" + textwrap.indent(GUARD, "    ")
    with Ledger(tmp_path / "agent.ledger") as ledger:
        server = Server("tracker", on_list_tools=list_tools, on_call_tool=call_tool)
        for _ in range(2):
            within(block, server=server, Client=Client, ledger=ledger, CallToolResult=CallToolResult)
        (entry,) = ledger.entries()
    assert [one["body"] for one in written] == [f"On Gemini.\n\nref {entry.operation_id}"]


def test_the_test_of_a_policy_holds(tmp_path: Path) -> None:
    """The block for policy tests holds beside the shipped ones."""
    folder = Path(shutil.copytree(ROOT / "policies", tmp_path / "policies"))
    before = len(read_policy(folder).cases)
    with (folder / "tests.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{POLICY_TEST}")
    assert len(read_policy(folder).cases) == before + 1


def test_the_hook_stops_a_commit(tmp_path: Path) -> None:
    """The command of the hook, with file names added as pre-commit does, fails for a file with a secret."""
    (entry,) = re.findall(r"entry: (.+)", HOOK)
    (tmp_path / "clean").write_text("Run the migration before the deploy.")
    (tmp_path / "secret").write_text("gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6")
    for names, status in (("clean", 0), ("clean secret", 1)):
        with shell(f"{entry} {names}", tmp_path) as process:
            printed, _ = process.communicate()
        assert process.returncode == status, printed
        assert ("secret:1:1: " in printed) == bool(status)


def test_a_rule_is_added_as_the_document_shows(tmp_path: Path) -> None:
    """The rule of the document is valid, its examples hold, and a miss that it finds is an error."""
    (tmp_path / "detectors").mkdir()
    file = tmp_path / "detectors" / "own.toml"
    file.write_text(DETECTOR)
    assert "acme-key" in antechamber("policy", "check", str(tmp_path), "--rules").stdout
    file.write_text(DETECTOR.replace('miss = ["', 'miss = ["acme_0123456789abcdef01234567 '))
    assert 'own.toml: rule "acme-key": miss[0]' in antechamber("policy", "check", str(tmp_path)).stderr


def test_a_source_gets_an_address_as_the_document_shows(tmp_path: Path) -> None:
    """The table of the document leads from a source span to the lines in a browser."""
    (tmp_path / "guidelines.toml").write_text(SOURCES)
    span = {"uri": "repo://apollo/docs/deploy.md", "start": 10, "end": 14}
    address = link_to(span, read_policy(tmp_path).sources)
    assert address == "https://git.example.com/apollo/blob/HEAD/docs/deploy.md#L10-L14"


def test_an_item_of_calibration_is_added_as_the_document_shows() -> None:
    """The line of the document is a calibration item."""
    item = read_calibration(CALIBRATION.encode())
    assert (item.verdict, item.submission.scope_id) == ("reject", "apollo")


def test_a_provider_and_a_witness_are_named_as_the_documents_show(tmp_path: Path) -> None:
    """The tables of the documents are a valid policy."""
    (tmp_path / "people.toml").write_text(PROVIDER)
    (tmp_path / "log.toml").write_text(WITNESS)
    policy = read_policy(tmp_path)
    assert policy.providers["acme"].people[0].account == "ada"
    assert policy.log.witness[0].url == "https://witness.example.org"


def test_every_code_block_is_run() -> None:
    """Every code block with a language is run by a test: of this module, of the recipes, or of the second client."""
    javascript = DOCUMENTS[CLIENT].partition("```js\n")[2].partition("```")[0]
    run = [DEMO, BY_HAND, CURL, PYTHON, FOLLOWING, PASTED, TOOLS, GUARD, AUDIT, GROWING, HOOK, POLICY_TEST, DETECTOR]
    run += [CALIBRATION, SOURCES, PROVIDER, WITNESS, FILES, javascript, *RECIPES]
    assert sorted(code for text in DOCUMENTS.values() for _, code in BLOCK.findall(text)) == sorted(run)


def test_the_front_page_is_short() -> None:
    """README has at most 1,200 words and links to every other document."""
    front = DOCUMENTS["README.md"]
    assert len(front.split()) <= 1_200
    assert {path for path, _ in LINK.findall(front)} >= set(NAMES) - {"README.md"}


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    """A relative link leads to an existing file, and to an existing heading if it names one."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", DOCUMENTS[name], flags=re.DOTALL)
    for path, fragment in LINK.findall(prose):
        if "://" in path:
            continue
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), path
        if fragment:
            assert fragment in map(slug, sections(target.read_text(encoding="utf-8"))), f"{path}#{fragment}"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "CHANGELOG.md"])
def test_every_module_that_a_document_names_exists(name: str) -> None:
    """A path such as `core/privacy/gate.py` leads to a module; the changelog may name what is gone."""
    folders = [ROOT / folder for folder in (".", "service", "service/antechamber", "scripts", "tests")]
    folders.append((ROOT / name).parent)
    named = set(re.findall(r"`([\w/]+/\w+\.py)`", DOCUMENTS[name]))
    assert {path for path in named if not any((folder / path).exists() for folder in folders)} == set()


def test_every_decision_is_complete() -> None:
    """Each decision has the choice, the reason, the cost, and when to revisit it, in this order."""
    text = DOCUMENTS["service/DECISIONS.md"]
    entries = sections(text)
    decisions = re.findall(r"^### (.+)", text, re.MULTILINE)
    assert len(decisions) == len(set(decisions)) > 40
    parts = {name: re.findall(r"^- \*\*(.+?)\*\*", entries[name], re.MULTILINE) for name in decisions}
    wrong = {name: found for name, found in parts.items() if found != ["Choice:", "Reason:", "Cost:", "Revisit when:"]}
    assert wrong == {}


def commands(command: click.Command = main, name: str = "antechamber") -> Iterator[tuple[str, click.Command]]:
    """Yield each command of the command line with its full name."""
    yield name, command
    if isinstance(command, click.Group):
        for verb, inner in command.commands.items():
            yield from commands(inner, f"{name} {verb}")


def is_named(word: str, text: str = CHAPTERS) -> bool:
    """Return whether a text has a word that is not part of a longer one."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def test_every_command_and_option_is_documented() -> None:
    """Each command, its options, and each option of the verifier are described in a document."""
    for name, command in commands():
        first, *rest = name.split()[1:] or [""]
        assert f"`antechamber {first}" in CHAPTERS, name
        assert not rest or is_named(f"{first} {rest[0]}"), name
        options = [word for one in command.params if isinstance(one, click.Option) for word in one.opts]
        assert [word for word in options if not is_named(word)] == [], name
    known = [word for action in verify_export.parser()._actions for word in action.option_strings]
    assert [word for word in known if word not in {"-h", "--help"} and not is_named(word, DOCUMENTS[LOG])] == []


def test_every_variable_is_documented() -> None:
    """Each environment variable that the command line, a script or the tests read is documented."""
    read = {str(one.envvar) for _, command in commands() for one in command.params if getattr(one, "envvar", None)}
    for folder in ("service", "scripts", "tests"):
        for file in (ROOT / folder).rglob("*.py"):
            read.update(re.findall(r"\bANTECHAMBER_[A-Z_]+\b", file.read_text(encoding="utf-8")))
    assert len(read) >= 13
    assert [name for name in read if f"`{name}`" not in CHAPTERS] == []


def test_every_policy_key_is_documented() -> None:
    """Each policy file has a heading, and its keys are explained below that heading."""
    chapters = sections(DOCUMENTS["policies/README.md"])
    tables = {
        "producer": "producers",
        "guideline": "guidelines",
        "sources": "guidelines",
        "test": "tests",
        "session": "people",
        "sign_in": "people",
        "provider": "people",
        "issuer": "producers",
        "off": "privacy",
        "public": "log",
        "witness": "log",
        "revoke_pasted_tokens": "privacy",
    }
    for place in WANTED:
        table, _, key = place.replace("[]", "").partition(".")
        # `[producer]` is a table of scopes.toml, `[[producer]]` is one of producers.toml.
        file = "scopes" if place.startswith("producer.") else tables.get(table, "scopes")
        further = {"producers": "Workload tokens", "people": "Providers"}.get(file)
        text = chapters[f"{file}.toml"] + (chapters[further] if further else "")
        key = key.rpartition(".")[2]  # a table in a table has the keys
        assert f"`{key}`" in text if key else re.search(rf"`\W*{table}\b", text), place


def test_every_code_of_the_contract_is_documented() -> None:
    """The table of codes has each code once, with its status."""
    rows = re.findall(
        r"^\| `([a-z-]+)` \| (\d+) \|", sections(DOCUMENTS[CLIENT])["Answers and error codes"], re.MULTILINE
    )
    assert rows == [(code, str(outcome.status)) for code, outcome in OUTCOMES.items()]


@pytest.mark.parametrize(
    ("heading", "name"), [("Members of an event", "SubmissionBody"), ("Members of an answer", "Receipt")]
)
def test_every_member_of_the_contract_is_documented(heading: str, name: str) -> None:
    """The tables of the client's document are those of the contract's page."""
    rows = [line for line in sections(DOCUMENTS[CLIENT])[heading].splitlines() if line.startswith("| `")]
    assert rows == [member_row(member) for member in members(document()["components"]["schemas"], name)]


def member_row(member: ContractMember) -> str:
    """Return the row of a member in Markdown."""
    limits = re.sub(r"(\^\S+\$)", r"`\1`", member.limits).replace("|", "\\|")
    example = f"`{member.example}`" if member.example else ""
    cells = (f"`{member.name}`", member.kind, "yes" if member.required else "no", limits, example, member.meaning)
    return f"| {' | '.join(cell or '–' for cell in cells)} |"  # noqa: RUF001 -- the sign of an empty cell


def test_nothing_recommends_what_no_index_has() -> None:
    """Extras are installed from a checkout or a wheel, and each extra has one text for both."""
    sources = [*(ROOT / "service").rglob("*.py"), *(ROOT / "templates").rglob("*.html"), *map(ROOT.joinpath, NAMES)]
    wrong = re.compile(r"pip install '?antechamber")
    assert [file.name for file in sources if wrong.search(file.read_text(encoding="utf-8"))] == []
    for extra in ("mcp", "postgres", "tracing"):
        assert f"`scripts/setup {extra}`" in CHAPTERS
        assert f"`pip install 'PATH-TO-WHEEL[{extra}]'`" in CHAPTERS
