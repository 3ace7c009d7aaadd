"""`POST /v1/submissions`, the busiest route, without the framework's request and response objects.

The route answers whatever comes. In front of it is a short cut for the ordinary request, one that names our host and
brings a token that was looked up within the last second: it needs no routing and no middleware, and costs half of that.
Both give the same answers with the same headers; whatever is not ordinary takes the long way.
"""

from collections.abc import Iterable
from typing import Final, cast

from litestar import Litestar, asgi
from litestar.exceptions import MethodNotAllowedException
from litestar.types import HTTPScope, Receive, Scope, Send

from antechamber.core.contract import MAX_BODY, Code, Reason
from antechamber.core.errors import RefusedError, UnavailableError, refuse
from antechamber.core.roles import Bearer
from antechamber.flows.access import Access
from antechamber.flows.admit import Admission
from antechamber.flows.replies import Reply
from antechamber.web.auth import host_name, unauthorized
from antechamber.web.problems import TOO_LARGE, header_echo, raw_headers
from antechamber.web.uploads import Uploads

PATH: Final = "/v1/submissions"
_METHODS: Final = ("OPTIONS", "POST")
_ALLOW: Final = ", ".join(_METHODS)
RawHeaders = Iterable[tuple[bytes, bytes]]


@asgi(PATH, copy_scope=False, opt={"methods": _METHODS})
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
    admission: Admission = scope["litestar_app"].state.admission
    uploads: Uploads = scope["litestar_app"].state.uploads
    await _answer(send, await _submitted(scope, receive, admission, bearer, uploads), ())


class Application(Litestar):
    """Litestar with the short cut in front."""

    common_headers: tuple[tuple[bytes, bytes], ...] = ()
    """What every answer has; on the long way the framework's hook adds it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        """Answer an ordinary submission, and leave everything else to the framework."""
        # The event that starts and ends an application has no path.
        if scope.get("path") == PATH and str(scope["type"]) == "http":
            request = cast("HTTPScope", scope)
            bearer = self._ordinary(request["headers"]) if request["method"] == "POST" else None
            if bearer is not None:
                reply = await _submitted(request, receive, self.state.admission, bearer, self.state.uploads)
                await _answer(send, reply, self.common_headers)
                return
        await super().__call__(scope, receive, send)

    def _ordinary(self, headers: RawHeaders) -> Bearer | None:
        """Return whose request this is; None unless one host and one known token are named."""
        host = token = None
        for name, value in headers:
            if name == b"host":
                if host is not None:
                    return None
                host = value
            elif name == b"authorization":
                if token is not None:
                    return None
                token = value
        if host is None or token is None or not token.startswith(b"Bearer "):
            return None
        if host_name(host.decode("latin-1")) not in self.state.hosts:
            return None
        access: Access = self.state.access
        return access.remembered_bearer(token[7:].decode("latin-1"))


async def _submitted(
    scope: HTTPScope, receive: Receive, admission: Admission, bearer: Bearer, uploads: Uploads
) -> Reply:
    """Read the body and have it judged; every failure is an answer too."""
    keys = [value.decode("latin-1") for name, value in scope["headers"] if name == b"idempotency-key"]
    by_tool = (b"submission-channel", b"mcp") in scope["headers"]
    try:
        body = await uploads.read(_read_body(scope["headers"], receive))
    except RefusedError as error:
        return admission.refusal(error.reasons, header_echo(keys))
    except (TimeoutError, UnavailableError) as error:
        code: Code = "unavailable" if isinstance(error, UnavailableError) else "malformed"
        return admission.refusal([Reason(code=code, message=str(error))], header_echo(keys))
    parsed = await admission.parsed(body, keys, bearer)
    del body
    return await admission.judged(parsed, "mcp" if by_tool else "http")


async def _read_body(headers: RawHeaders, receive: Receive) -> bytes:
    """Read a body of at most 64 KiB.

    Raises RefusedError (`body-too-large`), also before it is read, or `malformed` for one that breaks off.
    """
    declared = next((int(value) for name, value in headers if name == b"content-length" and value.isdigit()), None)
    if declared is not None and declared > MAX_BODY:
        raise RefusedError([Reason(code="body-too-large", message=TOO_LARGE)])
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise refuse("malformed", "the upload broke off before its declared end")
        body, more = body + message["body"], message["more_body"]
        if len(body) > MAX_BODY:
            raise RefusedError([Reason(code="body-too-large", message=TOO_LARGE)])
    if declared is not None and len(body) != declared:
        raise refuse("malformed", "the upload broke off before its declared end")
    return body


async def _answer(send: Send, reply: Reply, common: tuple[tuple[bytes, bytes], ...]) -> None:
    await _send(send, reply.status, [*raw_headers(reply), *common], reply.body)


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
