"""SQLite store: one file, one writer, read-only readers; an answer implies a commit on disk."""

import contextlib
import errno
import logging
import os
import queue
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeVar

from antechamber import durable_files
from antechamber.background import Background
from antechamber.core.errors import UnavailableError
from antechamber.store.errors import MOVED, RESTORE, StoreError
from antechamber.store.group_commit import GroupCommit
from antechamber.store.sqlite.log_size import LogSizeFile
from antechamber.store.sqlite.schema import migrate
from antechamber.store.sqlite.statements import SqliteStatements
from antechamber.store.sqlite.writer import SqliteWriter, is_damage, translate
from antechamber.store.transaction import Transaction

T = TypeVar("T")
_log = logging.getLogger(__name__)

BUSY_SECONDS: Final = 2
"""How long a transaction waits for another process before its callers get a 409."""
READERS: Final = 4
"""Connections that are kept for the next readers."""
FIXED_IN: Final = (3, 51, 3)
"""Older versions of SQLite can lose a WAL reset if several connections checkpoint at once; only our writer does."""
_SETTINGS: Final = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}",
    "PRAGMA cache_size = -16000",
)
CHECKPOINT_PAGES: Final = 8_000
"""Pages of 4 KiB in the write-ahead log after which a commit moves them into the database file."""
_WRITER_SETTINGS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}",
    # Pages that a savepoint may have to restore need no durability.
    "PRAGMA temp_store = MEMORY",
    # REPLACE then fires the delete triggers, which protect what is append-only.
    "PRAGMA recursive_triggers = ON",
)
_UNREADABLE: Final = "the data folder cannot be opened"
_NO_ROOM: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
"""Codes of a full disk; the second one is for the index of the write-ahead log, which each process begins with."""


def _make(path: Path) -> None:
    """Create the file, if missing, readable by its owner only: SQLite gives its other files the same mode."""
    with contextlib.suppress(FileExistsError):
        os.close(durable_files.open_private(path, os.O_EXCL | os.O_RDWR))


def _denied(path: Path) -> str | None:
    """Return which file of a database this process may not read or write, which SQLite does not say; else None."""
    for file in (path.parent, path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))):
        if file.exists() and not os.access(file, os.R_OK | os.W_OK, effective_ids=True):
            error = PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
            return durable_files.explain(error, file)
    return None


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
    """Refuse a file whose data was moved: two diverging copies could not be merged again.

    Raises StoreError.
    """
    if connection.execute("SELECT 1 FROM meta WHERE name = ?", [MOVED]).fetchone():
        message = "the data of this folder was moved to a PostgreSQL database; name it with --database-url"
        raise StoreError(message)


def _without_room(path: Path, error: Exception) -> str | None:
    """Return which folder has no room left, which SQLite calls an I/O error; None for any other error."""
    if getattr(error, "sqlite_errorcode", None) not in _NO_ROOM:
        return None
    return f"there is no room left to write in {path.parent}; make room there, and run the same command again"


class SqliteStore:
    """Implements core.ports.store.Store on one SQLite file, which is created if missing.

    `exclusive_checkpoints` keeps automatic checkpoints on (servers only), `upgrade` permits to update an older schema,
    and `background` lists the writer thread when it fails. Raises StoreError if the file cannot be opened or its schema
    is of another version.
    """

    def __init__(
        self,
        path: Path,
        *,
        exclusive_checkpoints: bool = True,
        upgrade: bool = False,
        background: Background | None = None,
    ) -> None:
        self._path = path
        self._reach = LogSizeFile(path)
        try:
            _make(path)
            self._connection = _connect(path, read_only=False)
            if not exclusive_checkpoints:
                self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            self.upgraded = migrate(self._connection, upgrade=upgrade)
            _refuse_moved(self._connection)
            self._reach.compare(Transaction(SqliteStatements(self._connection)).log.size)
            self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
            self._readers.put(_connect(path, read_only=True))
        except (sqlite3.Error, OSError) as error:
            message = f"{_UNREADABLE}: {_denied(path) or _without_room(path, error) or f'{path}: {error}'}"
            if is_damage(error):
                message = f"{path} is damaged: {error}. {RESTORE}"
            raise StoreError(message) from error
        if sqlite3.sqlite_version_info < FIXED_IN:
            _log.debug("SQLite %s can lose a WAL reset: only the writer checkpoints", sqlite3.sqlite_version)
        transactions = SqliteWriter(self._connection, self._reach, checkpoints=exclusive_checkpoints)
        if exclusive_checkpoints:
            transactions.empty_log()
        self.watch = transactions.watchers.watch
        self.engine: Final = "sqlite"
        self._transactions = transactions
        self._writer = GroupCommit(
            transactions, (background or Background()).work("writing to the database"), embedded=True
        )
        self.meters = self._writer.meters

    def write(self, work: Callable[[Any], T]) -> Future[T]:
        return self._writer.submit(work)

    def gather(
        self, work: Callable[[Sequence[Any], Any], list[T]], items: Sequence[Any], size: int, *, here: bool = False
    ) -> Future[list[T]]:
        return self._writer.gather(work, items, size, here=here)

    def promote(self, work: Callable[[Any], T]) -> Future[T]:
        """Like `write`, for work that may admit memories."""
        return self._writer.submit(work, promotes=True)

    @contextlib.contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a read snapshot.

        Raises UnavailableError or BusyError if SQLite cannot read, or if this needs a further connection and the file
        was replaced since it was opened.
        """
        connection = self._reader()
        try:
            connection.execute("BEGIN")
            yield Transaction(SqliteStatements(connection))
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
        """Take a pooled connection, or open another one while all of them are in use."""
        with contextlib.suppress(queue.Empty):
            return self._readers.get_nowait()
        try:
            connection = _connect(self._path, read_only=True)
        except sqlite3.Error as error:
            raise translate(error) from error
        if replaced := self._reach.replaced():
            connection.close()
            raise UnavailableError(replaced)
        return connection

    def trouble(self) -> str | None:
        """Return an error text once the disk has failed to sync; None otherwise."""
        return self._transactions.trouble

    def replica_alarm(self) -> str | None:
        """Return None: SQLite has no replica."""
        return None

    def lost(self) -> str | None:
        """Return a text about the missing end of the log; None if nothing is missing."""
        with self.read() as tx:
            return self._reach.describe_missing(tx.log.size)

    def accept_loss(self) -> None:
        """Continue with the log as it is."""
        with self.read() as tx:
            self._reach.accept(tx.log.size())

    def size(self) -> int:
        """Return the bytes of the database and of its write-ahead log."""
        try:
            sizes = [file.stat().st_size for file in self._path.parent.glob(f"{self._path.name}*")]
        except OSError as error:
            raise UnavailableError(_UNREADABLE) from error
        return sum(sizes)

    def close(self) -> None:
        """Finish accepted work and release the files."""
        self._writer.close()
        while not self._readers.empty():
            self._readers.get().close()
        self._connection.close()
        self._reach.close()
