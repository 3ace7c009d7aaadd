"""Importing a SQLite folder into PostgreSQL keeps all its data."""

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from antechamber.app import open_store
from antechamber.core.ports.store import Rows
from antechamber.settings import DATABASE, Location
from support import Databases, Service, antechamber, database, event, running, where


@pytest.fixture
def grown(tmp_path: Path, policies: Path) -> Location:
    """A folder with every kind of row in it."""
    location = Location(data=tmp_path / "data")
    with running(location, policies) as service:
        fill(service)
    with contextlib.closing(open_store(location)) as store:
        store.write(make_auditor).result()
    return location


def fill(service: Service) -> None:
    """Submit, quarantine, replay and decide."""
    first = event("Größe of the café.", idempotency_key="first", supersedes="an\0id", derived_from=["m-1"])
    bodies = [
        first,
        first,
        first | {"producer_identity": "tool:watcher"},
        event("Waits.", idempotency_key="second"),
        event("Another text.", idempotency_key="second"),
        event("Private by word.", visibility="private"),
        event("For everybody.", submission_scope="organization", scope_id="labs"),
    ]
    for body in bodies:
        service.submit(body)
    bob, cleo = service.sign_in("bob"), service.sign_in("cleo")
    path = "/v1/submissions/by-key/first"
    proposal = service.client.get(path, headers=service.bearer()).json()["proposal_id"]
    assert bob.decide(proposal, "approve").status_code == 303
    wide = re.findall(r'href="/review/([0-9a-f-]{36})"', cleo.browser.get("/review").text)
    assert cleo.decide(wide[-1], "approve").status_code == 303
    service.state.access.accounts.disable("bob")


def make_auditor(tx: Rows) -> None:
    """Change the role of a person as the claims of a provider do."""
    user = tx.access.user("cleo")
    assert user is not None
    tx.access.set_role(user, "auditor", 1_800_000_000_000_000, "provider:acme")


@pytest.fixture
def target(postgres: Databases, grown: Location) -> Iterator[Location]:
    """The same folder with an empty database as the target."""
    url = postgres.empty()
    yield Location(data=grown.data, database_url=url)
    postgres.drop(url)


def held(location: Location) -> dict[str, list[str]]:
    """Return the rows of every table that both engines have, in a common form."""
    tables: dict[str, list[str]] = {}
    with database(location) as raw:
        for table in ("producers", "proposals", "submissions", "evidence", "quarantine", "users", "review_records"):
            tables[table] = rows(raw, table)
        for table in ("memories", "tokens", "links", "sessions", "sign_in_failures", "replays", "role_changes"):
            tables[table] = rows(raw, table)
    return tables


def rows(raw: object, table: str) -> list[str]:
    """Return a table's rows by column name."""
    cursor = raw.execute(f"SELECT * FROM {table}")  # type: ignore[attr-defined]
    names = [column[0] for column in cursor.description]
    return sorted(str(sorted(zip(names, map(str, row), strict=True))) for row in cursor.fetchall())


def test_everything_moves_and_goes_on(grown: Location, target: Location, policies: Path) -> None:
    """Every row keeps its keys, replays are recognized, words are found, and new rows follow the old ones."""
    before = held(grown)
    assert all(before[table] for table in before if table not in {"sign_in_failures", "replays"})
    moved = antechamber("migrate", "--move", "--json", *where(target))
    assert moved.returncode == 0, moved.stderr
    counts = msgspec.json.decode(moved.stdout)["moved"]
    assert held(target) == before
    assert {table: counts[table] for table in before} == {table: len(found) for table, found in before.items()}
    assert "Healthy" in antechamber("doctor", *where(target)).stdout
    with running(target, policies) as service:
        again = service.submit(
            event("Größe of the café.", idempotency_key="first", supersedes="an\0id", derived_from=["m-1"])
        )
        assert (again.status_code, again.json()["duplicate"]) == (201, True)
        assert [item["content"] for item in service.recall(q="GROSSE cafe")] == ["Größe of the café."]
        assert service.submit(event("Later.")).status_code == 201
        later = service.client.get("/v1/memories", params={}, headers=service.bearer())
        assert later.status_code == 400


def test_a_folder_that_was_moved_is_not_used_again(grown: Location, target: Location) -> None:
    """After an import the old folder no longer serves, because the copies would diverge, nor imports again."""
    done = antechamber("migrate", "--move", *where(target))
    assert done.returncode == 0
    assert re.search(rf"^Moved [1-9][0-9,]* rows\. The file in {grown.data} is retired:$", done.stdout, re.MULTILINE)
    assert "--database-url" in done.stdout
    assert re.search(r"^ +[1-9]\d*  proposals$", done.stderr, re.MULTILINE)
    assert not re.search(r"^ +0  ", done.stderr, re.MULTILINE)
    assert "was moved to a PostgreSQL database" in antechamber("user", "list", *where(grown)).stderr
    again = antechamber("migrate", "--move", *where(target))
    assert again.returncode == 1
    assert "was moved" in again.stderr


def test_a_database_with_data_takes_nothing_in(grown: Location, target: Location) -> None:
    """A database with data is not mixed with another: the import is refused, and the folder stays in use."""
    # Another folder fills the database: the checkpoint of this one would contradict the log there.
    other = msgspec.structs.replace(target, data=target.data.with_name("other"))
    assert antechamber("migrate", *where(other)).returncode == 0
    assert antechamber("user", "add", "zoe", "--role", "auditor", *where(other)).returncode == 0
    refused = antechamber("migrate", "--move", *where(target))
    assert refused.returncode == 1
    assert "holds data already" in refused.stderr
    assert antechamber("user", "list", *where(grown)).returncode == 0


def test_a_folder_that_does_not_hold_what_it_should_stays(grown: Location, target: Location) -> None:
    """A memory without its approvals is found before the commit, and nothing is imported."""
    with database(grown) as raw:
        raw.execute("DROP TRIGGER review_records_lose_their_text")
        raw.execute("UPDATE review_records SET resulting = '{}' WHERE resulting IS NOT NULL")
    refused = antechamber("migrate", "--move", *where(target))
    assert refused.returncode == 1
    assert "lacks the approvals of its text" in refused.stderr
    assert held(target)["producers"] == []
    assert antechamber("user", "list", *where(grown)).returncode == 0


def test_a_folder_in_use_or_without_data_is_not_moved(grown: Location, target: Location, tmp_path: Path) -> None:
    """A folder that another process writes to, or that is empty, is refused with the reason."""
    with sqlite3.connect(grown.data / DATABASE, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        busy = antechamber("migrate", "--move", *where(target))
        other.execute("ROLLBACK")
    other.close()
    assert busy.returncode == 1
    empty = Location(data=tmp_path / "nothing", database_url=target.database_url)
    assert "holds no data" in antechamber("migrate", "--move", *where(empty)).stderr
    assert "--move needs --database-url" in antechamber("migrate", "--move", *where(grown)).stderr
