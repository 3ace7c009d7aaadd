"""The short cut of the submit route returns the same bytes and headers as the framework, over the same HTTP server."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, cast
from uuid import uuid4

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from uvicorn import Config
from uvicorn.server import ServerState

from antechamber.app.http_connection import LimitedConnection
from antechamber.core.access.secret_format import mint
from antechamber.core.contract import MAX_BODY
from antechamber.core.errors import UnavailableError
from antechamber.flows.admit import LONG, Admission
from support import HANG_SECONDS, Service, event, full, until

HOST = "127.0.0.1"
SHORT, FRAMEWORK = "Bearer", "bearer"
"""The scheme's spelling selects the way: the short cut takes only the usual one."""
CASES: dict[str, tuple[bytes | dict[str, Any], dict[str, str]]] = {
    "accepted": ({}, {}),
    "key in the header": ({"idempotency_key": None}, {"idempotency-key": "header-key"}),
    "keys that differ": ({}, {"idempotency-key": "another"}),
    "a bad key": ({}, {"idempotency-key": "a b"}),
    "private": ({"visibility": "private"}, {}),
    "not granted": ({"scope_id": "elsewhere"}, {}),
    "another producer": ({"producer_identity": "tool:watcher"}, {}),
    "direct write": ({"durable": True}, {}),
    "no JSON": (b"{", {"idempotency-key": "k-1"}),
    "empty": (b"", {}),
    "too large": (b"x" * (MAX_BODY + 1), {"idempotency-key": "k-1"}),
}


class Wire:
    """A port on which the service listens as `antechamber serve` does, and which requests the short cut took."""

    def __init__(self, service: Service, port: int) -> None:
        self.service = service
        self.port = port
        self.token = service.token()
        self.taken: list[bool] = []

    def request(self, raw: bytes, scheme: str = SHORT, **headers: str) -> bytes:
        """Return the bytes of a submission; a header of the caller replaces the usual one of the same name."""
        sent = {"host": HOST, "authorization": f"{scheme} {self.token}", "content-length": str(len(raw))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return b"POST /v1/submissions HTTP/1.1\r\n" + lines.encode("latin-1") + b"\r\n" + raw

    def connect(self) -> socket.socket:
        """Return a new connection."""
        return socket.create_connection((HOST, self.port), HANG_SECONDS)

    def ask(self, *parts: bytes, number: int = 1) -> list[tuple[int, dict[str, str], bytes]]:
        """Send bytes in parts over one connection, and return this many responses."""
        with self.connect() as connection:
            for part in parts:
                connection.sendall(part)
            return read_responses(connection, number)

    def warm(self) -> None:
        """Have the token looked up, as the first request of each second has."""
        self.service.state.access.token_check.look_up(self.token)


def read_responses(connection: socket.socket, number: int) -> list[tuple[int, dict[str, str], bytes]]:
    """Return status, headers and body of this many responses."""
    with connection.makefile("rb") as file:
        found = []
        for _ in range(number):
            status = int(file.readline().split()[1])
            lines = iter(file.readline, b"\r\n")
            headers = dict(line.decode("latin-1").strip().split(": ", 1) for line in lines)
            found.append((status, headers, file.read(int(headers["content-length"]))))
        return found


@contextlib.asynccontextmanager
async def listening(service: Service) -> AsyncIterator[int]:
    """Listen with the service's own table of connections, in its event loop."""
    config, state = Config(service.app, log_config=None, server_header=False), ServerState()
    config.load()
    state.default_headers = [(b"date", b"Wed, 25 Nov 2026 10:00:00 GMT")]
    protocol = partial(LimitedConnection, service.state.connections, config=config, server_state=state, app_state={})
    server = await asyncio.get_running_loop().create_server(cast("Any", protocol), HOST, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.fixture
def wire(service: Service) -> Iterator[Wire]:
    """The service over its HTTP server, in this process."""
    with service.client.portal() as portal, portal.wrap_async_context_manager(listening(service)) as port:
        found = Wire(service, port)
        table = service.state.connections
        take: Callable[..., bool] = table.take

        def watched(*arguments: Any) -> bool:
            found.taken.append(take(*arguments))
            return found.taken[-1]

        table.take = watched
        yield found


def body_of(case: str) -> bytes:
    """Return the body of a case."""
    body, _ = CASES[case]
    return body if isinstance(body, bytes) else msgspec.json.encode(event(case, **{"idempotency_key": "k", **body}))


def comparable(answer: tuple[int, dict[str, str], bytes], volatile: set[str]) -> tuple[Any, ...]:
    """Return an answer without what differs from request to request."""
    status, headers, body = answer
    members = {name: value for name, value in msgspec.json.decode(body).items() if name not in volatile}
    return status, sorted((headers | {"x-request-id": "", "content-length": ""}).items()), members


@pytest.mark.parametrize("case", CASES)
def test_both_ways_answer_alike(wire: Wire, case: str) -> None:
    """Status, body and headers agree; only counters, times and the request's id may differ."""
    raw, headers = body_of(case), CASES[case][1]
    wire.ask(wire.request(raw, FRAMEWORK, **headers))
    answers = []
    for scheme in (SHORT, FRAMEWORK, SHORT):
        wire.warm()
        answers += wire.ask(wire.request(raw, scheme, **headers))
    assert wire.taken == ([False, True, False, True] if 0 < len(raw) <= LONG else [])
    assert len({headers["x-request-id"] for _, headers, _ in answers}) == len(answers)
    volatile = {"received_at"} if msgspec.json.decode(answers[0][2])["submission_id"] is None else set()
    first, *others = (comparable(answer, volatile) for answer in answers)
    assert [first, first] == others


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
MEMBERS = st.sampled_from(
    [
        "idempotency_key",
        "producer_identity",
        "submission_scope",
        "scope_id",
        "source_event_hash",
        "visibility",
        "payload",
    ]
)
HEADERS = st.dictionaries(
    st.sampled_from(["idempotency_key", "content_type", "accept", "x_request_id", "origin"]),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40),
    max_size=3,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(MEMBERS, TEXTS | st.none() | st.integers(0, 9), max_size=2), headers=HEADERS)
def test_any_request_is_answered_alike(wire: Wire, changes: dict[str, Any], headers: dict[str, str]) -> None:
    """Random members and headers get the same answer from the short cut and from the framework, twice each."""
    raw = msgspec.json.encode(event("Random.", idempotency_key=str(uuid4())) | changes)
    answers = []
    for scheme in (FRAMEWORK, SHORT, FRAMEWORK, SHORT):
        wire.warm()
        answers += wire.ask(wire.request(raw, scheme, **headers))
    volatile = {"received_at"} if msgspec.json.decode(answers[0][2]).get("submission_id") is None else set()
    _, *others = (comparable(answer, volatile) for answer in answers)
    assert others == others[:1] * 3


@pytest.mark.parametrize("at", [1, 20, 60, -1])
def test_a_body_in_pieces_is_answered_like_a_whole_one(wire: Wire, at: int) -> None:
    """Clients may send head and body apart; the request waits until its body is complete."""
    wire.warm()
    request = wire.request(body_of("accepted"))
    [(status, _, body)] = wire.ask(request[:at], request[at:])
    assert (status, msgspec.json.decode(body)["disposition"]) == (201, "accepted-for-review")
    assert wire.taken == [True]


def test_requests_of_a_pipeline_are_answered_in_their_order(wire: Wire) -> None:
    """Accepted, refused and other requests may follow each other without waiting for answers."""
    wire.warm()
    asked = [msgspec.json.encode(event(f"Event {number}.")) for number in range(40)]
    requests = [wire.request(raw) + wire.request(b"{") for raw in asked]
    other = f"GET /healthz HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
    answers = wire.ask(b"".join(request + other for request in requests), number=3 * len(requests))
    assert [status for status, _, _ in answers] == [201, 400, 200] * len(requests)
    keys = [msgspec.json.decode(raw)["idempotency_key"] for raw in asked]
    assert [msgspec.json.decode(body)["idempotency_key"] for _, _, body in answers[::3]] == keys


def test_a_long_pipeline_of_refusals_is_answered(wire: Wire) -> None:
    """A thousand refused requests in one piece do not exhaust the stack."""
    wire.warm()
    answers = wire.ask(wire.request(b"{") * 1000, number=1000)
    assert {status for status, _, _ in answers} == {400}


def test_a_connection_ends_after_its_last_response(wire: Wire) -> None:
    """A client that asks for it gets its answer, and then the end of the connection."""
    wire.warm()
    with wire.connect() as connection:
        connection.sendall(wire.request(body_of("accepted"), connection="close"))
        [(status, headers, _)] = read_responses(connection, 1)
        assert (status, headers["connection"]) == (201, "close")
        assert connection.recv(1) == b""
    assert wire.taken == [True]


def test_a_store_that_cannot_commit_is_answered_alike(wire: Wire) -> None:
    """Both ways say that nothing was stored and when to try again; afterwards the same request is accepted."""
    raw, answers = msgspec.json.encode(event("Run the migration before the deploy. " * 200)), []
    with full(wire.service):
        for scheme in (SHORT, FRAMEWORK):
            wire.warm()
            answers += wire.ask(wire.request(raw, scheme))
    assert wire.taken == [True, False]
    first, second = (comparable(answer, {"received_at"}) for answer in answers)
    assert first == second
    assert (first[0], answers[0][1]["retry-after"]) == (503, "2")
    wire.warm()
    assert wire.ask(wire.request(raw))[0][0] == 201


def test_an_unexpected_error_is_answered_by_the_framework(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """The short cut leaves it to the framework to report an error, once."""
    admission: Admission = wire.service.state.admission
    policies = admission._policies
    wire.warm()
    admission._policies = cast("Any", None)
    try:
        [(status, _, _)] = wire.ask(wire.request(body_of("accepted")))
    finally:
        admission._policies = policies
    assert status == 500
    assert caplog.text.count("Traceback") == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"authorization": "Bearer nonsense"},
        {"authorization": "Basic Zm9v"},
        {"authorization": ""},
    ],
    ids=["host", "token", "scheme", "empty"],
)
def test_what_is_not_ordinary_takes_the_long_way(wire: Wire, headers: dict[str, str]) -> None:
    """A foreign host and a bad token are refused as everywhere, even right after a valid request."""
    wire.warm()
    [(status, _, _)] = wire.ask(wire.request(msgspec.json.encode(event("Warm."))))
    assert status == 201
    raw = msgspec.json.encode(event("Cold."))
    [(status, _, _)] = wire.ask(wire.request(raw, **headers))
    assert status in {400, 401}
    assert wire.taken == [True, False]
    wire.warm()
    [(_, _, body)] = wire.ask(wire.request(raw))
    assert msgspec.json.decode(body)["disposition"] == "accepted-for-review"


def test_a_revoked_token_is_refused_within_a_second(wire: Wire) -> None:
    """The short cut trusts a look-up no longer than the framework does, however busy the producer is."""
    raw = msgspec.json.encode(event())
    wire.warm()
    assert wire.ask(wire.request(raw))[0][0] == 201
    wire.service.state.access.tokens.revoke("worker:release-bot")
    while wire.ask(wire.request(raw))[0][0] != 401:
        pass
    assert wire.ask(wire.request(raw))[0][0] == 401


def test_a_busy_producer_stays_on_the_short_cut(wire: Wire) -> None:
    """Its token is looked up again before the look-up before expires, so that no request has to wait for it."""
    clock = [0]
    wire.service.set_access_clock(lambda: clock[0])
    wire.warm()
    raw = msgspec.json.encode(event())
    for _ in range(20):
        clock[0] += 300_000
        assert wire.service.state.access.token_check.remembered_bearer(wire.token) is not None
        wire.ask(wire.request(raw))
        # The renewal runs in a thread, which a busy machine may keep waiting.
        wire.ask(f"GET /readyz HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        until(lambda: not wire.service.state.access.token_check._cache._renewed, "the token is looked up again")
    assert re.fullmatch("T+", "".join("T" if one else "F" for one in wire.taken[::2]))


@contextlib.contextmanager
def counted_look_ups(wire: Wire) -> Iterator[list[str]]:
    """Note each look-up of a token."""
    check, made = wire.service.state.access.token_check, list[str]()
    look_up: Callable[..., Any] = check.look_up

    def noted(secret: str) -> Any:
        made.append(secret)
        return look_up(secret)

    check.look_up = noted
    yield made
    del check.look_up


def test_requests_that_arrive_together_share_one_look_up(wire: Wire) -> None:
    """After a pause the requests of many connections wait for one look-up of their token, and take the short cut."""
    wire.service.set_access_clock(lambda: 1_000_000_000)
    with contextlib.ExitStack() as stack, counted_look_ups(wire) as made:
        connections = [stack.enter_context(wire.connect()) for _ in range(60)]
        for number, connection in enumerate(connections):
            connection.sendall(wire.request(msgspec.json.encode(event(f"Event {number}.")))[:-1])
        for connection in connections:
            connection.sendall(b"}")
        answers = [read_responses(connection, 1)[0] for connection in connections]
    assert {status for status, _, _ in answers} == {201}
    assert len({msgspec.json.decode(body)["submission_id"] for _, _, body in answers}) == 60
    assert wire.taken == [True] * 60
    assert made == [wire.token]


def test_a_token_that_is_not_known_is_refused_by_the_framework(wire: Wire) -> None:
    """Its form is right, so it is looked up; the refusal is remembered for a second, as that of any token."""
    wire.service.set_access_clock(lambda: 1_000_000_000)
    raw, unknown = msgspec.json.encode(event()), mint("producer", bytes(24))
    with counted_look_ups(wire) as made:
        answers = [
            wire.ask(wire.request(raw, scheme, authorization=f"{scheme} {unknown}"))[0]
            for scheme in (SHORT, SHORT, FRAMEWORK)
        ]
    first, *others = (comparable(answer, {"received_at"}) for answer in answers)
    assert first[0] == 401
    assert others == [first, first]
    assert wire.taken == [True, False, False]
    assert made == [unknown]


@pytest.mark.parametrize("error", [UnavailableError("the keys are not known yet"), KeyError("broken")], ids=str)
def test_a_look_up_that_fails_is_reported_by_the_framework(
    wire: Wire, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Both ways answer alike, and the next request with the token is taken again."""

    def fail(_: str) -> None:
        raise error

    check = wire.service.state.access.token_check
    raw, token = msgspec.json.encode(event()), "e30.e30.e30"
    check.accept(fail)
    answers = [
        wire.ask(wire.request(raw, scheme, authorization=f"{scheme} {token}"))[0] for scheme in (SHORT, FRAMEWORK)
    ]
    first, second = (comparable(answer, {"received_at"}) for answer in answers)
    assert first == second
    assert first[0] == (503 if isinstance(error, UnavailableError) else 500)
    assert caplog.text.count("Traceback") == (0 if isinstance(error, UnavailableError) else 2)
    check.accept(lambda _: check.bearer(wire.token))
    assert wire.ask(wire.request(raw, authorization=f"Bearer {token}"))[0][0] == 201
    assert wire.taken == [True, False, True]
