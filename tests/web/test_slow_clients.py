"""Clients that send slowly, stop half-way or never go on: they wait for themselves, and nobody waits for them."""

import asyncio
import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from antechamber import app
from antechamber.config import Place
from antechamber.core.errors import UnavailableError
from antechamber.web.uploads import Uploads
from support import event, serving

MANY = 300


def finish(work: Any) -> Any:
    """Run a coroutine in a loop of its own."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(work)))
    thread.start()
    thread.join(30)
    return found[0]


async def never() -> bytes:
    """Be a body that never comes."""
    await asyncio.sleep(60)
    return b""


async def outcome(uploads: Uploads, stopping: asyncio.Event, body: Any) -> Any:
    """Await a body beside the watch."""
    watch = asyncio.create_task(uploads.watch(stopping))
    try:
        return await uploads.read(body)
    except (TimeoutError, UnavailableError) as error:
        return error
    finally:
        watch.cancel()


def test_a_body_that_does_not_come_is_given_up() -> None:
    """After its time it is an error, and the task goes on as if nothing had been."""

    async def work() -> Any:
        uploads = Uploads(0.1)
        first = await outcome(uploads, asyncio.Event(), never())
        return first, await outcome(uploads, asyncio.Event(), asyncio.sleep(0, b"whole"))

    late, whole = finish(work())
    assert isinstance(late, TimeoutError)
    assert "took longer than" in str(late)
    assert whole == b"whole"


def test_a_process_that_ends_does_not_wait_for_bodies() -> None:
    """What is not there yet when the process is told to end is answered at once."""

    async def work() -> Any:
        stopping = asyncio.Event()
        stopping.set()
        return await outcome(Uploads(60), stopping, never())

    assert str(finish(work())) == "the service is shutting down"


def test_a_cancelled_request_stays_cancelled() -> None:
    """Only our own cancelling is turned into an error."""

    async def work() -> Any:
        task = asyncio.create_task(Uploads().read(never()))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert finish(work())


@pytest.fixture
def live(tmp_path: Path, policies: Path) -> Iterator[tuple[str, str, Any]]:
    """A real service: its address, a producer's token and the process."""
    place = Place(data=tmp_path / "data")
    app.open_store(place).close()
    with app.opened_access(place) as access:
        _, secret = access.issue("worker:release-bot", "producer", [], None)
    with serving(place, policies) as (url, process):
        yield url, secret, process


def connected(url: str) -> socket.socket:
    """Connect to the service."""
    return socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20)


def test_hundreds_of_unfinished_requests_keep_nobody_waiting(live: tuple[str, str, Any]) -> None:
    """While they hold their connections others are served, and in the end they lose them."""
    url, secret, _ = live
    slow = [connected(url) for _ in range(MANY)]
    for one in slow:
        one.sendall(b"POST /v1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
    headers = {"authorization": f"Bearer {secret}"}
    assert httpx.post(f"{url}/v1/submissions", json=event("In between."), headers=headers).status_code == 201
    for one in slow:
        one.settimeout(30)
        with contextlib.suppress(ConnectionResetError):
            while one.recv(4096):
                pass
        one.close()


def test_a_client_that_goes_away_learns_by_its_retry(live: tuple[str, str, Any]) -> None:
    """Whoever hangs up once everything is sent, politely or not, is admitted or not at all; the retry tells which."""
    url, secret, _ = live
    bodies = [
        json.dumps(event(f"Nobody waits for answer {n}.", idempotency_key=f"gone-{n}")).encode() for n in range(40)
    ]
    for number, raw in enumerate(bodies):
        head = f"POST /v1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        link = connected(url)
        if number % 2:
            # No lingering: closing resets the connection.
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        link.sendall(f"{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
        link.close()
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {secret}"}) as client:
        first = [client.post("/v1/submissions", content=raw).json() for raw in bodies]
        again = [client.post("/v1/submissions", content=raw).json() for raw in bodies]
    assert {answer["status"] for answer in first} == {201}
    assert any(answer["duplicate"] for answer in first)
    assert again == [answer | {"duplicate": True} for answer in first]
    assert len({answer["proposal_id"] for answer in first}) == len(bodies)


def test_a_half_sent_body_does_not_keep_the_service_from_ending(live: tuple[str, str, Any]) -> None:
    """SIGTERM while a body is half sent: its sender hears 503 with the key free, and the process ends in order."""
    url, secret, process = live
    raw = json.dumps(event("Half.", idempotency_key="half")).encode()
    head = (
        f"POST /v1/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        f"Idempotency-Key: half\r\nContent-Length: {len(raw)}\r\nExpect: 100-continue\r\n\r\n"
    )
    link = connected(url)
    link.sendall(head.encode())
    # The server says so once somebody reads the body.
    assert link.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
    link.sendall(raw[:50])
    process.terminate()
    answer = link.recv(65536)
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"the service is shutting down" in answer
    assert b'"retry_same_key":true' in answer
    link.close()
    assert process.wait(20) == 0
