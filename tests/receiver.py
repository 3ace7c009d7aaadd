"""A receiver of webhooks: a real HTTP server on this machine, whose answers a test chooses."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from standardwebhooks import Webhook


class Receiver:
    """Keeps each request, and answers with the next of `answers`, or 204 if there is none.

    An answer is a status, `reset` for a connection that is closed without one, `garbage`, or `hang` for one that waits
    until `release` is set.
    """

    def __init__(self) -> None:
        self.answers: list[int | str] = []
        self.release = threading.Event()
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.closed = threading.Event()
        """Set when the other side closed a connection that hangs."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"receiver": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?key=k"

    @property
    def ids(self) -> list[str]:
        """The ids of all requests, in order."""
        return [headers["webhook-id"] for headers, _ in self.requests]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The bodies of all requests, in order."""
        return [msgspec.json.decode(body) for _, body in self.requests]

    @property
    def sequences(self) -> list[int]:
        """The sequences of all requests, in order."""
        return [event["data"]["sequence"] for event in self.events]

    def verify(self, secret: str) -> None:
        """Verify the signature of each request with the library of the specification."""
        for headers, body in self.requests:
            Webhook(secret).verify(body, headers)

    @contextlib.contextmanager
    def running(self) -> Iterator["Receiver"]:
        """Serve until the context ends."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.release.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    receiver: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        answer = self.receiver.answers.pop(0) if self.receiver.answers else 204
        self.receiver.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
        if isinstance(answer, int):
            self.send_response(answer)
            self.send_header("location", self.receiver.url)
            self.send_header("content-length", "0")
            self.end_headers()
        elif answer == "garbage":
            self.wfile.write(b"this is not HTTP\r\n\r\n")
        elif answer == "hang":
            self._hang()

    def _hang(self) -> None:
        self.connection.settimeout(0.05)
        while not self.receiver.release.is_set() and not self.receiver.closed.is_set():
            with contextlib.suppress(TimeoutError):
                if self._is_closed():
                    self.receiver.closed.set()

    def _is_closed(self) -> bool:
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return True

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 -- the name in the base class
        """Say nothing."""
