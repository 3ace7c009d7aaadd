"""The schema of a SQLite file, managed by the migrations of sqlite-utils."""

import sqlite3
from collections.abc import Callable, Iterator

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
