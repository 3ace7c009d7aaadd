"""Transactions of one writer: pipelined, retried after a rollback, resolved when the answer to COMMIT is lost."""

import contextlib
import logging
import time
import zlib
from collections.abc import Callable
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors

from antechamber.core.errors import UnavailableError
from antechamber.store.errors import StoreError
from antechamber.store.group_commit import MAX_TRIES, AgainError
from antechamber.store.postgres.connection import Connection, Watchdog, WatchedConnection, connect, is_lost, translate
from antechamber.store.postgres.statements import PostgresStatements, SequenceStock, single
from antechamber.store.transaction import Transaction

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)

RECONNECT_SECONDS: Final = 3
"""How long work waits for a server that restarts before its callers get a 503."""
RESOLVE_SECONDS: Final = 15
"""How long the outcome of a lost COMMIT is queried before its callers get a 503, which asks them to send it again."""
LANES: Final = 16
"""Number of lanes of counters. Each process counts in one lane, so that few of them wait for each other's rows."""
_PAUSE: Final = 0.2
_SHORT_LOCK_TIMEOUT: Final = "SET LOCAL lock_timeout = '10ms'"
"""Used for the rest of a transaction that has already waited for a lock once."""


class PostgresWriter:
    """Implements group_commit.Transactions over one connection, which is replaced when it breaks.

    It registers under `writer_id`, which must be unique. Raises psycopg.Error or StoreError if it cannot connect.
    """

    def __init__(self, url: str, writer_id: str, watchdog: Watchdog) -> None:
        self._url = url
        self._writer_id = writer_id
        self._watchdog = watchdog
        self._commits = 0
        self._stock = SequenceStock(lane=zlib.crc32(writer_id.encode()) % LANES)
        self._careful = False
        self._waited = False
        self._logged = 0
        self._stack = contextlib.ExitStack()
        self._link = self._connected()

    def _connected(self) -> WatchedConnection:
        # A standby learns of a sequence's numbers only with commits, so a new primary may give out numbers again that
        # this process still holds.
        self._stock.keys.clear()
        link = WatchedConnection(connect(self._url, self._watchdog), self._watchdog)
        try:
            link.send(single("register_writer"), {"writer_id": self._writer_id})
        except BaseException:
            link.connection.close()
            raise
        return link

    def _reconnected(self, seconds: float) -> WatchedConnection:
        """Connect again, with retries for some seconds: a server in recovery refuses connections for a moment.

        Raises UnavailableError.
        """
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self._connected()
            except (psycopg.Error, StoreError) as error:
                if time.monotonic() > deadline:
                    _log.error("no connection to PostgreSQL: %s", error)
                    message = "the database cannot be reached"
                    raise UnavailableError(message) from error
            time.sleep(_PAUSE)

    @property
    def connection(self) -> Connection:
        """The current connection."""
        return self._link.connection

    def begin(self, *, here: bool = False) -> None:  # noqa: ARG002 -- of the port: never, on this engine
        """Open a transaction, over a new connection if the last one broke.

        Raises UnavailableError.
        """
        if is_lost(self.connection):
            self._link = self._reconnected(RECONNECT_SECONDS)
        self._sql = PostgresStatements(self._link, self._stock)
        self._tx = Transaction(self._sql, self._stock.lane, self._stock.numbers)
        self._stack = contextlib.ExitStack()
        self._link.pipeline = self._stack.enter_context(self.connection.pipeline())
        self._link.send("BEGIN")
        if self._waited:
            self._link.send(_SHORT_LOCK_TIMEOUT)

    def attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        """Run work inside a savepoint.

        Most transactions succeed, so statements are first pipelined without waiting for each outcome, in two round
        trips altogether. If anything fails, the whole transaction is run again and waits for every outcome, to find the
        work that caused the error.
        """
        if self._careful:
            return self._carefully(work, promotes=promotes)
        try:
            return self._attempt(work, promotes=promotes)
        except psycopg.Error:
            raise
        except BaseException:
            self._forget()
            self._link.send("ROLLBACK TO SAVEPOINT work")
            raise

    def _carefully(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        """Run work and wait for its outcome; run it again if another process wrote first, so that it sees that."""
        for left in reversed(range(MAX_TRIES)):
            try:
                result = self._attempt(work, promotes=promotes)
                self._link.sync()
            except errors.UniqueViolation:
                self._undo()
                if not left:
                    raise
            except BaseException as error:
                self._undo()
                if isinstance(error, errors.LockNotAvailable):
                    # The group has already waited for the lock, so its jobs wait only briefly when each runs alone.
                    self._link.send(_SHORT_LOCK_TIMEOUT)
                raise
            else:
                return result
        raise AssertionError  # not reached: the last try returns or raises

    def _attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        self._link.send("SAVEPOINT work")
        self._logged = len(self._sql.leaves)
        if promotes:
            self._link.send("SET LOCAL ROLE antechamber_promotion")
        result = work(self._tx)
        if promotes:
            self._link.send("SET LOCAL ROLE antechamber_admission")
        self._link.send("RELEASE SAVEPOINT work")
        return result

    def _forget(self) -> None:
        """Drop the producers and leaves that the undone work had added."""
        self._stock.numbers.clear()
        del self._sql.leaves[self._logged :]

    def _undo(self) -> None:
        """Roll back to the savepoint; a connection lost meanwhile is noticed at the next statement."""
        self._forget()
        with contextlib.suppress(psycopg.Error):
            self._link.sync()
        with contextlib.suppress(psycopg.Error):
            self._link.send("ROLLBACK TO SAVEPOINT work")
            self._link.sync()

    def commit(self) -> None:
        """Commit, and find out whether it happened if the answer was lost.

        Raises AgainError if it did not happen, UnavailableError if the outcome cannot be queried.
        """
        # Number every attempt, so an attempt whose outcome is unknown is never mistaken for a later one.
        self._commits += 1
        number = self._commits
        try:
            # The log's lock is taken last: all other writers wait for it until the commit is on disk.
            self._link.send(single("mark_commit"), {"writer_id": self._writer_id, "commits": number})
            self._sql.write_log()
            ended = self._link.send("COMMIT")
            self._link.sync()
        except (psycopg.Error, OSError) as error:
            self._leave_pipeline()
            if not is_lost(self.connection):
                raise
            _log.warning("the connection was lost at COMMIT: %s", error)
            if not self._happened(number):
                message = "the transaction of the lost COMMIT was rolled back"
                raise AgainError(message) from error
        else:
            if ended.statusmessage != "COMMIT":
                message = f"COMMIT ended as {ended.statusmessage}"
                raise AgainError(message)
            self._leave_pipeline()
        self._careful = self._waited = False

    def _happened(self, number: int) -> bool:
        """Query which commit was the last one; the row lock delays the answer until the lost transaction has ended.

        A transaction that the server has not begun yet is blocked: if it arrives later, it fails. Raises
        UnavailableError.
        """
        self._commits = number + 1
        values = {"writer_id": self._writer_id, "commits": number, "next": number + 1}
        deadline = time.monotonic() + RESOLVE_SECONDS
        while True:
            self._link = self._reconnected(max(0.0, deadline - time.monotonic()))
            try:
                return bool(self._link.rows(single("resolve_commit"), values)[0]["commits"] == number)
            except (psycopg.Error, OSError) as error:
                if time.monotonic() > deadline:
                    message = "the database cannot be reached; whether this was stored is not known yet"
                    raise UnavailableError(message) from error
                self.connection.close()

    def _leave_pipeline(self) -> None:
        self._link.pipeline = None
        with contextlib.suppress(psycopg.Error, OSError):
            self._stack.close()

    def roll_back(self) -> None:
        """Undo everything; close a connection on which that fails."""
        self._stock.numbers.clear()
        self._leave_pipeline()
        if is_lost(self.connection):
            return
        try:
            self._link.send("ROLLBACK")
        except (psycopg.Error, OSError):
            self.connection.close()

    def translate(self, error: Exception) -> Exception:
        """Return one of our errors for a driver's error; an error of a pipelined attempt is retried step by step."""
        if isinstance(error, errors.ReadOnlySqlTransaction):
            self.connection.close()
        if isinstance(error, psycopg.Error) and not self._careful:
            self._careful, self._waited = True, isinstance(error, errors.LockNotAvailable)
            return AgainError(str(error))
        return translate(error)

    def close(self) -> None:
        """Unregister the writer and close the connection."""
        with contextlib.suppress(psycopg.Error, OSError):
            self._link.send(single("forget_writers"), {"writer_id": self._writer_id})
        self.connection.close()
