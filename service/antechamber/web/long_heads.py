"""Refuses requests whose address or cookies are longer than any that the service needs.

The framework keeps what it made of the last 1,024 addresses, queries and Cookie fields. With heads of the permitted
64 KiB these would take gigabytes.
"""

from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Final

import msgspec
from litestar.types import HTTPScope, Message, Scope, Send

from antechamber.core.outcomes import NOT_FOUND_TYPE
from antechamber.web.problems import PROBLEM, is_path_for_agents

MAX_PATH: Final = 2_048
"""Characters of a path."""
MAX_QUERY: Final = 16_384
"""Bytes of a query, which may be a long search with each character encoded."""
MAX_PARAMETERS: Final = 256
"""Members of a query."""
MAX_COOKIES: Final = 8_192
"""Bytes of all Cookie fields. Cookies of other services on the same host name arrive too."""
MAX_COOKIE_PAIRS: Final = 256
"""Cookies of a request."""
_ADDRESS: Final = (
    f"the address is too long: at most {MAX_PATH:,} characters of path, {MAX_QUERY:,} bytes of query and "
    f"{MAX_PARAMETERS} parameters"
)
_COOKIES: Final = (
    f"the request has too many cookies: at most {MAX_COOKIES:,} bytes and {MAX_COOKIE_PAIRS} cookies; "
    "delete those of this host name in the browser"
)

Hook = Callable[[Message, Scope], Awaitable[object]]
"""Is called with each message before it is sent."""


def find_excess(scope: HTTPScope) -> tuple[HTTPStatus, str] | None:
    """Return the status and the sentence for a head that is too long (RFC 9110, 15.5.15; RFC 6585, 5); else None."""
    query = scope["query_string"]
    if len(scope["path"]) > MAX_PATH or len(query) > MAX_QUERY or query.count(b"&") >= MAX_PARAMETERS:
        return HTTPStatus.REQUEST_URI_TOO_LONG, _ADDRESS
    cookies = [value for name, value in scope["headers"] if name == b"cookie"]
    if cookies:
        joined = b"; ".join(cookies)
        if len(joined) > MAX_COOKIES or joined.count(b";") >= MAX_COOKIE_PAIRS:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _COOKIES
    return None


async def refuse_head(
    scope: Scope,
    send: Send,
    hooks: Iterable[Callable[[Message, Scope], Awaitable[object]]],
    status: HTTPStatus,
    detail: str,
) -> None:
    """Send a problem (RFC 9457) to programs, and its sentence to people; the hooks add headers."""
    kind, body = "text/plain; charset=utf-8", f"{status.phrase}: {detail}.\n".encode()
    if is_path_for_agents(scope["path"]):
        problem = {"type": NOT_FOUND_TYPE, "title": status.phrase, "status": status, "detail": detail}
        kind, body = PROBLEM, msgspec.json.encode(problem)
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    for hook in hooks:
        await hook(start, scope)
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})
