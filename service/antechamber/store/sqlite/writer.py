"""Transactions of the writer thread on SQLite, and the translation of its errors."""

import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from antechamber.core.errors import BusyError, DamagedError, UnavailableError
from antechamber.store.group_commit import AgainError
from antechamber.store.sqlite.log_size import LogSizeFile
from antechamber.store.sqlite.statements import SqliteStatements
from antechamber.store.transaction import Transaction
from antechamber.store.watchers import Watchers

T = TypeVar("T")
_log = logging.getLogger(__name__)

_UNSYNCED: Final = frozenset({sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC})
_SYNC_FAILED: Final = (
    "the disk failed to sync, so nothing more is stored until the service is started again; "
    "what was acknowledged before is there"
)
"""After a failed fsync the kernel may have dropped the pages that it could not write and report success for the next
fsync (Rebello et al., Can Applications Recover from fsync Failures?, USENIX ATC 2020); after a restart the service
reads what is really on disk."""

_NOT_WRITTEN_AGAIN: Final = (
    "the database could not be written again, so its file may still hold copies of erased texts; this is tried again "
    "each minute, and needs as much free space as the database has"
)
_REST: Final = 60
"""Between two times, this many times as long as the last one took, in which others write."""


class SqliteWriter:
    """Implements group_commit.Transactions on the connection that writes.

    `reach` records how far the log got; `checkpoints` permits this process to copy the write-ahead log into the
    database file.
    """

    def __init__(self, connection: sqlite3.Connection, reach: LogSizeFile, *, checkpoints: bool) -> None:
        self._connection = connection
        self._checkpoints = checkpoints
        self._reach = reach
        self._sql = SqliteStatements(connection)
        self._known_numbers: dict[str, int] = {}
        self._tx = Transaction(self._sql, known_numbers=self._known_numbers)
        self._careful = False
        self._rests_until = 0.0
        """Until when the database is not written again, as time.monotonic returns it."""
        self.trouble: str | None = None
        self.watchers = Watchers()
        self._here = False
        # What a transaction of the writer's thread may do, and one in the event loop may not: wait, and checkpoint.
        self._patience, self._pages = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("busy_timeout", "wal_autocheckpoint")
        )

    def begin(self, *, here: bool = False) -> None:
        """Open a transaction that may write.

        With `here` it waits for no other process, and its commit does not move the write-ahead log into the database
        file, which takes many times as long as a commit.

        Raises UnavailableError once the disk has failed to sync, or if the file was replaced since it was opened.
        """
        self.trouble = self.trouble or self._reach.replaced()
        if self.trouble is not None:
            raise UnavailableError(self.trouble)
        self._sql.announced = self._sql.deleted = False
        self._sql.leaves = []
        if here is not self._here:
            self._connection.execute(f"PRAGMA busy_timeout = {0 if here else self._patience}")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {0 if here else self._pages}")
            self._here = here
        self._connection.execute("BEGIN IMMEDIATE")

    def attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        """Run work without a savepoint; if it fails, the transaction is repeated with savepoints."""
        del promotes  # SQLite has no roles: its triggers alone protect the memories.
        if not self._careful:
            try:
                return work(self._tx)
            except Exception as error:
                self._careful = True
                raise AgainError(str(error)) from error
        self._connection.execute("SAVEPOINT work")
        announced, leaves = self._sql.announced, len(self._sql.leaves)
        try:
            result = work(self._tx)
        except BaseException:
            self._sql.announced = announced
            del self._sql.leaves[leaves:]
            self._forget()
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK TO work")
                self._connection.execute("RELEASE work")
            raise
        self._connection.execute("RELEASE work")
        return result

    def commit(self) -> None:
        """Write the leaves of the log, commit, and wake the watchers."""
        added = len(self._sql.leaves)
        if self._sql.deleted:
            # The process that serves the folder removes what is left, if need be after a crash.
            self._sql.run("mark_old_pages")
        size = self._sql.write_log()
        self._connection.execute("COMMIT")
        if added:
            self._reach.note(size, added)
        self._careful = False
        if self._checkpoints and not self._here:
            self._tidy_up()
        if self._sql.announced:
            self.watchers.wake()

    def _tidy_up(self) -> None:
        if self._sql.scattered:
            self._write_again()
        if self._sql.unmoved:
            self._move_into_file()

    def _move_into_file(self) -> None:
        """Checkpoint into the database file, so that a copy of that file alone holds what was written.

        If a reader or the disk prevents that, it is tried again after the next commit; a failed sync ends all writing.
        SQLite does not report a failed sync of the checkpoints that it makes by itself. They lose nothing, because it
        keeps the write-ahead log and writes these pages again.
        """
        mode = "TRUNCATE" if self._sql.stale_pages else "PASSIVE"
        try:
            (patience,) = self._connection.execute("PRAGMA busy_timeout").fetchone()
            # The writer waits for no reader here; the next commit tries again.
            self._connection.execute("PRAGMA busy_timeout = 0")
            try:
                busy, waiting, moved = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {patience}")
            self._sql.unmoved = bool(busy) or moved < waiting
            self._sql.stale_pages = self._sql.stale_pages and self._sql.unmoved
        except sqlite3.Error as error:
            self._notice_failed_sync(error)

    def _write_again(self) -> None:
        """Write the database again, because SQLite overwrites a deleted row only in the page where it was last.

        When pages are split or joined, copies of the rows that move stay in the unused part of a page
        (`rebuildPage` in SQLite's btree.c does not overwrite it), and no statement but VACUUM removes them.
        """
        self._sql.scattered = False
        began = time.monotonic()
        if began < self._rests_until:
            return
        try:
            # Nothing of the copy needs durability, but it may be larger than memory; its name is removed at once.
            self._connection.execute("PRAGMA temp_store = FILE")
            self._connection.execute("VACUUM")
            self._sql.run("unmark_old_pages")
            self._sql.drop_old_pages()
            _log.info("wrote the database again in %.1f s, because texts were erased", time.monotonic() - began)
        except sqlite3.Error as error:
            if not self._notice_failed_sync(error):
                _log.warning("%s: %s", _NOT_WRITTEN_AGAIN, error)
        finally:
            self._connection.execute("PRAGMA temp_store = MEMORY")
            now = time.monotonic()
            self._rests_until = now + (now - began) * _REST

    def empty_log(self) -> None:
        """Move the write-ahead log of an earlier process into the database file."""
        self._sql.drop_old_pages()
        self._move_into_file()

    def roll_back(self) -> None:
        """Undo everything in the transaction."""
        self._forget()
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _forget(self) -> None:
        """Drop everything that was cached, because a transaction was undone."""
        self._sql.forget()
        self._known_numbers.clear()

    def translate(self, error: Exception) -> Exception:
        """Return one of our errors for SQLite's, and refuse further writes after a failed fsync."""
        if self._notice_failed_sync(error):
            return UnavailableError(_SYNC_FAILED)
        return translate(error)

    def _notice_failed_sync(self, error: Exception) -> bool:
        """Refuse further writes if an error is a failed fsync, and return whether it is."""
        if getattr(error, "sqlite_errorcode", None) not in _UNSYNCED:
            return False
        self.trouble = _SYNC_FAILED
        _log.critical("%s: %s", _SYNC_FAILED, error)
        return True

    def close(self) -> None:
        """Do nothing: the store closes the connection after all readers, as the last one to close checkpoints."""


def is_damage(error: Exception) -> bool:
    """Return whether SQLite found the file damaged, or found something else in its place."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def translate(error: Exception) -> Exception:
    """Return one of our errors for SQLite's; a constraint violation, which is a bug of ours, is returned unchanged."""
    if not isinstance(error, sqlite3.Error) or isinstance(error, sqlite3.IntegrityError):
        return error
    if is_damage(error):
        _log.critical("the database file is damaged: %s", error)
        return DamagedError("the database file is damaged")
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return BusyError("another process is writing")
    _log.error("the store cannot commit: %s", error)
    return UnavailableError("the store cannot commit now")
