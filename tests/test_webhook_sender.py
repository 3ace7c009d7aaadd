"""The sender of webhooks over real connections: whom it talks to, what it checks, and when it gives up."""

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from antechamber import webhook_sender
from antechamber.core.errors import FetchError
from antechamber.core.webhooks.message import Message
from antechamber.core.webhooks.schedule import Answer
from antechamber.webhook_sender import HttpSender, look_up
from certificate import make_certificate

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
MESSAGE = Message(headers={"webhook-id": "msg_1"}, body=b"{}")
NAME = "hooks.example.org"


@contextlib.asynccontextmanager
async def server(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run a server on this machine and return its port."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await serve(reader, writer)
        finally:
            writer.transport.abort()

    made = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    try:
        yield made.sockets[0].getsockname()[1]
    finally:
        made.close()


def saying(*parts: bytes, pause: float = 0.0) -> tuple[Serve, list[bytes]]:
    """Return a handler that reads a request and sends these parts, and a list that gets what it read."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(2))
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)

    return serve, heard


def post(serve: Serve, url: str = "http://127.0.0.1:{port}/hook?a=b", *, allow_private: bool = True) -> Answer:
    """Send the message to a server and return the answer."""

    async def run() -> Answer:
        async with server(serve) as port:
            return await HttpSender().send(url.format(port=port), MESSAGE, allow_private=allow_private)

    return asyncio.run(run())


def known_as(monkeypatch: pytest.MonkeyPatch, *addresses: str, name: str = NAME) -> None:
    """Let the system resolve a name to these addresses."""
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *rest: int, **options: int) -> list[object]:
        if host != name:
            return list(real(host, port, *rest, **options))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def test_a_request_has_its_headers_and_the_answers_status_counts() -> None:
    """One POST with the path, host, length and the message's headers; the status is the result."""
    serve, heard = saying(b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nok")
    assert post(serve) == Answer(202)
    [request] = heard
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /hook?a=b HTTP/1.1"
    assert {"content-length: 2", "connection: close", "webhook-id: msg_1"} <= set(lines)
    assert [line for line in lines if line.startswith("host: 127.0.0.1:")]
    assert body == b"{}"


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([b"HTTP/1.1 2", b"00 OK\r\nconte", b"nt-length: 0\r\n", b"x: y\r\n", b"y: z\r\n", b"\r\n"], 200),
        ([b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"], 204),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"], 200),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort"], 200),
        ([b"HTTP/1.1 500 No\r\n\r\n", b"x" * (1 << 20)], 500),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"not a chunk"], 200),
        ([b"HTTP/1.0 307 Elsewhere\r\nlocation: http://127.0.0.1:1/\r\n\r\n"], 307),
    ],
)
def test_an_answer_is_read_however_it_comes(parts: list[bytes], status: int) -> None:
    """In parts, after an interim answer, in chunks, too short, endless or broken after its head."""
    serve, _ = saying(*parts, pause=0.01)
    assert post(serve) == Answer(status)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([], "closed the connection without an answer"),
        ([b"HTTP/1.1 200"], "closed the connection without an answer"),
        ([b"SSH-2.0-OpenSSH_9\r\n"], "not HTTP"),
        ([b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 10_000], "head is too long"),
    ],
)
def test_something_else_than_an_answer_is_a_failure(parts: list[bytes], said: str) -> None:
    """The text says what the receiver did."""
    answer = post(saying(*parts)[0])
    assert answer.status is None
    assert said in answer.text


def fetch(serve: Serve, url: str = "http://127.0.0.1:{port}/jwks?a=b", *, allow_private: bool = True) -> bytes:
    """Get a document from a server."""

    async def run() -> bytes:
        async with server(serve) as port:
            return await HttpSender().get(url.format(port=port), allow_private=allow_private)

    return asyncio.run(run())


def answering(*parts: bytes) -> tuple[Serve, list[bytes]]:
    """Return a handler that reads a request without a body, sends these parts and ends the connection."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        for part in parts:
            writer.write(part)
            await writer.drain()
        writer.write_eof()
        await reader.read()

    return serve, heard


@pytest.mark.parametrize(
    "parts",
    [
        [b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n", b"the ", b"key"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nthe\r\n4\r\n key\r\n0\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\n\r\nthe key"],
        [b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nthe key"],
    ],
)
def test_a_document_is_read_however_it_comes(parts: list[bytes]) -> None:
    """With a length, in chunks, up to the end of the connection, and after an interim answer."""
    serve, heard = answering(*parts)
    assert fetch(serve) == b"the key"
    assert heard[0].startswith(b"GET /jwks?a=b HTTP/1.1\r\nhost: 127.0.0.1:")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([], "closed the connection"),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort"], "closed the connection before the end"),
        ([b"HTTP/1.1 200 OK\r\n\r\n", b"x" * (1 << 20)], "too long"),
        ([b"SSH-2.0-OpenSSH_9\r\n"], "not HTTP"),
        ([b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"], "status 302"),
    ],
)
def test_a_document_that_cannot_be_had_is_an_error(parts: list[bytes], said: str) -> None:
    """The text says why: no answer, half of one, too much, no HTTP, or another status; no redirect is followed."""
    with pytest.raises(FetchError, match=said):
        fetch(answering(*parts)[0])


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}/", "https://127.0.0.1:{port}/", "ftp://ci.example.org/"])
def test_no_document_comes_from_an_address_that_is_not_allowed(url: str) -> None:
    """Addresses are checked as those of webhooks are; nothing is sent."""
    serve, heard = answering()
    with pytest.raises(FetchError):
        fetch(serve, url, allow_private=False)
    assert heard == []


def test_a_document_that_does_not_come_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never answers, one that speaks no TLS and one that is not there are each named."""
    monkeypatch.setattr(webhook_sender, "TOTAL_SECONDS", 0.3)
    endless, _ = saying(pause=60)
    with pytest.raises(FetchError, match="did not answer in time"):
        fetch(endless)
    monkeypatch.setattr(webhook_sender, "TOTAL_SECONDS", 60)
    with pytest.raises(FetchError, match="cannot be reached"):
        fetch(endless, "http://127.0.0.1:1/jwks")


def test_slow_receivers_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that never ends, however steadily it comes, ends with the attempt; a body that does is cut off."""
    monkeypatch.setattr(webhook_sender, "TOTAL_SECONDS", 0.3)
    monkeypatch.setattr(webhook_sender, "BODY_SECONDS", 0.1)
    dripping, _ = saying(b"HTTP/1.1 200 OK\r\n", *[b"x: y\r\n"] * 100, pause=0.05)
    assert post(dripping).text == "the receiver did not answer in time"
    monkeypatch.setattr(webhook_sender, "TOTAL_SECONDS", 20)
    endless, _ = saying(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 1000, pause=0.05)
    assert post(endless) == Answer(200)


def test_a_refused_connection_is_a_failure() -> None:
    """The text has the system's reason without its number."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    answer = asyncio.run(HttpSender().send(f"http://127.0.0.1:{port}", MESSAGE, allow_private=True))
    assert answer.text.startswith("the receiver cannot be reached: ")


def test_an_unknown_name_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name without an address is tried again later."""

    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    answer = asyncio.run(HttpSender().send(f"https://{NAME}", MESSAGE, allow_private=False))
    assert "its name cannot be looked up" in answer.text


def test_a_look_up_that_ends_too_late_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resolver that does not answer ends the attempt, and may answer later without harm, also after the loop."""
    gate, done = threading.Event(), threading.Event()

    def resolve(*_: object, **__: object) -> list[object]:
        gate.wait(10)
        done.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(webhook_sender, "CONNECT_SECONDS", 0.05)

    async def late() -> str:
        answer = await HttpSender().send(f"https://{NAME}", MESSAGE, allow_private=False)
        gate.set()
        await asyncio.to_thread(done.wait, 10)
        await asyncio.sleep(0.05)
        return answer.text

    assert asyncio.run(late()) == "the receiver did not answer in time"


@pytest.mark.parametrize("addresses", [["10.0.0.1"], ["127.0.0.1"], ["93.184.215.14", "169.254.169.254"]])
def test_a_name_that_leads_into_a_private_network_is_refused(
    addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each address of the name is checked at each attempt, before any connection."""
    connected: list[object] = []
    monkeypatch.setattr(asyncio, "open_connection", lambda *told, **_: connected.append(told))
    known_as(monkeypatch, *addresses)
    answer = asyncio.run(HttpSender().send(f"https://{NAME}", MESSAGE, allow_private=False))
    assert "network" in answer.text or "link-local" in answer.text
    assert connected == []


def test_a_private_receiver_without_permission_is_refused() -> None:
    """An endpoint without the permission never reaches this machine, and http needs the permission, too."""
    serve, heard = saying(b"HTTP/1.1 200 OK\r\n\r\n")
    assert "--allow-private" in post(serve, "https://127.0.0.1:{port}/", allow_private=False).text
    assert "--allow-private" in post(serve, "http://127.0.0.1:{port}/", allow_private=False).text
    assert heard == []


def test_it_connects_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is looked up once for an attempt; of several addresses the next one is tried if one refuses."""
    serve, heard = saying(b"HTTP/1.1 200 OK\r\n\r\n")
    known_as(monkeypatch, "127.0.0.2", "127.0.0.1")
    counted: list[str] = []
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *rest, **more: counted.append(host) or resolve(host, *rest, **more)
    )
    assert post(serve, f"http://{NAME}:{{port}}/") == Answer(200)
    assert counted.count(NAME) == 1
    assert f"host: {NAME}:".encode() in heard[0]


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would connect to addresses that were not checked."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    serve, _ = saying(b"HTTP/1.1 200 OK\r\n\r\n")
    assert post(serve) == Answer(200)


@pytest.mark.parametrize(
    ("name", "trusted", "said"),
    [
        (NAME, True, ""),
        ("other.example.org", True, "certificate is not valid"),
        (NAME, False, "certificate is not valid"),
    ],
)
def test_the_certificate_must_be_that_of_the_name(
    name: str, *, trusted: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS is checked against the URL's name, although the connection goes to an address."""
    made = make_certificate(tmp_path, name)
    own, trusting = made.own(), made.trusting()
    known_as(monkeypatch, "127.0.0.1")
    serve, heard = saying(b"HTTP/1.1 200 OK\r\n\r\n")

    async def run() -> Answer:
        async with server(serve, own) as port:
            sender = HttpSender(trusting if trusted else None)
            return await sender.send(f"https://{NAME}:{port}/", MESSAGE, allow_private=True)

    answer = asyncio.run(run())
    assert said in answer.text
    assert (answer.status, len(heard)) == ((None, 0) if said else (200, 1))


def test_plain_text_at_a_tls_port_is_a_failure() -> None:
    """The text names TLS as the reason."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Plain\r\n\r\n")
        await writer.drain()

    assert "TLS failed" in post(serve, "https://127.0.0.1:{port}/").text


def test_addresses_are_looked_up_without_duplicates() -> None:
    """This machine's own name has an address of its own."""
    found = asyncio.run(look_up("localhost", 80))
    assert len(found) == len(set(found))
    assert all(ipaddress.ip_address(address).is_loopback for address in found)
