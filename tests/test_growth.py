"""Two processes on two ports over one PostgreSQL behave as one service."""

import contextlib
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from antechamber.checkpoint_signer import KEY_FILE, MARKER_FILE, STATE_FILE
from antechamber.resources import how_to_install
from antechamber.secret_key import QUARANTINE_KEY, SECRET
from antechamber.settings import Location
from launcher import Process
from support import HANG_SECONDS, Databases, antechamber, database, event, free_port, serving, where, write_policies


class Pair:
    """Two running processes with separate data folders, and clients of both."""

    def __init__(self, places: list[Location], policies: list[Path], served: list[tuple[str, Process]]) -> None:
        """Issue a token, which is valid for both."""
        self.places, self.policies = places, policies
        self.urls, self.processes = [url for url, _ in served], [process for _, process in served]
        self.open = contextlib.ExitStack()
        issued = antechamber("token", "issue", "worker:release-bot", *where(places[0]))
        self.headers = {"authorization": f"Bearer {issued.stdout.strip()}"}

    def submit(self, process: int, body: dict[str, Any]) -> httpx.Response:
        """Submit to one of the processes."""
        return httpx.post(f"{self.urls[process]}/v1/submissions", json=body, headers=self.headers, timeout=30)

    def sign_in(self, process: int, name: str, role: str = "curator") -> httpx.Client:
        """Sign a new person in at one of the processes."""
        added = antechamber("user", "add", name, "--role", role, *where(self.places[1]), "--url", self.urls[process])
        browser = self.open.enter_context(httpx.Client(base_url=self.urls[process], timeout=30))
        link = added.stdout.strip().partition("link=")[2]
        assert browser.post("/login", data={"link": link}).status_code == 303
        return browser

    def moved(self, browser: httpx.Client, process: int) -> httpx.Client:
        """Return a client with the same session at the other process, as a load balancer would route it."""
        return self.open.enter_context(
            httpx.Client(base_url=self.urls[process], cookies=dict(browser.cookies), timeout=30)
        )

    def remembered(self, process: int) -> list[str]:
        """Read the memories of project:apollo as an agent at one process."""
        params = {"submission_scope": "project", "scope_id": "apollo"}
        answer = httpx.get(f"{self.urls[process]}/v1/memories", params=params, headers=self.headers, timeout=30)
        return [item["content"] for item in answer.json()["items"]]


@pytest.fixture
def pair(postgres: Databases, tmp_path: Path) -> Iterator[Pair]:
    """A database created by the command line, and two processes on it."""
    places = [Location(data=tmp_path / name, database_url=postgres.empty()) for name in ("one", "two")]
    postgres.drop(places[1].database_url or "")
    places[1] = Location(data=tmp_path / "two", database_url=places[0].database_url)
    policies = [write_policies(tmp_path / f"policies-{number}") for number in range(2)]
    assert re.match(r"Took \d+ steps\.", antechamber("migrate", *where(places[0])).stdout)
    places[1].data.mkdir()
    for name in (SECRET, KEY_FILE):
        (places[1].data / name).write_bytes((places[0].data / name).read_bytes())
    with (
        serving(places[0], policies[0]) as first,
        serving(places[1], policies[1]) as second,
    ):
        made = Pair(places, policies, [first, second])
        with made.open:
            yield made
    postgres.drop(places[0].database_url or "")


def fields(page: str) -> dict[str, str]:
    """Return the hidden fields of a proposal's forms."""
    return dict(re.findall(r'name="(csrf|version|shown_hash|decision_key)" value="([^"]*)"', page))


def test_two_processes_over_one_database_are_one_service(pair: Pair) -> None:
    """One event sent to both at once is one proposal; approved at one, it is readable at the other."""
    body, gate = event("Seen by both."), threading.Barrier(2)

    def send(process: int) -> httpx.Response:
        gate.wait()
        return pair.submit(process, body)

    with ThreadPoolExecutor(2) as pool:
        responses = list(pool.map(send, range(2)))
    answers = [response.json() for response in responses]
    assert [response.status_code for response in responses] == [201, 201]
    assert sorted(answer.pop("duplicate") for answer in answers) == [False, True]
    assert answers[0] == answers[1]
    with database(pair.places[0]) as raw:
        counts = [raw.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("submissions", "proposals")]
    assert counts == [(1,), (1,)]

    here = pair.sign_in(0, "bob")
    path = f"/review/{answers[0]['proposal_id']}"
    form = fields(here.get(path).text)
    assert pair.remembered(1) == []
    there = pair.moved(here, 1)
    assert there.post(f"{path}/approve", data=form).status_code == 303
    assert [pair.remembered(process) for process in range(2)] == [["Seen by both."]] * 2
    late = here.post(f"{path}/approve", data=form)
    assert late.status_code == 409
    assert "bob" in late.text


def test_a_page_of_one_process_hears_of_what_came_to_the_other(pair: Pair) -> None:
    """A stream of counters reports a submission to the other process, and ends with its own process."""
    with pair.sign_in(0, "bob").stream("GET", "/review/changes") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        told = (line.partition("data: ")[2] for line in stream.iter_lines() if line.startswith("data: "))
        assert msgspec.json.decode(next(told))["pending"] == 0
        assert pair.submit(1, event()).status_code == 201
        assert next(counters for counters in map(msgspec.json.decode, told) if counters["pending"])["pending"] == 1
        pair.processes[0].terminate()
        assert list(told) == []
    assert pair.processes[0].wait(20) == 0


def test_different_policies_are_an_alarm_on_readyz(pair: Pair) -> None:
    """Operators see which process enforces another policy; the public sees only that something is wrong."""
    operator = pair.sign_in(0, "olga", "operator")
    assert operator.get("/readyz").json()["alarms"] == []
    edited = pair.policies[1] / "producers.toml"
    edited.write_text(edited.read_text() + '\n[[producer]]\nidentity = "tool:new"\nowner = "eve"\n')
    while not (alarms := operator.get("/readyz").json()["alarms"]):
        pass
    assert "different policies" in alarms[0]
    assert pair.urls[1].rpartition(":")[2] in alarms[0]
    assert httpx.get(f"{pair.urls[0]}/readyz", timeout=HANG_SECONDS).json() == {"status": "degraded"}


def test_another_secret_is_refused(pair: Pair, tmp_path: Path) -> None:
    """A process without the database's secret, or with another one, does not start."""
    (tmp_path / "other").mkdir()
    location = Location(data=tmp_path / "other", database_url=pair.places[0].database_url)
    assert "secret.key is missing" in antechamber("user", "list", *where(location)).stderr
    assert not (location.data / SECRET).exists()
    (location.data / SECRET).write_bytes(bytes(32))
    assert "is not the secret" in antechamber("serve", *where(location), "--port", str(free_port())).stderr


@pytest.fixture
def empty(postgres: Databases, tmp_path: Path) -> Iterator[Location]:
    """A database without a schema."""
    url = postgres.empty()
    yield Location(data=tmp_path / "data", database_url=url)
    postgres.drop(url)


def test_a_database_is_made_by_migrate_and_by_nothing_else(empty: Location) -> None:
    """Only migrate creates the schema, once and with a report; every other command names it."""
    for verb in (["serve", "--port", str(free_port())], ["token", "list"], ["user", "list"], ["export"], ["doctor"]):
        refused = antechamber(*verb, *where(empty))
        assert refused.returncode == 1
        assert "run: antechamber migrate" in refused.stderr
    assert re.match(r"Took \d+ steps\.", antechamber("migrate", *where(empty)).stdout)
    assert antechamber("migrate", *where(empty)).stdout == "The schema is up to date.\n"
    assert msgspec.json.decode(antechamber("migrate", "--json", *where(empty)).stdout) == {"taken": []}


def test_the_environment_names_the_database_for_every_verb(empty: Location) -> None:
    """ANTECHAMBER_DATABASE_URL replaces --database-url for people, tokens, exports and the doctor."""
    named = {"ANTECHAMBER_DATABASE_URL": empty.database_url or "", "ANTECHAMBER_DATA": str(empty.data)}
    assert antechamber("migrate", **named).returncode == 0
    assert "/login?link=" in antechamber("user", "add", "bob", "--role", "curator", **named).stdout
    assert antechamber("user", "list", **named).stdout.startswith("bob  curator")
    assert antechamber("token", "issue", "worker:a", **named).stdout.startswith("antp_")
    assert "worker:a" in antechamber("token", "list", **named).stdout
    assert '"count":0' in antechamber("export", **named).stdout
    assert "Healthy" in antechamber("doctor", **named).stdout
    assert {file.name for file in empty.data.iterdir()} == {
        SECRET,
        QUARANTINE_KEY,
        KEY_FILE,
        STATE_FILE,
        f"{STATE_FILE}.lock",
        MARKER_FILE,
    }


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("mysql://localhost/x", "must begin with postgresql://"),
        ("postgresql://127.0.0.1:1/x", "the database cannot be opened"),
    ],
)
def test_an_address_that_leads_nowhere_is_a_clear_error(tmp_path: Path, url: str, text: str) -> None:
    """An address of another kind, or without a server, is named without a traceback."""
    refused = antechamber("token", "list", "--data", str(tmp_path / "data"), "--database-url", url)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert text in refused.stderr
    assert "Traceback" not in refused.stderr


def test_without_the_driver_the_text_says_what_to_install(tmp_path: Path) -> None:
    """The driver is an extra; without it the error names the extra."""
    (tmp_path / "psycopg.py").write_text("raise ImportError\n")
    named = {"PYTHONPATH": str(tmp_path)}
    refused = antechamber("token", "list", *where(Location(data=tmp_path, database_url="postgresql://x/y")), **named)
    assert refused.returncode == 1
    assert f"Error: --database-url needs the PostgreSQL driver. {how_to_install('postgres')}\n" == refused.stderr
