"""`POST /v1/submissions`, the busiest route, without the framework's request and response objects.

The route answers every request. A fast path in front of it handles the ordinary request, which names our host and
brings a token that was looked up within the last second: it skips routing and middleware, and costs half as much. Both
paths give the same answers with the same headers; all other requests take the framework path.
"""

from time import perf_counter
from typing import Final, cast

from litestar import Litestar, asgi
from litestar.datastructures import State
from litestar.exceptions import MethodNotAllowedException
from litestar.types import HTTPScope, Receive, Scope, Send

from antechamber.core.access.callers import Bearer
from antechamber.core.contract import MAX_BODY, Reason
from antechamber.core.errors import RequestRefusedError, UnavailableError
from antechamber.core.metrics.definitions import ADMISSION_SECONDS
from antechamber.flows.admit import Admission
from antechamber.flows.replies import Reply
from antechamber.flows.token_check import TokenCheck
from antechamber.web.auth import host_name, look_up_bearer, secret_of, unauthorized
from antechamber.web.body_deadline import RawHeaders
from antechamber.web.connections import connection_of
from antechamber.web.problems import header_echo, raw_headers
from antechamber.web.request_body import read_whole
from antechamber.web.request_log import HEADER, STATE_NAME, RequestLog

PATH: Final = "/v1/submissions"
_METHODS: Final = ("OPTIONS", "POST")
_ALLOW: Final = ", ".join(_METHODS)


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
    await _answer(send, await _judge_body(scope, receive, scope["litestar_app"].state, bearer), ())


class AntechamberApp(Litestar):
    """Litestar with the fast path in front."""

    common_headers: tuple[tuple[bytes, bytes], ...] = ()
    """Headers sent with every response; on the framework path `before_send` adds them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        """Answer an ordinary submission, and pass everything else to the framework."""
        # The event that starts and stops an application has another type.
        if str(scope["type"]) == "http":
            request, began = cast("HTTPScope", scope), perf_counter()
            log: RequestLog = self.state.request_log
            name = log.begin()
            connection = connection_of(scope)
            if request["path"] == PATH and request["method"] == "POST":
                bearer = self._ordinary(request["headers"])
                if bearer is not None:
                    connection.know()
                    reply = await _judge_body(request, receive, self.state, bearer)
                    await _answer(send, reply, (*self.common_headers, (HEADER, name.encode())))
                    log.end(name, scope, reply.status, perf_counter() - began, PATH)
                    return
            # The hook that adds headers finds the id here; the context may be that of another task.
            scope.setdefault("state", {})[STATE_NAME] = name
            send = log.watch(name, scope, send)
            await self.state.turns.take(known=connection.known)
        await super().__call__(scope, receive, send)

    def _ordinary(self, headers: RawHeaders) -> Bearer | None:
        """Return the caller of an ordinary request; None unless it has one known host and one cached token."""
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
        check: TokenCheck = self.state.access.token_check
        return check.remembered_bearer(token[7:].decode("latin-1"))


async def _judge_body(scope: HTTPScope, receive: Receive, state: State, bearer: Bearer) -> Reply:
    """Read the body and judge it; every failure becomes a reply."""
    headers, admission = scope["headers"], cast("Admission", state.admission)
    keys = [value.decode("latin-1") for name, value in headers if name == b"idempotency-key"]
    by_tool = (b"submission-channel", b"mcp") in headers
    try:
        body = await read_whole(scope, receive, MAX_BODY, state, bearer)
        await _check_token(headers, state.access.token_check)
    except RequestRefusedError as error:
        return admission.refusal(error.reasons, header_echo(keys))
    except UnavailableError as error:
        return admission.refusal([Reason(code="unavailable", message=str(error))], header_echo(keys))
    began = perf_counter()
    parsed = await admission.parse(body, keys, bearer)
    del body
    reply = await admission.judge(parsed, "mcp" if by_tool else "http")
    admission.meters.observe(ADMISSION_SECONDS, perf_counter() - began)
    return reply


async def _check_token(headers: RawHeaders, check: TokenCheck) -> None:
    """Look up the token again, unless it was looked up a moment ago: the body may have taken long.

    Raises RequestRefusedError (`unauthorized`).
    """
    secret = secret_of(next(value for name, value in headers if name == b"authorization").decode("latin-1"))
    if check.remembered_bearer(secret) is None and await look_up_bearer(check, secret) is None:
        raise unauthorized()


async def _answer(send: Send, reply: Reply, common: tuple[tuple[bytes, bytes], ...]) -> None:
    await _send(send, reply.status, [*raw_headers(reply), *common], reply.body)


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
