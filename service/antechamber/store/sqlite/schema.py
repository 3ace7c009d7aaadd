"""The schema of a SQLite file, managed by the migrations of sqlite-utils."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from antechamber.store.errors import OLDER_SCHEMA, OTHER_SCHEMA, StoreError
from antechamber.store.statements import migrations

if TYPE_CHECKING:
    from sqlite_utils import Database


def migrate(connection: sqlite3.Connection, *, upgrade: bool) -> list[str]:
    """Create the schema, or with `upgrade` update an older one; return the names of the applied steps.

    Raises StoreError for a schema of another version.
    """
    applied = _applied(connection)
    pending = _pending(applied)
    if not pending:
        return []
    if applied and not upgrade:
        raise StoreError(OLDER_SCHEMA)
    _apply(connection)
    return pending


def _apply(connection: sqlite3.Connection) -> None:
    """Apply the steps that are pending."""
    from sqlite_utils import Database, Migrations  # noqa: PLC0415 -- slow to import, and most starts apply no step

    plan = Migrations("antechamber")
    for name, sql in migrations("sqlite"):
        plan(name=name)(_step(sql))
    connection.row_factory = None
    # Lock first: of two processes that open a new folder at once, the later one must find nothing to do.
    connection.execute("BEGIN IMMEDIATE")
    plan.apply(Database(connection, execute_plugins=False))
    connection.execute("COMMIT")
    connection.row_factory = sqlite3.Row


def pending_steps(path: Path) -> list[str]:
    """Return the steps that a migration of this file would take; the file is only read, and need not exist.

    Raises StoreError for a schema of another version, or if the file cannot be read.
    """
    if not path.exists():
        return _pending(set())
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            applied = _applied(connection)
    except sqlite3.Error as error:
        message = f"{path} cannot be read: {error}"
        raise StoreError(message) from error
    return _pending(applied)


def _applied(connection: sqlite3.Connection) -> set[str]:
    """Return the names of the steps that were applied to a file, as sqlite-utils notes them."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone() is None:
        return set()
    steps = connection.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = 'antechamber'")
    return {row[0] for row in steps}


def _pending(applied: set[str]) -> list[str]:
    """Return the names of the steps that are not applied.

    Raises StoreError for a schema of another version.
    """
    steps = [name for name, _ in migrations("sqlite")]
    if applied - set(steps):
        raise StoreError(OTHER_SCHEMA)
    return [name for name in steps if name not in applied]


def _step(sql: str) -> "Callable[[Database], None]":
    def apply(database: "Database") -> None:
        for statement in split_script(sql):
            database.execute(statement)

    return apply


def split_script(sql: str) -> Iterator[str]:
    """Yield the statements of a script one by one: executescript would commit the migration's transaction first."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(statement):
            yield statement
            statement = ""
