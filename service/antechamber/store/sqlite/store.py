"""The embedded engine: one file, one writer, read-only readers; every answer is on disk first."""

import contextlib
import logging
import os
import queue
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeVar

from antechamber.background import Background
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.store.queue import AgainError, GroupCommit
from antechamber.store.shared import MOVED, StoreError, Watchers
from antechamber.store.sqlite.reach import Reach
from antechamber.store.sqlite.rows import SqliteRows
from antechamber.store.sqlite.schema import migrate

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
_WRITER_SETTINGS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    # What a savepoint would have to restore need not survive anything.
    "PRAGMA temp_store = MEMORY",
)
_UNSYNCED: Final = frozenset({sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC})
_DISTRUST: Final = (
    "the disk failed to sync, so nothing more is stored until the service is started again; "
    "what was acknowledged before is there"
)
"""After a failed fsync the kernel may have dropped what it could not write and call the next one a success (Rebello et
al., Can Applications Recover from fsync Failures?, USENIX ATC 2020); a fresh start reads what is really there."""
_UNREADABLE: Final = "the data folder cannot be opened"


class _Writer:
    """Transactions of the writer thread; see queue.Transactions."""

    def __init__(self, connection: sqlite3.Connection, reach: Reach) -> None:
        self._connection = connection
        self._reach = reach
        self._rows = SqliteRows(connection)
        self._careful = False
        self.trouble: str | None = None
        self.watchers = Watchers()

    def begin(self) -> None:
        """Open a transaction that may write.

        Raises UnavailableError once the disk has failed to sync, or the file is not the one that was opened.
        """
        self.trouble = self.trouble or self._reach.replaced()
        if self.trouble is not None:
            raise UnavailableError(self.trouble)
        self._rows.announced = False
        self._rows.leaves = []
        self._connection.execute("BEGIN IMMEDIATE")

    def attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        """Run work; where any fails the transaction begins again with savepoints, which most never need."""
        del promotes  # SQLite knows no roles: its triggers alone guard the memories.
        if not self._careful:
            try:
                return work(self._rows)
            except Exception as error:
                self._careful = True
                raise AgainError(str(error)) from error
        self._connection.execute("SAVEPOINT work")
        announced, leaves = self._rows.announced, len(self._rows.leaves)
        try:
            result = work(self._rows)
        except BaseException:
            self._rows.announced = announced
            del self._rows.leaves[leaves:]
            self._rows.forget()
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO work")
                self._connection.execute("RELEASE work")
            raise
        self._connection.execute("RELEASE work")
        return result

    def commit(self) -> None:
        added = len(self._rows.leaves)
        size = self._rows.write_log()
        self._connection.execute("COMMIT")
        if added:
            self._reach.note(size, added)
        self._careful = False
        if self._rows.announced:
            self.watchers.wake()

    def roll_back(self) -> None:
        self._rows.forget()
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def translate(self, error: Exception) -> Exception:
        """Turn SQLite's errors into ours, and stop where the disk cannot be trusted any more."""
        if getattr(error, "sqlite_errorcode", None) in _UNSYNCED:
            self.trouble = _DISTRUST
            _log.critical("%s: %s", _DISTRUST, error)
            return UnavailableError(_DISTRUST)
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


def _make(path: Path) -> None:
    """Make the file, if it is not there, readable by its owner only: SQLite gives its other files the same mode."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


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


def _refuse_moved(connection: sqlite3.Connection) -> None:
    """Refuse a file whose data was moved: two that grow apart could not be joined again.

    Raises StoreError.
    """
    if connection.execute("SELECT 1 FROM meta WHERE name = ?", [MOVED]).fetchone():
        message = "the data of this folder was moved to a PostgreSQL database; name it with --database-url"
        raise StoreError(message)


class SqliteStore:
    """Implements core.ports.Store on one SQLite file."""

    def __init__(
        self,
        path: Path,
        *,
        exclusive_checkpoints: bool = True,
        upgrade: bool = False,
        background: Background | None = None,
    ) -> None:
        """Open or create the file; only a server keeps automatic checkpoints, only `upgrade` changes an older schema.

        `background` lists the writer thread where it fails.

        Raises StoreError when the file cannot be opened or its schema is of another version.
        """
        self._path = path
        self._reach = Reach(path)
        try:
            _make(path)
            self._connection = _connect(path, read_only=False)
            if not exclusive_checkpoints:
                self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            self.upgraded = migrate(self._connection, upgrade=upgrade)
            _refuse_moved(self._connection)
            self._reach.compare(SqliteRows(self._connection).log_size)
            self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
            for _ in range(READERS):
                self._readers.put(_connect(path, read_only=True))
        except (sqlite3.Error, OSError) as error:
            message = f"{_UNREADABLE}: {path}: {error}"
            raise StoreError(message) from error
        if sqlite3.sqlite_version_info < FIXED_IN:
            _log.info(
                "SQLite %s: checkpoints stay with the writer, see design note on WAL reset", sqlite3.sqlite_version
            )
        transactions = _Writer(self._connection, self._reach)
        self.watch = transactions.watchers.watch
        self._transactions = transactions
        self._writer = GroupCommit(transactions, (background or Background()).work("writing to the database"))

    def write(self, work: Callable[[Any], T]) -> Future[T]:
        """Run `work` in a transaction; the future resolves once it is on disk."""
        return self._writer.submit(work)

    def gather(self, work: Callable[[Sequence[Any], Any], list[T]], items: Sequence[Any], size: int) -> Future[list[T]]:
        """Run `work` on all items that wait for it, in one call."""
        return self._writer.gather(work, items, size)

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

    def trouble(self) -> str | None:
        """Say that the disk failed to sync; None while all is well."""
        return self._transactions.trouble

    def lost(self) -> str | None:
        """Say how much of the log's end is missing; None where nothing is."""
        with self.read() as rows:
            return self._reach.tell(rows.log_size)

    def accept_loss(self) -> None:
        """Go on with the log as it is."""
        with self.read() as rows:
            self._reach.accept(rows.log_size())

    def close(self) -> None:
        """Finish what was accepted and release the files."""
        self._writer.close()
        while not self._readers.empty():
            self._readers.get().close()
        self._connection.close()
        self._reach.close()
