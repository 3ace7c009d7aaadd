"""The HTTP server's side of a connection: uvicorn's protocol with limits on time, bytes and number of requests.

uvicorn limits only the idle time of a connection. Here each wait for a client has a deadline, also while the client
sends nothing at all or does not read its response. One check of all connections each half second costs less than a
timer for each.

uvicorn also parses all requests of a pipeline at once, and so lets the other connections wait. Here a request is parsed
after the response to the one before it.
"""

import asyncio
import contextlib
import socket
import struct
from functools import partial
from typing import Any, Final, cast

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from antechamber.app.open_connections import OpenConnections
from antechamber.flows.admit import LONG
from antechamber.web.body_deadline import UPLOAD_SECONDS
from antechamber.web.connections import STATE_NAME
from antechamber.web.submit import WholeResponse

MAX_REQUESTS: Final = 10_000
"""Maximum number of requests of one connection; the last response closes it, and clients reconnect."""
MAX_STRANGE_REQUESTS: Final = 100
"""The same limit for a connection without a request that had a valid token or session."""
HEAD_BYTES: Final = 65_536
"""Maximum size of a request's head."""
LEAST_BYTES: Final = 16 << 10
"""Bytes of a pending response that a client must acknowledge within the deadline, unless fewer are left."""
HELD_BYTES: Final = 64 << 10
"""Maximum size of a body that an unknown caller must send completely before its request begins."""
GRACE_SECONDS: Final = 1.0
"""Seconds in which a client can read the last response of a connection while its unread body is dropped."""
_HEAD_END: Final = b"\r\n\r\n"
_UNDIVIDED_BYTES: Final = 1024
"""Bytes that are parsed at once even if they hold several requests; larger parts are divided where heads end."""
_BYTES_ACKED: Final = 120
"""Offset of tcpi_bytes_acked, 64 bits, in struct tcp_info (linux/tcp.h)."""


class LimitedConnection(HttpToolsProtocol):
    """One connection; the application sees it as `web.connections.ClientConnection`."""

    def __init__(
        self,
        table: OpenConnections,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._table = table
        self.known = False
        self.broken_off = False
        self.waiting_since: float | None = self.loop.time()
        """When the connection began to wait for the head of a request; None while a request is handled."""
        self._requests = 0
        self._head_bytes = 0
        self._in_head = True
        self._unparsed = b""
        """Bytes that were received while a response is pending. As long as there are any, reading is paused."""
        self._running: RequestResponseCycle | None = None
        self._sending_ended = False
        self._ends_with_client = False
        self._held: Any = None
        """The application, while a request waits for its body."""
        self._held_since = 0.0
        self._closing_since: float | None = None
        self._stuck_since: float | None = None
        self._acknowledged = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection."""
        super().connection_made(transport)
        link: socket.socket = transport.get_extra_info("socket")
        # After the server closes a connection, the kernel drops what the client does not acknowledge.
        with contextlib.suppress(OSError):
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(self._table.send_seconds * 1000))
        self._table.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._table.remove(self)
        # uvicorn informs the last request of a pipeline only. The one that is being answered would write to a closed
        # transport, which raises an error and logs a traceback.
        if self._running is not None:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection for the response of a client that only ended its sending side (RFC 9112, section 9.6).

        A client that ends it during a response is gone. A body that is not complete is never read as if it were.
        """
        cycle = self._running
        if cycle is None or cycle.response_started or self._ends_with_client:
            return False
        self._sending_ended = True
        if self.cycle.more_body and self.cycle is not cycle:
            self.pipeline.popleft()
        elif cycle.more_body:
            self.broken_off, cycle.more_body = True, False
            cycle.message_event.set()
            self._begin_held()
        return True

    def know(self) -> None:
        """Record that a request had a valid token or session, which raises the limits of the connection."""
        if not self.known:
            self.known = True
            self._table.know(self)

    def end_after_response(self) -> None:
        """Close the connection after the current response; what the client still sends is dropped."""
        cycle = self._running
        if cycle is not None and not cycle.response_complete:
            cycle.keep_alive = False
            # The cycle closes its transport. An immediate close would reset the connection while the client sends,
            # and the client might never read the response.
            cycle.transport = cast("asyncio.Transport", _LingeringTransport(self))

    def end_with_client(self) -> None:
        """Close the connection when the client ends its sending side during this request."""
        self._ends_with_client = True
        if self._sending_ended:
            self.transport.close()

    def linger(self) -> None:
        """End the sending side, and drop what the client still sends until the grace period ends."""
        self._closing_since = self.loop.time()
        self.flow.resume_reading()
        with contextlib.suppress(OSError, RuntimeError):
            self.transport.write_eof()

    def abort(self) -> None:
        """Close the connection at once and drop unsent data."""
        self.transport.abort()

    def check(self, now: float, head_seconds: float, send_seconds: float, *, stopping: bool = False) -> None:
        """Close the connection if it is past a deadline."""
        self._check_held(now, stopping=stopping)
        if self._closing_since is not None and now - self._closing_since > GRACE_SECONDS:
            self.abort()
        elif self.waiting_since is not None and now - self.waiting_since > head_seconds:
            self.transport.close()
        if self.transport.get_write_buffer_size() == 0:
            self._stuck_since = None
        elif self._stuck_since is None or self._reads():
            self._stuck_since = now
        elif now - self._stuck_since > send_seconds:
            self.abort()

    def _check_held(self, now: float, *, stopping: bool) -> None:
        """Begin a request whose body does not come: it is refused, or answered that the process stops."""
        if self._held is None or self._running is None:
            return
        if now - self._held_since > UPLOAD_SECONDS:
            self.broken_off, self._running.more_body = True, False
            self._running.message_event.set()
            self._begin_held()
        elif stopping:
            self._begin_held()

    def _reads(self) -> bool:
        """Return whether the client acknowledged LEAST_BYTES since it last did; the kernel counts them."""
        with contextlib.suppress(OSError):
            link: socket.socket = self.transport.get_extra_info("socket")
            (acknowledged,) = struct.unpack_from(
                "=Q", link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), _BYTES_ACKED
            )
            if acknowledged - self._acknowledged >= LEAST_BYTES:
                self._acknowledged = acknowledged
                return True
        return False

    # What follows is called by the event loop and the parser, for each request.

    def data_received(self, data: bytes) -> None:
        """Parse data, or keep what follows a request whose response is pending."""
        if self._closing_since is not None:
            return
        if len(data) <= _UNDIVIDED_BYTES and not self._unparsed and not self._is_answering():
            self._feed(data)
        else:
            self._unparsed += data
            self._parse()

    def _parse(self) -> None:
        """Parse what was received, up to the end of a request whose response is pending."""
        while self._unparsed and not self._is_answering():
            if self.transport.is_closing() or self._closing_since is not None:
                return
            # The parser cannot be interrupted, so it gets one head at a time.
            found = self._unparsed.find(_HEAD_END, 0 if self._in_head else _UNDIVIDED_BYTES)
            end = len(self._unparsed) if found < 0 else found + len(_HEAD_END)
            data, self._unparsed = self._unparsed[:end], self._unparsed[end:]
            self._feed(data)
        if self._unparsed:
            self.flow.pause_reading()

    def _go_on(self) -> None:
        """Parse the next request of a pipeline, and read on if it is the last one."""
        self._parse()
        if not self._unparsed:
            self.flow.resume_reading()

    def _is_answering(self) -> bool:
        """Return whether the response to a request that was parsed completely is pending."""
        return bool(self.pipeline) or (self._running is not None and not self._running.more_body)

    def _feed(self, data: bytes) -> None:
        """Give data to the parser; refuse a head that is too large."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be parsed and close the connection."""
        self.waiting_since = None
        super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        cast("dict[str, Any]", self.scope)["state"][STATE_NAME] = self

    def on_headers_complete(self) -> None:
        """Begin to handle a request, or queue it behind the one before.

        Raises HttpParserError if its head is too large, or names more than one host (RFC 9112, section 3.2): a proxy
        in front may go by another one of them.
        """
        if (
            self._head_bytes > HEAD_BYTES
            and len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > HEAD_BYTES
        ):
            message = "head too large"
            raise httptools.HttpParserError(message)
        if sum(name == b"host" for name, _ in self.headers) > 1:
            message = "more than one Host field"
            raise httptools.HttpParserError(message)
        self._in_head, self.waiting_since = False, None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the body of a request."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_complete()
        if self.cycle is self._running:
            self._begin_held()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        # Counted here, because pipelined requests are parsed before the first one has shown who the caller is.
        self._running = cycle
        self._requests += 1
        if self._requests >= (MAX_REQUESTS if self.known else MAX_STRANGE_REQUESTS):
            self.end_after_response()
        most = LONG if self.known else HELD_BYTES
        if cycle.more_body and not cycle.waiting_for_100_continue and _is_small(cycle, most):
            # A request costs far more than its bytes, so clients that never finish a body begin none.
            self._held, self._held_since = app, self.loop.time()
        else:
            self._begin(cycle, app)

    def _begin_held(self) -> None:
        """Begin the request that waited for its body, if there is one."""
        app, self._held = self._held, None
        if app is not None and self._running is not None:
            self._begin(self._running, app)

    def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Begin a request: by the short cut if that takes it, else by a task that calls the application."""
        whole = not (cycle.more_body or cycle.waiting_for_100_continue or self.broken_off or self.flow.write_paused)
        if not (whole and self._table.take(cycle.scope, bytes(cycle.body), partial(self._respond, cycle, app))):
            super()._start_asgi_task(cycle, app)

    def _respond(self, cycle: RequestResponseCycle, app: Any, response: WholeResponse | None) -> None:
        """Send the response of the short cut; without one, call the application."""
        if response is None:
            super()._start_asgi_task(cycle, app)
        elif not cycle.disconnected:
            parts = [STATUS_LINE[response.status]]
            for name, value in (*cycle.default_headers, *response.headers):
                parts += (name, b": ", value, b"\r\n")
            if not cycle.keep_alive:
                parts.append(b"connection: close\r\n")
            parts += (b"\r\n", response.body)
            cycle.response_started = cycle.response_complete = True
            cycle.transport.write(b"".join(parts))
            if not cycle.keep_alive:
                cycle.transport.close()
            self.on_response_complete()

    def on_response_complete(self) -> None:
        """Begin the next request of the pipeline, or to wait for one; `check` limits the wait."""
        self.server_state.total_requests += 1
        self._ends_with_client = False
        if self.transport.is_closing() or self._closing_since is not None:
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._sending_ended:
            self.transport.close()
        else:
            self._running, self.waiting_since = None, self.loop.time()
        if self._unparsed:
            self.loop.call_soon(self._go_on)
        else:
            self.flow.resume_reading()


def _is_small(cycle: RequestResponseCycle, most: int) -> bool:
    """Return whether a request declares a body of at most this many bytes."""
    for name, value in cycle.scope["headers"]:
        if name == b"content-length":
            return value.isdigit() and len(value) < 6 and 0 < int(value) <= most  # noqa: PLR2004 -- digits
    return False


class _LingeringTransport:
    """A transport whose `close` leaves the client time to read what was written."""

    def __init__(self, connection: LimitedConnection) -> None:
        self._connection = connection

    def write(self, data: bytes) -> None:
        self._connection.transport.write(data)

    def is_closing(self) -> bool:
        return self._connection.transport.is_closing()

    def close(self) -> None:
        self._connection.linger()
