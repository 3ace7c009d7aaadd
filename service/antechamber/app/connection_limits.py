"""Connections of this process: those that take no answers are ended, and those without a known caller are few.

The HTTP server limits how long the head of a request may take and how long a connection may be idle, but a client that
does not read its answer holds a connection for as long as it likes. Here the kernel is asked, for each connection, how
many bytes the client took (Linux: TCP_INFO and SIOCOUTQ).
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
"""Within this time a client has to take LEAST_BYTES of an answer that waits for it, or all that is left of it."""
ENDING_SECONDS: Final = 5.0
"""The same once the process was told to end, which waits for answers under way."""
LEAST_BYTES: Final = 16 << 10
MAX_STRANGE: Final = 512
"""Connections without a valid token or session; where there are more, those that began first are ended."""
_DESCRIPTORS: Final = Path("/proc/self/fd")
_BYTES_ACKED: Final = 120
"""Where struct tcp_info (linux/tcp.h) holds tcpi_bytes_acked, 64 bits."""
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER on, 0 seconds: closing drops what was not sent."""


class _Seen(Struct):
    """A connection as earlier looks saw it."""

    first: float
    since: float
    """When the client last had taken all or LEAST_BYTES more."""
    taken: int
    """Bytes that it had taken by then."""


class ConnectionWatch:
    """Looks at all connections of a port again and again."""

    def __init__(
        self,
        port: int,
        peers: ConnectionTable,
        ending: Callable[[], bool] = lambda: False,
        *,
        send_seconds: float = SEND_SECONDS,
        most_strange: int = MAX_STRANGE,
    ) -> None:
        """Watch the port that this process listens on, under the limits of this module or others.

        `ending` tells whether the process was told to end.
        """
        self._port = port
        self._peers = peers
        self._ending = ending
        self._send_seconds = send_seconds
        self._most_strange = most_strange
        self._seen: dict[ClientAddress, _Seen] = {}

    def look(self) -> None:
        """Look at each connection once and end those that break a limit."""
        now, before, self._seen = time.monotonic(), self._seen, {}
        most = min(self._send_seconds, ENDING_SECONDS) if self._ending() else self._send_seconds
        strange: list[tuple[float, ClientAddress]] = []
        stuck, over = set[ClientAddress](), self._peers.over()
        for peer, link in self._links():
            with contextlib.suppress(OSError):
                seen = self._seen[peer] = before.get(peer) or self._begun(link, now)
                if _takes(link, seen):
                    seen.since = now
                elif now - seen.since > most:
                    stuck.add(peer)
                if not self._peers.knows(peer):
                    strange.append((seen.first, peer))
                if peer in over:
                    link.shutdown(socket.SHUT_RDWR)
        self._peers.keep(self._seen)
        surplus = max(0, len(strange) - self._most_strange)
        self._end(stuck.union(peer for _, peer in sorted(strange)[:surplus]))

    def _begun(self, link: socket.socket, now: float) -> _Seen:
        """Note a connection; once the server closed it, the kernel gives up what the client does not take."""
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(self._send_seconds * 1000))
        return _Seen(now, now, 0)

    def _end(self, chosen: set[ClientAddress]) -> None:
        """End connections as a client would that resets them: the server reads an error and lets go."""
        for peer, link in self._links() if chosen else ():
            if peer in chosen:
                with contextlib.suppress(OSError):
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    link.shutdown(socket.SHUT_RDWR)

    def _links(self) -> Iterator[tuple[ClientAddress, socket.socket]]:
        """Yield the connections that were accepted on the port; each is usable until the next one is asked for.

        A descriptor is duplicated before it is looked at: the server may close it, and the number be used again.
        """
        for number in _sockets():
            try:
                link = socket.socket(fileno=os.dup(number))
            except OSError:
                continue
            with link, contextlib.suppress(OSError):
                if link.family in {socket.AF_INET, socket.AF_INET6} and link.getsockname()[1] == self._port:
                    host, port, *_ = link.getpeername()
                    # As the HTTP server names it.
                    yield (host, str(port)), link


def _sockets() -> Iterator[int]:
    """Yield the descriptors of this process that are sockets; none where the system does not tell."""
    with contextlib.suppress(FileNotFoundError):
        for path in _DESCRIPTORS.iterdir():
            with contextlib.suppress(OSError):
                if str(path.readlink()).startswith("socket:"):
                    yield int(path.name)


def _takes(link: socket.socket, seen: _Seen) -> bool:
    """Tell whether a client took enough since the last time it did, or has nothing to take."""
    (waiting,) = struct.unpack("i", fcntl.ioctl(link.fileno(), termios.TIOCOUTQ, b"\0\0\0\0"))
    (taken,) = struct.unpack_from("=Q", link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), _BYTES_ACKED)
    if waiting and taken - seen.taken < LEAST_BYTES:
        return False
    seen.taken = taken
    return True
