"""Transactions of one writer: pipelined, retried where PostgreSQL undid them, and settled where COMMIT was lost."""

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
from antechamber.store.postgres.rows import PostgresRows, SequenceStock, single

T = TypeVar("T")
_log: Final = logging.getLogger(__name__)

RECONNECT_SECONDS: Final = 3
"""How long work waits for a server that restarts before its callers hear 503."""
SETTLE_SECONDS: Final = 15
"""How long a lost COMMIT is asked after before its callers hear 503, which tells them to send the same again."""
LANES: Final = 16
"""In so many lanes processes count, each in one, so that few of them wait for each other's counters."""
_PAUSE: Final = 0.2
_SHORT_LOCK_TIMEOUT: Final = "SET LOCAL lock_timeout = '10ms'"
"""For the rest of a transaction that has waited for a lock once."""


class PostgresWriter:
    """Implements queue.Transactions over one connection that is renewed when it breaks."""

    def __init__(self, url: str, writer_id: str, watchdog: Watchdog) -> None:
        """Connect and register under an id of its own.

        Raises psycopg.Error or StoreError.
        """
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
        link = WatchedConnection(connect(self._url, self._watchdog), self._watchdog)
        try:
            link.send(single("register_writer"), {"writer_id": self._writer_id})
        except BaseException:
            link.connection.close()
            raise
        return link

    def _reconnected(self, seconds: float) -> WatchedConnection:
        """Connect again, patiently: a server that recovers refuses connections for a moment.

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
        """The connection of today."""
        return self._link.connection

    def begin(self) -> None:
        """Open a transaction, over a new connection where the last one broke.

        Raises UnavailableError.
        """
        if is_lost(self.connection):
            self._link = self._reconnected(RECONNECT_SECONDS)
        self._rows = PostgresRows(self._link, self._stock)
        self._stack = contextlib.ExitStack()
        self._link.pipeline = self._stack.enter_context(self.connection.pipeline())
        self._link.send("BEGIN")
        if self._waited:
            self._link.send(_SHORT_LOCK_TIMEOUT)

    def attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        """Run work inside a savepoint.

        Most transactions meet no obstacle. So what is written is first sent without waiting for each outcome, in two
        round trips altogether; where anything goes wrong the whole transaction begins again with care, to learn whose
        fault it was.
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
        """Run work and wait for its outcome; again where another process was first: then it sees what that wrote."""
        for left in reversed(range(MAX_TRIES)):
            try:
                result = self._attempt(work, promotes=promotes)
                self._link.settle()
            except errors.UniqueViolation:
                self._undo()
                if not left:
                    raise
            except BaseException as error:
                self._undo()
                if isinstance(error, errors.LockNotAvailable):
                    # Who waited in company need not wait again alone: the whole group's patience is one.
                    self._link.send(_SHORT_LOCK_TIMEOUT)
                raise
            else:
                return result
        raise AssertionError

    def _attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        self._link.send("SAVEPOINT work")
        self._logged = len(self._rows.leaves)
        if promotes:
            self._link.send("SET LOCAL ROLE antechamber_promotion")
        result = work(self._rows)
        if promotes:
            self._link.send("SET LOCAL ROLE antechamber_admission")
        self._link.send("RELEASE SAVEPOINT work")
        return result

    def _forget(self) -> None:
        """Forget what the work that is undone had found and logged."""
        self._stock.producers.clear()
        del self._rows.leaves[self._logged :]

    def _undo(self) -> None:
        """Go back to the savepoint; a connection that was lost meanwhile shows at the next statement."""
        self._forget()
        with contextlib.suppress(psycopg.Error):
            self._link.settle()
        with contextlib.suppress(psycopg.Error):
            self._link.send("ROLLBACK TO SAVEPOINT work")
            self._link.settle()

    def commit(self) -> None:
        """Commit, and know that it happened even where the answer was lost.

        Raises AgainError where it did not happen, UnavailableError where nobody could be asked.
        """
        # Every try has a number of its own: one whose end nobody learned must not be taken for the next one's.
        self._commits += 1
        number = self._commits
        try:
            # The log's lock comes last: all other writers wait for it until the commit is on disk.
            self._link.send(single("mark_commit"), {"writer_id": self._writer_id, "commits": number})
            self._rows.write_log()
            ended = self._link.send("COMMIT")
            self._link.settle()
        except (psycopg.Error, OSError) as error:
            self._leave_pipeline()
            if not is_lost(self.connection):
                raise
            _log.warning("the connection was lost at COMMIT: %s", error)
            if not self._happened(number):
                message = "the lost COMMIT did not happen"
                raise AgainError(message) from error
        else:
            if ended.statusmessage != "COMMIT":
                message = f"COMMIT ended as {ended.statusmessage}"
                raise AgainError(message)
            self._leave_pipeline()
        self._careful = self._waited = False

    def _happened(self, number: int) -> bool:
        """Ask what was committed last; the row's lock makes the answer wait for the lost transaction's end.

        One that the server has not even begun to work on is given up: should it come after all, it fails.

        Raises UnavailableError.
        """
        self._commits = number + 1
        values = {"writer_id": self._writer_id, "commits": number, "next": number + 1}
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            self._link = self._reconnected(max(0.0, deadline - time.monotonic()))
            try:
                return bool(self._link.rows(single("settle_commit"), values)[0]["commits"] == number)
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
        """Undo everything; a connection that does not obey is given up."""
        self._stock.producers.clear()
        self._leave_pipeline()
        if is_lost(self.connection):
            return
        try:
            self._link.send("ROLLBACK")
        except (psycopg.Error, OSError):
            self.connection.close()

    def translate(self, error: Exception) -> Exception:
        """Turn a driver's error into ours; what went wrong in a hurry is tried again with care."""
        if isinstance(error, errors.ReadOnlySqlTransaction):
            self.connection.close()
        if isinstance(error, psycopg.Error) and not self._careful:
            self._careful, self._waited = True, isinstance(error, errors.LockNotAvailable)
            return AgainError(str(error))
        return translate(error)

    def close(self) -> None:
        """Sign off and hang up."""
        with contextlib.suppress(psycopg.Error, OSError):
            self._link.send(single("forget_writers"), {"writer_id": self._writer_id})
        self.connection.close()
