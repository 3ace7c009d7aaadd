"""Import of a SQLite file: copies all its rows into an empty PostgreSQL database in one transaction."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import psycopg
from psycopg.rows import dict_row

from antechamber.background import Work
from antechamber.core.review.decision import ERASED
from antechamber.core.search_terms import words_of
from antechamber.store.errors import MOVED, StoreError
from antechamber.store.postgres.connection import Watchdog, WatchedConnection
from antechamber.store.postgres.statements import PostgresStatements, single
from antechamber.store.sqlite.packed_leaf import unpack
from antechamber.store.transaction import Transaction

T = TypeVar("T")
TABLES: Final = (
    "meta",
    "producers",
    "policies",
    "folds",
    "proposals",
    "submissions",
    "evidence",
    "quarantine",
    "sealed_events",
    "log_leaves",
    "log_keys",
    "checkpoints",
    "log_nodes",
    "policy_changes",
    "direct_writes",
    "exports",
    "retention_runs",
    "erasures",
    "replays",
    "tally",
    "daily_counts",
    "daily_attempts",
    "users",
    "password_changes",
    "role_changes",
    "identities",
    "review_records",
    "notes",
    "open_questions",
    "attention",
    "reveals",
    "memories",
    "memory_changes",
    "review_dates",
    "upkeep",
    "memory_reads",
    "change_feed",
    "search_scopes",
    "search_terms",
    "search_postings",
    "search_words",
    "tokens",
    "links",
    "sessions",
    "finished_sign_ins",
    "sign_in_failures",
    "webhooks",
    "webhook_replays",
    "raised_alarms",
    "blind_items",
    "blind_decisions",
    "screen_times",
)
"""Tables in an order in which every row finds the rows that it refers to, except for the memories that proposals and
records name. Claims are not copied: they last five minutes."""
_GUARDED: Final = (
    "review_records",
    "memories",
    "memory_changes",
    "sealed_events",
    "reveals",
    "notes",
    "review_dates",
    "blind_items",
    "blind_decisions",
    "role_changes",
)
"""Their triggers check what may be decided now; the check at the end verifies what was valid at the time."""


def move(file: Path, url: str, report: Callable[[str, int], None]) -> None:
    """Copy every row, check the copy, and mark the file as moved; `report` gets each table's name and number of rows.

    The file is locked against writers meanwhile. Raises StoreError if the database is not empty or the copy fails its
    check; then nothing is changed.
    """
    source = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=2)
    watchdog = Watchdog(Work("ending overdue database operations"))
    try:
        source.execute("BEGIN IMMEDIATE")
        with psycopg.connect(url, row_factory=dict_row, connect_timeout=5) as target:
            _move(source, Transaction(PostgresStatements(WatchedConnection(target, watchdog))), target, report)
        source.execute("INSERT INTO meta (name, value) VALUES (?, 'true')", [MOVED])
        source.execute("COMMIT")
    except (sqlite3.Error, psycopg.Error) as error:
        message = f"the data could not be moved: {str(error).strip()}"
        raise StoreError(message) from error
    finally:
        watchdog.close()
        source.close()


def _move(
    source: sqlite3.Connection,
    tx: Transaction,
    target: psycopg.Connection[dict[str, object]],
    report: Callable[[str, int], None],
) -> None:
    target.execute("SET LOCAL search_path = antechamber, pg_temp")
    target.execute("LOCK TABLE producers, users, tokens IN EXCLUSIVE MODE")
    if target.execute(
        "SELECT 1 FROM producers UNION ALL SELECT 1 FROM users UNION ALL SELECT 1 FROM tokens"
    ).fetchone():
        message = "the database holds data already; move into an empty one"
        raise StoreError(message)
    target.execute("SET CONSTRAINTS ALL DEFERRED")
    for table in _GUARDED:
        target.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    for table in TABLES:
        report(table, _copy(source, target, table))
    for row in target.execute("SELECT id, payload FROM memories WHERE payload <> %s ORDER BY id", [ERASED]).fetchall():
        words = " ".join(words_of(msgspec.json.decode(str(row["payload"]))["content"]))
        target.execute(single("index_memory"), {"memory": row["id"], "words": words})
    # Deferred constraints are checked before the tables may be altered again.
    target.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for table in _GUARDED:
        target.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    if broken := list(tx.doctor.check()):
        message = "the file does not hold what it should, so it was not moved: " + "; ".join(broken[:5])
        raise StoreError(message)


def _copy(source: sqlite3.Connection, target: psycopg.Connection[dict[str, object]], table: str) -> int:
    """Copy one table with its integer keys, advance its sequence behind them, and return the number of rows."""
    names = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
    columns = ", ".join(f'"{name}"' for name in names)
    leaf = names.index("leaf") if table == "log_leaves" else None
    number = 0
    with target.cursor().copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in source.execute(f"SELECT {columns} FROM {table}"):  # noqa: S608 -- names of our own schema
            copy.write_row(row if leaf is None else [*row[:leaf], unpack(row[leaf]), *row[leaf + 1 :]])
            number += 1
    if number and "id" in names:
        target.execute(f"SELECT setval(pg_get_serial_sequence('antechamber.{table}', 'id'), max(id)) FROM {table}")  # noqa: S608
    return number
