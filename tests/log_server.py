"""A log of any leaves behind a real HTTP server on this machine (c2sp.org/tlog-tiles), which may misbehave."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from antechamber.core.log.checkpoint_text import Checkpoint, VerifierKey, sign_note
from antechamber.core.log.merkle import BLOCK, Frontier, leaf_hash, up
from antechamber.core.log.tiles import ENTRIES, TileError, TilePlace, read_place, width_at, write_bundle

Answer = bytes | int | None
"""A body, a status without one, or None for an answer that waits until `release` is set."""


class LogServer:
    """Serves `leaves` as a signed log; `instead` has answers that replace those of the log, by path."""

    def __init__(self, name: str = "antechamber/tests", leaves: int = 0) -> None:
        self.private = Ed25519PrivateKey.generate()
        self.key = VerifierKey(name, self.private.public_key().public_bytes_raw())
        self.leaves = [f"leaf {number}".encode() for number in range(leaves)]
        self.instead: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.headers: dict[str, str] = {}
        """Further headers of every answer."""
        self.release = threading.Event()
        self.url = "http://127.0.0.1:1"
        """The address while it runs."""

    def grow(self, number: int) -> None:
        """Append leaves."""
        self.leaves += [f"leaf {len(self.leaves) + at}".encode() for at in range(number)]

    def checkpoint(self, leaves: list[bytes] | None = None) -> str:
        """Return the signed checkpoint of the leaves, or of others."""
        frontier = Frontier()
        for leaf in self.leaves if leaves is None else leaves:
            frontier.append(leaf_hash(leaf))
        return sign_note(Checkpoint(self.key.name, frontier.size, frontier.root()), self.key, self.private.sign)

    def tile(self, place: TilePlace) -> bytes | None:
        """Return a tile or a bundle, or None."""
        if width_at(place.level, place.number, len(self.leaves)) < place.width:
            return None
        first = place.number * BLOCK
        if place.level == ENTRIES:
            return write_bundle(self.leaves[first : first + place.width])
        span = BLOCK**place.level
        hashes = [leaf_hash(leaf) for leaf in self.leaves[first * span : (first + place.width) * span]]
        for _ in range(8 * place.level):
            hashes = up(hashes)
        return b"".join(hashes)

    def answer(self, path: str) -> Answer:
        """Return the answer to a path below /log/."""
        self.asked.append(path)
        if path in self.instead:
            return self.instead[path]
        if path == "checkpoint":
            return self.checkpoint().encode()
        try:
            return self.tile(read_place(path.removeprefix("tile/"))) or 404
        except TileError:
            return 404

    @contextlib.contextmanager
    def running(self) -> Iterator["LogServer"]:
        """Serve until the context ends."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"log": self}))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.release.set()
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    log: LogServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        answer = self.log.answer(self.path.removeprefix("/log/"))
        if answer is None:
            self.log.release.wait()
            self.close_connection = True
            return
        body = answer if isinstance(answer, bytes) else b""
        self.send_response(200 if isinstance(answer, bytes) else answer)
        for name, value in self.log.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 -- the name in the base class
        """Say nothing."""
