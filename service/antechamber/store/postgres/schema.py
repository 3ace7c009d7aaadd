"""The schema in a PostgreSQL database: only `antechamber migrate` changes it, every process verifies it."""

from typing import Final

import psycopg
from psycopg import errors

from antechamber.store.errors import OLDER_SCHEMA, OTHER_SCHEMA, UNFINISHED, StoreError
from antechamber.store.postgres.connection import NO_ROLE
from antechamber.store.postgres.statements import single
from antechamber.store.statements import migrations

EMPTY: Final = "the database holds nothing of Antechamber yet; run: antechamber migrate"
MARKER: Final = "antechamber_restoring"
"""Schema that marks a database into which a backup is being restored."""
_LOCK: Final = 0x616E7465
"""Key of the advisory lock of a migration ("ante" in ASCII)."""


def migrate(url: str) -> list[str]:
    """Create or upgrade the schema and the roles, and return the names of the applied steps.

    Concurrent migrations run one after another. Raises StoreError; then nothing is changed.
    """
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            return _migrate(connection)
    except errors.InsufficientPrivilege as error:
        message = f"this database user may not do that: {error.diag.message_primary}; migrate as the database's owner"
        raise StoreError(message) from error
    except psycopg.Error as error:
        message = f"the database cannot be migrated: {error}"
        raise StoreError(message) from error


def _migrate(connection: psycopg.Connection) -> list[str]:
    encoding = connection.execute("SHOW server_encoding").fetchone()
    if encoding != ("UTF8",):
        message = f"the database's encoding is {encoding and encoding[0]}; create it with: ENCODING 'UTF8'"
        raise StoreError(message)
    connection.execute("CREATE SCHEMA IF NOT EXISTS antechamber")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS antechamber.steps (name TEXT PRIMARY KEY, applied_at TIMESTAMPTZ DEFAULT now())"
    )
    applied = _applied(connection)
    steps = migrations("postgres")
    if applied - {name for name, _ in steps}:
        raise StoreError(OTHER_SCHEMA)
    pending = [(name, sql) for name, sql in steps if name not in applied]
    connection.execute("SET LOCAL search_path = antechamber")
    for name, sql in pending:
        connection.execute(sql)
        connection.execute("INSERT INTO antechamber.steps (name) VALUES (%s)", [name])
    connection.execute(
        "GRANT SELECT ON ALL TABLES IN SCHEMA antechamber TO antechamber_admission, antechamber_promotion"
    )
    return [name for name, _ in pending]


def pending_steps(url: str) -> list[str]:
    """Return the steps that a migration of this database would take; the database is only read.

    Raises StoreError for a schema of another version, or if the database cannot be read.
    """
    steps = [name for name, _ in migrations("postgres")]
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            applied = _applied(connection)
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return steps
    except psycopg.Error as error:
        message = f"the database cannot be read: {str(error).strip()}"
        raise StoreError(message) from error
    if applied - set(steps):
        raise StoreError(OTHER_SCHEMA)
    return [name for name in steps if name not in applied]


def make_roles(connection: psycopg.Connection) -> None:
    """Make the two roles, which a dump of a database does not hold, unless the server has them."""
    first_step = migrations("postgres")[0][1]
    # Its first statement makes the roles.
    connection.execute(first_step[: first_step.index("\n$$;") + 4])


def _applied(connection: psycopg.Connection) -> set[str]:
    return {str(row[0]) for row in connection.execute(single("applied_steps"))}


def _act_as_roles(connection: psycopg.Connection) -> None:
    """Take both roles in turn, as every decision does.

    Raises StoreError if a role is missing or not granted.
    """
    try:
        connection.execute("SET ROLE antechamber_promotion")
        connection.execute("SET ROLE antechamber_admission")
    except errors.InsufficientPrivilege as error:
        raise StoreError(NO_ROLE) from error
    except errors.InvalidParameterValue as error:
        raise StoreError(EMPTY) from error


def verify(url: str, *, restoring: bool = False) -> None:
    """Check that the schema is this version's and that the server keeps what it commits.

    Only with `restoring` may a restore into the database be unfinished.

    Raises StoreError, whose text states what to do.
    """
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            _act_as_roles(connection)
            applied = _applied(connection)
            fsync = connection.execute("SHOW fsync").fetchone()
            unfinished = connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", [MARKER]).fetchone() == (True,)
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise StoreError(EMPTY) from error
    except psycopg.Error as error:
        message = f"the database cannot be opened: {str(error).strip()}"
        raise StoreError(message) from error
    if unfinished and not restoring:
        raise StoreError(UNFINISHED)
    wanted = {name for name, _ in migrations("postgres")}
    if applied - wanted:
        raise StoreError(OTHER_SCHEMA)
    if wanted - applied:
        raise StoreError(OLDER_SCHEMA if applied else EMPTY)
    if fsync == ("off",):
        message = "the server runs with fsync = off and would lose answers in a power cut; switch it on"
        raise StoreError(message)
