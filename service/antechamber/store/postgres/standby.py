"""Connections to a standby of the database, each of which is checked to be one."""

import logging
from typing import Any, Final

import psycopg
from psycopg import errors
from psycopg.rows import dict_row

from antechamber.store.errors import StoreError
from antechamber.store.postgres.connection import (
    CONNECT_SECONDS,
    NO_ROLE,
    Connection,
    Watchdog,
    WatchedConnection,
    configure,
)
from antechamber.store.postgres.statements import single

_log: Final = logging.getLogger(__name__)
STANDBY: Final = "standby"
"""The kind of server to connect to (target_session_attrs of libpq); of several hosts, the first that is one."""
OTHER_DATABASE: Final = (
    "--read-database-url names another database than --database-url; name a streaming standby of the same one"
)
NO_STANDBY: Final = (
    "--read-database-url names no standby but a primary; name a streaming standby, or leave the option out"
)
OPTIONS: Final[dict[str, Any]] = {
    "autocommit": True,
    "row_factory": dict_row,
    "connect_timeout": CONNECT_SECONDS,
    "client_encoding": "utf8",
}


class Standby:
    """Opens connections to a standby; `identity` is that of the primary's server and database."""

    def __init__(self, url: str, identity: str, watchdog: Watchdog) -> None:
        self._url = url
        self._identity = identity
        self._watchdog = watchdog

    def ask(self, connection: Connection, name: str, **values: str) -> Any:
        """Return the only row of a statement."""
        return WatchedConnection(connection, self._watchdog).rows(single(name), values)[0]

    def open(self, kind: str = STANDBY) -> Connection:
        """Open a connection outside the pool.

        Raises psycopg.Error if no server of this kind answers, StoreError for one of another database.
        """
        connection: Connection = psycopg.connect(self._url, **OPTIONS, target_session_attrs=kind)
        try:
            self.configure(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def configure(self, connection: Connection) -> None:
        """Check and prepare a new connection.

        Raises StoreError for a server of another database, or if the user lacks our roles.
        """
        if self.ask(connection, "database_identity")["identity"] != self._identity:
            raise StoreError(OTHER_DATABASE)
        try:
            configure(connection, reads=True)
        except errors.InsufficientPrivilege as error:
            raise StoreError(NO_ROLE) from error

    def refuse_other(self) -> None:
        """Refuse a server of another database, or one that is no standby; one that does not answer is left out.

        Raises StoreError.
        """
        for kind in (STANDBY, "any"):
            try:
                self.open(kind).close()
            except psycopg.Error as error:
                _log.warning("no server (%s) answers at --read-database-url: %s", kind, first_line(error))
            else:
                if kind == STANDBY:
                    return
                raise StoreError(NO_STANDBY)


def first_line(error: Exception) -> str:
    """Return the first line of an error's text."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
