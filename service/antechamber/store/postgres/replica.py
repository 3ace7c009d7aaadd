"""Reads over a standby of the database: only snapshots that show exactly what the primary has committed.

A read asks the primary how far its log of writes (WAL) is on disk, waits until the standby has replayed that much,
and then compares the last leaf of the standby's snapshot with the primary's. The snapshot then lacks nothing that was
committed before the read began, and has nothing that the primary may still lose. Otherwise the primary is read.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any, Final, cast

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from antechamber.background import Background
from antechamber.core.errors import UnavailableError
from antechamber.core.ports.store import Rows, Store
from antechamber.store.errors import StoreError
from antechamber.store.group_commit import AgainError
from antechamber.store.postgres.connection import (
    CONNECT_SECONDS,
    Connection,
    Watchdog,
    WatchedConnection,
    is_lost,
    translate,
)
from antechamber.store.postgres.standby import OPTIONS, STANDBY, Standby, first_line
from antechamber.store.postgres.statements import PostgresStatements
from antechamber.store.transaction import Transaction

_log: Final = logging.getLogger(__name__)
READERS: Final = 12
WAIT_SECONDS: Final = 0.25
"""How long a read waits for the standby before it goes to the primary."""
REST_SECONDS: Final = 1.0
"""How long all reads go to the primary after one waited in vain."""
MAX_LAG_SECONDS: Final = 10.0
"""A standby that has not replayed what was committed this long ago is left out, with an alarm."""
LOOK_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.005


class _LeftOutError(Exception):
    """The standby cannot serve this read; the text says why."""


class ReplicaReads:
    """Implements core.ports.store.Store: reads a standby where it is as new as the primary, and writes to the primary.

    Raises StoreError if the server at `url` is no standby of this database; one that cannot be reached is left out.
    """

    def __init__(self, primary: Store, url: str, background: Background) -> None:
        self._primary = primary
        self.engine, self.meters = primary.engine, primary.meters
        self.write, self.gather, self.promote = primary.write, primary.gather, primary.promote
        self.size, self.watch, self.trouble = primary.size, primary.watch, primary.trouble
        self.lost, self.accept_loss = primary.lost, primary.accept_loss
        self._alarm: str | None = None
        self._waits_for: tuple[float, str] | None = None
        """A position that the standby had not replayed at a look, and the time of that look."""
        self._rests_until = 0.0
        with primary.read() as tx:
            row = cast("Transaction", tx).sql.one("database_identity")
        self._watchdog = Watchdog(background.work("ending overdue operations of the replica"))
        self._standby = Standby(url, cast("Any", row)["identity"], self._watchdog)
        self._readers: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=0,
            max_size=READERS,
            timeout=WAIT_SECONDS,
            reconnect_timeout=CONNECT_SECONDS,
            configure=self._standby.configure,
            kwargs=OPTIONS | {"target_session_attrs": STANDBY},
            open=False,
        )
        self._over = threading.Event()
        work = background.work("looking at the replica")
        self._following = threading.Thread(
            target=work.loop, args=(self._follow, self._over), name="antechamber-replica"
        )
        self._following.daemon = True
        try:
            self._standby.refuse_other()
            self.look()
        except BaseException:
            self._watchdog.close()
            raise
        self._readers.open()
        self._following.start()

    def replica_alarm(self) -> str | None:
        """Return why reads leave the replica out, or None."""
        return self._alarm

    def close(self) -> None:
        """Close all connections and the primary's store."""
        self._over.set()
        self._following.join()
        self._readers.close()
        self._watchdog.close()
        self._primary.close()

    @contextlib.contextmanager
    def read(self) -> Iterator[Rows]:
        """Open a read snapshot, of the standby if it is as new as the primary.

        Raises UnavailableError if the server that is read fails meanwhile.
        """
        connection = self._snapshot()
        if connection is None:
            with self._primary.read() as tx:
                yield tx
            return
        try:
            yield self._transaction(connection)
        except (psycopg.Error, OSError) as error:
            self._rest()
            translated = translate(error)
            if isinstance(translated, AgainError):
                message = "the replica ended the read; send the request again"
                raise UnavailableError(message) from error
            raise translated from error
        finally:
            self._give_back(connection)

    def _snapshot(self) -> Connection | None:
        """Return a connection to the standby with an open snapshot, or None if the primary is to be read."""
        if self._alarm is not None or time.monotonic() < self._rests_until:
            return None
        position = self._position()
        try:
            connection = self._readers.getconn()
        except PoolTimeout:
            self._rest()
            return None
        try:
            self._wait(connection, position)
            with self._watchdog.over(connection):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._compare(connection)
        except (psycopg.Error, OSError, _LeftOutError) as error:
            _log.info("a read goes to the primary: %s", error)
            self._rest()
            self._give_back(connection)
            return None
        except BaseException:
            self._give_back(connection)
            raise
        return connection

    def _wait(self, connection: Connection, position: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._standby.ask(connection, "has_replayed", position=position)["ready"]:
            if time.monotonic() > deadline:
                message = f"the replica is behind by more than {WAIT_SECONDS} s"
                raise _LeftOutError(message)
            time.sleep(_POLL_SECONDS)

    def _compare(self, connection: Connection) -> None:
        """Refuse a snapshot whose log is no beginning of the primary's.

        A standby shows a commit a moment before the primary does, and for longer while synchronous replication waits;
        one that was cut off by a failover may hold commits that were lost.
        """
        log = self._transaction(connection).log
        size = log.size()
        if not size:
            return
        with self._primary.read() as tx:
            if tx.log.leaf_texts(size - 1, 1) != log.leaf_texts(size - 1, 1):
                message = "the replica shows a commit that the primary has not acknowledged"
                raise _LeftOutError(message)

    def look(self) -> None:
        """Compare the standby with the primary; this decides whether it is read, and begins or ends the alarm.

        Raises BusyError or UnavailableError if the primary cannot be read.
        """
        since, position = self._waits_for or (time.monotonic(), self._position())
        try:
            with self._standby.open() as connection:
                behind = int(self._standby.ask(connection, "replay_lag", position=position)["bytes"])
        except (psycopg.Error, OSError, StoreError) as error:
            self._alarm = f"The replica is not read, because it cannot be used: {first_line(error)}"
            self._readers.drain()
            return
        self._waits_for = (since, position) if behind else None
        late = behind and time.monotonic() - since > MAX_LAG_SECONDS
        lag = f"The replica is not read: it is {behind} bytes and more than {MAX_LAG_SECONDS:.0f} s behind."
        self._alarm = lag if late else None

    def _follow(self) -> None:
        if not self._over.wait(LOOK_SECONDS):
            self.look()

    def _rest(self) -> None:
        self._rests_until = time.monotonic() + REST_SECONDS

    def _position(self) -> str:
        """Return how far the primary has committed.

        Raises UnavailableError.
        """
        with self._primary.read() as tx:
            row = cast("Transaction", tx).sql.one("committed_position")
        return str(cast("Any", row)["position"])

    def _transaction(self, connection: Connection) -> Transaction:
        return Transaction(PostgresStatements(WatchedConnection(connection, self._watchdog)))

    def _give_back(self, connection: Connection) -> None:
        if not is_lost(connection):
            try:
                with self._watchdog.over(connection):
                    connection.execute("ROLLBACK")
            except (psycopg.Error, OSError):
                connection.close()
        self._readers.putconn(connection)
