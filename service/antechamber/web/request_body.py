"""Reads the body of a request on any route, and then authenticates its caller again."""

from typing import Any

from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.types import Receive, Scope

from antechamber.core.access.callers import Caller
from antechamber.core.errors import RequestRefusedError, UnavailableError, refuse
from antechamber.web.auth import caller_of
from antechamber.web.body_deadline import BROKEN_OFF, BodyReader
from antechamber.web.connections import connection_of


async def read_body(scope: Scope, receive: Receive, max_size: int) -> bytes:
    """Read a body of at most `max_size` bytes, then look up the caller again: its token may have been revoked.

    Raises RequestRefusedError (`body-too-large`, `malformed`) or UnavailableError.
    """
    connection: ASGIConnection[Any, Any, Any, Any] = ASGIConnection(scope)
    body = await read_whole(scope, receive, max_size, connection.app.state, scope["user"])
    scope["user"] = await caller_of(connection)
    return body


async def read_whole(scope: Scope, receive: Receive, max_size: int, state: State, caller: Caller | None) -> bytes:
    """Read a body; if it cannot be read, its connection is closed after the response.

    Raises RequestRefusedError (`body-too-large`, `malformed`) or UnavailableError.
    """
    uploads: BodyReader = state.uploads
    # Uploads are counted by token or account.
    sender = None if caller is None else (type(caller), caller.id)
    try:
        body = await uploads.read(scope["headers"], receive, max_size, sender)
        if connection_of(scope).broken_off:
            raise refuse("malformed", BROKEN_OFF)
    except (RequestRefusedError, UnavailableError):
        connection_of(scope).end_after_response()
        raise
    return body


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns this body once, and then the following messages."""
    left: list[bytes] = [body]

    async def again() -> Any:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return again
