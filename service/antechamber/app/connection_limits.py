"""Closes connections whose client does not read its responses, and surplus ones without a known caller.

The HTTP server limits the time to send a request's head and the idle time of a connection, but a client that does not
read its response can hold a connection without limit. This module asks the kernel, for each connection, how many bytes
the client has acknowledged (Linux: TCP_INFO and SIOCOUTQ).
"""

import contextlib
import fcntl
import os
import socket
import struct
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from antechamber.web.connections import ClientAddress, ConnectionTable

LOOK_EVERY_SECONDS: Final = 0.5
SEND_SECONDS: Final = 20.0
"""Seconds within which a client must acknowledge LEAST_BYTES of a pending response, or the rest of it."""
ENDING_SECONDS: Final = 5.0
"""The same limit after the process was asked to stop, which waits for pending responses."""
LEAST_BYTES: Final = 16 << 10
MAX_STRANGE: Final = 512
"""Maximum number of connections without a valid token or session; the oldest surplus ones are closed."""
_DESCRIPTORS: Final = Path("/proc/self/fd")
_BYTES_ACKED: Final = 120
"""Offset of tcpi_bytes_acked, 64 bits, in struct tcp_info (linux/tcp.h)."""
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER on, 0 seconds: closing drops unsent data."""


class _Seen(Struct):
    """A connection as seen by earlier checks."""

    first: float
    since: float
    """When the client last had acknowledged everything or LEAST_BYTES more."""
    taken: int
    """Bytes that it had acknowledged by then."""


class ConnectionWatch:
    """Checks all connections of the port that this process listens on.

    `ending` returns whether the process was asked to stop.
    """

    def __init__(
        self,
        port: int,
        peers: ConnectionTable,
        ending: Callable[[], bool] = lambda: False,
        *,
        send_seconds: float = SEND_SECONDS,
        most_strange: int = MAX_STRANGE,
    ) -> None:
        self._port = port
        self._peers = peers
        self._ending = ending
        self._send_seconds = send_seconds
        self._most_strange = most_strange
        self._seen: dict[ClientAddress, _Seen] = {}

    def look(self) -> None:
        """Check each connection once, and close those that exceed a limit."""
        now, before, self._seen = time.monotonic(), self._seen, {}
        limit = min(self._send_seconds, ENDING_SECONDS) if self._ending() else self._send_seconds
        strange: list[tuple[float, ClientAddress]] = []
        stuck, over = set[ClientAddress](), self._peers.over()
        for peer, link in self._links():
            with contextlib.suppress(OSError):
                seen = self._seen[peer] = before.get(peer) or self._begun(link, now)
                if _takes(link, seen):
                    seen.since = now
                elif now - seen.since > limit:
                    stuck.add(peer)
                if not self._peers.knows(peer):
                    strange.append((seen.first, peer))
                if peer in over:
                    link.shutdown(socket.SHUT_RDWR)
        self._peers.keep(self._seen)
        surplus = max(0, len(strange) - self._most_strange)
        self._end(stuck.union(peer for _, peer in sorted(strange)[:surplus]))

    def _begun(self, link: socket.socket, now: float) -> _Seen:
        """Record a connection; after the server closes it, the kernel drops what the client does not acknowledge."""
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(self._send_seconds * 1000))
        return _Seen(now, now, 0)

    def _end(self, peers: set[ClientAddress]) -> None:
        """Close connections as if the client had reset them: the server reads an error and releases them."""
        for peer, link in self._links() if peers else ():
            if peer in peers:
                with contextlib.suppress(OSError):
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    link.shutdown(socket.SHUT_RDWR)

    def _links(self) -> Iterator[tuple[ClientAddress, socket.socket]]:
        """Yield the accepted connections of the port; each is usable until the next one is requested.

        A descriptor is duplicated before it is examined: the server may close it, and its number may be reused.
        """
        for descriptor in _sockets():
            try:
                link = socket.socket(fileno=os.dup(descriptor))
            except OSError:
                continue
            with link, contextlib.suppress(OSError):
                if link.family in {socket.AF_INET, socket.AF_INET6} and link.getsockname()[1] == self._port:
                    host, port, *_ = link.getpeername()
                    # In the form that the HTTP server reports.
                    yield (host, str(port)), link


def _sockets() -> Iterator[int]:
    """Yield this process's descriptors that are sockets; none if the system does not list them."""
    with contextlib.suppress(FileNotFoundError):
        for path in _DESCRIPTORS.iterdir():
            with contextlib.suppress(OSError):
                if str(path.readlink()).startswith("socket:"):
                    yield int(path.name)


def _takes(link: socket.socket, seen: _Seen) -> bool:
    """Return whether a client acknowledged enough since it last did, or has nothing to acknowledge."""
    (waiting,) = struct.unpack("i", fcntl.ioctl(link.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))
    (taken,) = struct.unpack_from("=Q", link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), _BYTES_ACKED)
    if waiting and taken - seen.taken < LEAST_BYTES:
        return False
    seen.taken = taken
    return True
