"""Upgrades on both engines: released schemas migrate and verify, others are refused, and versions run side by side."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

from antechamber import app
from antechamber.cli import main
from antechamber.settings import DATABASE, Location
from antechamber.store import statements
from antechamber.store.errors import StoreError
from antechamber.store.postgres import schema as postgres_schema
from antechamber.store.postgres.schema import make_roles, migrate
from antechamber.store.postgres.store import PostgresStore
from lib.released import FOLDER, Released
from support import Databases, Service, database, event, running, where, write_policies

RELEASED = sorted(folder.name for folder in FOLDER.iterdir())
LATER = "9999_later"


def run(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, [*map(str, arguments)])


def steps_of(location: Location) -> set[str]:
    """Return the steps that a database has taken."""
    sqlite = "SELECT name FROM _sqlite_migrations WHERE migration_set = 'antechamber'"
    with database(location) as raw:
        found = raw.execute(sqlite if location.database_url is None else "SELECT name FROM steps").fetchall()
    return {name for (name,) in found}


@pytest.fixture(params=[(version, engine) for version in RELEASED for engine in ("sqlite", "postgres")], ids="-".join)
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Released, Location]]:
    """The data of each released version, as that version left it."""
    version, engine = request.param
    fixture = Released(version, engine)
    fixture.unpack_keys(tmp_path / "data")
    if engine == "sqlite":
        (tmp_path / "data" / DATABASE).write_bytes(fixture.database())
        yield fixture, Location(data=tmp_path / "data")
        return
    databases: Databases = request.getfixturevalue("postgres")
    url = databases.empty()
    with psycopg.connect(url) as connection:
        make_roles(connection)
        connection.execute(fixture.database())
    yield fixture, Location(data=tmp_path / "data", database_url=url)
    databases.drop(url)


def test_the_data_of_each_release_migrates_and_still_verifies(
    released: tuple[Released, Location], tmp_path: Path
) -> None:
    """After the migration the doctor finds no fault, every retry gets its first answer, and work goes on."""
    fixture, location = released
    pending = json.loads(run("migrate", "--dry-run", "--json", *where(location)).stdout)["pending"]
    migrated = json.loads(run("migrate", "--json", *where(location)).stdout)
    assert migrated["taken"] == pending
    assert app.examine(location) == []
    known = fixture.expected()
    policies = write_policies(tmp_path / "policies")
    with running(location, policies) as service:
        for body, answer in known["answers"]:
            replayed = service.submit(body)
            assert json.loads(replayed.content) == answer | {"duplicate": True}
        recalled = {item["content"] for item in service.recall()}
        assert recalled == set(known["memories"])
        key = service.client.get("/v1/audit/key", headers=service.bearer("una", "auditor")).text
        assert key.strip() == known["verifier_key"]
        kept = service.client.get(
            f"/v1/audit/checkpoint?size={known['size']}", headers=service.bearer("una", "auditor")
        ).text
        assert kept == known["checkpoint"]
        fresh = service.submit(event("Written after the upgrade.")).json()
        assert service.sign_in("eve").decide(fresh["proposal_id"], "approve").status_code == 303
    assert app.examine(location) == []


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
@pytest.mark.parametrize("version", RELEASED)
def test_the_steps_of_a_release_are_never_edited(version: str, engine: str) -> None:
    """Each step that a release took is there unchanged: its name holds the digest of its text."""
    current = [name for name, _ in statements.migrations(engine)]
    released = Released(version, engine).expected()["steps"]
    assert [name for name in current if name in released] == released


UNSAFE = re.compile(
    r"\b(DROP\s+(TABLE|COLUMN|VIEW|TYPE|CONSTRAINT)|RENAME|SET\s+NOT\s+NULL|ALTER\s+COLUMN\s+\w+\s+(SET\s+DATA\s+)?TYPE)\b",
    re.IGNORECASE,
)
"""What a step may not do while processes of the version before run on the same database."""


def unsafe_steps(known: list[str]) -> list[str]:
    """Return later steps for PostgreSQL that a running process of an earlier version might not survive."""
    steps = [(name, sql) for name, sql in statements.migrations("postgres") if name not in known]
    return [name for name, sql in steps if UNSAFE.search(re.sub(r"--.*", "", sql))]


def test_steps_after_a_release_only_add(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later step removes, renames and narrows nothing, so that the version before goes on beside it."""
    known = Released(RELEASED[-1], "postgres").expected()["steps"]
    assert unsafe_steps(known) == []
    for sql in ("ALTER TABLE antechamber.users DROP COLUMN views", "alter table t rename to u", "DROP VIEW v;"):
        with monkeypatch.context() as patch:
            patch.setattr(statements, "migrations", lambda _engine, sql=sql: [("0099_narrow", sql)])
            assert unsafe_steps(known) == ["0099_narrow"]


@pytest.fixture
def empty(request: pytest.FixtureRequest, location: Location) -> Iterator[Location]:
    """A place without a schema."""
    if location.database_url is None:
        yield location
        return
    databases: Databases = request.getfixturevalue("postgres")
    url = databases.empty()
    yield Location(data=location.data, database_url=url)
    databases.drop(url)


def test_a_dry_run_lists_the_steps_and_changes_nothing(empty: Location) -> None:
    """It names the steps of a new and of an older schema, makes no folder, and takes no step."""
    all_steps = [name for name, _ in statements.migrations("sqlite" if empty.database_url is None else "postgres")]
    planned = run("migrate", "--dry-run", *where(empty))
    assert planned.stdout.splitlines() == ["Would take:", *all_steps]
    assert not empty.data.exists()
    assert run("migrate", *where(empty)).exit_code == 0
    assert run("migrate", "--dry-run", *where(empty)).stdout == "The schema is up to date.\n"
    forget = "DELETE FROM _sqlite_migrations WHERE name = ?" if empty.database_url is None else None
    with database(empty) as raw:
        raw.execute(forget or "DELETE FROM steps WHERE name = %s", (all_steps[-1],))
    assert json.loads(run("migrate", "--dry-run", "--json", *where(empty)).stdout) == {"pending": [all_steps[-1]]}
    assert steps_of(empty) == set(all_steps[:-1])


def test_a_dry_run_names_what_it_cannot_read(tmp_path: Path) -> None:
    """A damaged file, a database that cannot be reached and a move are named, without a traceback."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / DATABASE).write_bytes(b"no database" * 100)
    damaged = run("migrate", "--dry-run", "--data", tmp_path / "data")
    assert (damaged.exit_code, "cannot be read" in damaged.stderr) == (1, True)
    url = "postgresql://reader@127.0.0.1:1/none"
    absent = run("migrate", "--dry-run", "--data", tmp_path / "data", "--database-url", url)
    assert (absent.exit_code, "the database cannot be read" in absent.stderr) == (1, True)
    moving = run("migrate", "--dry-run", "--move", "--data", tmp_path / "data", "--database-url", url)
    assert (moving.exit_code, "leave one of them out" in moving.stderr) == (2, True)


COMMANDS = (
    ("serve",),
    ("migrate",),
    ("migrate", "--dry-run"),
    ("doctor",),
    ("token", "list"),
    ("token", "issue", "worker:one"),
    ("user", "list"),
    ("webhook", "list"),
    ("export", "log"),
    ("log", "checkpoint"),
    ("log", "key"),
    ("erase", "p-1", "--yes"),
    ("backup", "create", "backup.tar"),
    ("retention", "plan"),
    ("retention", "run", "--archive", "archive.jsonl"),
    ("policy", "diff", "policies"),
)
"""Every command that opens a store."""
FILES = {"backup.tar", "archive.jsonl", "policies"}


def test_every_command_refuses_an_unknown_schema(location: Location, tmp_path: Path) -> None:
    """A schema with a step of a later version is used by no command, and is not changed."""
    assert run("migrate", *where(location)).exit_code == 0
    write_policies(tmp_path / "policies")
    with database(location) as raw:
        if location.database_url is None:
            raw.execute("INSERT INTO _sqlite_migrations VALUES (99, 'antechamber', ?, '')", (LATER,))
        else:
            raw.execute("INSERT INTO steps (name) VALUES (%s)", (LATER,))
    for command in COMMANDS:
        done = run(*(tmp_path / word if word in FILES else word for word in command), *where(location))
        assert done.exit_code == (2 if command[0] == "policy" else 1), (command, done.output)
        assert "another version" in done.stderr, (command, done.output)
        assert "install that version" in done.stderr
    assert not (tmp_path / "backup.tar").exists()
    assert LATER in steps_of(location)


def test_every_command_but_migrate_refuses_an_older_schema(location: Location, tmp_path: Path) -> None:
    """The message names the command that brings the schema up to date."""
    assert run("migrate", *where(location)).exit_code == 0
    write_policies(tmp_path / "policies")
    with database(location) as raw:
        table = "_sqlite_migrations" if location.database_url is None else "steps"
        raw.execute(f"DELETE FROM {table} WHERE name = (SELECT max(name) FROM {table})")
    for command in [one for one in COMMANDS if one[0] != "migrate"]:
        done = run(*(tmp_path / word if word in FILES else word for word in command), *where(location))
        assert done.exit_code in {1, 2}, (command, done.output)
        assert "make a backup, then run: antechamber migrate" in done.stderr, (command, done.output)


def widening(url: str) -> str:
    """Return a step as a later version may take it: a new table, and a new column and index on each table."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'antechamber' AND tablename <> 'steps' ORDER BY 1"
        ).fetchall()
    lines = ["CREATE TABLE antechamber.later (id BIGINT PRIMARY KEY, later TEXT);"]
    for (table,) in rows:
        lines.append(f'ALTER TABLE antechamber."{table}" ADD COLUMN added_later TEXT;')
        lines.append(f'CREATE INDEX "{table}_later" ON antechamber."{table}" (added_later);')
    return "\n".join(lines)


def work(service: Service, text: str) -> dict[str, Any]:
    """Submit, decide, retract and quarantine; return the body that was submitted first."""
    body = event(text)
    made = service.submit(body).json()
    assert made["disposition"] == "accepted-for-review"
    desk = service.sign_in()
    assert desk.write(made["proposal_id"], "question", "Which one?").status_code == 303
    assert service.answer(made["submission_id"], "That one.", f"answer-{body['idempotency_key']}").status_code == 201
    assert desk.decide(made["proposal_id"], "approve").status_code == 303
    assert service.submit(event("Another.", idempotency_key=body["idempotency_key"])).status_code == 422
    return body


def test_two_versions_run_side_by_side_while_the_schema_is_migrated(
    postgres: Databases, tmp_path: Path, policies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process keeps working while a later version migrates the schema, and beside a process of that version."""
    url = postgres.fresh()
    location = Location(data=tmp_path / "data", database_url=url)
    steps = statements.migrations
    with running(location, policies) as old:
        first = work(old, "Before the migration.")
        later = (LATER, widening(url))
        with monkeypatch.context() as newer:
            newer.setattr(postgres_schema, "migrations", lambda engine: [*steps(engine), later])
            assert migrate(url) == [LATER]
            second = work(old, "After the migration, by the old version.")
            with running(location, policies) as new:
                third = work(new, "By the new version.")
                for service in (old, new):
                    for body in (first, second, third):
                        replayed = service.submit(body)
                        assert (replayed.status_code, replayed.json()["duplicate"]) == (201, True)
                    assert len(service.recall()) == 3
                waiting = old.submit(event("Waits at both.")).json()["proposal_id"]
                assert new.sign_in("eve").decide(waiting, "reject", reason_code="wrong").status_code == 303
                assert old.sign_in("eve").decide(waiting, "undo").status_code == 303
            assert len(old.recall()) == 3
            assert app.examine(location) == []
        with pytest.raises(StoreError, match="another version"):
            PostgresStore(url)
        fourth = work(old, "Until it ends.")
        assert old.submit(fourth).json()["duplicate"] is True
    postgres.drop(url)
