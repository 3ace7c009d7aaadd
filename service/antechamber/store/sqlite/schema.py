"""The schema of a SQLite file, managed by the migrations of sqlite-utils."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlite_utils import Database, Migrations

from antechamber.store.errors import OLDER_SCHEMA, OTHER_SCHEMA, StoreError
from antechamber.store.statements import migrations


def migrate(connection: sqlite3.Connection, *, upgrade: bool) -> list[str]:
    """Create the schema, or with `upgrade` update an older one; return the names of the applied steps.

    Raises StoreError for a schema of another version.
    """
    steps = migrations("sqlite")
    plan = Migrations("antechamber")
    for name, sql in steps:
        plan(name=name)(_step(sql))
    database = Database(connection, execute_plugins=False)
    applied = {step.name for step in plan.applied(database)}
    if applied - {name for name, _ in steps}:
        raise StoreError(OTHER_SCHEMA)
    pending = [step.name for step in plan.pending(database)]
    if not pending:
        return []
    if applied and not upgrade:
        raise StoreError(OLDER_SCHEMA)
    connection.row_factory = None
    # Lock first: of two processes that open a new folder at once, the later one must find nothing to do.
    connection.execute("BEGIN IMMEDIATE")
    plan.apply(database)
    connection.execute("COMMIT")
    connection.row_factory = sqlite3.Row
    return pending


def pending_steps(path: Path) -> list[str]:
    """Return the steps that a migration of this file would take; the file is only read, and need not exist.

    Raises StoreError for a schema of another version, or if the file cannot be read.
    """
    steps = [name for name, _ in migrations("sqlite")]
    if not path.exists():
        return steps
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            has_steps = connection.execute("SELECT 1 FROM sqlite_master WHERE name = '_sqlite_migrations'").fetchone()
            rows = (
                connection.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = 'antechamber'").fetchall()
                if has_steps
                else []
            )
    except sqlite3.Error as error:
        message = f"{path} cannot be read: {error}"
        raise StoreError(message) from error
    applied = {name for (name,) in rows}
    if applied - set(steps):
        raise StoreError(OTHER_SCHEMA)
    return [name for name in steps if name not in applied]


def _step(sql: str) -> Callable[[Database], None]:
    def apply(database: Database) -> None:
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
