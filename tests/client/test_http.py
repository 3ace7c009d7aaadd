"""Sending events: completion, batches and retries."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from antechamber.client.http import ATTEMPTS, Answer, Sender, SendError, batches
from antechamber.core.errors import RequestRefusedError
from antechamber.core.outgoing import fill_in, hash_event
from support import event, free_port

TOKEN = "antp_" + "A" * 36
ACCEPTED = {
    "status": 201,
    "disposition": "accepted-for-review",
    "duplicate": False,
    "idempotency_key": "k",
    "line": 1,
    "proposal_id": "p",
}


class Script(ThreadingHTTPServer):
    """A server that answers by a script and keeps the requests; it listens on a free port."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[tuple[int, bytes] | None] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        """The address to send to."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Script

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, dict(self.headers), body))
        answer = self.server.answers.pop(0)
        if answer is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(answer[0])
        self.send_header("content-length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- named by the standard library
        """Suppress the log."""


@pytest.fixture
def script() -> Iterator[Script]:
    """A scripted server in a thread."""
    with Script() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _lines(*answers: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(answer).encode() + b"\n" for answer in answers)


def _send(url: str, *lines: bytes, token: str = TOKEN) -> tuple[list[Answer], list[float]]:
    """Send one batch; waits are recorded instead of slept."""
    waits: list[float] = []
    sender = Sender(url, token, waits.append)
    try:
        return sender.send(list(lines)), waits
    finally:
        sender.close()


def test_an_address_that_does_not_answer_is_shown_without_its_password() -> None:
    """The error shows where the service was expected, but no password."""
    port = free_port()
    sender = Sender(f"http://me:s3cr3t@127.0.0.1:{port}", TOKEN, wait=lambda _: None)
    with contextlib.closing(sender), pytest.raises(SendError, match=f"^http://127.0.0.1:{port}/?: ") as caught:
        sender.send([b"{}"])
    assert "s3cr3t" not in str(caught.value)


def test_a_batch_is_posted_with_its_token(script: Script) -> None:
    """The lines are sent unchanged to the batch route as NDJSON, with the token."""
    script.answers = [(200, _lines(ACCEPTED, ACCEPTED | {"line": 2, "duplicate": True}))]
    answers, waits = _send(script.url, b'{"a":1}', b'{"b":2}')
    path, headers, body = script.requests[0]
    sent = {name.lower(): value for name, value in headers.items()}
    assert (path, body) == ("/v1/submissions/batch", b'{"a":1}\n{"b":2}')
    assert sent["authorization"] == f"Bearer {TOKEN}"
    assert sent["content-type"] == "application/x-ndjson"
    assert [(answer.status, answer.line, answer.duplicate) for answer in answers] == [(201, 1, False), (201, 2, True)]
    assert waits == []


@pytest.mark.parametrize("status", [409, 429, 500, 502, 503, 504])
def test_an_unclear_answer_is_settled_by_the_same_bytes(script: Script, status: int) -> None:
    """Busy, rate-limited and failed answers are followed by an identical request."""
    script.answers = [(status, b"{}"), (status, b"not JSON"), (200, _lines(ACCEPTED))]
    answers, waits = _send(script.url, b'{"a":1}')
    assert [answer.status for answer in answers] == [201]
    assert len({body for _, _, body in script.requests}) == 1
    assert len(script.requests) == 3
    assert len(waits) == 2


def test_a_lost_answer_is_settled_by_the_same_bytes(script: Script) -> None:
    """A connection that breaks before the answer is followed by an identical request."""
    script.answers = [None, (200, _lines(ACCEPTED))]
    answers, waits = _send(script.url, b'{"a":1}')
    assert [answer.status for answer in answers] == [201]
    assert [body for _, _, body in script.requests] == [b'{"a":1}'] * 2
    assert len(waits) == 1


def test_waits_grow_and_end(script: Script) -> None:
    """After several attempts with growing waits, sending ends with an error that names the remedy."""
    script.answers = [(503, b'{"detail": "the store cannot commit now"}')] * ATTEMPTS
    waits: list[float] = []
    sender = Sender(script.url, TOKEN, waits.append)
    with pytest.raises(SendError, match=r"the store cannot commit now.*send the same file again"):
        sender.send([b"{}"])
    sender.close()
    assert len(script.requests) == ATTEMPTS
    assert waits == sorted(waits)
    assert 0 < waits[0] < waits[-1] <= 30


def test_nobody_listening_is_an_error_with_the_address() -> None:
    """A refused connection ends in an error that names the address."""
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(SendError, match=url):
        _send(url, b"{}")


@pytest.mark.parametrize(("status", "detail"), [(401, "no token"), (403, "not yours"), (413, "too large"), (404, "")])
def test_a_clear_refusal_is_not_tried_again(script: Script, status: int, detail: str) -> None:
    """A refusal that a retry cannot change is reported at once, with the reason."""
    script.answers = [(status, json.dumps({"detail": detail} if detail else {}).encode())]
    with pytest.raises(SendError, match=detail or "HTTP status 404"):
        _send(script.url, b"{}")
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "body",
    [b"<!doctype html><title>Hello</title>", b'{"hello":"world"}\n', b"[]\n", b"", b"\xff", b'"x"'],
)
def test_an_answer_of_something_else_is_a_clear_error(script: Script, body: bytes) -> None:
    """When another server answers 200, the error explains that the answer is not the service's."""
    script.answers = [(200, body)] * ATTEMPTS
    with pytest.raises(SendError):
        _send(script.url, b"{}")


def test_an_answer_with_too_few_lines_is_no_answer(script: Script) -> None:
    """Every line needs its answer, so a shorter answer never counts as success."""
    script.answers = [(200, _lines(ACCEPTED))] * ATTEMPTS
    with pytest.raises(SendError):
        _send(script.url, b"{}", b"{}")


def test_texts_with_other_line_ends_stay_one_answer(script: Script) -> None:
    """Only a line feed ends a line; other separators inside a text do not."""
    detail = "a\u2028b\u0085c\x1c d"
    raw = json.dumps(ACCEPTED | {"detail": detail}, ensure_ascii=False).replace("\\u001c", "\\u001c").encode() + b"\n"
    script.answers = [(200, raw)]
    assert _send(script.url, b"{}")[0][0].detail == detail


@pytest.mark.parametrize("token", ["antp_x\n", "antp x", "tök", "antp_x\r\nhost: evil", " "])
def test_a_token_that_cannot_be_sent_is_a_clear_error(script: Script, token: str) -> None:
    """A token with a line end or non-ASCII characters is refused before anything is sent, and is not printed."""
    script.answers = [(200, _lines(ACCEPTED))] * ATTEMPTS
    with pytest.raises(SendError, match="token") as raised:
        _send(script.url, b"{}", token=token)
    assert script.requests == []
    assert not token.strip() or token.strip() not in str(raised.value)


@pytest.mark.parametrize("url", ["http://[::1", "127.0.0.1:8080", "desk", "ftp://127.0.0.1", "http://"])
def test_an_address_that_is_none_is_a_clear_error_at_once(url: str) -> None:
    """An invalid address is an error at once, because no retry can help."""
    waits: list[float] = []
    with pytest.raises(SendError):
        Sender(url, TOKEN, waits.append).send([b"{}"])
    assert waits == []


def test_filling_in_makes_a_line_complete_and_repeatable() -> None:
    """Hash and key depend only on the content, so the same line always gets the same ones."""
    whole = event("Some text.", idempotency_key=None, source_event_hash=None)
    raw = json.dumps(whole).encode()
    filled = json.loads(fill_in(raw))
    assert filled["source_event_hash"] == hash_event(whole)
    assert filled == whole | {name: filled[name] for name in ("source_event_hash", "idempotency_key")}
    assert json.loads(fill_in(json.dumps(whole, indent=1, sort_keys=True).encode())) == filled


def test_a_key_depends_on_what_makes_an_event() -> None:
    """Another text, scope or scope id gives another key; spaces around the content do not."""
    base = event("Some text.", idempotency_key=None, source_event_hash=None)
    others = [
        base | {"payload": {"kind": "fact", "content": "Another."}},
        base | {"submission_scope": "session"},
        base | {"scope_id": "gemini"},
    ]
    same = base | {"payload": {"kind": "PROCEDURE", "content": "  Some text.\r\n"}}
    keys = [json.loads(fill_in(json.dumps(body).encode()))["idempotency_key"] for body in (base, same, *others)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


def test_what_a_line_has_is_kept() -> None:
    """An existing key and hash are kept."""
    body = event(idempotency_key="mine")
    assert json.loads(fill_in(json.dumps(body).encode())) == body


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[1]",
        b"null",
        b"{",
        b"\xff",
        b'{"a":1,"a":2}',
        b'{"payload":{},"source_span":{}}',
        b'{"payload":{"kind":"fact","content":1},"source_span":{"uri":"x"}}',
        b'{"payload":{"kind":"fact","content":"x","attributes":{"a":0.5}},"source_span":{"uri":"x"}}',
        b'{"payload":{"kind":"fact","content":"x","tags":[1]},"source_span":{"uri":"x"}}',
        b'{"payload":{"kind":"fact","content":"x"},"source_span":{"uri":"x"}}',
    ],
)
def test_a_line_that_is_no_event_is_refused_before_sending(raw: bytes) -> None:
    """An invalid event is refused with a code before anything is sent."""
    with pytest.raises(RequestRefusedError) as raised:
        fill_in(raw)
    assert raised.value.code in {"malformed", "out-of-profile", "duplicate-member", "unknown-member"}


def test_batches_hold_a_thousand_lines() -> None:
    """A batch has at most 1,000 lines; their order is kept and none is lost."""
    lines = [str(number).encode() for number in range(2001)]
    cut = batches(lines)
    assert [len(batch) for batch in cut] == [1000, 1000, 1]
    assert [line for batch in cut for line in batch] == lines
    assert batches([]) == []


def test_batches_hold_four_mebibytes() -> None:
    """A batch has at most 4 MiB, line ends included."""
    most = 4 * 1024 * 1024
    line = b"x" * 65_535
    cut = batches([line] * 130)
    assert sum(len(batch) for batch in cut) == 130
    assert max(len(b"\n".join(batch)) for batch in cut) <= most
    assert len(cut[0]) == 64
