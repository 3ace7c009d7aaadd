"""PostgreSQL store: a writer with group commit and a pool of readers; the server's disk holds every answer."""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from antechamber.background import Background
from antechamber.core.errors import UnavailableError
from antechamber.store.errors import StoreError
from antechamber.store.group_commit import AgainError, GroupCommit
from antechamber.store.postgres.connection import (
    CONNECT_SECONDS,
    OVERDUE_SECONDS,
    PRIMARY,
    Connection,
    Watchdog,
    WatchedConnection,
    configure,
    is_lost,
    translate,
)
from antechamber.store.postgres.import_sqlite import move
from antechamber.store.postgres.listener import Listener
from antechamber.store.postgres.pooling import refuse_transaction_pooling
from antechamber.store.postgres.schema import migrate, pending_steps, verify
from antechamber.store.postgres.statements import PostgresStatements
from antechamber.store.postgres.writer import PostgresWriter
from antechamber.store.transaction import Transaction

__all__ = ["PostgresStore", "migrate", "move", "pending_steps"]
T = TypeVar("T")
READERS: Final = 12
_WAIT_SECONDS: Final = 2.0
"""How long a reader waits for a free connection before its caller gets a 503."""


class PostgresStore:
    """Implements core.ports.store.Store on one PostgreSQL database, which `antechamber migrate` created.

    `background` lists its threads when they fail, `restoring` permits a database whose restore is not finished. Raises
    StoreError if the database cannot be opened or its schema is of another version.
    """

    def __init__(self, url: str, background: Background | None = None, *, restoring: bool = False) -> None:
        verify(url, restoring=restoring)
        refuse_transaction_pooling(url)
        background = background or Background()
        self._watchdog = Watchdog(background.work("ending overdue database operations"))
        try:
            transactions = PostgresWriter(url, str(uuid.uuid4()), self._watchdog)
        except psycopg.Error as error:
            self._watchdog.close()
            message = f"the database cannot be opened: {str(error).strip()}"
            raise StoreError(message) from error
        self._readers: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=READERS,
            timeout=_WAIT_SECONDS,
            # Short, so that after a long outage the pool's pauses between attempts are not long.
            reconnect_timeout=CONNECT_SECONDS,
            configure=lambda connection: configure(connection, reads=True),
            kwargs={
                "autocommit": True,
                "row_factory": dict_row,
                "connect_timeout": CONNECT_SECONDS,
                "client_encoding": "utf8",
                "target_session_attrs": PRIMARY,
            },
            open=True,
        )
        self._listener = Listener(url, self._watchdog, background.work("hearing of changes by other processes"))
        self.watch = self._listener.watch
        self.engine: Final = "postgres"
        self._writer = GroupCommit(transactions, background.work("writing to the database"))
        self.meters = self._writer.meters

    def write(self, work: Callable[[Any], T]) -> Future[T]:
        return self._writer.submit(work)

    def gather(
        self, work: Callable[[Sequence[Any], Any], list[T]], items: Sequence[Any], size: int, *, here: bool = False
    ) -> Future[list[T]]:
        del here  # A transaction waits for the network, which the caller's thread must not.
        return self._writer.gather(work, items, size)

    def promote(self, work: Callable[[Any], T]) -> Future[T]:
        """Like `write`, in the role that may admit memories."""
        return self._writer.submit(work, promotes=True)

    @contextlib.contextmanager
    def read(self) -> Iterator[Transaction]:
        """Open a read snapshot.

        Raises UnavailableError if no connection is free or the database cannot be read.
        """
        connection = self._snapshot()
        try:
            yield Transaction(PostgresStatements(WatchedConnection(connection, self._watchdog)))
        except (psycopg.Error, OSError) as error:
            translated = translate(error)
            if isinstance(translated, AgainError):
                message = "the database cannot be reached"
                raise UnavailableError(message) from error
            raise translated from error
        finally:
            self._give_back(connection)

    def _snapshot(self) -> Connection:
        """Take a connection and open a snapshot; skip connections that broke while idle."""
        deadline = time.monotonic() + OVERDUE_SECONDS
        while time.monotonic() < deadline:
            connection = self._reader()
            try:
                with self._watchdog.over(connection):
                    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            except (psycopg.Error, OSError):
                connection.close()
                self._readers.putconn(connection)
                # What broke this connection also broke the others in the pool.
                self._readers.drain()
            else:
                return connection
        message = "the database cannot be reached"
        raise UnavailableError(message)

    def _reader(self) -> Connection:
        try:
            return self._readers.getconn()
        except PoolTimeout as error:
            message = "no connection to the database is free"
            raise UnavailableError(message) from error

    def _give_back(self, connection: Connection) -> None:
        if not is_lost(connection):
            try:
                with self._watchdog.over(connection):
                    connection.execute("ROLLBACK")
            except (psycopg.Error, OSError):
                connection.close()
        self._readers.putconn(connection)

    def trouble(self) -> str | None:
        """Return None: the server itself stops when its disk fails."""
        return None

    def replica_alarm(self) -> str | None:
        """Return None: this store reads the primary."""
        return None

    def lost(self) -> str | None:
        """Return None: the server manages its own write-ahead log, and does not start without it."""
        return None

    def accept_loss(self) -> None:
        """Do nothing: nothing is missing."""

    def size(self) -> int:
        """Return the bytes of the database."""
        with self.read() as tx:
            row = tx.sql.one("database_size")
        return int(row["bytes"]) if row else 0

    def close(self) -> None:
        """Finish accepted work and close all connections."""
        self._writer.close()
        self._listener.close()
        self._readers.close()
        self._watchdog.close()
