"""Limits on connections whose clients do not read, do not send, or send requests without end."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, cast

import pytest
import uvloop
from uvicorn import Config
from uvicorn.server import ServerState

from antechamber.app.http_connection import HEAD_BYTES, LEAST_BYTES, MAX_STRANGE_REQUESTS, LimitedConnection
from antechamber.app.open_connections import OpenConnections
from antechamber.web.connections import ClientConnection, connection_of
from antechamber.web.request_turns import RequestTurns
from support import HANG_SECONDS

LARGE = b"x" * (16 << 20)
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LATER = 1000.0
"""Seconds from now at which every deadline is over."""


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer as the path says: /known has a token, /stop aborts a body, /body reads it, /echo counts it."""
    connection: ClientConnection = connection_of(scope)
    path = scope["path"]
    if path == "/known":
        connection.know()
    if path == "/stop":
        connection.end_after_response()
    length = await count_body(receive) if path in ("/body", "/echo") else 0
    await hold(scope, receive)
    body = LARGE if path == "/large" else b"broken off" if connection.broken_off else b"answer"
    if path == "/echo":
        body = b"%d bytes" % length
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def count_body(receive: Any) -> int:
    """Read a body, and return its length."""
    length, more = 0, True
    while more:
        part = await receive()
        length, more = length + len(part.get("body", b"")), part.get("more_body", False)
    return length


async def hold(scope: Any, receive: Any) -> None:
    """Wait as the path says: a moment, until the release, or until the client is gone."""
    if scope["path"] == "/slow":
        await asyncio.sleep(0.1)
    if scope["path"] == "/held":
        await scope["state"]["release"].wait()
    if scope["path"] == "/poll":
        connection_of(scope).end_with_client()
        while (await receive())["type"] != "http.disconnect":
            pass


class Port:
    """A listening port, its open connections and clients of it."""

    def __init__(self, number: int, table: OpenConnections, state: ServerState, stack: contextlib.ExitStack) -> None:
        self.number = number
        self.table = table
        self.release = asyncio.Event()
        """Until it is set, requests of /held wait."""
        self._state = state
        self._stack = stack

    async def finish(self) -> None:
        """Answer the requests of /held, and wait until every request has ended."""
        self.release.set()
        async with asyncio.timeout(HANG_SECONDS):
            await asyncio.gather(*self._state.tasks)

    async def connect(self, first: bytes = b"") -> socket.socket:
        """Connect with a small receive buffer and send some bytes; the server has accepted and read them."""
        client = self._stack.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)  # noqa: FBT003 -- the standard library's signature
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, ("127.0.0.1", self.number))
        await loop.sock_sendall(client, first)
        await asyncio.sleep(0.05)
        return client

    def check(self, seconds: float = 0.0, *, stopping: bool = False) -> None:
        """Check all deadlines as if this many seconds had passed."""
        self.table.check(asyncio.get_running_loop().time() + seconds, stopping=stopping)


@contextlib.asynccontextmanager
async def listening(**limits: Any) -> AsyncIterator[Port]:
    """Serve the application above on a free port of this process."""
    table = OpenConnections(**limits)
    config, state = Config(application, log_config=None), ServerState()
    config.load()
    loop = asyncio.get_running_loop()
    app_state = dict[str, Any]()
    protocol = partial(LimitedConnection, table, config=config, server_state=state, app_state=app_state)
    server = await loop.create_server(cast("Any", protocol), "127.0.0.1", 0)
    with contextlib.ExitStack() as stack:
        try:
            port = Port(server.sockets[0].getsockname()[1], table, state, stack)
            app_state["release"] = port.release
            yield port
        finally:
            server.close()


async def read(client: socket.socket) -> bytes | None:
    """Return what arrives within a moment; empty bytes if the server closed the connection, None if it is silent."""
    try:
        async with asyncio.timeout(0.3):
            return await asyncio.get_running_loop().sock_recv(client, 1 << 16)
    except TimeoutError:
        return None
    except ConnectionError:
        return b""


async def read_all(client: socket.socket) -> bytes:
    """Read to the end of a connection, which the server closes."""
    async with asyncio.timeout(10):
        parts = [b""]
        with contextlib.suppress(ConnectionError):
            while part := await asyncio.get_running_loop().sock_recv(client, 1 << 16):
                parts.append(part)
        return b"".join(parts)


async def is_open(client: socket.socket) -> bool:
    """Return whether the server still answers on a connection."""
    try:
        await asyncio.get_running_loop().sock_sendall(client, GET)
    except ConnectionError:
        return False
    return bool(await read(client))


async def ends(client: socket.socket) -> bool:
    """Read to the end of a connection; return False if it stays open."""
    while found := await read(client):
        assert found
    return found == b""


def test_a_client_that_takes_nothing_loses_its_connection() -> None:
    """A client that does not read its answer is disconnected after the deadline; an idle one is not."""

    async def work() -> None:
        async with listening(head_seconds=10 * LATER) as port:
            stuck, idle = await port.connect(b"GET /large HTTP/1.1\r\n\r\n"), await port.connect(GET)
            assert await read(idle)
            port.check()
            port.check(LATER)
            assert await ends(stuck)
            assert await is_open(idle)

    asyncio.run(work())


def test_a_client_that_takes_little_but_goes_on_keeps_its_connection() -> None:
    """A slow client keeps its connection as long as it reads some kilobytes within the interval."""

    async def work() -> None:
        async with listening() as port:
            slow = await port.connect(b"GET /large HTTP/1.1\r\n\r\n")
            for _ in range(5):
                taken = 0
                while taken < 64 * LEAST_BYTES:
                    taken += len(await read(slow) or b"")
                port.check(LATER)
            assert await read(slow)

    asyncio.run(work())


def test_a_process_that_ends_waits_less_for_who_takes_nothing() -> None:
    """During a shutdown the deadline for unread answers is shorter."""

    async def work() -> None:
        async with listening(send_seconds=LATER) as port:
            stuck = await port.connect(b"GET /large HTTP/1.1\r\n\r\n")
            port.check()
            port.check(10)
            assert await read(stuck)
            port.check()
            port.check(10, stopping=True)
            assert await ends(stuck)

    asyncio.run(work())


def test_connections_without_a_known_caller_are_few() -> None:
    """Of connections without a known caller the oldest are closed; those with a caller do not count."""

    async def work() -> list[bool]:
        async with listening(max_strange=2) as port:
            known = [await port.connect(b"GET /known HTTP/1.1\r\n\r\n") for _ in range(2)]
            strange = [await port.connect() for _ in range(4)]
            port.check()
            for client in known:
                await read(client)
            return [await is_open(client) for client in known + strange]

    assert asyncio.run(work()) == [True, True, False, False, True, True]


def test_beyond_all_connections_the_longest_idle_one_is_closed() -> None:
    """A new connection takes the place of the one that was idle for the longest time."""

    async def work() -> list[bool]:
        async with listening(max_connections=2) as port:
            first = await port.connect(GET)
            second = await port.connect(GET)
            await read(first)
            await read(second)
            assert await is_open(first)
            third = await port.connect()
            return [await is_open(client) for client in (first, second, third)]

    assert asyncio.run(work()) == [True, False, True]


def test_if_no_connection_is_idle_the_new_one_is_closed() -> None:
    """A connection that is being answered is never closed in favor of a new one."""

    async def work() -> list[bool]:
        async with listening(max_connections=1) as port:
            busy = await port.connect(b"GET /large HTTP/1.1\r\n\r\n" + GET)
            new = await port.connect()
            return [bool(await read(busy)), bool(await read(new))]

    assert asyncio.run(work())[1] is False


def test_a_head_has_a_deadline_and_a_size() -> None:
    """A connection that sends half a head, or nothing, is closed; a head that is too large is refused."""

    async def work() -> None:
        async with listening() as port:
            half, silent = await port.connect(b"GET / HTTP/1.1\r\nHo"), await port.connect()
            port.check()
            assert [await read(half), await read(silent)] == [None, None]
            port.check(LATER)
            assert [await read(half), await read(silent)] == [b"", b""]
            for size in (HEAD_BYTES, 10 * HEAD_BYTES):
                large = await port.connect(b"GET / HTTP/1.1\r\nX: " + b"a" * size + b"\r\n\r\n")
                assert (await read(large) or b"").startswith(b"HTTP/1.1 400")
                assert await ends(large)
            body = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (2 * HEAD_BYTES) + b"a" * (2 * HEAD_BYTES)
            large_body = await port.connect(body + GET)
            assert (await read(large_body) or b"").startswith(b"HTTP/1.1 200")

    asyncio.run(work())


def test_what_is_not_http_is_refused() -> None:
    """Bytes that are no request get 400, and the connection ends."""

    async def work() -> None:
        async with listening() as port:
            for raw in (b"hello\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\n\r\n", b"GET \xff HTTP/1.1\r\n\r\n"):
                client = await port.connect(raw)
                assert (await read(client) or b"").startswith(b"HTTP/1.1 400")
                assert await ends(client)

    asyncio.run(work())


@pytest.mark.parametrize("second", [b"Host: localhost", b"HOST: other.example", b"host:"])
def test_a_request_with_two_hosts_is_refused(second: bytes) -> None:
    """The answer is 400, also if both name this service, and nothing after it is read."""

    async def journey() -> None:
        async with listening() as port:
            head = GET.replace(b"\r\n\r\n", b"\r\n" + second + b"\r\n\r\n")
            answers = await read_all(await port.connect(head + GET))
            assert answers.startswith(b"HTTP/1.1 400 ")
            assert answers.count(b"HTTP/1.1 ") == 1

    uvloop.run(journey())


def test_a_connection_whose_body_was_given_up_ends_after_its_answer() -> None:
    """After a body was given up, the client can read the answer although it still sends; then the connection ends."""

    async def work() -> None:
        async with listening() as port:
            client = await port.connect(b"POST /stop HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n" + LARGE[:4096])
            for _ in range(4):
                await asyncio.get_running_loop().sock_sendall(client, LARGE[:65536])
            answer = await read(client) or b""
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in answer
            assert answer.endswith(b"answer")
            port.check(LATER)
            assert await ends(client)

    asyncio.run(work())


def test_a_client_that_ends_its_sending_side_gets_its_answers() -> None:
    """A half-closed connection is answered and closed, also if the last body is cut off; an idle one is closed."""

    async def work() -> None:
        async with listening() as port:
            whole = await port.connect()
            await asyncio.get_running_loop().sock_sendall(whole, b"GET /slow HTTP/1.1\r\n\r\n" * 2)
            whole.shutdown(socket.SHUT_WR)
            assert (await read_all(whole)).count(b"HTTP/1.1 200") == 2
            cut = await port.connect()
            await asyncio.get_running_loop().sock_sendall(
                cut, b"GET /slow HTTP/1.1\r\n\r\nPOST /body HTTP/1.1\r\nContent-Length: 9\r\n\r\n1"
            )
            cut.shutdown(socket.SHUT_WR)
            assert (await read_all(cut)).count(b"\r\n\r\nanswer") == 1
            half = await port.connect(b"POST /body HTTP/1.1\r\nContent-Length: 9\r\n\r\n1")
            half.shutdown(socket.SHUT_WR)
            assert b"broken off" in await read_all(half)
            for first in (b"", GET):
                idle = await port.connect(first)
                idle.shutdown(socket.SHUT_WR)
                assert (await read_all(idle)).count(b"HTTP/1.1 200") == len(first[:1])

    asyncio.run(work())


def test_pipelined_requests_are_answered_in_order() -> None:
    """Requests that arrive together are answered one after another on the same connection."""

    async def work() -> None:
        async with listening() as port:
            client = await port.connect(GET * 5)
            answer = await read(client) or b""
            assert answer.count(b"HTTP/1.1 200") == 5
            assert await is_open(client)

    asyncio.run(work())


def test_a_request_of_a_pipeline_is_parsed_after_the_response_before_it() -> None:
    """Many requests in one part cost nothing as long as the first one is not answered."""

    async def work() -> tuple[int, bytes]:
        async with listening() as port:
            client = await port.connect(b"GET /held HTTP/1.1\r\n\r\n" + GET * 1000)
            connections = cast("Any", port._state.connections)
            parsed = sum(len(connection.pipeline) for connection in connections)
            port.release.set()
            return parsed, await read_all(client)

    parsed, answers = asyncio.run(work())
    assert parsed == 0
    assert answers.count(b"HTTP/1.1 200") == MAX_STRANGE_REQUESTS


def in_chunks(body: bytes, size: int) -> bytes:
    """Return a body in the chunked coding (RFC 9112, section 7.1)."""
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [*parts, b""])


BODIES = (b"x", b"\r\n\r\n" * 900, b"GET / HTTP/1.1\r\n\r\n" * 200, b"y" * 1023, b"z" * 70_000)


@pytest.mark.parametrize("seed", range(12))
def test_a_pipeline_gets_its_answers_however_the_network_divides_it(seed: int) -> None:
    """Requests with and without bodies, cut at any byte, are each answered once, in their order."""
    random = Random(seed)  # noqa: S311 -- no secret
    sent, expected = b"", []
    for _ in range(12):
        body = random.choice(BODIES)
        kind = random.choice(("none", "length", "chunked"))
        if kind == "none":
            sent += GET
            expected.append(b"answer")
            continue
        head = b"Content-Length: %d" % len(body) if kind == "length" else b"Transfer-Encoding: chunked"
        coded = body if kind == "length" else in_chunks(body, random.choice((1, 7, 5000)))
        sent += b"POST /echo HTTP/1.1\r\n%s\r\n\r\n%s" % (head, coded)
        expected.append(b"%d bytes" % len(body))
    cuts = sorted(random.sample(range(len(sent)), random.choice((0, 3, 40))))

    async def work() -> bytes:
        async with listening() as port:
            client = await port.connect()
            loop = asyncio.get_running_loop()

            async def send() -> None:
                for start, end in pairwise([0, *cuts, len(sent)]):
                    await loop.sock_sendall(client, sent[start:end])
                    await asyncio.sleep(0)
                client.shutdown(socket.SHUT_WR)

            sending = loop.create_task(send())
            answers = await read_all(client)
            await sending
            return answers

    found = [part.rpartition(b"\r\n\r\n")[2] for part in asyncio.run(work()).split(b"HTTP/1.1 200 OK")[1:]]
    assert found == expected


def test_a_connection_that_is_closed_amid_pipelined_requests_causes_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """The response to the request that is being handled is dropped, and those behind it never begin."""

    async def work() -> None:
        async with listening(max_strange=0) as port:
            client = await port.connect(b"GET /held HTTP/1.1\r\n\r\n" + GET * 5)
            port.check()
            assert await read(client) == b""
            await port.finish()

    def run() -> None:
        # The journeys' browser runs an event loop in the main thread, where closing another one would fail.
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(work())

    with ThreadPoolExecutor(1) as thread:
        thread.submit(run).result()
    assert caplog.messages == []


def test_a_request_that_came_another_way_has_no_limits() -> None:
    """The application also works under a server that does not describe its connections."""
    connection = connection_of(cast("Any", {"type": "http"}))
    connection.know()
    connection.end_after_response()
    assert connection.known


def test_requests_begin_a_few_in_each_round() -> None:
    """Each round starts a few requests, known connections first; a request that gave up waiting takes no turn."""

    async def work() -> list[str]:
        turns, begun = RequestTurns(at_once=2), list[str]()

        async def ask(name: str, *, known: bool) -> None:
            await turns.take(known=known)
            begun.append(name)

        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(f"strange {number}", known=False)) for number in range(6)]
            group.create_task(ask("known", known=True))
            await asyncio.sleep(0)
            asked[2].cancel()
        await turns.take(known=False)
        return begun

    found = asyncio.run(work())
    assert found[:3] == ["strange 0", "strange 1", "known"]
    assert found[3:] == ["strange 3", "strange 4", "strange 5"]


def test_a_request_that_waits_ends_with_its_client() -> None:
    """A client that closes its connection during a request that waits frees it; another request is answered still."""

    async def work() -> tuple[bool, bytes | None]:
        async with listening() as port:
            for _ in range(2):
                client = await port.connect(GET.replace(b"/ ", b"/poll "))
                client.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(HANG_SECONDS):
                await asyncio.gather(*port._state.tasks)
            left = bool(port._state.connections)
            half_closed = await port.connect(GET)
            half_closed.shutdown(socket.SHUT_WR)
            return left, await read(half_closed)

    left, answer = asyncio.run(work())
    assert not left
    assert answer
    assert answer.endswith(b"answer")


def test_a_client_that_left_before_the_request_waits_frees_it_too() -> None:
    """A request whose client ended its side already when the request begins to wait is not kept."""

    async def work() -> bytes:
        async with listening() as port:
            client = await port.connect()
            await asyncio.get_running_loop().sock_sendall(client, GET.replace(b"/ ", b"/poll "))
            client.shutdown(socket.SHUT_WR)
            return await read_all(client)

    assert asyncio.run(work()) == b""
