"""The log of requests: an id for each, a line for each slow one and, if wanted, a line or a span for every one.

Lines name the route, not the address, which may hold keys and questions. The lines of the access log are written by a
thread of their own, so that a slow terminal or disk delays no answer.
"""

import itertools
import logging
import queue
import secrets
from collections.abc import Iterable
from time import perf_counter
from typing import Any, Final, NamedTuple, cast

from litestar.types import Message, Scope, Send

from antechamber.logs import REQUEST, note
from antechamber.traces import AnsweredRequest, recorder

HEADER: Final = b"x-request-id"
STATE_NAME: Final = "request_id"
"""Name in `scope["state"]` of the id of a request."""
SLOW_SECONDS: Final = 1.0
"""Seconds after which a request is slow."""
WAITING_ROUTES: Final = frozenset({"/v1/changes", "/review/changes", "/mcp"})
"""Routes that wait on purpose."""
MAX_LINES: Final = 10_000
"""Maximum number of lines that wait to be written; further ones are counted and left out."""
_log: Final = logging.getLogger(__name__)
_access: Final = logging.getLogger("antechamber.access")


class _Line(NamedTuple):
    """An answered request."""

    request: str
    method: str
    route: str
    status: int
    milliseconds: float


class RequestLog:
    """Gives each request its id and notes its end; `access` asks for a line for every request."""

    def __init__(self, *, access: bool) -> None:
        self._access = access
        # Ids are unique among processes and starts; they are no secret.
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._lines: queue.Queue[_Line | None] = queue.Queue(MAX_LINES)
        self._left_out = 0

    def begin(self) -> str:
        """Return the id of a new request, which all lines of this request carry."""
        request = f"{self._prefix}-{next(self._numbers):x}"
        REQUEST.set(request)
        return request

    def end(self, request: str, scope: Scope, status: int, seconds: float, route: str | None = None) -> None:
        """Note an answered request; `route` is known where the framework did not look it up."""
        slow, traces = seconds > SLOW_SECONDS, recorder()
        if not (slow or self._access or traces):
            return
        values = cast("dict[str, Any]", scope)
        route = route or str(values.get("path_template") or "unknown")
        if traces is not None:
            traceparent = _find_traceparent(values["headers"])
            traces.record_request(AnsweredRequest(request, values["method"], route, status, seconds, traceparent))
        line = _Line(request, values["method"], route, status, round(seconds * 1000, 1))
        if slow and route not in WAITING_ROUTES:
            note(_log, logging.WARNING, "slow request", **line._asdict())
        if self._access:
            try:
                self._lines.put_nowait(line)
            except queue.Full:
                self._left_out += 1

    def watch(self, request: str, scope: Scope, send: Send) -> Send:
        """Return a `send` that notes the end of the request with its last message."""
        began, status = perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self.end(request, scope, status, perf_counter() - began)

        return watched

    def run(self) -> None:
        """Write the lines of the access log until `stop` is called, and what waits by then."""
        while (line := self._lines.get()) is not None:
            self._write(line)
        while not self._lines.empty():
            if (line := self._lines.get()) is not None:
                self._write(line)

    def _write(self, line: _Line) -> None:
        note(_access, logging.INFO, "request", **line._asdict())
        left_out, self._left_out = self._left_out, 0
        if left_out:
            note(_access, logging.WARNING, "lines of the access log were left out", number=left_out)

    def stop(self) -> None:
        """Make `run` return after the lines that wait."""
        self._lines.put(None)


def _find_traceparent(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the caller's `traceparent`; None without one, and with several (W3C Trace Context section 4.3)."""
    found = [value for name, value in headers if name == b"traceparent"]
    return found[0].decode("latin-1") if len(found) == 1 else None
