"""The embedded engine: one file, one writer, read-only readers; every answer is on disk first."""

import contextlib
import logging
import queue
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlite_utils import Database, Migrations

from antechamber.core.errors import BusyError, UnavailableError
from antechamber.store.access import Access
from antechamber.store.admissions import Admissions
from antechamber.store.queue import GroupCommit
from antechamber.store.recall import Recall
from antechamber.store.reports import Reports
from antechamber.store.reviews import Reviews
from antechamber.store.shared import OLDER_SCHEMA, OTHER_SCHEMA, StoreError, Watchers
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


class SqliteRows(Admissions, Recall, Reviews, Access, Reports):
    """All rows over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use a connection whose transaction somebody else controls."""
        self._connection = connection
        self._statements = statements("sqlite")
        self.announced = False

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

    def find(self, statement: str, keys: Sequence[Mapping[str, Any]], /) -> list[dict[str, Any] | None]:
        """Return the first row for each of many sets of values."""
        return [self.one(statement, **values) for values in keys]

    def add(self, statement: str, rows: Sequence[Mapping[str, Any]], _order: Sequence[str], /) -> None:
        """Run an insert for all rows; a single writer waits for nobody, so any order is good."""
        self.repeat(statement, rows)

    def repeat(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run a write once for each set of values."""
        self._connection.executemany(self._statements[statement], rows)

    def announce(self) -> None:
        """Note that those who watch are to be woken after the commit."""
        self.announced = True

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
        self.watchers = Watchers()

    def begin(self) -> None:
        self._rows.announced = False
        self._connection.execute("BEGIN IMMEDIATE")

    def attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        del promotes  # SQLite knows no roles: its triggers alone guard the memories.
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
        if self._rows.announced:
            self.watchers.wake()

    def roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def translate(self, error: Exception) -> Exception:
        return translate(error)

    def close(self) -> None:
        """Leave the connection to the store, which closes it after all readers: the last one out checkpoints."""


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


def _migrate(connection: sqlite3.Connection, *, upgrade: bool) -> bool:
    """Make the schema, or with `upgrade` bring an older one up to date; tell whether anything was done.

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
    if not plan.pending(database):
        return False
    if applied and not upgrade:
        raise StoreError(OLDER_SCHEMA)
    connection.row_factory = None
    # The lock first: of two processes that open a new folder at once, the later one must find nothing to do.
    connection.execute("BEGIN IMMEDIATE")
    plan.apply(database)
    connection.execute("COMMIT")
    connection.row_factory = sqlite3.Row
    return True


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

    def __init__(self, path: Path, *, exclusive_checkpoints: bool = True, upgrade: bool = False) -> None:
        """Open or create the file; only a server keeps automatic checkpoints, only `upgrade` changes an older schema.

        Raises StoreError when the file cannot be opened or its schema is of another version.
        """
        self._path = path
        try:
            self._connection = _connect(path, read_only=False)
            if not exclusive_checkpoints:
                self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            self.upgraded = _migrate(self._connection, upgrade=upgrade)
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
        transactions = _Writer(self._connection)
        self.watch = transactions.watchers.watch
        self._writer = GroupCommit(transactions)

    def write(self, work: Callable[[Any], T]) -> Future[T]:
        """Run `work` in a transaction; the future resolves once it is on disk."""
        return self._writer.submit(work)

    def gather(self, work: Callable[[Sequence[Any], Any], list[T]], items: Sequence[Any]) -> Future[list[T]]:
        """Run `work` on all items that wait for it, in one call."""
        return self._writer.gather(work, items)

    def promote(self, work: Callable[[Any], T]) -> Future[T]:
        """Like `write`, for work that may admit memories."""
        return self._writer.submit(work, promotes=True)

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
