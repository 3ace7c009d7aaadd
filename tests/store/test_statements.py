"""The statements: one set for both engines, few said differently, each understood by its engine and used."""

import re
from pathlib import Path

import pytest

from antechamber.core.ports.store import Store
from antechamber.settings import Location
from antechamber.store import group_commit
from antechamber.store.postgres.rows import all_at_once, single
from antechamber.store.sqlite.rows import all_at_once as sqlite_all_at_once
from antechamber.store.sqlite.rows import for_each
from antechamber.store.statements import overrides, parse, statements
from support import database

STORE = Path(group_commit.__file__).parent
DIFFERENT = {
    "hold_producer": "SQLite has only one",
    "hold_proposal": "SQLite has only one writer",
    "hold_memory": "SQLite has only one writer",
    "hold_quarantine": "SQLite has only one writer",
    "add_leaf": "costs no round trip",
    "index_memory": "tsvector here and FTS5 there",
    "hold_policy": "SQLite has only one writer",
    "hold_sessions": "for who ends sessions",
    "share_sessions": "SQLite has only one writer",
    "hold_failures": "SQLite has only one writer",
    "forget_words": "tsvector here and FTS5 there",
    "tidy_words": "leaves that to VACUUM",
    "memories_of_scope_matching": "tsvector here and FTS5 there",
    "all_memories_matching": "tsvector here and FTS5 there",
}
"""What PostgreSQL says differently, and a part of the reason that stands beside it."""
ONLY_HERE = {
    "take_submissions": "several writers share one table",
    "register_writer": "a connection be lost at COMMIT",
    "mark_commit": "as register_writer",
    "settle_commit": "as register_writer",
    "forget_writers": "as register_writer",
    "lock_log": "whoever appends has to know its end",
    "announce": "by NOTIFY",
    "applied_steps": "sqlite-utils keeps this list",
    "guards_switched_off": "switch triggers off",
}
"""What only PostgreSQL needs to be told."""
COMPOSED = {"take_submissions"}
"""Statements whose name the code puts together."""


def called(engine: str) -> set[str]:
    """Return the statements that the store's code names, in the shared rooms or in the engine's own."""
    code = "".join(file.read_text() for folder in (STORE, STORE / engine) for file in folder.glob("*.py"))
    return {name for name in statements(engine) if f'"{name}"' in code or name in COMPOSED}


def test_few_statements_are_said_differently_and_each_says_why() -> None:
    """SQLite uses the shared ones as they are and two more; each that is an engine's own begins with its reason."""
    assert set(overrides("sqlite")) == {"last_submission"}
    assert all(text.startswith("-- Why: the only writer") for text in overrides("sqlite").values())
    told = overrides("postgres")
    shared = statements("sqlite")
    assert {name for name in told if name in shared} == set(DIFFERENT)
    assert {name for name in told if name not in shared} == set(ONLY_HERE)
    for name, reason in (DIFFERENT | ONLY_HERE).items():
        assert told[name].startswith("-- Why: ")
        assert reason in told[name].partition("\n")[0]


def test_every_statement_is_used() -> None:
    """No statement lies about."""
    for engine in ("sqlite", "postgres"):
        assert called(engine) == set(statements(engine))


@pytest.mark.usefixtures("store")
def test_every_statement_is_understood(location: Location) -> None:
    """Each engine plans each of its statements on its schema."""
    sqlite = location.database_url is None
    with database(location) as raw:
        for name, sql in statements("sqlite" if sqlite else "postgres").items():
            values = dict.fromkeys(re.findall(r"(?<![:\w]):(\w+)", sql))
            assert raw.execute(f"EXPLAIN {sql if sqlite else single(name)}", values).fetchone(), name


def test_rows_are_added_at_once_only_where_nothing_is_computed(store: Store) -> None:
    """A statement that does more than to insert its values is not taken for one."""
    del store
    assert "json_populate_recordset(NULL::submissions" in all_at_once("add_submission")
    for name in ("add_memory", "add_producer_replays", "proposal"):
        with pytest.raises(ValueError, match="cannot be written for all rows at once"):
            all_at_once(name)


def test_sqlite_asks_and_writes_many_at_once_only_where_that_is_the_same() -> None:
    """A join is asked for many sets of values in one statement; what counts or computes is not."""
    assert "item.given_producer" in for_each("known_submission", ("producer", "idempotency_key"), 3)
    with pytest.raises(ValueError, match="cannot be asked for many at once"):
        for_each("count_waiting", ("producer",), 2)
    insert, values = sqlite_all_at_once("add_evidence", 2)
    assert "VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?))" in insert
    assert values({"received_at": 5, "proposal": 1, "owner": 4, "producer": 3, "submission": 2}) == (1, 2, 3, 4, 5)
    with pytest.raises(ValueError, match="cannot be written for all rows at once"):
        sqlite_all_at_once("add_producer_replays", 2)


def test_two_statements_of_one_name_are_refused() -> None:
    """A name stands for one statement."""
    with pytest.raises(ValueError, match="share a name"):
        parse("-- name: a\nSELECT 1\n\n-- name: a\nSELECT 2\n")


def test_an_engine_stays_small() -> None:
    """What belongs to one engine alone fits into files of at most 250 lines."""
    for engine in ("sqlite", "postgres"):
        lengths = {file.name: len(file.read_text().splitlines()) for file in (STORE / engine).glob("*.py")}
        assert len(lengths) > 3
        assert max(lengths.values()) <= 250, lengths
