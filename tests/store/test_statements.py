"""SQL statements: shared by both engines with few exceptions, valid on their engine, and used."""

import re
from pathlib import Path

import pytest

from antechamber.core.ports.store import Store
from antechamber.settings import Location
from antechamber.store import group_commit
from antechamber.store.postgres.statements import all_at_once, single
from antechamber.store.sqlite.statements import all_at_once as sqlite_all_at_once
from antechamber.store.sqlite.statements import for_each
from antechamber.store.statements import overrides, parse, statements
from support import database

STORE = Path(group_commit.__file__).parent
DIFFERENT = {
    "hold_producer": "SQLite has only one",
    "hold_proposal": "SQLite has only one writer",
    "hold_memory": "SQLite has only one writer",
    "hold_quarantine": "SQLite has only one writer",
    "append_leaf": "several writers share one log",
    "index_memory": "tsvector here and FTS5 there",
    "hold_policy": "SQLite has only one writer",
    "hold_sessions": "for who ends sessions",
    "share_sessions": "SQLite has only one writer",
    "hold_failures": "SQLite has only one writer",
    "hold_alarms": "SQLite has only one",
    "forget_words": "tsvector here and FTS5 there",
    "tidy_words": "leaves that to VACUUM",
    "wanted_terms": "functions of its own",
    "records_of_memories": "as in wanted_terms",
    "listed_proposals": "as in wanted_terms",
    "all_memories_matching": "tsvector here and FTS5 there",
    "give_up_promotion": "SQLite has no roles",
}
"""Statements that PostgreSQL overrides, and a part of the reason in their comment."""
ONLY_HERE = {
    "take_submissions": "several writers share one table",
    "register_writer": "a connection be lost at COMMIT",
    "mark_commit": "as register_writer",
    "resolve_commit": "as register_writer",
    "forget_writers": "as register_writer",
    "announce": "by NOTIFY",
    "applied_steps": "sqlite-utils keeps this list",
    "guards_switched_off": "switch triggers off",
    "guards_in_force": "each object has its text in sqlite_schema",
    "database_size": "SQLite's files are in the data folder",
    "committed_position": "only here there are standbys",
    "has_replayed": "as committed_position",
    "replay_lag": "as committed_position",
    "database_identity": "as committed_position",
    "serving_process": "a pooler may be between",
    "durability_settings": "SQLite's are set by each connection",
}
"""Statements that exist only on PostgreSQL, and a part of the reason in their comment."""
COMPOSED = {
    "take_submissions",
    "uncount_search_term",
    "uncount_search_word",
    "forget_search_term",
    "forget_search_word",
}
"""Statements whose names the code composes."""


def called(engine: str) -> set[str]:
    """Return the statement names in the store's code, shared or specific to an engine, or in other statements."""
    code = "".join(file.read_text() for folder in (STORE, STORE / engine) for file in folder.glob("*.py"))
    included = set(re.findall("-- include: (.*)", "".join(file.read_text() for file in STORE.glob("sql/**/*.sql"))))
    return {name for name in statements(engine) if f'"{name}"' in code or name in COMPOSED | included}


def test_few_statements_are_said_differently_and_each_says_why() -> None:
    """SQLite overrides one shared statement and PostgreSQL a few; each override begins with its reason."""
    assert set(overrides("sqlite")) == {"last_submission", "mark_old_pages", "unmark_old_pages"}
    assert all(
        text.startswith(("-- Why: the only writer", "-- Why: only here")) for text in overrides("sqlite").values()
    )
    told = overrides("postgres")
    shared = statements("sqlite")
    assert {name for name in told if name in shared} == set(DIFFERENT)
    assert {name for name in told if name not in shared} == set(ONLY_HERE)
    for name, reason in (DIFFERENT | ONLY_HERE).items():
        assert told[name].startswith("-- Why: ")
        assert reason in told[name].partition("\n")[0]


def test_every_statement_is_used() -> None:
    """Every statement is used by the code."""
    for engine in ("sqlite", "postgres"):
        assert called(engine) == set(statements(engine))


@pytest.mark.usefixtures("store")
def test_every_statement_is_understood(location: Location) -> None:
    """Each engine can plan each of its statements on its schema."""
    sqlite = location.database_url is None
    with database(location) as raw:
        for name, sql in statements("sqlite" if sqlite else "postgres").items():
            values = dict.fromkeys(re.findall(r"(?<![:\w]):(\w+)", sql))
            assert raw.execute(f"EXPLAIN {sql if sqlite else single(name)}", values).fetchone(), name


def test_rows_are_added_at_once_only_where_nothing_is_computed(store: Store) -> None:
    """Only an INSERT that does nothing but insert its values is batched as one."""
    del store
    assert "json_populate_recordset(NULL::submissions" in all_at_once("add_submission")
    for name in ("add_memory", "add_producer_replays", "proposal"):
        with pytest.raises(ValueError, match="cannot be written for all rows at once"):
            all_at_once(name)


def test_sqlite_asks_and_writes_many_at_once_only_where_that_is_the_same() -> None:
    """SQLite batches plain joins and inserts only; a statement that counts or computes is refused."""
    assert "item.given_producer" in for_each("known_submission", ("producer", "idempotency_key"), 3)
    with pytest.raises(ValueError, match="cannot be asked for many at once"):
        for_each("count_waiting", ("producer",), 2)
    insert, values = sqlite_all_at_once("add_evidence", 2)
    assert "VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?))" in insert
    assert values({"received_at": 5, "proposal": 1, "owner": 4, "producer": 3, "submission": 2}) == (1, 2, 3, 4, 5)
    with pytest.raises(ValueError, match="cannot be written for all rows at once"):
        sqlite_all_at_once("add_producer_replays", 2)


def test_two_statements_of_one_name_are_refused() -> None:
    """Two statements of one name are refused."""
    with pytest.raises(ValueError, match="share a name"):
        parse("-- name: a\nSELECT 1\n\n-- name: a\nSELECT 2\n")


def test_an_engine_stays_small() -> None:
    """The modules of one engine have at most 250 lines each."""
    for engine in ("sqlite", "postgres"):
        lengths = {file.name: len(file.read_text().splitlines()) for file in (STORE / engine).glob("*.py")}
        assert len(lengths) > 3
        assert max(lengths.values()) <= 250, lengths
