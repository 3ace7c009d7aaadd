"""Helpers shared by many tests: events, the service in this process, and the service as a separate process."""

import contextlib
import functools
import html
import itertools
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec
import psycopg
from litestar.routes import ASGIRoute, BaseRoute
from litestar.testing import TestClient
from stdnum.iso7064 import mod_97_10

import launcher
from antechamber.app import clock, opened_access
from antechamber.app.factory import create_app
from antechamber.core.outgoing import hash_event
from antechamber.core.ports.store import Store
from antechamber.core.privacy import Finding, Gate
from antechamber.core.retention import RetentionRun
from antechamber.detector_files import read_detectors
from antechamber.flows import queue_sorter
from antechamber.resources import folder
from antechamber.secret_key import load_secret
from antechamber.settings import DATABASE, Location, Settings
from antechamber.store.postgres.schema import migrate
from antechamber.store.sqlite.packed_leaf import unpack
from antechamber.store.sqlite.store import SqliteStore

T = TypeVar("T")
RULES = read_detectors(folder("policies"))
"""The shipped detection rules."""
GATE = Gate(RULES)
URL = "http://127.0.0.1:8080"
PRODUCERS = """
[[producer]]
identity = "worker:release-bot"
owner = "ada"
submit = ["project:apollo", "session:*", "organization:labs"]
read = ["project:apollo", "session:*"]

[[producer]]
identity = "tool:watcher"
owner = "grace"
submit = ["project:apollo", "session:*"]
read = ["project:apollo", "session:*"]
"""
MEMBERS = {
    "status",
    "submission_id",
    "idempotency_key",
    "producer_identity",
    "submission_scope",
    "scope_id",
    "source_event_hash",
    "disposition",
    "duplicate",
    "duplicate_of",
    "proposal_id",
    "quarantine_id",
    "reasons",
    "retry_same_key",
    "safe_new_key",
    "policy_digest",
    "received_at",
}
"""Every member in the answer of a submit route."""
HANG_SECONDS = 60
"""Timeout after which a test treats an operation as hung; a busy machine may need seconds for milliseconds of work."""
_numbers = itertools.count(1)
sent_texts: set[str] = set()
"""Texts and keys of the events that the current test made; `conftest.py` looks for them in the log."""
_MIN_SOUGHT = 12
"""Shorter texts may occur in any line."""
# The sorter pauses between passes to spare a loaded service; tests do not produce that load.
queue_sorter.MIN_INTERVAL_SECONDS = 0.02
queue_sorter.REST = 1.0


def event(content: str = "Run the migration before the deploy.", **members: Any) -> dict[str, Any]:
    """Return a complete body with a fresh key and the right hash; `members` replace or add top-level members.

    A member whose value is None is left out.
    """
    body: dict[str, Any] = {
        "idempotency_key": f"key-{next(_numbers)}",
        "producer_identity": "worker:release-bot",
        "submission_scope": "project",
        "scope_id": "apollo",
        "payload": {"kind": "procedure", "content": content},
        "source_span": {"uri": "repo://apollo/RUNBOOK.md"},
    } | members
    if "source_event_hash" not in body:
        body["source_event_hash"] = hash_event(body)
    found = (content, body["payload"].get("content") if isinstance(body["payload"], dict) else None)
    sent_texts.update(text for text in (*found, body["idempotency_key"]) if isinstance(text, str))
    return {name: value for name, value in body.items() if value is not None}


def texts_in_log(lines: list[str]) -> list[str]:
    """Return the lines that hold a token, or a text or key of an event that the current test made."""
    secret = re.compile(r"ant[pralw]_[0-9A-Za-z]{36}|\bkey-\d+\b")
    sought = {text for text in sent_texts if len(text) >= _MIN_SOUGHT}
    return [line for line in lines if secret.search(line) or any(text in line for text in sought)]


def belgian(number: int) -> str:
    """Return an IBAN that fails only Belgium's national check digits: a near miss that is slow to check."""
    account = f"{number:010}{(number % 97 + 50) % 97 or 97:02}"
    return f"BE{mod_97_10.calc_check_digits(account + 'BE')}{account}"


def write_policies(folder: Path, producers: str = PRODUCERS, **files: str) -> Path:
    """Write a policy folder; `files` maps further file names, without suffix, to their contents."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "producers.toml").write_text(producers)
    for name, text in files.items():
        (folder / f"{name}.toml").write_text(text)
    return folder


def place_of(location: Location | Path) -> Location:
    """Return a location; a plain path is a location on SQLite."""
    return Location(data=location) if isinstance(location, Path) else location


def where(location: Location | Path) -> list[str]:
    """Return the command-line options that select a location."""
    location = place_of(location)
    address = [] if location.database_url is None else ["--database-url", location.database_url]
    return ["--data", str(location.data), *address]


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """Create a folder for databases, in memory if possible: each of PostgreSQL has about 300 files."""
    memory = Path("/dev/shm")  # noqa: S108 -- mkdtemp creates a private folder in it
    roomy = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= 2 << 30
    with tempfile.TemporaryDirectory(prefix="antechamber-", dir=memory if roomy else None) as folder:
        yield Path(folder)


def until(condition: Callable[[], Any], what: str) -> Any:
    """Poll until the condition returns something true, and return that."""
    deadline = time.monotonic() + HANG_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)
    return found


def until_sorted(store: Store) -> None:
    """Wait until all proposals of a store are sorted into the queue."""

    def sorted_all() -> bool:
        with store.read() as tx:
            return not tx.queue.unsorted(1)

    until(sorted_all, "the queue is sorted")


class Databases:
    """Fresh databases on one PostgreSQL server, each a copy of a template that was migrated once.

    `url` is the address of a database on the server, with a user who may create databases.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._names = itertools.count(1)
        self._prefix = f"antechamber_test_{os.getpid()}"
        self._template = self.empty()
        migrate(self._template)

    def _address(self, name: str) -> str:
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()

    def _run(self, command: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(command)

    def empty(self) -> str:
        """Create an empty database and return its address."""
        name = f"{self._prefix}_{next(self._names)}"
        self._run(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        return self._address(name)

    def fresh(self, template: str | None = None) -> str:
        """Create a database with the schema, or a copy of an unused one, and return its address."""
        name = f"{self._prefix}_{next(self._names)}"
        # The other strategy writes every page to the write-ahead log, and takes twice the CPU time.
        self._run(f"CREATE DATABASE {name} TEMPLATE {name_of(template or self._template)} STRATEGY FILE_COPY")
        return self._address(name)

    def drop(self, url: str) -> None:
        """Drop a database and end its connections."""
        self._run(f"DROP DATABASE {name_of(url)} WITH (FORCE)")

    def close(self) -> None:
        """Drop all databases that this object created."""
        self.drop(self._template)


def name_of(url: str) -> str:
    """Return the database name in an address."""
    return urlsplit(url).path.removeprefix("/")


@functools.cache
def empty_file() -> bytes:
    """Return the content of a SQLite file that has the schema and no rows, which a start would need long to make."""
    with tempfile.TemporaryDirectory() as folder:
        SqliteStore(Path(folder) / DATABASE).close()
        return (Path(folder) / DATABASE).read_bytes()


class Service:
    """The whole service in this process on a location and a policy folder; people and tokens are created on demand.

    A location without data begins with the schema.
    """

    def __init__(self, location: Location | Path, policies: Path) -> None:
        self.location = place_of(location)
        self.data = self.location.data
        if self.location.database_url is None and not self.data.exists():
            self.data.mkdir(mode=0o700, parents=True)
            load_secret(self.data)
            (self.data / DATABASE).write_bytes(empty_file())
            (self.data / DATABASE).chmod(0o600)
        self.settings = Settings(data=self.data, policies=policies, database_url=self.location.database_url)
        self.app = create_app(self.settings)
        self.client = TestClient(self.app, base_url=URL)
        self.state = self.app.state
        self._tokens: dict[tuple[str, ...], str] = {}

    def token(self, name: str = "worker:release-bot", role: Any = "producer", read: tuple[str, ...] = ()) -> str:
        """Return a token; the same arguments return the same token."""
        wanted = (name, role, *read)
        if wanted not in self._tokens:
            self._tokens[wanted] = self.state.access.tokens.issue(name, role, list(read), None)[1]
        return self._tokens[wanted]

    def bearer(
        self, name: str = "worker:release-bot", role: Any = "producer", read: tuple[str, ...] = ()
    ) -> dict[str, str]:
        """Return the Authorization header for a token."""
        return {"authorization": f"Bearer {self.token(name, role, read)}"}

    def submit(self, body: dict[str, Any] | bytes, **headers: str) -> httpx.Response:
        """Post one submission as the producer it names; header names are written with underscores."""
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        name = body.get("producer_identity", "worker:release-bot") if isinstance(body, dict) else "worker:release-bot"
        sent = self.bearer(name) | {key.replace("_", "-"): value for key, value in headers.items()}
        return self.client.post("/v1/submissions", content=raw, headers=sent)

    def answer(self, submission_id: str, text: str, key: str, name: str = "worker:release-bot") -> httpx.Response:
        """Post a note of a producer about a submission of its own."""
        headers = self.bearer(name) | {"idempotency-key": key}
        body = msgspec.json.encode({"text": text})
        return self.client.post(f"/v1/submissions/{submission_id}/notes", content=body, headers=headers)

    def browser(self) -> TestClient[Any]:
        """Return a client without a session, whose requests run in the event loop of the service."""
        browser = TestClient(self.app, base_url=URL)
        # A client that is not entered starts a thread and an event loop for each request.
        if hasattr(self.client, "blocking_portal"):
            browser.blocking_portal = self.client.blocking_portal
        return browser

    def sign_in(self, name: str = "bob", role: Any = "curator", person: str | None = None) -> "Desk":
        """Sign a person in with a link in a separate browser; create the account if necessary."""
        access = self.state.access
        if name not in {user.name for user in access.accounts.all()}:
            access.accounts.add(name, role, person, None)
        browser = self.browser()
        response = browser.post("/login", data={"link": access.sign_in.create_link(name)}, follow_redirects=False)
        assert response.status_code == 303, response.text
        return Desk(browser)

    def set_access_clock(self, clock: Callable[[], int]) -> None:
        """Let the flows of access read another clock."""
        access = self.state.access
        for part in (
            access.tokens,
            access.token_check,
            access.accounts,
            access.passwords,
            access.sign_in,
            access.sessions,
        ):
            part._clock = clock

    def wait_until_sorted(self) -> None:
        """Wait until the queue is sorted; the sorter runs after submissions, in the background."""
        until_sorted(self.state.desk._store)

    def recall(self, **query: Any) -> list[dict[str, Any]]:
        """Return the memories of project:apollo as the release bot reads them."""
        params = {"submission_scope": "project", "scope_id": "apollo"} | query
        response = self.client.get("/v1/memories", params=params, headers=self.bearer())
        assert response.status_code == 200, response.text
        items: list[dict[str, Any]] = response.json()["items"]
        return items


@contextlib.contextmanager
def database(location: Location) -> Iterator[Any]:
    """Open a location's database as its owner, bypassing the service; return an object that executes SQL."""
    if location.database_url is None:
        connection: Any = sqlite3.connect(location.data / DATABASE, isolation_level=None, timeout=5)
    else:
        connection = psycopg.connect(location.database_url, autocommit=True)
        connection.execute("SET search_path = antechamber")
    with contextlib.closing(connection):
        yield connection


def leaf_texts(raw: Any) -> list[str]:
    """Return the leaves of an opened database in the order of the log."""
    return [unpack(row[0]) for row in raw.execute("SELECT leaf FROM log_leaves ORDER BY id").fetchall()]


def dump(location: Location) -> str:
    """Return the whole content of a database as text."""
    with database(location) as raw:
        if location.database_url is None:
            return "\n".join(raw.iterdump())
        tables = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'antechamber' ORDER BY 1").fetchall()
        rows = [(name, row) for (name,) in tables for row in raw.execute(f"SELECT t::text FROM {name} AS t ORDER BY 1")]
    return "\n".join(f"{name} {row[0]}" for name, row in rows)


@contextlib.contextmanager
def locked(location: Location) -> Iterator[None]:
    """Hold the lock that every write needs, as another process would."""
    with database(location) as other:
        if location.database_url is None:
            other.execute("BEGIN IMMEDIATE")
        else:
            other.execute("BEGIN")
            other.execute("LOCK TABLE writers IN EXCLUSIVE MODE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


@contextlib.contextmanager
def full(service: Service) -> Iterator[None]:
    """Make the database reject submissions as a full disk does; on PostgreSQL a trigger raises that error."""
    if service.location.database_url is None:
        writer = service.state.admission._store._store._connection
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        before, after = f"PRAGMA max_page_count = {pages}", "PRAGMA max_page_count = 4294967294"
        writer.execute(before)
        try:
            yield
        finally:
            writer.execute(after)
        return
    with database(service.location) as owner:
        owner.execute(
            "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;"
            "CREATE TRIGGER full_disk BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION fill()"
        )
        try:
            yield
        finally:
            owner.execute("DROP TRIGGER full_disk ON submissions; DROP FUNCTION fill()")


class Desk:
    """A signed-in person's browser: `client` holds a session cookie."""

    def __init__(self, browser: TestClient[Any]) -> None:
        self.browser = browser

    def form(self, proposal_id: str) -> dict[str, str]:
        """Open a proposal and return the hidden fields of its forms; a long text counts as read to its end."""
        text = self.browser.get(f"/review/{proposal_id}").text
        fields = dict(re.findall(r'name="(csrf|version|shown_hash|decision_key|undoes)" value="([^"]*)"', text))
        return fields | ({"read": "1"} if "data-read" in text else {})

    def decide(self, proposal_id: str, decision: str, **fields: str) -> httpx.Response:
        """Open a proposal, fill in its form and send it without following the redirect.

        If an edit leads to the page that shows its difference, that page is confirmed.
        """
        form = self.form(proposal_id) | fields
        answer = self.post(f"/review/{proposal_id}/{decision}", form)
        seen = answer.status_code == 200 and self.draft(answer.text)
        return self.post(f"/review/{proposal_id}/{decision}", seen) if seen else answer

    def write(self, proposal_id: str, route: str, text: str = "", **fields: str) -> httpx.Response:
        """Open a proposal and send a form of its conversation: `note`, `question` or `assignment`."""
        return self.post(f"/review/{proposal_id}/{route}", self.form(proposal_id) | {"reason_text": text} | fields)

    @staticmethod
    def draft(page: str) -> dict[str, str]:
        """Return the fields of the form that saves an edit, as a browser would send them."""
        form = page.partition('<form class="card stack"')[2].partition("</form>")[0]
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form))
        content = form.partition("<textarea")[2].partition(">\n")[2].partition("</textarea>")[0]
        return {name: html.unescape(text) for name, text in (fields | {"content": content}).items()}

    def post(self, path: str, fields: dict[str, str]) -> httpx.Response:
        """Send a form."""
        return self.browser.post(path, data=fields, follow_redirects=False)


def run_retention(service: Service, age: int = 0) -> None:
    """Record a run of retention that removed nothing; `age` is in microseconds."""
    at = clock() - age
    run = RetentionRun(retention_id="r-1", archive="0" * 64, size=0, items=0, policy_digest="p", begun_at=at)
    service.state.desk._store.promote(lambda tx: tx.retention.add_run(run)).result()


def without_indents(markup: str) -> str:
    """Return markup without line breaks between tags, which templates have for their readers."""
    return re.sub(r"(?<=>)\s*\n\s*(?=<)", "", markup)


def methods_of(route: BaseRoute) -> set[str]:
    """Return the methods of a route; an ASGI route lists them in its options."""
    if isinstance(route, ASGIRoute):
        return set(route.route_handler.opt.get("methods", ()))
    return set(getattr(route, "methods", ()))


@contextlib.contextmanager
def running(location: Location | Path, policies: Path) -> Iterator[Service]:
    """Run the service in this process."""
    service = Service(location, policies)
    with service.client:
        yield service


def fill(place: Location, work: Callable[[Service], None], **policies: str) -> Location:
    """Let a service do some work on a location, and end it, so that tests can copy the location; return that.

    `policies` are further files of its policy, as of `write_policies`.
    """
    with running(place, write_policies(place.data.parent / "policies", **policies)) as service:
        work(service)
    return place


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def antechamber(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a separate process."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        given.write(stdin.encode())
        given.seek(0)
        process = launcher.start(arguments, os.environ | environment, given, out, said)
        try:
            status = process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        out.seek(0)
        said.seek(0)
        return subprocess.CompletedProcess(arguments, status, out.read().decode(), said.read().decode())


def issue_token(location: Location | Path, name: str = "worker:release-bot") -> str:
    """Issue a producer's token as the command line does, without a process of its own."""
    with opened_access(place_of(location), grants=True) as access:
        return access.tokens.issue(name, "producer", [], None)[1]


def add_person(location: Location | Path, name: str, role: Any, url: str) -> str:
    """Add an account as the command line does, without a process of its own; return its sign-in link."""
    with opened_access(place_of(location), grants=True) as access:
        access.accounts.add(name, role, None, None)
        return f"{url}/login?link={access.sign_in.create_link(name)}"


@contextlib.contextmanager
def serving(
    location: Location | Path,
    policies: Path,
    port: int | None = None,
    options: Sequence[str] = (),
    log_file: Path | None = None,
) -> Iterator[tuple[str, launcher.Process]]:
    """Run `antechamber serve` with further options as a separate process, and wait until it is ready."""
    location, port = place_of(location), port or free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ["serve", *where(location), *options, "--policies", str(policies), "--port", str(port)]
    with log_file.open("w+b") if log_file else tempfile.TemporaryFile() as log:
        process = launcher.start(arguments, stderr=log)
        try:
            yield from _until_ready(url, process)
        finally:
            process.terminate()
            process.communicate(timeout=HANG_SECONDS)
            log.seek(0)
            lines = log.read().decode().splitlines()
            # pytest shows them if the test fails.
            print("\n".join(lines), file=sys.stderr)  # noqa: T201
            assert texts_in_log(lines) == []


def _until_ready(url: str, process: launcher.Process) -> Iterator[tuple[str, launcher.Process]]:
    """Wait until a service is ready, and yield its address and process."""
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"Antechamber is ready")
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).status_code == 200:
                break
        assert time.monotonic() < deadline, "the service did not become ready"
    yield url, process


def gate_without(*off: str) -> Gate:
    """Return the gate of the shipped rules without some of them."""
    return Gate(RULES, dict.fromkeys(off, "off"))


def edit_field(page: str) -> str:
    """Return the content of a page's edit field, as a browser reads it."""
    found = re.search(r'<textarea\s+id="content"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert found
    return html.unescape(found[1])


def places_of(findings: list[Finding]) -> list[tuple[str, str]]:
    """Return pointer and rule of each finding, each pair once, in order."""
    return list(dict.fromkeys((one.pointer, one.rule_id) for one in findings))
