"""A witness of logs behind a real HTTP server on this machine (c2sp.org/tlog-witness), which may misbehave."""

import base64
import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from antechamber.checkpoint_signer import verify
from antechamber.core.log.checkpoint_text import Checkpoint, NoteError, VerifierKey, read_checkpoint
from antechamber.core.log.cosignature import COSIGNATURE, cosigned_text
from antechamber.core.log.merkle import verify_consistency

TIME = 1_800_000_000
Reply = tuple[int, bytes]


class WitnessServer:
    """Cosigns checkpoints of one log; `answers` replace its own, one after another."""

    def __init__(self, name: str = "witness.example/w") -> None:
        self.private = Ed25519PrivateKey.generate()
        self.key = VerifierKey(name, self.private.public_key().public_bytes_raw(), COSIGNATURE)
        self.log_key: VerifierKey | None = None
        self.last: Checkpoint | None = None
        self.answers: list[Reply] = []
        self.replies: list[tuple[int, int]] = []
        """Old size and status of each request."""
        self.url = "http://127.0.0.1:1"
        """The submission prefix while it runs."""

    def line(self, text: str) -> str:
        """Return the line that cosigns the text of a checkpoint."""
        raw = self.key.key_id + TIME.to_bytes(8, "big") + self.private.sign(cosigned_text(TIME, text))
        return f"— {self.key.name} {base64.b64encode(raw).decode()}\n"

    def policy(self) -> str:
        """Return the table that names this witness in a policy."""
        return f'[[witness]]\nkey = "{self.key}"\nurl = "{self.url}"\nallow_private = true\n'

    def answer(self, body: bytes) -> Reply:
        """Return the answer to a request, by the rules of the specification."""
        head, _, note = body.decode().partition("\n\n")
        first, *lines = head.split("\n")
        old = int(first.removeprefix("old "))
        reply = self.answers.pop(0) if self.answers else self._judge(old, lines, note)
        self.replies.append((old, reply[0]))
        return reply

    def _judge(self, old: int, lines: list[str], note: str) -> Reply:
        if self.log_key is None:
            return 404, b""
        try:
            new = read_checkpoint(note, self.log_key, verify)
        except NoteError:
            return 403, b""
        size = self.last.size if self.last else 0
        if old > new.size:
            return 400, b""
        if old != size:
            return 409, f"{size}\n".encode()
        path = [base64.b64decode(line, validate=True) for line in lines]
        if self.last is None:
            consistent = not path
        else:
            consistent = verify_consistency(old, new.size, path, self.last.root, new.root)
        if not consistent:
            return 422, b""
        self.last = new
        return 200, self.line(note.rpartition("\n\n")[0] + "\n").encode()

    @contextlib.contextmanager
    def running(self) -> Iterator["WitnessServer"]:
        """Serve until the context ends."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"witness": self}))
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}/w"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    witness: WitnessServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        status, content = self.witness.answer(body) if self.path == "/w/add-checkpoint" else (405, b"")
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 -- the name in the base class
        """Say nothing."""
