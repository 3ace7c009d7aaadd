"""Memory files on the command line, against a service in a process of its own on each engine."""

import asyncio
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result
from mcp import Client, StdioServerParameters, stdio_client

from antechamber.cli import main
from antechamber.client import Submitter, delivery, retry
from antechamber.settings import Location
from support import HANG_SECONDS, Desk, database, event, free_port, serving, until, where, write_policies

POLICIES = """
[[producer]]
identity = "repo:apollo"
owner = "ada"
submit = ["project:*"]
read = ["project:*"]

[[producer]]
identity = "worker:limited"
owner = "grace"
submit = ["project:apollo"]
"""
GUIDE = """\
# Apollo

## Deploy

- Run the migration before the deploy.
- Deploys run on Friday.

## Decisions

We use one database.
"""
_numbers = itertools.count(1)


class Live:
    """A service in a process of its own, and a browser in which a curator is signed in."""

    def __init__(self, url: str, location: Location) -> None:
        self.url = url
        self.location = location
        self.token = self.issue("repo:apollo")
        options = [*where(location), "--role", "curator", "--url", url]
        link = CliRunner().invoke(main, ["user", "add", "cora", *options]).stdout.strip()
        browser: Any = httpx.Client(base_url=url, timeout=HANG_SECONDS)
        assert browser.post("/login", data={"link": link.partition("link=")[2]}).status_code == 303
        self.desk = Desk(browser)
        self.close = browser.close

    def issue(self, name: str, *options: str) -> str:
        """Return a new token."""
        done = CliRunner().invoke(main, ["token", "issue", name, *options, *where(self.location)])
        return done.stdout.strip()

    def run(self, *arguments: object, stdin: str | bytes = "", **environment: str) -> Result:
        """Run `antechamber memories` as a producer."""
        own = {"ANTECHAMBER_URL": self.url, "ANTECHAMBER_TOKEN": self.token} | environment
        return CliRunner().invoke(main, ["memories", *map(str, arguments)], input=stdin, env=own)

    def ran(self, *arguments: object, **options: str) -> str:
        """Run a verb that has to succeed, and return its output."""
        done = self.run(*arguments, **options)
        assert done.exit_code == 0, done.output
        return done.stdout

    def approve(self, scope: str) -> None:
        """Approve all proposals of a scope that wait."""
        for proposal in self.proposals(scope):
            assert self.desk.decide(proposal, "approve").status_code == 303

    def proposals(self, scope: str) -> list[str]:
        """Return the ids of the proposals of a scope that wait."""
        query = f"SELECT proposal_id FROM proposals WHERE state = 'pending' AND scope_id = '{scope.partition(':')[2]}'"
        with database(self.location) as raw:
            return [proposal for (proposal,) in raw.execute(f"{query} ORDER BY id").fetchall()]

    def memories(self, scope: str) -> list[Any]:
        """Return the active memories of a scope, the newest first."""
        with Submitter(self.url, self.token) as client:
            page = client.memories(scopes=[scope])
        assert page is not None
        return page.items

    def retract(self, memory_id: str) -> None:
        """Retract a memory on the page of its proposal."""
        query = "SELECT p.proposal_id FROM proposals AS p JOIN memories AS m ON m.proposal = p.id WHERE m.memory_id = "
        with database(self.location) as raw:
            ((proposal,),) = raw.execute(f"{query} '{memory_id}'").fetchall()
        assert self.desk.decide(proposal, "retract", reason_code="wrong").status_code == 303


@pytest.fixture(scope="module")
def live(lasting_place: Location, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A service on each engine."""
    policies = write_policies(tmp_path_factory.mktemp("policies"), POLICIES)
    with serving(lasting_place, policies) as (url, _):
        made = Live(url, lasting_place)
        yield made
        made.close()


@pytest.fixture
def scope() -> str:
    """A scope that no other test uses."""
    return f"project:apollo-{next(_numbers)}"


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    """An AGENTS.md in a repository."""
    (tmp_path / "apollo" / ".git").mkdir(parents=True)
    path = tmp_path / "apollo" / "AGENTS.md"
    path.write_text(GUIDE)
    return path


def imported(live: Live, path: Path, scope: str, *options: str, form: str = "agents-md") -> Result:
    """Import a file."""
    return live.run("import", path, "--from", form, "--scope", scope, *options)


def exported(live: Live, path: Path, scope: str, *options: str, form: str = "agents-md") -> Result:
    """Export to a file."""
    return live.run("export", "--scope", scope, "--as", form, "--write", path, *options)


def last(done: Result, status: int = 0) -> str:
    """Return the last line of a command's output, whose status is checked."""
    assert done.exit_code == status, done.output
    return done.stdout.splitlines()[-1]


def test_a_guide_becomes_memory_and_comes_back(live: Live, guide: Path, scope: str) -> None:
    """A guide is found over MCP once it is approved; a retraction reaches search, mirror, file and what is derived."""
    assert last(imported(live, guide, scope, "--producer", "repo:apollo")) == "3 proposals, 0 unchanged"
    assert last(imported(live, guide, scope)) == "0 proposals, 3 unchanged"
    live.approve(scope)
    spans = {one.content: (one.kind, one.source_span) for one in live.memories(scope)}
    uri = "repo://apollo/AGENTS.md"
    assert spans == {
        "Run the migration before the deploy.": ("fact", {"uri": uri, "heading": "Deploy"}),
        "Deploys run on Friday.": ("fact", {"uri": uri, "heading": "Deploy"}),
        "We use one database.": ("decision", {"uri": uri, "heading": "Decisions"}),
    }
    assert exported(live, guide, scope).stdout == f"{guide}: written\n"
    assert guide.read_text().startswith(GUIDE)
    assert last(imported(live, guide, scope)) == "0 proposals, 6 unchanged"
    (found,) = asked(live, scope, "When do the deploys happen?", guide.parent)
    derived = proposed(live, scope, "Thursday has no deploys.", found["memory_id"])
    assert "derived from a retracted memory" not in live.desk.browser.get(f"/review/{derived}").text
    with Submitter(live.url, live.token) as client, client.mirror(guide.parent / "copy", [scope]) as mirror:
        mirror.update()
        assert len(mirror.memories()) == 3
        live.retract(found["memory_id"])
        mirror.update()
        assert found["content"] not in {one.content for one in mirror.memories()}
    assert "derived from a retracted memory" in live.desk.browser.get(f"/review/{derived}").text
    assert exported(live, guide, scope, "--check").exit_code == 1
    assert exported(live, guide, scope).exit_code == 0
    assert found["memory_id"] not in guide.read_text()
    assert exported(live, guide, scope).stdout == f"{guide}: unchanged\n"
    assert asked(live, scope, "When do the deploys happen?", guide.parent) == []


def proposed(live: Live, scope: str, content: str, source: str) -> str:
    """Submit an event that was derived from a memory, and return its proposal."""
    members = {"producer_identity": "repo:apollo", "scope_id": scope.partition(":")[2], "derived_from": [source]}
    sent = {"authorization": f"Bearer {live.token}"}
    answer = httpx.post(
        f"{live.url}/v1/submissions", json=event(content, **members), headers=sent, timeout=HANG_SECONDS
    )
    assert answer.status_code == 201
    proposal: str = answer.json()["proposal_id"]
    return proposal


def asked(live: Live, scope: str, question: str, folder: Path) -> list[dict[str, Any]]:
    """Return what an MCP client finds in a scope; items of a lower score are left out."""
    environment = {
        "ANTECHAMBER_URL": live.url,
        "ANTECHAMBER_TOKEN": live.token,
        "ANTECHAMBER_LEDGER": str(folder / "ledger"),
    }
    server = StdioServerParameters(command=sys.executable, args=["-m", "antechamber.cli", "mcp"], env=environment)

    async def search() -> Any:
        async with asyncio.timeout(HANG_SECONDS), Client(stdio_client(server)) as client:
            return await client.call_tool("search_memory", {"query": question, "scopes": [scope]})

    items: list[dict[str, Any]] = asyncio.run(search()).structured_content["items"]
    return [item for item in items if "Friday" in item["content"]]


def test_only_what_changed_is_proposed(live: Live, guide: Path, scope: str) -> None:
    """A new item, an edited one and one under another heading are proposals; moved lines are not."""
    assert last(imported(live, guide, scope)) == "3 proposals, 0 unchanged"
    changed = GUIDE.replace("on Friday", "on Monday").replace("# Apollo\n", "# Apollo\n\nA service.\n\n\n")
    guide.write_text(changed.replace("\n", "\r\n"))
    done = imported(live, guide, scope)
    assert last(done) == "2 proposals, 2 unchanged"
    assert done.stdout.splitlines()[:-1] == [
        "proposed   line 3: Apollo: A service.",
        "proposed   line 10: Deploy: Deploys run on Monday.",
    ]


def test_an_edit_of_an_exported_item_supersedes_its_memory(live: Live, guide: Path, scope: str) -> None:
    """The proposal names the memory; what was added to the block is proposed too, and nothing else."""
    imported(live, guide, scope)
    live.approve(scope)
    guide.write_text("")
    exported(live, guide, scope)
    text = guide.read_text().replace("on Friday", "on Monday")
    guide.write_text(text.replace("### Facts\n", "### Facts\n\n- Added by a person.\n"))
    done = imported(live, guide, scope, "--json")
    answer = json.loads(done.stdout)
    assert (answer["proposals"], answer["unchanged"], answer["refused"], answer["unanswered"]) == (2, 2, 0, 0)
    edited = next(item for item in answer["items"] if "Monday" in item["content"])
    (memory,) = [one for one in live.memories(scope) if "Friday" in one.content]
    assert (edited["supersedes"], edited["result"], edited["kind"]) == (memory.memory_id, "proposed", "fact")
    with Submitter(live.url, live.token) as client:
        status = client.status(edited["submission_id"])
    assert status is not None
    assert status.proposal_id == edited["proposal_id"]
    assert last(imported(live, guide, scope)) == "0 proposals, 4 unchanged"


def test_a_dry_run_shows_the_plan_and_sends_nothing(live: Live, guide: Path, scope: str) -> None:
    """Each item has a line with what would become of it; the numbers are those of the import that follows."""
    guide.write_text("- One.\n- One.\n")
    imported(live, guide, scope)
    live.approve(scope)
    guide.write_text("")
    exported(live, guide, scope)
    block = guide.read_text()
    guide.write_text("- One.\n- Two.\n- Two.\n" + block.replace("- One.", "- Once."))
    done = imported(live, guide, scope, "--dry-run")
    assert last(done) == "2 proposals, 2 unchanged"
    assert [line.split()[:3] for line in done.stdout.splitlines()[:-1]] == [
        ["unchanged", "line", "1:"],
        ["new", "line", "2:"],
        ["unchanged", "line", "3:"],
        ["changed", "line", "11:"],
    ]
    assert "instead of memory" in done.stdout
    assert "nothing was sent" in done.stderr
    assert live.proposals(scope) == []
    assert last(imported(live, guide, scope)) == "2 proposals, 2 unchanged"


def test_a_private_item_is_refused_and_not_repeated(live: Live, guide: Path, scope: str) -> None:
    """The other items are proposed; the output names the line and the rule and not the value, also in a dry run."""
    secret = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
    guide.write_text(f"{GUIDE}\n# Secrets\n\n- The token is {secret}.\n")
    for options, counts in (((), "3 proposals, 0 unchanged"), (("--dry-run",), "0 proposals, 3 unchanged")):
        done = imported(live, guide, scope, *options)
        assert last(done, 1) == counts
        assert re.search(r"refused +line 14: private-detected: .* at /payload/content", done.stderr)
        assert secret not in done.output
    shown = json.loads(imported(live, guide, scope, "--json").stdout)
    assert secret not in json.dumps(shown)
    assert next((item["line"], item["content"]) for item in shown["items"] if item["result"] == "refused") == (14, None)


def test_a_file_without_items_is_no_error(live: Live, tmp_path: Path, scope: str) -> None:
    """An empty file proposes nothing and says so."""
    empty = tmp_path / "AGENTS.md"
    empty.write_text("")
    done = imported(live, empty, scope)
    assert last(done) == "0 proposals, 0 unchanged"
    assert "has no items" in done.stderr


@pytest.mark.parametrize(
    ("form", "raw", "count"),
    [
        ("claude-md", "@AGENTS.md\n\n- Item.\n", 1),
        ("jsonl", '{"content": "A.", "kind": "warning", "tags": ["x"]}\n{"content": "B."}\n', 2),
        ("mcp-memory", '{"type": "entity", "name": "Ada", "entityType": "x", "observations": ["Is kind."]}\n', 1),
        ("mem0", '{"results": [{"id": "m-1", "memory": "Tests run first.", "categories": ["ci"]}]}', 1),
    ],
)
def test_every_format_is_imported_and_exported(
    live: Live, tmp_path: Path, scope: str, form: str, raw: str, count: int
) -> None:
    """Items of each format are proposed once, from standard input too; an export of them is unchanged."""
    options = ("import", "-", "--from", form, "--scope", scope, "--source", "file:given", "--kind", "procedure")
    assert live.run(*options, stdin=raw).stdout.endswith(f"{count} proposals, 0 unchanged\n")
    assert live.run(*options, stdin=raw).stdout.endswith(f"0 proposals, {count} unchanged\n")
    live.approve(scope)
    assert {one.source_span["uri"] for one in live.memories(scope)} == {"file:given"}
    if form == "mem0":
        return
    file = tmp_path / "file"
    for _ in range(2):
        assert exported(live, file, scope, form=form).exit_code == 0
    printed = live.ran("export", "--scope", scope, "--as", form)
    assert file.read_text() == printed
    assert last(imported(live, file, scope, form=form)) == f"0 proposals, {count} unchanged"


def test_a_check_ends_with_a_status_for_ci(live: Live, guide: Path, scope: str) -> None:
    """0 for a current file, 1 and the difference for another one, 2 if it cannot be compared; nothing is written."""
    done = exported(live, guide, scope, "--check")
    assert done.exit_code == 1
    assert done.stdout.startswith(f"--- {guide}\n+++ {guide} (current)\n")
    assert guide.read_text() == GUIDE
    exported(live, guide, scope)
    current = exported(live, guide, scope, "--check")
    assert (current.exit_code, current.output) == (0, "")
    guide.write_bytes(b"caf\xe9")
    assert exported(live, guide, scope, "--check").exit_code == 2
    refused = live.run("export", "--scope", "organization:x", "--as", "jsonl", "--write", guide, "--check")
    assert refused.exit_code == 2
    assert "not granted" in refused.stderr
    missing = exported(live, guide.with_name("missing.md"), scope, "--check")
    assert missing.exit_code == 1
    assert live.run("export", "--scope", scope, "--as", "jsonl", "--check").exit_code == 2


def test_several_scopes_have_one_file_or_one_each(live: Live, guide: Path, scope: str) -> None:
    """Without a pattern all scopes are in one file; an import of one scope leaves the others out."""
    other = f"{scope}-other"
    imported(live, guide, scope)
    live.approve(scope)
    both = ("export", "--scope", scope, "--scope", other, "--scope", scope, "--as", "agents-md", "--write")
    live.ran(*both, guide.parent / "{scope}.md")
    names = {path.name for path in guide.parent.glob("project-*")}
    assert names == {f"{scope.replace(':', '-')}.md", f"{other.replace(':', '-')}.md"}
    guide.write_text("")
    live.ran(*both, guide)
    assert guide.read_text().count("antechamber:begin") == 2
    assert last(imported(live, guide, other)) == "0 proposals, 0 unchanged"


def test_many_memories_are_read_page_by_page(
    live: Live, tmp_path: Path, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An export has all memories of a scope, and an import compares with all of them."""
    monkeypatch.setattr("antechamber.client.memory_reading._PAGE", 2)
    file = tmp_path / "AGENTS.md"
    file.write_text("".join(f"- Item {number}.\n" for number in range(5)))
    imported(live, file, scope)
    live.approve(scope)
    file.write_text("")
    exported(live, file, scope)
    assert file.read_text().count("antechamber:memory") == 5
    stale = file.read_text()
    live.retract(live.memories(scope)[0].memory_id)
    assert last(imported(live, file, scope)) == "0 proposals, 5 unchanged"
    exported(live, file, scope)
    assert file.read_text() != stale


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("import", "FILE", "--from", "agents-md", "--scope", "apollo"), 2, "write kind:id"),
        (("import", "FILE", "--from", "html", "--scope", "project:apollo"), 2, "html"),
        (("import", "missing", "--from", "agents-md", "--scope", "project:apollo"), 2, "does not exist"),
        (("import", "-", "--from", "agents-md", "--scope", "project:apollo"), 2, "add --source URI"),
        (("import", "FILE", "--from", "jsonl", "--scope", "project:apollo"), 1, "line 1 is no JSON object"),
        (("import", "FILE", "--from", "mem0", "--scope", "project:apollo"), 1, "no JSON; export with get_all"),
        (
            ("import", "FILE", "--from", "agents-md", "--scope", "project:apollo", "--producer", "me"),
            1,
            "'me' is no producer",
        ),
        (
            ("import", "FILE", "--from", "agents-md", "--scope", "project:apollo", "--producer", "repo:gemini"),
            1,
            "is the token of repo:apollo, not of repo:gemini",
        ),
        (("export", "--scope", "project:", "--as", "jsonl"), 2, "write kind:id"),
        (("export", "--as", "jsonl"), 2, "--scope"),
        (("export", *(f"--scope=project:p{number}" for number in range(17)), "--as", "jsonl"), 2, "at most 16 scopes"),
        (("export", "--scope", "organization:x", "--as", "jsonl"), 1, "not granted"),
        (("export", "--scope", "project:a", "--as", "jsonl", "--write", "FILE"), 1, "AGENTS.md: line 1 is no JSON"),
        (("export", "--scope", "project:a", "--as", "agents-md", "--write", "FILE/x"), 1, "Not a directory"),
        (("sync", "--scope", "organization:x", "--as", "jsonl", "--write", "x"), 1, "not granted"),
        (("sync", "--scope", "project:a", "--as", "jsonl", "--write", "FILE", "--once"), 1, "line 1 is no JSON object"),
        (("sync", "--scope", "project:a", "--as", "jsonl"), 2, "--write"),
    ],
)
def test_what_cannot_be_done_is_explained(
    live: Live, guide: Path, arguments: tuple[str, ...], status: int, words: str
) -> None:
    """Wrong usage ends with 2 and a failure with 1, with a text that says what to do; the file stays."""
    done = live.run(*(word.replace("FILE", str(guide)) for word in arguments))
    assert (done.exit_code, "Traceback" in done.output) == (status, False), done.output
    assert words in " ".join(done.stderr.split())
    assert guide.read_text() == GUIDE


def test_another_token_is_explained(live: Live, guide: Path, scope: str) -> None:
    """A reader cannot import, a producer without the right to submit or read is refused, and no token is named."""
    reader = live.issue("search", "--role", "reader", "--read", scope)
    limited = live.issue("worker:limited")
    options = ("import", guide, "--from", "agents-md", "--scope", scope)
    assert "no producer's" in live.run(*options, ANTECHAMBER_TOKEN=reader).stderr
    refused = live.run(*options, ANTECHAMBER_TOKEN=limited)
    assert last(refused, 1) == "0 proposals, 0 unchanged"
    assert refused.stderr.count("scope-not-granted") == 3
    assert "set ANTECHAMBER_TOKEN" in live.run(*options, ANTECHAMBER_TOKEN="").stderr
    wrong = live.run(*options, ANTECHAMBER_TOKEN="antp_wrong")
    assert (wrong.exit_code, "antp_wrong" in wrong.output) == (1, False)
    assert live.run("export", "--scope", scope, "--as", "jsonl", ANTECHAMBER_TOKEN=reader).exit_code == 0


def test_an_unreachable_service_is_named(live: Live, guide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each verb that does not wait says which address it could not reach."""
    monkeypatch.setattr(retry, "_FIRST_PAUSE_SECONDS", 0.0)
    address = f"http://127.0.0.1:{free_port()}"
    for verb in (("export",), ("sync", "--once", "--write", str(guide))):
        done = live.run(*verb, "--scope", "project:apollo", "--as", "agents-md", "--url", address)
        assert done.exit_code == 1
        assert f"{address}: no connection" in done.stderr
    done = imported(live, guide, "project:apollo", "--url", address)
    assert f"{address}: no connection" in done.stderr
    done = imported(live, guide, "project:apollo", "--url", "nowhere")
    assert "nowhere is no address" in done.stderr
    done = live.run("export", "--scope", "project:apollo", "--as", "jsonl", "--url", f"{live.url}/elsewhere")
    assert "check the base URL" in done.stderr
    assert guide.read_text() == GUIDE


def test_items_without_an_answer_are_counted(tmp_path: Path, guide: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the rate limit the rest of a file is not sent; importing it again sends the rest."""
    monkeypatch.setattr(delivery, "MAX_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(delivery, "MAX_LINES", 2)
    policies = write_policies(tmp_path / "policies", POLICIES, scopes="[limits]\nattempts_per_minute = 2\n")
    with serving(tmp_path / "limited", policies) as (url, _):
        limited = Live(url, Location(data=tmp_path / "limited"))
        done = imported(limited, guide, "project:apollo")
        limited.close()
    assert last(done, 1) == "2 proposals, 0 unchanged"
    assert "unanswered line 10: Decisions: We use one database." in done.stdout
    assert "2 of 3 items answered" in done.stderr


def test_files_follow_the_service(live: Live, guide: Path, scope: str) -> None:
    """A file is written when a memory is admitted or ends, restored when it was altered, and kept when asked to end."""
    command = [sys.executable, "-m", "antechamber.cli", "memories", "sync", "--scope", scope, "--as", "agents-md"]
    environment = {"ANTECHAMBER_URL": live.url, "ANTECHAMBER_TOKEN": live.token}
    process = subprocess.Popen(  # noqa: S603 -- our own program
        [*command, "--write", str(guide)], env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until(lambda: "No memories" in guide.read_text(), "the empty block is written")
        (guide.parent / "new.md").write_text("- Follow me.\n")
        imported(live, guide.parent / "new.md", scope)
        live.approve(scope)
        until(lambda: "- Follow me." in guide.read_text(), "the memory arrives")
        live.retract(live.memories(scope)[0].memory_id)
        until(lambda: "- Follow me." not in guide.read_text(), "the retraction arrives")
        broken = guide.read_text().replace("antechamber:end", "antechamber:and")
        guide.write_text(broken)
        (guide.parent / "new.md").write_text("- Follow again.\n")
        imported(live, guide.parent / "new.md", scope)
        live.approve(scope)
        assert process.stderr is not None
        assert b"damaged" in process.stderr.readline()
        assert guide.read_text() == broken
    finally:
        process.send_signal(signal.SIGTERM)
        printed, _ = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0
    assert printed.decode() == f"{guide}: written\n" * 3
    assert guide.read_text() == broken


def test_a_sync_once_writes_and_ends(live: Live, guide: Path, scope: str) -> None:
    """With --once it does what export does."""
    options = ("sync", "--scope", scope, "--as", "claude-md", "--write", guide, "--once")
    assert live.ran(*options) == f"{guide}: written\n"
    assert live.ran(*options) == f"{guide}: unchanged\n"
