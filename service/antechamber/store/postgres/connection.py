"""PostgreSQL connections with a time limit on every operation, and the translation of their errors."""

import contextlib
import logging
import os
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.rows import DictRow, dict_row

from antechamber.background import Work
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.store.errors import StoreError
from antechamber.store.group_commit import AgainError

Connection = psycopg.Connection[DictRow]
_log: Final = logging.getLogger(__name__)

LOCK_SECONDS: Final = 2
"""How long a statement waits for another process's lock before its callers get a 409."""
STATEMENT_SECONDS: Final = 5
OVERDUE_SECONDS: Final = 7
"""An operation without an answer for this long counts as lost: the server's own timeout would have ended it before."""
PATIENT_SECONDS: Final = 3600
"""The limit of a statement of the doctor, which looks at all rows."""
CONNECT_SECONDS: Final = 3
PRIMARY: Final = "primary"
"""The kind of server to connect to (target_session_attrs of libpq).

A standby would show rows of an earlier time, in which the log lacks leaves that were signed.
"""
_IDLE_SECONDS: Final = {False: 30, True: 600}
"""How long a transaction may be idle; a reading one may wait for a slow client of an export."""
_SETTINGS: Final = (
    "SET search_path = antechamber, pg_temp",
    "SET default_transaction_isolation = 'read committed'",
    "SET synchronous_commit = on",
    f"SET lock_timeout = '{LOCK_SECONDS}s'",
    f"SET statement_timeout = '{STATEMENT_SECONDS}s'",
    # Compiling a large statement takes seconds, and running ours takes milliseconds.
    "SET jit = off",
    "SET ROLE antechamber_admission",
)
NO_ROLE: Final = (
    "the database user may not act as Antechamber's roles; as the owner run: "
    "GRANT antechamber_admission, antechamber_promotion TO that_user"
)


class Watchdog:
    """Closes connections whose operation is overdue, so that a cut network does not block a thread forever.

    `work` runs its thread and records failures.
    """

    def __init__(self, work: Work) -> None:
        self._due: dict[int, tuple[float, Connection]] = {}
        self._stop = threading.Event()
        looking = threading.Thread(target=work.loop, args=(self._look, self._stop), name="antechamber-watchdog")
        looking.daemon = True
        looking.start()

    @contextlib.contextmanager
    def over(self, connection: Connection, seconds: float = OVERDUE_SECONDS) -> Iterator[None]:
        """Watch one operation on a connection."""
        self._due[id(connection)] = (time.monotonic() + seconds, connection)
        try:
            yield
        finally:
            self._due.pop(id(connection), None)

    def _look(self) -> None:
        self._stop.wait(0.5)
        now = time.monotonic()
        for due, connection in list(self._due.values()):
            if due < now:
                _log.error("PostgreSQL did not answer in time; the connection is closed")
                hang_up(connection)

    def close(self) -> None:
        """Stop the thread."""
        self._stop.set()


def hang_up(connection: Connection) -> None:
    """Shut down the socket of a connection: a thread that waits for it gets an error at once."""
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as raw:
        raw.shutdown(socket.SHUT_RDWR)


def connect(url: str, watchdog: Watchdog) -> Connection:
    """Open a connection with Antechamber's settings.

    Raises psycopg.Error if there is no server, StoreError if the user lacks our roles.
    """
    connection = psycopg.connect(
        url,
        autocommit=True,
        row_factory=dict_row,
        connect_timeout=CONNECT_SECONDS,
        client_encoding="utf8",
        target_session_attrs=PRIMARY,
        # In a pipeline the driver loses track of prepared statements that an error or a ROLLBACK TO removed.
        prepare_threshold=None,
    )
    try:
        with watchdog.over(connection):
            configure(connection)
    except errors.InsufficientPrivilege as error:
        connection.close()
        raise StoreError(NO_ROLE) from error
    except BaseException:
        connection.close()
        raise
    return connection


def configure(connection: Connection, *, reads: bool = False) -> None:
    """Set everything that transactions rely on, so that the server's defaults do not matter.

    All settings are sent in one message.
    """
    idle = f"SET idle_in_transaction_session_timeout = '{_IDLE_SECONDS[reads]}s'"
    only = f"SET default_transaction_read_only = {'on' if reads else 'off'}"
    connection.execute("; ".join((*_SETTINGS, idle, only)))


class WatchedConnection:
    """Runs statements over one connection, each watched by the watchdog; its owner controls the transactions."""

    def __init__(self, connection: Connection, watchdog: Watchdog) -> None:
        self.connection = connection
        self._watchdog = watchdog
        self.pipeline: psycopg.Pipeline | None = None
        self._seconds: float = OVERDUE_SECONDS

    def be_patient(self) -> None:
        """Let statements of this transaction take up to `PATIENT_SECONDS`."""
        self.rows(f"SELECT set_config('statement_timeout', '{PATIENT_SECONDS}s', true)")
        self._seconds = PATIENT_SECONDS

    def _watched(self) -> contextlib.AbstractContextManager[None]:
        return self._watchdog.over(self.connection, self._seconds)

    def rows(self, sql: str, values: Mapping[str, Any] | None = None) -> list[DictRow]:
        """Run a query and return all rows."""
        with self._watched():
            return self._send(sql, values).fetchall()

    def fetch(self, cursor: psycopg.Cursor[DictRow]) -> list[DictRow]:
        """Return all rows of a query that was sent."""
        with self._watched():
            return cursor.fetchall()

    def send(self, sql: str, values: Mapping[str, Any] | None = None) -> psycopg.Cursor[DictRow]:
        """Run a statement; inside a pipeline its outcome is known only after `sync`."""
        with self._watched():
            return self._send(sql, values)

    def _send(self, sql: str, values: Mapping[str, Any] | None) -> psycopg.Cursor[DictRow]:
        # Statements come from this package's own files; values are passed separately as parameters.
        cursor = self.connection.execute(sql, values)
        self._drain()
        return cursor

    def _drain(self) -> None:
        """Send everything that a pipeline has queued.

        The driver (3.3.9) sends the bytes that the socket did not accept at once only with its next read, and that may
        never come: the server waits for the rest of a large message before it answers.
        """
        if self.pipeline is None:
            return
        connection = self.connection.pgconn
        waiting = select.poll()
        waiting.register(connection.socket, select.POLLIN | select.POLLOUT)
        while connection.flush():
            if any(happened & ~select.POLLOUT for _, happened in waiting.poll()):
                connection.consume_input()

    def many(self, sql: str, values: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement once for each set of values."""
        with self._watched():
            self.connection.cursor().executemany(sql, values)
            self._drain()

    def sync(self) -> None:
        """Wait until the server has processed everything that was sent.

        Raises the first error among it.
        """
        if self.pipeline is not None:
            with self._watched():
                self.pipeline.sync()

    def stream(self, sql: str, values: Mapping[str, Any]) -> Iterator[DictRow]:
        """Yield rows through a server-side cursor, a few hundred at a time."""
        with self.connection.cursor("stream") as cursor:
            with self._watched():
                cursor.execute(sql, values)
            while True:
                with self._watched():
                    part = cursor.fetchmany(500)
                if not part:
                    return
                yield from part


def is_lost(connection: Connection) -> bool:
    """Return whether a connection is unusable."""
    return connection.closed or connection.broken


_AGAIN: Final = (
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
    errors.ReadOnlySqlTransaction,
)
"""Errors after which the transaction left nothing and may be retried; ReadOnlySqlTransaction means that the server is
no longer the primary. An error without SQLSTATE also counts: the driver itself raises it when the connection was lost.
"""


def translate(error: Exception) -> Exception:
    """Return one of our errors for a driver's error; a constraint violation is our bug and returned unchanged."""
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
        return error
    if isinstance(error, errors.LockNotAvailable):
        return BusyError("another process is writing")
    if isinstance(error, errors.QueryCanceled):
        return UnavailableError("the database takes too long")
    if isinstance(error, _AGAIN) or (isinstance(error, psycopg.Error) and error.sqlstate is None):
        return AgainError(str(error))
    if isinstance(error, psycopg.Error | OSError):
        reason = error.diag.message_primary if isinstance(error, psycopg.Error) else error
        _log.error("the database cannot commit: %s", reason or type(error).__name__)
        return UnavailableError("the database cannot commit now")
    return error
