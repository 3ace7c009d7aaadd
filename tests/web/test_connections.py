"""Limits on connections whose clients do not read, do not send, or send requests without end."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest

from antechamber.app.connection_limits import LEAST_BYTES, ConnectionWatch
from antechamber.web.connections import ConnectionTable
from antechamber.web.request_turns import RequestTurns
from support import run_in_thread, until

LARGE = b"x" * (64 << 20)
Pair = tuple[socket.socket, socket.socket]


class Port:
    """A listening port of this process, and connections to it."""

    def __init__(self) -> None:
        """Listen on a free port."""
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.number: int = self.listening.getsockname()[1]
        self._open = contextlib.ExitStack()
        self._open.enter_context(self.listening)

    def connect(self) -> Pair:
        """Return both ends of a connection: the client's, with a small buffer, and the server's."""
        client = self._open.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(self.listening.getsockname())
        server = self._open.enter_context(self.listening.accept()[0])
        server.settimeout(0)
        return client, server

    def close(self) -> None:
        """Close the port and all connections."""
        self._open.close()


@pytest.fixture
def port() -> Iterator[Port]:
    """A listening port of this process."""
    made = Port()
    yield made
    made.close()


def name_of(client: socket.socket) -> tuple[str, str]:
    """Name a connection as the HTTP server does."""
    host, number = client.getsockname()
    return host, str(number)


def is_open(server: socket.socket) -> bool:
    """Return whether the server's end may still send."""
    try:
        server.send(b"x")
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True


def test_a_client_that_takes_nothing_loses_its_connection(port: Port) -> None:
    """A client that does not read its answer is disconnected; an idle one is not."""
    (_, stuck), (_, idle) = port.connect(), port.connect()
    stuck.send(LARGE)
    connections = ConnectionWatch(port.number, ConnectionTable(), send_seconds=0)
    connections.look()
    until(lambda: connections.look() or not is_open(stuck), "the connection is ended")
    assert is_open(idle)


def test_a_client_that_takes_little_but_goes_on_keeps_its_connection(port: Port) -> None:
    """A slow client keeps its connection as long as it reads some kilobytes within the interval."""
    client, server = port.connect()
    server.send(LARGE)
    connections = ConnectionWatch(port.number, ConnectionTable(), send_seconds=0)
    for _ in range(5):
        taken = 0
        while taken < 64 * LEAST_BYTES:
            taken += len(client.recv(LEAST_BYTES))
            with contextlib.suppress(BlockingIOError):
                server.send(LARGE)
        connections.look()
    assert is_open(server)


def test_a_process_that_ends_waits_less_for_who_takes_nothing(port: Port) -> None:
    """During a shutdown the timeout for unread answers is shorter."""
    _, stuck = port.connect()
    stuck.send(LARGE)
    ending = ConnectionWatch(port.number, ConnectionTable(), lambda: True, send_seconds=0)
    ending.look()
    until(lambda: ending.look() or not is_open(stuck), "the connection is ended")


def test_connections_without_a_known_caller_are_few(port: Port) -> None:
    """Of connections without a known caller the oldest are closed; those with a caller do not count."""
    peers, made = ConnectionTable(), []
    connections = ConnectionWatch(port.number, peers, most_strange=2)
    for number in range(6):
        client, server = port.connect()
        made.append(server)
        if number < 2:
            peers.count(name_of(client))
            peers.know(name_of(client))
        connections.look()
    assert [is_open(server) for server in made] == [True, True, False, False, True, True]


def test_a_connection_whose_body_was_given_up_ends_after_its_answer(port: Port) -> None:
    """After a body was given up, the client can read the answer before the connection ends."""
    peers = ConnectionTable()
    connections = ConnectionWatch(port.number, peers)
    (client, server), (other, _) = port.connect(), port.connect()
    for link in (client, other):
        peers.count(name_of(link))
    peers.end(name_of(client))
    connections.look()
    server.send(b"answer")
    until(lambda: connections.look() or not is_open(server), "the connection is ended")
    assert client.recv(100).startswith(b"answer")
    other.settimeout(0)
    with pytest.raises(BlockingIOError):
        other.recv(1)


def test_other_sockets_of_the_process_are_left_alone(port: Port) -> None:
    """Only sockets accepted on the port are watched."""
    other = Port()
    _, stuck = other.connect()
    stuck.send(LARGE)
    connections = ConnectionWatch(port.number, ConnectionTable(), send_seconds=0, most_strange=0)
    for _ in range(3):
        connections.look()
    assert is_open(stuck)
    other.close()


def test_what_is_known_of_a_connection_ends_with_it(port: Port) -> None:
    """A new connection with the same address and port starts without the old one's state."""
    peers = ConnectionTable(most=3, most_strange=2)
    client, server = port.connect()
    name = name_of(client)
    assert [peers.count(name) for _ in range(2)] == [False, True]
    peers.know(name)
    assert [peers.count(name), peers.knows(name)] == [True, True]
    connections = ConnectionWatch(port.number, peers)
    connections.look()
    assert peers.knows(name)
    server.close()
    # The first scan that misses it may have started before its first request.
    connections.look()
    assert peers.knows(name)
    connections.look()
    assert [peers.knows(name), peers.count(name)] == [False, False]


def test_a_connection_that_one_look_missed_keeps_what_is_known() -> None:
    """State is dropped after two scans in a row miss a connection: the first may have started too early."""
    peers, name = ConnectionTable(), ("127.0.0.1", "40000")
    peers.count(name)
    peers.know(name)
    peers.end(name)
    for present in ([], [name], [], [name]):
        peers.keep(present)
        assert (peers.knows(name), peers.ends(name)) == (True, True)
    for known in (True, False):
        peers.keep([])
        assert (peers.knows(name), peers.ends(name)) == (known, known)


def test_a_request_whose_client_has_no_address_counts_nowhere() -> None:
    """Requests over a Unix socket have no client address and are not counted."""
    peers = ConnectionTable(most=1, most_strange=1)
    peers.know(None)
    peers.end(None)
    assert [peers.count(None), peers.over()] == [False, set()]


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

    found = run_in_thread(work())
    assert found[:3] == ["strange 0", "strange 1", "known"]
    assert found[3:] == ["strange 3", "strange 4", "strange 5"]
