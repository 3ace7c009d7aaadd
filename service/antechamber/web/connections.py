"""Connections of clients, by address and port: how many requests each sent, and whether its caller is known."""

import time
from collections.abc import Collection
from typing import Final

ClientAddress = tuple[str, int | str]
"""Host and port as the HTTP server names them: Granian writes the port as text."""

MAX_REQUESTS: Final = 10_000
"""Requests of one connection; the answer to the last one ends it, and clients connect again."""
MAX_STRANGE_REQUESTS: Final = 100
"""The same for a connection on which no request had a valid token or session."""
GRACE_SECONDS: Final = 1.0
"""How long an answer may be on its way before its connection is ended."""


class ConnectionTable:
    """What is known of each connection that sent a request; read by another thread than the one that writes."""

    def __init__(self, most: int = MAX_REQUESTS, most_strange: int = MAX_STRANGE_REQUESTS) -> None:
        """Begin with none, under the limits of this module or others."""
        self._most, self._most_strange = most, most_strange
        self._requests: dict[ClientAddress, int] = {}
        self._known: set[ClientAddress] = set()
        self._over: dict[ClientAddress, float] = {}
        self._gone: set[ClientAddress] = set()

    def count(self, peer: ClientAddress | None) -> bool:
        """Count a request; True where it is the last one that its connection may send."""
        if peer is None:
            return False
        number = self._requests[peer] = self._requests.get(peer, 0) + 1
        return number >= (self._most if peer in self._known else self._most_strange)

    def know(self, peer: ClientAddress | None) -> None:
        """Note that a request of a connection had a valid token or session."""
        if peer is not None:
            self._known.add(peer)

    def knows(self, peer: ClientAddress | None) -> bool:
        """Tell whether some request of a connection had a valid token or session."""
        return peer in self._known

    def end(self, peer: ClientAddress | None) -> None:
        """Have a connection ended soon: its body was given up, and the HTTP server would wait for the rest forever."""
        if peer is not None:
            self._over[peer] = time.monotonic()

    def ends(self, peer: ClientAddress | None) -> bool:
        """Tell whether a connection is ended after the answer that is on its way."""
        return peer in self._over

    def over(self) -> set[ClientAddress]:
        """Return the connections that are to be ended and had time to get their answer."""
        until = time.monotonic() - GRACE_SECONDS
        return {peer for peer, since in list(self._over.items()) if since < until}

    def keep(self, present: Collection[ClientAddress]) -> None:
        """Forget the connections that ended."""
        gone = {one for one in list(self._requests) if one not in present}
        # A connection that sent its first request after the look is missed by it, and found by the next one.
        for peer in gone & self._gone:
            self._requests.pop(peer, None)
            self._known.discard(peer)
            self._over.pop(peer, None)
        self._gone = gone
