"""`POST /v1/submissions` without the framework's request and response objects: half the cost of the busiest route.

Routing, authentication, error answers and headers are those of every other route; only reading the body and sending the
answer are done by hand here.
"""

from typing import Final

from litestar import Litestar, asgi
from litestar.exceptions import ClientException, MethodNotAllowedException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from litestar.types import HTTPScope, Receive, Send

from antechamber.core.contract import MAX_BODY
from antechamber.core.errors import refuse
from antechamber.core.roles import Bearer
from antechamber.flows.admit import Admission
from antechamber.web.auth import unauthorized
from antechamber.web.problems import reply_headers

_METHODS: Final = ("OPTIONS", "POST")
_ALLOW: Final = ", ".join(_METHODS)


@asgi("/v1/submissions", copy_scope=False, opt={"methods": _METHODS})
async def submit(scope: HTTPScope, receive: Receive, send: Send) -> None:
    """Submit one candidate event."""
    if scope["method"] not in _METHODS:
        raise MethodNotAllowedException(headers={"Allow": _ALLOW})
    bearer = scope["user"]
    if not isinstance(bearer, Bearer):
        raise unauthorized()
    if scope["method"] == "OPTIONS":
        await _send(send, 204, [(b"allow", _ALLOW.encode())], b"")
        return
    application: Litestar = scope["litestar_app"]
    admission: Admission = application.state.admission
    keys = [value.decode("latin-1") for name, value in scope["headers"] if name == b"idempotency-key"]
    reply = await admission.submit(await read_body(scope, receive), keys, bearer)
    headers = [(name.encode(), value.encode("latin-1")) for name, value in reply_headers(reply).items()]
    await _send(send, reply.status, headers, reply.body)


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def read_body(scope: HTTPScope, receive: Receive) -> bytes:
    """Read a body of at most 64 KiB.

    Raises RequestEntityTooLarge, or RefusedError for one that breaks off.
    """
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), None)
    if declared is not None and (not declared.isdigit() or int(declared) > MAX_BODY):
        if not declared.isdigit():
            raise ClientException(detail="Content-Length is no number.")
        raise RequestEntityTooLarge
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise refuse("malformed", "the upload broke off before its declared end")
        body += message["body"]
        if len(body) > MAX_BODY:
            raise RequestEntityTooLarge
        if not message["more_body"]:
            break
    if declared is not None and len(body) != int(declared):
        raise refuse("malformed", "the upload broke off before its declared end")
    return bytes(body)
