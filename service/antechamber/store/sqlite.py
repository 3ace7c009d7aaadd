"""The embedded engine: one file, one writer, read-only readers; every answer is on disk first."""

import contextlib
import logging
import queue
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlite_utils import Database, Migrations

from antechamber.core.errors import AntechamberError, BusyError, UnavailableError
from antechamber.store.access import Access
from antechamber.store.admissions import Admissions
from antechamber.store.queue import GroupCommit
from antechamber.store.recall import Recall
from antechamber.store.reports import Reports
from antechamber.store.reviews import Reviews
from antechamber.store.statements import migrations, statements

T = TypeVar("T")
_log = logging.getLogger(__name__)

BUSY_SECONDS: Final = 2
"""How long a transaction waits for another process before its callers hear 409."""
READERS: Final = 4
FIXED_IN: Final = (3, 51, 3)
"""SQLite before this can lose a WAL reset when several connections checkpoint at once; only our writer does."""
_SETTINGS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}",
    "PRAGMA cache_size = -16000",
)
_WRITER_SETTINGS: Final = ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON")
_UNREADABLE: Final = "the data folder cannot be opened"


class StoreError(AntechamberError):
    """The store's file cannot be opened; the text says what to do."""


class SqliteRows(Admissions, Recall, Reviews, Access, Reports):
    """All rows over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use a connection whose transaction somebody else controls."""
        self._connection = connection
        self._statements = statements()

    def one(self, statement: str, /, **values: Any) -> dict[str, Any] | None:
        """Return the first row."""
        row = self._connection.execute(self._statements[statement], values).fetchone()
        return dict(row) if row is not None else None

    def all(self, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        """Return all rows."""
        return [dict(row) for row in self._connection.execute(self._statements[statement], values)]

    def each(self, statement: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        """Yield rows without holding them all."""
        for row in self._connection.execute(self._statements[statement], values):
            yield dict(row)

    def run(self, statement: str, /, **values: Any) -> int:
        """Run a write and return how many rows it touched."""
        return self._connection.execute(self._statements[statement], values).rowcount

    def insert(self, statement: str, /, **values: Any) -> int:
        """Run an insert and return the new integer key."""
        return self._connection.execute(self._statements[statement], values).lastrowid or 0

    def check_files(self) -> Iterator[str]:
        """Yield what SQLite itself finds broken."""
        for pragma in ("PRAGMA integrity_check", "PRAGMA foreign_key_check"):
            for row in self._connection.execute(pragma):
                if tuple(row) != ("ok",):
                    yield f"{pragma.removeprefix('PRAGMA ')}: " + " ".join(map(str, row))


class _Writer:
    """Transactions of the writer thread; see queue.Transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows = SqliteRows(connection)

    def begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def attempt(self, work: Callable[[Any], T]) -> T:
        self._connection.execute("SAVEPOINT work")
        try:
            result = work(self._rows)
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO work")
                self._connection.execute("RELEASE work")
            raise
        self._connection.execute("RELEASE work")
        return result

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def translate(self, error: Exception) -> Exception:
        return translate(error)


def translate(error: Exception) -> Exception:
    """Turn SQLite's errors into ours; a broken constraint stays what it is, a mistake of ours."""
    if not isinstance(error, sqlite3.Error) or isinstance(error, sqlite3.IntegrityError):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return BusyError("another process is writing")
    _log.error("the store cannot commit: %s", error)
    return UnavailableError("the store cannot commit now")


def _connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    mode = "ro" if read_only else "rwc"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    for setting in _SETTINGS if read_only else (*_SETTINGS, *_WRITER_SETTINGS):
        connection.execute(setting)
    if read_only:
        connection.execute("PRAGMA query_only = ON")
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema up to date; refuse a newer one."""
    steps = migrations("sqlite")
    plan = Migrations("antechamber")
    for name, sql in steps:
        plan(name=name)(_step(sql))
    database = Database(connection, execute_plugins=False)
    unknown = {step.name for step in plan.applied(database)} - {name for name, _ in steps}
    if unknown:
        message = "this data folder was written by a newer version; install that one, or restore a backup of before"
        raise StoreError(message)
    if not plan.pending(database):
        return
    connection.row_factory = None
    # The lock first: of two processes that open a new folder at once, the later one must find nothing to do.
    connection.execute("BEGIN IMMEDIATE")
    plan.apply(database)
    connection.execute("COMMIT")
    connection.row_factory = sqlite3.Row


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


class SqliteStore:
    """Implements core.ports.Store on one SQLite file."""

    def __init__(self, path: Path, *, exclusive_checkpoints: bool = True) -> None:
        """Open or create the file; only a server keeps automatic checkpoints.

        Raises StoreError when the file cannot be opened or is newer than this version.
        """
        self._path = path
        try:
            self._connection = _connect(path, read_only=False)
            if not exclusive_checkpoints:
                self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            _migrate(self._connection)
            self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
            for _ in range(READERS):
                self._readers.put(_connect(path, read_only=True))
        except sqlite3.Error as error:
            message = f"{_UNREADABLE}: {path}: {error}"
            raise StoreError(message) from error
        if sqlite3.sqlite_version_info < FIXED_IN:
            _log.info(
                "SQLite %s: checkpoints stay with the writer, see design note on WAL reset", sqlite3.sqlite_version
            )
        self._writer = GroupCommit(_Writer(self._connection))

    def write(self, work: Callable[[Any], T]) -> Future[T]:
        """Run `work` in a transaction; the future resolves once it is on disk."""
        return self._writer.submit(work)

    @contextlib.contextmanager
    def read(self) -> Iterator[SqliteRows]:
        """Open a read snapshot.

        Raises UnavailableError or BusyError where SQLite cannot read.
        """
        connection = self._reader()
        try:
            connection.execute("BEGIN")
            yield SqliteRows(connection)
        except sqlite3.Error as error:
            raise translate(error) from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if self._readers.qsize() < READERS:
                self._readers.put(connection)
            else:
                connection.close()

    def _reader(self) -> sqlite3.Connection:
        """Take a kept connection, or open one more while long exports hold all of them."""
        try:
            return self._readers.get_nowait()
        except queue.Empty:
            return _connect(self._path, read_only=True)

    def close(self) -> None:
        """Finish what was accepted and release the files."""
        self._writer.close()
        while not self._readers.empty():
            self._readers.get().close()
        self._connection.close()
