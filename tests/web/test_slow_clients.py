"""Clients that send slowly, pause or never finish delay only themselves."""

import asyncio
import contextlib
import json
import select
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from antechamber import app
from antechamber.app.http_connection import MAX_STRANGE_REQUESTS
from antechamber.core.errors import RequestRefusedError, UnavailableError
from antechamber.settings import Location
from antechamber.web.body_deadline import BodyReader
from support import HANG_SECONDS, event, serving, until

MANY = 300


def half(*chunks: bytes) -> Any:
    """Return a `receive` that yields the beginning of a body and then blocks."""
    left = list(chunks)

    async def receive() -> Any:
        if not left:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": left.pop(0), "more_body": True}

    return receive


def whole(body: bytes) -> Any:
    """Return a `receive` that yields a complete body."""

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def outcome(uploads: BodyReader, receive: Any, caller: object = "a") -> Any:
    """Read a body of at most 100 bytes."""
    try:
        return await uploads.read([], receive, 100, caller)
    except (RequestRefusedError, UnavailableError) as error:
        return error


async def watched(uploads: BodyReader, work: Any, *, ending: bool = False) -> Any:
    """Await an awaitable while the deadline watch runs."""
    stopping = asyncio.Event()
    if ending:
        stopping.set()
    watch = asyncio.create_task(uploads.watch(stopping))
    try:
        return await work
    finally:
        watch.cancel()


def test_a_body_that_does_not_come_is_given_up() -> None:
    """A body is refused after its deadline, and the task continues normally."""

    async def work() -> Any:
        uploads = BodyReader(0.1)
        first = await watched(uploads, outcome(uploads, half(b"{")))
        return first, await watched(uploads, outcome(uploads, whole(b"whole")))

    late, found = asyncio.run(work())
    assert late.code == "malformed"
    assert "took longer than" in str(late)
    assert found == b"whole"


def test_a_process_that_ends_does_not_wait_for_bodies() -> None:
    """On shutdown, requests with unfinished bodies are answered at once."""

    async def work() -> Any:
        uploads = BodyReader(60)
        return await watched(uploads, outcome(uploads, half(b"{")), ending=True)

    assert str(asyncio.run(work())) == "the service is shutting down"


def test_a_cancelled_request_stays_cancelled() -> None:
    """Only a cancellation by the deadline becomes an error."""

    async def work() -> Any:
        task = asyncio.create_task(outcome(BodyReader(), half()))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(work())


@pytest.mark.parametrize("caller", ["a", None])
def test_the_oldest_of_too_many_bodies_gives_way(caller: object) -> None:
    """A caller's oldest unfinished body is dropped in favor of newer ones; other callers are unaffected."""

    async def work() -> Any:
        uploads = BodyReader(most=2, most_strange=2)
        other = asyncio.create_task(outcome(uploads, half(b"1"), "b"))
        first, second, third = (asyncio.create_task(outcome(uploads, half(b"1"), caller)) for _ in range(3))
        given_up = await first
        still = [task.done() for task in (second, third, other)]
        for task in (second, third, other):
            task.cancel()
        return given_up, still

    given_up, still = asyncio.run(work())
    assert "too many uploads" in str(given_up)
    assert still == [False, False, False]


def test_all_unfinished_bodies_together_fit_into_memory() -> None:
    """Beyond the total limit the largest unfinished body is dropped, whichever client sends it."""

    async def work() -> Any:
        uploads = BodyReader(most_bytes=100)
        small = asyncio.create_task(outcome(uploads, half(b"1" * 10), "a"))
        large = asyncio.create_task(outcome(uploads, half(b"1" * 80), "b"))
        last = asyncio.create_task(outcome(uploads, half(b"1" * 15), "c"))
        given_up = await large
        still = [task.done() for task in (small, last)]
        for task in (small, last):
            task.cancel()
        return given_up, still, await outcome(uploads, whole(b"2" * 100))

    given_up, still, after = asyncio.run(work())
    assert "too many uploads" in str(given_up)
    assert still == [False, False]
    assert after == b"2" * 100


def test_a_body_over_its_limit_is_refused_before_it_is_read() -> None:
    """A body is refused by its declared length before it is read, otherwise as soon as it is too long."""

    async def work() -> Any:
        declared = [(b"content-length", b"101")]
        try:
            await BodyReader().read(declared, half(), 100, "a")
        except RequestRefusedError as error:
            return error, await outcome(BodyReader(), half(b"1" * 60, b"1" * 60))

    assert [error.code for error in asyncio.run(work())] == ["body-too-large"] * 2


@pytest.fixture
def live(tmp_path: Path, policies: Path) -> Iterator[tuple[str, str, Any]]:
    """A real service: its address, a producer's token and the process."""
    location = Location(data=tmp_path / "data")
    app.open_store(location).close()
    with app.opened_access(location) as access:
        _, secret = access.tokens.issue("worker:release-bot", "producer", [], None)
    with serving(location, policies) as (url, process):
        yield url, secret, process


def connected(url: str) -> socket.socket:
    """Connect to the service."""
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20)


def test_hundreds_of_unfinished_requests_do_not_delay_others(live: tuple[str, str, Any]) -> None:
    """Hundreds of unfinished requests do not delay other clients, and are disconnected in the end."""
    url, secret, _ = live
    slow = [connected(url) for _ in range(MANY)]
    for one in slow:
        one.sendall(b"POST /v1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
    headers = {"authorization": f"Bearer {secret}"}
    assert (
        httpx.post(
            f"{url}/v1/submissions", json=event("In between."), headers=headers, timeout=HANG_SECONDS
        ).status_code
        == 201
    )
    for one in slow:
        one.settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            while one.recv(4096):
                pass
        one.close()


def test_a_client_that_goes_away_learns_by_its_retry(live: tuple[str, str, Any]) -> None:
    """When a client disconnects after sending, its event is admitted or not at all, and the retry shows which."""
    url, secret, _ = live
    bodies = [
        json.dumps(event(f"Nobody waits for answer {n}.", idempotency_key=f"gone-{n}")).encode() for n in range(40)
    ]
    for number, raw in enumerate(bodies):
        head = f"POST /v1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        link = connected(url)
        if number % 2:
            # Without lingering, closing resets the connection.
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.sendall(f"{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
        link.close()
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {secret}"}, timeout=HANG_SECONDS) as client:
        first = [client.post("/v1/submissions", content=raw).json() for raw in bodies]
        again = [client.post("/v1/submissions", content=raw).json() for raw in bodies]
    assert {answer["status"] for answer in first} == {201}
    assert any(answer["duplicate"] for answer in first)
    assert again == [answer | {"duplicate": True} for answer in first]
    assert len({answer["proposal_id"] for answer in first}) == len(bodies)


def test_a_half_sent_body_does_not_keep_the_service_from_ending(live: tuple[str, str, Any]) -> None:
    """On SIGTERM amid a half-sent body the sender gets 503 with the key free, and the process exits cleanly."""
    url, secret, process = live
    raw = json.dumps(event("Half.", idempotency_key="half")).encode()
    head = (
        f"POST /v1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        f"Idempotency-Key: half\r\nContent-Length: {len(raw)}\r\nExpect: 100-continue\r\n\r\n"
    )
    link = connected(url)
    link.sendall(head.encode())
    # The server sends this once the application reads the body.
    assert link.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
    link.sendall(raw[:50])
    process.terminate()
    answer = answer_of(link)
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"the service is shutting down" in answer
    assert b'"retry_same_key":true' in answer
    assert process.wait(20) == 0


def answer_of(link: socket.socket) -> bytes:
    """Read until the service closes the connection; every wait must end within 30 s."""
    link.settimeout(30)
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := link.recv(65536):
            found += chunk
    link.close()
    return found


def request(method: str, path: str, secret: str | None, rest: str) -> bytes:
    """Return the beginning of a request."""
    bearer = f"Authorization: Bearer {secret}\r\n" if secret else ""
    return f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{bearer}{rest}".encode()


HALF = "Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: 500\r\n\r\n{"
HALF_FORM = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 500\r\n\r\nname="


def test_every_wait_for_a_client_ends(live: tuple[str, str, Any]) -> None:
    """Half a header, half a body on each route that reads one, and an unread answer all time out."""
    url, secret, _ = live
    halves = {
        "submit": request("POST", "/v1/submissions", secret, HALF),
        "batch": request("POST", "/v1/submissions/batch", secret, HALF),
        "mcp": request("POST", "/mcp", secret, HALF),
        "login": request("POST", "/login", None, HALF_FORM),
        "decision": request("POST", "/review/x/approve", None, HALF_FORM),
        "seal": request("PUT", "/v1/submissions/by-key/slow/seal", secret, HALF),
        "nothing there": request("POST", "/no/such/page", None, HALF),
        "no method": request("DELETE", "/mcp", secret, HALF),
        "options": request("OPTIONS", "/mcp", secret, HALF),
        "no token": request("POST", "/mcp", None, HALF),
    }
    links = {}
    for name, raw in halves.items():
        links[name] = connected(url)
        links[name].sendall(raw)
    unread = socket.socket()
    unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    unread.connect(("127.0.0.1", int(url.rpartition(":")[2])))
    unread.sendall(request("GET", "/schema/openapi.json", secret, "\r\n") * 200)
    # More than both kernels buffer; a smaller answer leaves the server, which drops it after ten idle seconds.
    found = {name: answer_of(link)[9:12] for name, link in links.items()}
    assert found == {
        "submit": b"400",
        "batch": b"400",
        "mcp": b"400",
        "login": b"400",
        "decision": b"400",
        "seal": b"201",
        "nothing there": b"404",
        "no method": b"405",
        "options": b"204",
        "no token": b"401",
    }
    ended = select.poll()
    ended.register(unread, select.POLLRDHUP)

    def over() -> bool:
        # Either the service resets the connection, or the kernel drops it and answers the next byte with a reset.
        try:
            unread.send(b"\r", socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return bool(ended.poll(0))

    until(over, "the connection is ended")
    unread.close()


def test_a_connection_ends_after_a_number_of_requests(live: tuple[str, str, Any]) -> None:
    """A connection without a known caller closes after 100 requests, announced in the last answer; others continue."""
    url, secret, _ = live
    strange, known = connected(url), connected(url)
    strange.sendall(request("GET", "/healthz", None, "\r\n") * 150)
    text = answer_of(strange)
    assert text.count(b"HTTP/1.1 200") == MAX_STRANGE_REQUESTS
    assert text.lower().count(b"connection: close") == 1
    known.sendall(
        request("GET", "/v1/token", secret, "\r\n") * 150
        + request("GET", "/v1/token", secret, "Connection: close\r\n\r\n")
    )
    assert answer_of(known).count(b"HTTP/1.1 200") == 151


def test_the_answer_to_a_body_that_turns_out_too_large_is_the_last_of_its_connection(
    live: tuple[str, str, Any],
) -> None:
    """A body without a length may still be arriving, so the answer announces that the connection closes."""
    url, secret, _ = live
    link = connected(url)
    link.sendall(request("POST", "/v1/submissions", secret, "Transfer-Encoding: chunked\r\n\r\n"))
    link.sendall((b"2710\r\n" + b"a" * 10_000 + b"\r\n") * 7)
    answer = answer_of(link)
    assert answer.startswith(b"HTTP/1.1 413")
    assert answer.lower().count(b"connection: close") == 1


def test_an_unread_answer_does_not_prevent_the_end_of_the_service(live: tuple[str, str, Any]) -> None:
    """On SIGTERM with an unread answer the process exits cleanly."""
    url, secret, process = live
    unread = socket.socket()
    unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    unread.connect(("127.0.0.1", int(url.rpartition(":")[2])))
    unread.sendall(request("GET", "/schema/openapi.json", secret, "\r\n") * 200)
    assert unread.recv(10)
    process.terminate()
    assert process.wait(20) == 0
    unread.close()


@pytest.mark.parametrize("path", ["/v1/submissions", "/v1/submissions/batch", "/mcp"])
def test_a_token_that_is_revoked_while_a_body_comes_is_refused(location: Location, policies: Path, path: str) -> None:
    """When a token is revoked between header and end of a body, nothing is admitted, on any route."""
    app.open_store(location).close()
    with app.opened_access(location) as access, serving(location, policies) as (url, _):
        _, secret = access.tokens.issue("worker:release-bot", "producer", [], None)
        headers = {"authorization": f"Bearer {secret}"}
        body = json.dumps(event("Too late.", idempotency_key="late")).encode()
        link = connected(url)
        head = f"Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: {len(body)}\r\n"
        link.sendall(request("POST", path, secret, f"{head}Expect: 100-continue\r\n\r\n"))
        # The server sends this once it has judged the header and reads the body.
        assert link.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        link.sendall(body[:20])
        access.tokens.revoke("worker:release-bot")
        until(
            lambda: httpx.get(f"{url}/v1/token", headers=headers, timeout=HANG_SECONDS).status_code == 401,
            "the revocation takes effect",
        )
        link.sendall(body[20:])
        assert link.recv(65536).startswith(b"HTTP/1.1 401")
        link.close()
        _, good = access.tokens.issue("worker:release-bot", "producer", [], None)
        found = httpx.get(
            f"{url}/v1/submissions/by-key/late", headers={"authorization": f"Bearer {good}"}, timeout=HANG_SECONDS
        )
        assert found.status_code == 404


def test_a_session_that_ends_while_a_form_comes_is_signed_out(live: tuple[str, str, Any], tmp_path: Path) -> None:
    """When a session ends while a form arrives, the sign-in page shows the typed text."""
    url, _, _ = live
    with app.opened_access(Location(data=tmp_path / "data")) as access:
        access.accounts.add("bob", "curator", None, None)
        with httpx.Client(base_url=url, timeout=HANG_SECONDS) as browser:
            assert browser.post("/login", data={"link": access.sign_in.create_link("bob")}).status_code == 303
            cookie = f"Cookie: antechamber={browser.cookies['antechamber']}\r\n"
            body = b"content=What+was+typed.&csrf=x"
            head = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
            link = connected(url)
            link.sendall(request("POST", "/review/x/edit", None, f"{cookie}{head}Expect: 100-continue\r\n\r\n"))
            assert link.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
            link.sendall(body[:10])
            assert access.accounts.disable("bob")
            until(lambda: browser.get("/review").status_code == 303, "the account is disabled")
            link.sendall(body[10:])
            text = link.recv(65536)
            assert text.startswith(b"HTTP/1.1 401")
            assert b"What was typed." in text + link.recv(65536)
            link.close()
