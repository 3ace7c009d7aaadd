"""`POST /v1/submissions`, the busiest route, without the framework's request and response objects.

The route answers every request. The ordinary request, which names our host and brings a valid token, is taken by a
short cut: the HTTP server hands over its complete body before it starts a task for the request. Both paths give the
same answers with the same headers; all other requests take the framework path.
"""

import asyncio
import contextlib
from collections.abc import Callable, Container, Coroutine, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, cast

from litestar import Litestar, asgi
from litestar.datastructures import State
from litestar.exceptions import MethodNotAllowedException
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin
from litestar.types import HTTPScope, Receive, Scope, Send

from antechamber.core.access.callers import Bearer
from antechamber.core.contract import MAX_BODY, Reason
from antechamber.core.errors import RequestRefusedError, UnavailableError
from antechamber.core.metrics.definitions import ADMISSION_SECONDS
from antechamber.flows.admit import LONG, Admission
from antechamber.flows.replies import Reply
from antechamber.flows.token_check import TokenCheck
from antechamber.web import thread_pools
from antechamber.web.auth import host_name, look_up_bearer, secret_of, unauthorized
from antechamber.web.body_deadline import RawHeaders
from antechamber.web.connections import connection_of
from antechamber.web.long_heads import find_excess, refuse_head
from antechamber.web.problems import header_echo, raw_headers
from antechamber.web.request_body import read_whole
from antechamber.web.request_log import HEADER, STATE_NAME, RequestLog

PATH: Final = "/v1/submissions"
_METHODS: Final = ("OPTIONS", "POST")
_ALLOW: Final = ", ".join(_METHODS)
_MOST_LOOK_UPS: Final = 256
"""Tokens that are looked up at once for the short cut; requests with other ones take the framework path."""
_AT_ONCE: Final = 16
"""Requests that are taken in one iteration of the event loop after their token was looked up."""


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
    reply = await _judge_body(scope, receive, scope["litestar_app"].state, bearer)
    await _send(send, reply.status, raw_headers(reply), reply.body)


class WholeResponse(NamedTuple):
    """A complete response of the short cut."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


Respond = Callable[[WholeResponse | None], None]
"""Sends the response to a request; None leaves it to the framework."""


class AntechamberApp(Litestar):
    """Litestar whose requests have an id and take turns."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        """Return the plugins of an application: its own, and that of msgspec.

        The framework adds those of pydantic and attrs where these packages are installed, as with the MCP tools; they
        take 0.14 s of a start, and no route uses their types.
        """
        return [*plugins, MsgspecDIPlugin()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # type: ignore[override]
        """Give a request its id and its turn, and pass it to the framework."""
        # The event that starts and stops an application has another type.
        if str(scope["type"]) == "http":
            log: RequestLog = self.state.request_log
            name = log.begin()
            # The hook that adds headers finds the id here; the context may be that of another task.
            scope.setdefault("state", {})[STATE_NAME] = name
            send = log.watch(name, scope, send)
            await self.state.turns.take(known=connection_of(scope).known)
            if (excess := find_excess(cast("HTTPScope", scope))) is not None:
                await refuse_head(scope, send, self.before_send, *excess)
                return
        await super().__call__(scope, receive, send)


class _Waiting(NamedTuple):
    """A request that waits until its token is looked up."""

    scope: HTTPScope
    body: bytes
    respond: Respond
    began: float


class ShortCut:
    """Answers ordinary submissions beside the framework.

    A token is looked up once for all requests that arrive with it: after a pause, or after a restart, the requests of
    many connections arrive at once. `common_headers` are sent with every response; on the framework path `before_send`
    adds them.
    """

    def __init__(
        self,
        admission: Admission,
        check: TokenCheck,
        hosts: Container[str],
        log: RequestLog,
        common_headers: Sequence[tuple[bytes, bytes]],
    ) -> None:
        self._admission = admission
        self._check = check
        self._hosts = hosts
        self._log = log
        self._common_headers = common_headers
        self._look_ups: set[asyncio.Task[None]] = set()
        self._waiting: dict[str, list[_Waiting]] = {}
        """The requests that wait for the look-up of a token, by the token."""

    def take(self, scope: HTTPScope, body: bytes, respond: Respond) -> bool:
        """Take an ordinary submission, to which `respond` is called later; return False for any other request."""
        if scope["path"] != PATH or scope["method"] != "POST" or len(body) > LONG:
            return False
        secret = self._ordinary(scope["headers"])
        if secret is None:
            return False
        request = _Waiting(scope, body, respond, perf_counter())
        bearer, aging = self._check.recall(secret)
        if bearer is None:
            return self._wait(secret, request)
        if aging:
            # Otherwise all requests of a busy producer would wait for a look-up, each second.
            self._begin(self._renew(secret))
        return self._take(request, bearer)

    def _wait(self, secret: str, request: _Waiting) -> bool:
        """Let a request wait until its token is looked up; return False if that cannot find a bearer."""
        if secret in self._waiting:
            self._waiting[secret].append(request)
            return True
        if len(self._waiting) >= _MOST_LOOK_UPS or self._check.needs_no_read(secret):
            return False
        self._waiting[secret] = [request]
        self._begin(self._look_up(secret))
        return True

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._look_ups.add(task)
        task.add_done_callback(self._look_ups.discard)

    async def _look_up(self, secret: str) -> None:
        """Look up a token, and take the requests that waited for it; the framework answers those without a bearer."""
        await self._renew(secret)
        for number, request in enumerate(self._waiting.pop(secret), 1):
            bearer, _ = self._check.recall(secret)
            if bearer is None or not self._take(request, bearer):
                request.respond(None)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    def _take(self, request: _Waiting, bearer: Bearer) -> bool:
        """Judge a submission of a known caller; return False if the framework has to answer it."""
        scope, body, respond, began = request
        connection_of(scope).know()
        name = self._log.begin()

        def answer(reply: Reply | BaseException) -> None:
            if isinstance(reply, BaseException):
                # Nothing was stored, so the framework may try again, and knows how to answer errors.
                respond(None)
                return
            seconds = perf_counter() - began
            self._admission.meters.observe(ADMISSION_SECONDS, seconds)
            self._log.end(name, scope, reply.status, seconds, PATH)
            length = (b"content-length", b"%d" % len(reply.body))
            sent = [*raw_headers(reply), *self._common_headers, (HEADER, name.encode()), length]
            respond(WholeResponse(reply.status, sent, reply.body))

        try:
            parsed = self._admission.read(body, _keys(scope["headers"]), bearer)
        except Exception:  # noqa: BLE001 -- the framework meets the same error, and knows how to answer it
            return False
        if isinstance(parsed, Reply):
            # Not at once: the response to a request begins the next one of its pipeline.
            asyncio.get_running_loop().call_soon(answer, parsed)
        else:
            self._admission.take(parsed, answer)
        return True

    def _ordinary(self, headers: RawHeaders) -> str | None:
        """Return the token of an ordinary request; None unless it has one known host and one token.

        A request of the MCP tools is not ordinary.
        """
        names = [name for name, _ in headers]
        if names.count(b"host") != 1 or names.count(b"authorization") != 1 or b"submission-channel" in names:
            return None
        values = dict(headers)
        host, token = values[b"host"], values[b"authorization"]
        if not token.startswith(b"Bearer "):
            return None
        if host_name(host.decode("latin-1")) not in self._hosts:
            return None
        return token[7:].decode("latin-1")

    async def _renew(self, secret: str) -> None:
        """Look up a token; if that fails, the framework reports it to the first request that needs it."""
        with contextlib.suppress(Exception):
            await thread_pools.run(thread_pools.LOOK_UPS, self._check.look_up, secret)


async def _judge_body(scope: HTTPScope, receive: Receive, state: State, bearer: Bearer) -> Reply:
    """Read the body and judge it; every failure becomes a reply."""
    headers, admission = scope["headers"], cast("Admission", state.admission)
    keys = _keys(headers)
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


def _keys(headers: RawHeaders) -> list[str]:
    return [value.decode("latin-1") for name, value in headers if name == b"idempotency-key"]


async def _check_token(headers: RawHeaders, check: TokenCheck) -> None:
    """Look up the token again, unless it was looked up a moment ago: the body may have taken long.

    Raises RequestRefusedError (`unauthorized`).
    """
    secret = secret_of(next(value for name, value in headers if name == b"authorization").decode("latin-1"))
    if check.remembered_bearer(secret) is None and await look_up_bearer(check, secret) is None:
        raise unauthorized()


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
