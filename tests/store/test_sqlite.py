"""Behavior specific to SQLite: settings, schema steps, statements, a full disk, a damaged file."""

import re
import sqlite3
import threading
from pathlib import Path

import pytest

from antechamber.core.errors import UnavailableError
from antechamber.store import group_commit as admission_queue
from antechamber.store.errors import StoreError
from antechamber.store.sqlite import schema
from antechamber.store.sqlite.schema import split_script
from antechamber.store.sqlite.store import CHECKPOINT_PAGES, SqliteStore
from antechamber.store.statements import migrations

STORE = Path(admission_queue.__file__).parent


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a store."""
    return tmp_path / "store.db"


def test_the_writer_is_durable_and_strict(path: Path) -> None:
    """WAL with full synchronization, foreign keys, secure delete and an untrusted schema are in force."""
    store = SqliteStore(path)
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "trusted_schema": 0}
    found = {name: store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}
    assert found == wanted
    with store.read() as tx:
        assert tx.sql._connection.execute("PRAGMA query_only").fetchone()[0] == 1
        assert tx.sql._connection.execute("PRAGMA trusted_schema").fetchone()[0] == 0
    store.close()


def test_only_a_server_checkpoints_by_itself(path: Path) -> None:
    """The command line leaves WAL checkpoints to the server."""
    store = SqliteStore(path, exclusive_checkpoints=False)
    assert store._connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0] == 0
    store.close()


def test_a_server_checkpoints_after_thousands_of_pages(path: Path) -> None:
    """A server moves the write-ahead log into the file rarely, because a page that changes again is moved once."""
    store = SqliteStore(path)
    assert store._connection.execute("PRAGMA wal_autocheckpoint").fetchone()[0] == CHECKPOINT_PAGES
    store.close()


def test_the_schema_is_made_once(path: Path) -> None:
    """Opening a store a second time finds every schema step applied."""
    for _ in range(2):
        SqliteStore(path).close()
    with sqlite3.connect(path) as raw:
        names = [row[0] for row in raw.execute("SELECT name FROM _sqlite_migrations")]
    raw.close()
    assert names == [name for name, _ in migrations("sqlite")]


def test_a_newer_schema_is_refused_with_a_remedy(path: Path) -> None:
    """A newer schema is refused with a remedy and is not changed."""
    SqliteStore(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('antechamber', '9999', '')"
        )
    raw.close()
    with pytest.raises(StoreError, match="another version"):
        SqliteStore(path)


def test_an_older_schema_is_refused_until_it_is_migrated(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that lacks a step is changed only by a migration, which applies just that step."""
    SqliteStore(path).close()
    step = ("0002_more-1", "CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT;\n")
    monkeypatch.setattr(schema, "migrations", lambda engine: [*migrations(engine), step])
    with pytest.raises(StoreError, match="run: antechamber migrate"):
        SqliteStore(path)
    for taken in (["0002_more-1"], []):
        store = SqliteStore(path, upgrade=True)
        assert store.upgraded == taken
        store.close()
    SqliteStore(path).close()


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    """A file that is not a database is named in the error and left unchanged."""
    path.write_bytes(b"no database " * 100)
    with pytest.raises(StoreError, match=re.escape(str(path))):
        SqliteStore(path)
    assert path.read_bytes().startswith(b"no database")


def test_further_readers_open_the_same_file_or_none(path: Path) -> None:
    """Readers at the same time have a connection each; after the file was replaced no further one is opened."""
    store = SqliteStore(path)
    store.write(lambda tx: tx.reports.set_meta("test", "kept")).result()
    with store.read() as one, store.read() as other:
        assert [tx.reports.meta("test") for tx in (one, other)] == ["kept", "kept"]
    with store.read(), store.read():
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
        copy.replace(path)
        with pytest.raises(UnavailableError, match="another file"), store.read():
            pass
    store.close()


def test_a_full_disk_is_unavailable_and_then_well_again(path: Path) -> None:
    """On a full disk nothing is half-written, and the next write succeeds without a restart."""
    store = SqliteStore(path)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UnavailableError):
        store.write(lambda tx: [tx.reports.set_meta(f"name-{n}", "x" * 4000) for n in range(100)]).result()
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.write(lambda tx: tx.reports.set_meta("name", "value")).result()
    with store.read() as tx:
        assert (tx.reports.meta("name"), tx.reports.meta("name-0")) == ("value", None)
        assert list(tx.sql.check_files()) == []
    store.close()


def test_too_much_waiting_work_is_refused_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the work queue is full, further work is refused at once instead of waiting."""
    monkeypatch.setattr(admission_queue, "MAX_WAITING", 0)
    store = SqliteStore(path)
    with pytest.raises(UnavailableError):
        store.write(lambda tx: tx.reports.meta("name"))
    store.close()


def test_too_many_waiting_bytes_are_refused_at_once_and_taken_when_there_is_room(path: Path) -> None:
    """While large items wait behind a slow transaction, further ones are refused; afterwards they are accepted."""
    store, gate = SqliteStore(path), threading.Event()
    held = store.write(lambda _: gate.wait(20))
    large = store.gather(lambda items, _: items, ["large"], admission_queue.MAX_BYTES)
    with pytest.raises(UnavailableError, match="too much is waiting"):
        store.gather(lambda items, _: items, ["one more"], 1)
    gate.set()
    assert (held.result(), large.result()) == (True, ["large"])
    assert store.gather(lambda items, _: items, ["one more"], 1).result() == ["one more"]
    store.close()


def test_much_waiting_work_takes_several_transactions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Much waiting work is divided into several transactions of limited size, and none is lost."""
    monkeypatch.setattr(admission_queue, "MAX_TOGETHER", 2)
    store = SqliteStore(path)
    futures = [store.write(lambda tx, n=n: tx.reports.set_meta(str(n), "kept")) for n in range(9)]
    for future in futures:
        future.result()
    with store.read() as tx:
        assert all(tx.reports.meta(str(n)) == "kept" for n in range(9))
    store.close()


def test_a_mistake_of_ours_is_not_called_unavailable(path: Path) -> None:
    """A violated constraint raises for its own caller and not as unavailability, and the writer continues."""
    store = SqliteStore(path)
    with pytest.raises(sqlite3.IntegrityError):
        store.write(lambda tx: tx.access.add_session("digest", 999, 1)).result()
    store.write(lambda tx: tx.reports.set_meta("name", "value")).result()
    store.close()


def test_damage_is_found(path: Path) -> None:
    """A proposal that does not match its hash and a memory without its approvals are named."""
    store = SqliteStore(path)
    store.write(lambda tx: tx.admission._known_or_new({"worker:a": 0})).result()
    raw = store._connection
    raw.execute(
        "INSERT INTO proposals (proposal_id, producer, owner, submission_scope, scope_id, source_event_hash, payload, "
        "source_span, received_at, state) "
        "VALUES ('p', 1, 'ada', 'project', 'apollo', x'00', '{}', '{}', 1, 'approved')"
    )
    for name in ("memories_need_their_approvals", "memories_match_their_proposal"):
        raw.execute(f"DROP TRIGGER {name}")
    raw.execute("PRAGMA foreign_keys = OFF")
    raw.execute(
        "INSERT INTO memories (memory_id, proposal, version, review_record, payload, text_hash, submission_scope, "
        "scope_id, source_span, admitted_at) VALUES ('m', 1, 1, 9, '{}', 'blake3:0', 'project', 'apollo', '{}', 1)"
    )
    with store.read() as tx:
        found = "\n".join(tx.doctor.check())
    for part in ("proposal p differs", "memory m differs", "memory m lacks", "foreign_key_check: memories"):
        assert part in found
    store.close()


def test_a_script_is_split_where_its_statements_end() -> None:
    """A script is split at the ends of its statements, and triggers that contain statements stay whole."""
    script = "CREATE TABLE a (b);\n\nCREATE TRIGGER t BEFORE DELETE ON a\nBEGIN SELECT 1; END;\n-- the end\n"
    assert [statement.split()[1] for statement in split_script(script)] == ["TABLE", "TRIGGER"]
