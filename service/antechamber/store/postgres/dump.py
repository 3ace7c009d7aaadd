"""A dump of the PostgreSQL schema as it is at one moment, made and loaded by PostgreSQL's own programs."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from antechamber.background import Work
from antechamber.store.errors import StoreError
from antechamber.store.postgres.connection import Watchdog, WatchedConnection
from antechamber.store.postgres.schema import MARKER, make_roles
from antechamber.store.postgres.statements import PostgresStatements
from antechamber.store.transaction import Transaction

_PIECE: Final = 1 << 20
_LAST_LINES: Final = 3


@contextlib.contextmanager
def dumped(url: str, folder: Path, progress: Callable[[int, int], None]) -> Iterator[tuple[Transaction, BinaryIO]]:
    """Yield a snapshot and an open file with a dump (pg_dump, custom format) of exactly that snapshot.

    The file has no name in `folder`. `progress` gets the bytes that are written, and 0 as the unknown total.

    Raises StoreError if pg_dump is missing or fails, or the database cannot be read.
    """
    program = _program("pg_dump")
    watchdog = Watchdog(Work("ending overdue database operations"))
    try:
        with (
            psycopg.connect(url, row_factory=dict_row, connect_timeout=5, client_encoding="utf8") as connection,
            tempfile.TemporaryFile(dir=folder) as file,
        ):
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            connection.execute("SET search_path = antechamber")
            row = connection.execute("SELECT pg_export_snapshot() AS snapshot").fetchone()
            wanted = ["--format=custom", "--schema=antechamber", "--no-owner", f"--snapshot={row and row['snapshot']}"]
            _dump([program, *wanted], url, file, progress)
            file.seek(0)
            yield Transaction(PostgresStatements(WatchedConnection(connection, watchdog))), file
    except (psycopg.Error, OSError) as error:
        message = f"the database cannot be copied: {str(error).strip()}"
        raise StoreError(message) from error
    finally:
        watchdog.close()


def _dump(command: list[str], url: str, file: BinaryIO, progress: Callable[[int, int], None]) -> None:
    address, environment = _address(url)
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(  # noqa: S603 -- PostgreSQL's own program, with an address of the operator
            [*command, f"--dbname={address}"], stdout=subprocess.PIPE, stderr=errors, env=environment
        ) as process:
            done = 0
            while process.stdout is not None and (piece := process.stdout.read(_PIECE)):
                file.write(piece)
                done += len(piece)
                progress(done, 0)
        _check(process.returncode, command[0], errors)


def load(url: str, dump: Path) -> None:
    """Load a dump into a database without our schema, or with the rest of a load that was broken off.

    From the first step on the database is marked, so that no process serves it; `finish` removes the mark.

    Raises StoreError if the database holds data, or pg_restore is missing or fails.
    """
    program = _program("pg_restore")
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            begun = connection.execute("SELECT to_regnamespace(%s) IS NOT NULL", [MARKER]).fetchone() == (True,)
            if begun:
                connection.execute("DROP SCHEMA IF EXISTS antechamber CASCADE")
            elif connection.execute("SELECT to_regnamespace('antechamber') IS NOT NULL").fetchone() == (True,):
                message = "the database holds data of Antechamber already; restore into an empty one"
                raise StoreError(message)
            make_roles(connection)
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {MARKER}")
    except psycopg.Error as error:
        message = f"the database cannot be prepared: {str(error).strip()}"
        raise StoreError(message) from error
    address, environment = _address(url)
    wanted = ["--exit-on-error", "--single-transaction", "--no-owner", f"--dbname={address}", str(dump)]
    try:
        _call([program, *wanted], environment)
    except BaseException:
        discard(url)
        raise


def _call(command: list[str], environment: dict[str, str] | None = None) -> None:
    with tempfile.TemporaryFile() as errors:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment, check=False)  # noqa: S603 -- PostgreSQL's own program, with an address of the operator
        _check(done.returncode, command[0], errors)


def finish(url: str) -> None:
    """Remove the mark of a database that `load` filled.

    Raises StoreError.
    """
    _run(url, f"DROP SCHEMA IF EXISTS {MARKER}")


def discard(url: str) -> None:
    """Remove what `load` put into a database, and its mark.

    Raises StoreError.
    """
    _run(url, f"DROP SCHEMA IF EXISTS {MARKER}", "DROP SCHEMA IF EXISTS antechamber CASCADE")


def _run(url: str, *commands: str) -> None:
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            for command in commands:
                connection.execute(command)
    except psycopg.Error as error:
        message = f"the database cannot be changed: {str(error).strip()}"
        raise StoreError(message) from error


def _program(name: str) -> str:
    """Return the path of one of PostgreSQL's programs.

    Raises StoreError if it is not installed.
    """
    path = shutil.which(name)
    if path is None:
        message = (
            f"{name} is not installed; install PostgreSQL's client programs, of the server's version or newer, and put "
            "their folder on the PATH"
        )
        raise StoreError(message)
    return path


def _address(url: str) -> tuple[str, dict[str, str]]:
    """Return an address without password, and an environment with it: other users see the arguments of a process."""
    parts = conninfo_to_dict(url)
    password = parts.pop("password", None)
    return make_conninfo("", **parts), os.environ | ({} if password is None else {"PGPASSWORD": str(password)})


def _check(status: int, program: str, errors: BinaryIO) -> None:
    if status:
        errors.seek(0)
        lines = errors.read().decode("utf-8", "replace").strip().splitlines()
        message = f"{Path(program).name} failed: {' '.join(lines[-_LAST_LINES:]) or f'status {status}'}"
        raise StoreError(message)


def read_contents(dump: Path) -> None:
    """Read the table of contents of a dump.

    Raises StoreError if it is damaged.
    """
    _call([_program("pg_restore"), "--list", str(dump)])
