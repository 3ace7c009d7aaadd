"""The connections of this process, and the limits that they share."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from antechamber.web.submit import Respond

MAX_CONNECTIONS: Final = 4096
"""Connections at the same time; beyond it the one that was idle for the longest time is closed."""
MAX_STRANGE: Final = 512
"""The same limit for connections without a valid token or session; each check closes the oldest surplus ones.

A client whose connection is closed connects again at once, so closing each surplus one at once would cost more.
"""
HEAD_SECONDS: Final = 10.0
"""Deadline of a request's head, and of the rest of a body after its response; maximum idle time of a connection."""
SEND_SECONDS: Final = 20.0
"""Seconds within which a client must acknowledge LEAST_BYTES of a pending response, or the rest of it."""
ENDING_SECONDS: Final = 5.0
"""The same limit after the process was asked to stop, which waits for pending responses."""
CHECK_SECONDS: Final = 0.5

Take = Callable[[Any, bytes, Respond], bool]


class Connection(Protocol):
    """One connection, as `http_connection.LimitedConnection` is."""

    waiting_since: float | None

    def abort(self) -> None:
        """Close the connection at once."""

    def check(self, now: float, head_seconds: float, send_seconds: float, *, stopping: bool) -> None:
        """Close the connection if it is past a deadline."""


class OpenConnections:
    """All connections of this process, and the limits they share.

    The methods run in the thread of the event loop.
    """

    def __init__(
        self,
        *,
        max_connections: int = MAX_CONNECTIONS,
        max_strange: int = MAX_STRANGE,
        head_seconds: float = HEAD_SECONDS,
        send_seconds: float = SEND_SECONDS,
        take: Take = lambda *_: False,
    ) -> None:
        self.take = take
        """Takes a request with its complete body, or returns False if the application has to be called."""
        self.max_connections = max_connections
        self.max_strange = max_strange
        self.head_seconds = head_seconds
        self.send_seconds = send_seconds
        self._open: dict[Connection, None] = {}
        # The connections without a known caller, oldest first.
        self._strange: dict[Connection, None] = {}

    def add(self, connection: Connection) -> None:
        """Add a new connection; close another one, or this one, if a limit is exceeded."""
        self._open[connection] = None
        self._strange[connection] = None
        if len(self._open) > self.max_connections:
            idle = [one for one in self._open if one.waiting_since is not None and one is not connection]
            min(idle, key=lambda one: one.waiting_since or 0.0, default=connection).abort()

    def know(self, connection: Connection) -> None:
        """Record that a connection has a known caller."""
        self._strange.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """Remove a connection that is closed."""
        self._open.pop(connection, None)
        self._strange.pop(connection, None)

    async def watch(self, stopping: asyncio.Event) -> None:
        """Close connections past a deadline, without end."""
        loop = asyncio.get_running_loop()
        while True:
            self.check(loop.time(), stopping=stopping.is_set())
            await asyncio.sleep(CHECK_SECONDS)

    def check(self, now: float, *, stopping: bool) -> None:
        """Close each connection that is past a deadline; `now` is the event loop's time."""
        send_seconds = min(self.send_seconds, ENDING_SECONDS) if stopping else self.send_seconds
        surplus = len(self._strange) - self.max_strange
        for connection in list(self._strange)[: max(0, surplus)]:
            connection.abort()
        for connection in list(self._open):
            connection.check(now, self.head_seconds, send_seconds, stopping=stopping)
