"""Client connections, by address and port: the number of their requests, and whether their caller is known."""

import time
from collections.abc import Collection
from typing import Final

ClientAddress = tuple[str, int | str]
"""Host and port as the HTTP server reports them: Granian formats the port as text."""

MAX_REQUESTS: Final = 10_000
"""Maximum number of requests of one connection; the last response closes it, and clients reconnect."""
MAX_STRANGE_REQUESTS: Final = 100
"""The same limit for a connection without a request that had a valid token or session."""
GRACE_SECONDS: Final = 1.0
"""Seconds to deliver a response before its connection is closed."""


class ConnectionTable:
    """What is known of each connection that sent a request; written by one thread and read by another."""

    def __init__(self, most: int = MAX_REQUESTS, most_strange: int = MAX_STRANGE_REQUESTS) -> None:
        self._most, self._most_strange = most, most_strange
        self._requests: dict[ClientAddress, int] = {}
        self._known: set[ClientAddress] = set()
        self._over: dict[ClientAddress, float] = {}
        self._gone: set[ClientAddress] = set()

    def count(self, peer: ClientAddress | None) -> bool:
        """Count a request; return True if it is the last one that its connection may send."""
        if peer is None:
            return False
        requests = self._requests[peer] = self._requests.get(peer, 0) + 1
        return requests >= (self._most if peer in self._known else self._most_strange)

    def know(self, peer: ClientAddress | None) -> None:
        """Record that a request of a connection had a valid token or session."""
        if peer is not None:
            self._known.add(peer)

    def knows(self, peer: ClientAddress | None) -> bool:
        """Return whether a request of a connection had a valid token or session."""
        return peer in self._known

    def end(self, peer: ClientAddress | None) -> None:
        """Schedule the end of a connection whose body was aborted: the HTTP server would wait for the rest forever."""
        if peer is not None:
            self._over[peer] = time.monotonic()

    def ends(self, peer: ClientAddress | None) -> bool:
        """Return whether a connection closes after the current response."""
        return peer in self._over

    def over(self) -> set[ClientAddress]:
        """Return the connections to close whose responses had time to arrive."""
        until = time.monotonic() - GRACE_SECONDS
        return {peer for peer, since in list(self._over.items()) if since < until}

    def keep(self, present: Collection[ClientAddress]) -> None:
        """Remove the connections that are not present any more."""
        gone = {peer for peer in list(self._requests) if peer not in present}
        # A connection may be newer than `present`, so it is removed only if it is missing twice in a row.
        for peer in gone & self._gone:
            self._requests.pop(peer, None)
            self._known.discard(peer)
            self._over.pop(peer, None)
        self._gone = gone
