"""The part of a sender without ledger and connection: answers, pauses, and the circuit breaker.

Blocking and asynchronous senders run the same steps.
"""

import contextlib
import email.utils
import os
import re
import ssl
import time
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import httpx
import msgspec
from msgspec import Struct

from antechamber.client.retry import RETRYABLE
from antechamber.core.addresses import redact_address
from antechamber.core.contract import NoteItem, Reason, Receipt
from antechamber.core.conversion import parse_json
from antechamber.core.delivery_rules import REFUSED, ServerAnswer
from antechamber.core.errors import AntechamberError
from antechamber.core.outcomes import NOT_FOUND_DETAIL, NOT_FOUND_TYPE

_TOKEN: Final = re.compile(r"[!-~]+")
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_ENVIRONMENT: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", *_PROXIES, *map(str.lower, _PROXIES))
"""Variables from which httpx takes certificates and proxies."""


T = TypeVar("T")
QueryParameters = dict[str, str | int | list[str]]
"""Parameters of a query; a list repeats its name."""


class AddressError(AntechamberError):
    """An address or token that cannot be used."""


class ReadError(AntechamberError):
    """The service could not be read; reading again has no side effect."""

    pointer: str | None = None
    """The parameter that the service refused, as a JSON pointer."""


class AnswerError(AntechamberError):
    """A note was not taken, or it is unknown whether it was; sending it again is safe in both cases.

    `reasons` are the service's; without any, no answer came.
    """

    def __init__(self, message: str, reasons: list[Reason], *, temporary: bool) -> None:
        super().__init__(message)
        self.reasons = reasons
        self.temporary = temporary


class Call(Struct, frozen=True, kw_only=True):
    """A request to make."""

    method: str
    path: str
    content: bytes | None = None
    media_type: str = "application/json"
    params: QueryParameters | None = None
    key: str | None = None
    """The idempotency key of a note; that of an event is in its body."""
    hold_seconds: int = 0
    """Seconds for which the service may hold the request before it answers."""


class Pause(Struct, frozen=True):
    """Seconds to wait."""

    seconds: float


class Response(Struct, frozen=True, kw_only=True):
    """An answer of the service, or why there is none."""

    status: int | None = None
    content: bytes = b""
    retry_after: float | None = None
    reason: str = ""
    sent: bool = True
    """False if it is proven that no byte of the request left this process."""


_NO_CONNECTION: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class SendTrace:
    """Records, by httpcore's trace, whether sending a request began.

    A transport that repeats requests may send one and fail to connect for the next.
    """

    def __init__(self) -> None:
        self.begun = False

    def note(self, event: str, _: Any) -> None:
        """Handle a trace event of a blocking connection."""
        self.begun |= event.endswith(".send_request_headers.started")

    async def note_async(self, event: str, info: Any) -> None:
        """Handle a trace event of an asynchronous connection."""
        self.note(event, info)


def address_of(url: str) -> httpx.URL:
    """Parse the address of a service.

    Raises AddressError.
    """
    try:
        address = httpx.URL(url)
        # The same encoding as for the name look-up: a label of a name has 1 to 63 characters.
        address.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        message = f"{redact_address(url)} is no address; write e.g. http://127.0.0.1:8080"
        raise AddressError(message) from None
    # httpx accepts any number as a port.
    port_fits = address.port is None or 0 < address.port < 1 << 16
    if address.scheme not in {"http", "https"} or not address.host or not port_fits:
        message = f"{redact_address(url)} is no address; write e.g. http://127.0.0.1:8080"
        raise AddressError(message)
    return address


def connection_options(url: str, token: str, timeout: float, channel: str) -> dict[str, Any]:
    """Check an address and a token, and return the options for httpx; the channel is sent unless it is "http".

    Raises AddressError.
    """
    if not _TOKEN.fullmatch(token):
        message = "this is no token: a token is not empty, and has no spaces, line breaks or letters beyond ASCII"
        raise AddressError(message)
    address = address_of(url)
    headers = {"authorization": f"Bearer {token}"} | ({"submission-channel": channel} if channel != "http" else {})
    return {"base_url": address, "headers": headers, "timeout": timeout, "verify": trusted(address)}


def trusted(address: httpx.URL) -> ssl.SSLContext | bool:
    """Return the option of httpx that says which certificates are trusted: none for an address without TLS.

    Loading the usual ones takes longer than some requests, and fails if SSL_CERT_FILE names no file.
    """
    return address.scheme == "https" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@contextlib.contextmanager
def preparing() -> Iterator[None]:
    """Explain why no connection can be prepared: httpx reads certificates and proxies from the environment.

    Raises AddressError, whose text names the variables that are set and not their values, which may have a password.
    """
    try:
        yield
    except (OSError, ValueError, ImportError, httpx.InvalidURL) as error:
        given = ", ".join(name for name in _ENVIRONMENT if os.environ.get(name)) or "the address"
        message = f"no connection can be prepared: {str(error).rstrip('.') or type(error).__name__}. Check {given}"
        raise AddressError(message) from error


def response_of(response: httpx.Response) -> Response:
    """Return the parts of an answer that are used."""
    return Response(
        status=response.status_code,
        content=response.content,
        retry_after=_seconds(response.headers.get("retry-after")),
    )


def failure_of(error: Exception, trace: SendTrace) -> Response:
    """Return why there is no answer, and whether the request can have been sent."""
    text = str(error) or type(error).__name__
    if isinstance(error, _NO_CONNECTION) and not trace.begun:
        return Response(reason=f"no connection: {text}", sent=False)
    return Response(reason=f"no answer: {text}")


def _seconds(value: str | None) -> float | None:
    """Parse Retry-After (RFC 9110 section 10.2.3): seconds, or a date."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def answer_of(response: Response) -> ServerAnswer:
    """Decode one answer; one that is not Antechamber's has no receipt."""
    receipt, reason = None, response.reason
    if response.status is not None:
        receipt = _receipt(response.content)
        reason = "" if receipt else _stranger(response.status)
    return ServerAnswer(
        status=response.status, receipt=receipt, reason=reason, retry_after=response.retry_after, sent=response.sent
    )


def _receipt(content: bytes) -> Receipt | None:
    """Decode a receipt; a refusal that left the key free must have every member, as the contract requires."""
    try:
        receipt = parse_json(content, Receipt)
        members = parse_json(content, dict[str, Any]) if receipt.status in REFUSED else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return receipt if members is None or members.keys() >= _MEMBERS else None


_MEMBERS: Final = frozenset(Receipt.__struct_fields__)


def answers_of(response: Response, number: int) -> list[ServerAnswer] | None:
    """Decode the answers to a batch, one for each line; None if the content is something else."""
    if response.status != httpx.codes.OK:
        return None
    lines = [line for line in response.content.split(b"\n") if line]
    if len(lines) != number:
        return None
    answers = [answer_of(Response(status=0, content=line)) for line in lines]
    if not all(answer.receipt for answer in answers):
        return None
    return [msgspec.structs.replace(answer, status=answer.receipt.status) for answer in answers if answer.receipt]


def _stranger(status: int) -> str:
    """Return a sentence about an answer that is not Antechamber's; a proxy may send it, or another service."""
    if status in _NO_ROUTE:
        return (
            f"status {status}: Antechamber has no such route at this address; check the base URL, and whether the "
            "service is of an older version"
        )
    text = f"status {status}, and the answer is not one of Antechamber's"
    return f"{text}; check the base URL" if status < httpx.codes.BAD_REQUEST else text


_NO_ROUTE: Final = frozenset({404, 405})


def is_missing(response: Response) -> bool:
    """Return whether the service says that nothing by that name is visible; other servers answer 404 too."""
    if response.status != httpx.codes.NOT_FOUND:
        return False
    problem = _problem_of(response)
    return (problem.type, problem.detail) == (NOT_FOUND_TYPE, NOT_FOUND_DETAIL)


def _problem_of(response: Response) -> "_Problem":
    try:
        return parse_json(response.content, _Problem)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Problem()


def decode_as(response: Response, kind: type[T]) -> T:
    """Decode the content.

    Raises ReadError.
    """
    problem = _Problem()
    if response.status == httpx.codes.OK:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return parse_json(response.content, kind)
    elif response.status not in _NO_ROUTE:
        problem = _problem_of(response)
    text = problem.detail or response.reason or _stranger(response.status or 0)
    error = ReadError(str(text))
    error.temporary = response.status is None or response.status in RETRYABLE
    error.pointer = next((reason.pointer for reason in problem.reasons), None)
    raise error


def note_of_response(response: Response) -> NoteItem:
    """Decode the answer to a note.

    Raises AnswerError.
    """
    if is_missing(response):
        message = "no submission of yours has this id"
        raise AnswerError(message, [], temporary=False)
    try:
        if response.status == httpx.codes.CREATED:
            return parse_json(response.content, NoteItem)
        reasons = parse_json(response.content, _NoteProblem).reasons if response.content else []
    except (msgspec.MsgspecError, UnicodeDecodeError):
        reasons = []
    text = "; ".join(reason.message for reason in reasons)
    if not text:
        text = response.reason or _stranger(response.status or 0)
    raise AnswerError(text, reasons, temporary=is_passing(response) or not reasons)


def is_passing(response: Response) -> bool:
    """Return whether the same request may succeed later; of two kinds of 409, the passing one says when."""
    if response.status == httpx.codes.CONFLICT:
        return response.retry_after is not None
    return response.status is None or response.status in RETRYABLE


class _NoteProblem(Struct, frozen=True):
    """The refusal of a note."""

    reasons: list[Reason]


class _Reason(Struct, frozen=True):
    """A reason of a refusal, as far as a reader needs it."""

    pointer: str | None = None


class _Problem(Struct, frozen=True):
    """A refusal, as far as a reader needs it."""

    type: Any = None
    detail: Any = None
    reasons: list[_Reason] = []
