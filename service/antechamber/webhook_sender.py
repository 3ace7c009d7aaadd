"""Sends webhooks and talks with issuers over HTTP: to a checked address only, without redirects or long waits."""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, TypeVar

import httptools

from antechamber.core.errors import FetchError
from antechamber.core.webhooks.message import Message
from antechamber.core.webhooks.schedule import Answer
from antechamber.core.webhooks.target import TargetError, WebhookTarget, check_address, read_target

T = TypeVar("T")

TOTAL_SECONDS: Final = 15.0
"""Seconds of one attempt, unless another time is given."""
CONNECT_SECONDS: Final = 5.0
"""Seconds for the look-up of the name, and again for the connection with its TLS handshake."""
BODY_SECONDS: Final = 1.0
"""Seconds for the rest of the answer, which is read for the receiver's sake and thrown away."""
MAX_HEAD: Final = 16_384
MAX_BODY: Final = 65_536
_CHUNK: Final = 4_096


class HttpSender:
    """Implements core.ports.webhooks.Sender; `context` replaces the system's trusted certificates.

    `seconds` is the time for one attempt, from the look-up of the name to the end of the answer; by default
    `TOTAL_SECONDS`.

    Each attempt looks the name up, checks every address that it has, and connects to one of exactly these. Name and
    certificate are checked against the URL. Settings for proxies in the environment are not used.
    """

    def __init__(self, context: ssl.SSLContext | None = None, seconds: float | None = None) -> None:
        self._context = context
        self._seconds_given = seconds

    @property
    def _seconds(self) -> float:
        return TOTAL_SECONDS if self._seconds_given is None else self._seconds_given

    async def send(self, url: str, message: Message, *, allow_private: bool) -> Answer:
        """Post a message and return the result; no failure of the receiver or the network raises an error."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(read_target(url, allow_private=allow_private), message, allow_private)
        except TargetError as error:
            return Answer(None, str(error))
        except TimeoutError:
            return Answer(None, "the receiver did not answer in time")
        except ssl.SSLCertVerificationError as error:
            return Answer(None, f"the receiver's certificate is not valid: {error.verify_message}")
        except (OSError, EOFError) as error:
            return Answer(None, f"the receiver cannot be reached: {_reason(error)}")
        except (ValueError, httptools.HttpParserError):
            return Answer(None, "the receiver's answer is not HTTP, or its head is too long")

    async def get(self, url: str, *, allow_private: bool) -> bytes:
        """Return the body of the answer of an address, which has to be 200 and at most 64 KiB.

        Raises FetchError.
        """
        status, body = await self._ask(url, _question, allow_private)
        if status != HTTPStatus.OK:
            message = f"it answers with status {status}"
            raise FetchError(message)
        return body

    async def post(self, url: str, message: Message, *, allow_private: bool) -> tuple[int, bytes]:
        """Post a message and return status and body of the answer, which has at most 64 KiB.

        Raises FetchError.
        """
        return await self._ask(url, lambda target: _request(target, message), allow_private)

    async def _ask(
        self,
        url: str,
        request: Callable[[WebhookTarget], bytes],
        allow_private: bool,  # noqa: FBT001 -- private
    ) -> tuple[int, bytes]:
        """Send a request and return status and body of the answer.

        Raises FetchError.
        """
        try:
            async with asyncio.timeout(self._seconds):
                target = read_target(url, allow_private=allow_private)
                answer = await self._talk(target, request(target), _read_body, allow_private)
        except TargetError as error:
            raise FetchError(str(error).partition(";")[0]) from None
        except TimeoutError:
            message = "it did not answer in time"
            raise FetchError(message) from None
        except ssl.SSLCertVerificationError as error:
            message = f"its certificate is not valid: {error.verify_message}"
            raise FetchError(message) from None
        except (OSError, EOFError) as error:
            message = f"it cannot be reached: {_reason(error)}"
            raise FetchError(message) from None
        except (ValueError, httptools.HttpParserError):
            message = "its answer is not HTTP, or too long"
            raise FetchError(message) from None
        return answer.status or 0, bytes(answer.body)

    async def _send(self, target: WebhookTarget, message: Message, allow_private: bool) -> Answer:  # noqa: FBT001 -- private
        return Answer(await self._talk(target, _request(target, message), _read_status, allow_private))

    async def _talk(
        self,
        target: WebhookTarget,
        request: bytes,
        read: Callable[[asyncio.StreamReader], Awaitable[T]],
        allow_private: bool,  # noqa: FBT001 -- private
    ) -> T:
        """Look the name up, check its addresses, connect to one of them, send a request and read the answer."""
        async with asyncio.timeout(CONNECT_SECONDS):
            addresses = await look_up(target.host, target.port)
        for address in addresses:
            check_address(address, allow_private=allow_private)
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await self._connect(target, addresses)
        try:
            writer.write(request)
            return await read(reader)
        finally:
            # Not closed in an orderly way, which would wait for the receiver.
            writer.transport.abort()

    async def _connect(
        self, target: WebhookTarget, addresses: list[str]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the first of some addresses that accepts; certificate and SNI are those of the name."""
        tls = self._tls() if target.secure else None
        name = target.host if target.secure else None
        for address in addresses[:-1]:
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS / len(addresses)):
                    return await asyncio.open_connection(
                        address, target.port, ssl=tls, server_hostname=name, limit=MAX_HEAD
                    )
        return await asyncio.open_connection(addresses[-1], target.port, ssl=tls, server_hostname=name, limit=MAX_HEAD)

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context


async def look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a host, without duplicates.

    The look-up cannot be interrupted, so it runs in a daemon thread, for which no end of the process waits.

    Raises OSError if the name has none.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str]] = loop.create_future()

    def look() -> None:
        found: list[str] | OSError
        try:
            found = list(dict.fromkeys(str(info[4][0]) for info in _resolve(host, port)))
        except (OSError, UnicodeError) as error:
            found = OSError(f"its name cannot be looked up ({error})")
        # The loop may have ended since.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, future, found)

    threading.Thread(target=look, name="webhook-name", daemon=True).start()
    return await future


def _resolve(host: str, port: int) -> list[tuple[object, object, object, object, tuple[object, ...]]]:
    return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))


def _settle(future: "asyncio.Future[list[str]]", found: list[str] | OSError) -> None:
    if future.done():
        return
    if isinstance(found, OSError):
        future.set_exception(found)
    else:
        future.set_result(found)


def _request(target: WebhookTarget, message: Message) -> bytes:
    head = {"host": target.authority, "content-length": str(len(message.body)), "connection": "close"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in (head | message.headers).items())
    return f"POST {target.path} HTTP/1.1\r\n{lines}\r\n".encode("ascii") + message.body


def _question(target: WebhookTarget) -> bytes:
    lines = f"host: {target.authority}\r\naccept: application/json\r\nconnection: close\r\n"
    return f"GET {target.path} HTTP/1.1\r\n{lines}\r\n".encode("ascii")


class _Head:
    """Notes when the head and the whole of a final answer have been parsed."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.status: int | None = None
        self.ended = False

    def on_headers_complete(self) -> None:
        status = self.parser.get_status_code()
        # An interim answer (RFC 9110, 15.2) is followed by another one.
        self.status = status if status >= 200 else None  # noqa: PLR2004 -- the first final status

    def on_message_complete(self) -> None:
        self.ended = self.status is not None


async def _read_status(reader: asyncio.StreamReader) -> int:
    """Return the status of an answer.

    Raises OSError, EOFError, httptools.HttpParserError, or ValueError if the head is too long.
    """
    head, size = _Head(), 0
    while head.status is None:
        data = await reader.read(_CHUNK)
        size += len(data)
        if not data:
            message = "it closed the connection without an answer"
            raise EOFError(message)
        if size > MAX_HEAD:
            message = "the head is too long"
            raise ValueError(message)
        head.parser.feed_data(data)
    await _read_rest(reader, head)
    return head.status


class _Whole(_Head):
    """Keeps the body of a final answer, too."""

    def __init__(self) -> None:
        super().__init__()
        self.body = bytearray()
        self.sized = False
        """Whether the end of the body follows from the head, and not from the end of the connection."""

    def on_header(self, name: bytes, _value: bytes) -> None:
        self.sized = self.sized or name.lower() in {b"content-length", b"transfer-encoding"}

    def on_body(self, data: bytes) -> None:
        self.body += data


async def _read_body(reader: asyncio.StreamReader) -> _Whole:
    """Return an answer with its body.

    Raises OSError, EOFError, httptools.HttpParserError, or ValueError if head and body are too long.
    """
    whole, size = _Whole(), 0
    while not whole.ended:
        data = await reader.read(_CHUNK)
        size += len(data)
        if size > MAX_HEAD + MAX_BODY:
            message = "the answer is too long"
            raise ValueError(message)
        if not data:
            if whole.status is None or whole.sized:
                message = "it closed the connection before the end of its answer"
                raise EOFError(message)
            break
        whole.parser.feed_data(data)
    return whole


async def _read_rest(reader: asyncio.StreamReader, head: _Head) -> None:
    """Read the rest of an answer, as far as it comes soon; the event was taken or not, however that ends."""
    size = 0
    with contextlib.suppress(TimeoutError, OSError, httptools.HttpParserError):
        async with asyncio.timeout(BODY_SECONDS):
            while not head.ended and size < MAX_BODY and (data := await reader.read(_CHUNK)):
                size += len(data)
                head.parser.feed_data(data)


def _reason(error: Exception) -> str:
    """Return why a connection failed; errors of the system without its number, those of TLS by their reason."""
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason})"
    return str(getattr(error, "strerror", None) or str(error) or type(error).__name__)
