"""`/mcp`: tools for MCP clients that connect to the service itself, with the tokens of all other routes."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from litestar import asgi
from litestar.exceptions import MethodNotAllowedException, NotFoundException
from litestar.response.base import ASGIResponse
from litestar.types import HTTPScope, Receive, Send

from antechamber.background import Work
from antechamber.core.access.callers import Bearer
from antechamber.resources import how_to_install
from antechamber.web.auth import needs_token, unauthorized
from antechamber.web.request_body import read_body, replay_body

AsgiApplication = Callable[..., Awaitable[None]]
Start = Callable[[Callable[[Any], Bearer]], AbstractAsyncContextManager[AsgiApplication]]
MAX_BYTES: Final = 1 << 20
"""Maximum bytes of a request: arguments have at most 128 Ki characters, each of at most six bytes."""
METHODS: Final = ("OPTIONS", "POST")
"""The transport's GET and DELETE are not offered: there are no sessions to end and no streams to listen to."""


class ToolServer:
    """Starts the MCP server with the first request, so that a service without MCP clients does not pay for it.

    `start` starts it, and is None if the extra is not installed; `work` records whether it runs.
    """

    def __init__(self, start: Start | None, work: Work) -> None:
        self._start = start
        self._work = work
        self._ready: asyncio.Future[AsgiApplication] | None = None
        self._run: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    @property
    def available(self) -> bool:
        """Whether the packages of the MCP server are installed."""
        return self._start is not None

    async def application(self) -> AsgiApplication:
        """Return the running MCP application.

        Raises NotFoundException if there is none.
        """
        if self._start is None:
            raise NotFoundException(detail=f"This service runs without its MCP server. {how_to_install('mcp')}")
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._run = asyncio.create_task(self._serve(self._start, self._ready))
        return await asyncio.shield(self._ready)

    async def _serve(self, start: Start, ready: "asyncio.Future[AsgiApplication]") -> None:
        """Keep the server open from the first request to shutdown, in one task as its task group requires."""
        try:
            async with start(_bearer) as application:
                ready.set_result(application)
                self._work.note_success()
                await self._over.wait()
        except Exception as error:  # noqa: BLE001 -- the next request starts it again
            self._work.note_failure(error)
            self._ready = None
            if not ready.done():
                ready.set_exception(error)

    async def stop(self) -> None:
        """Stop the server."""
        self._over.set()
        if self._run is not None:
            with contextlib.suppress(Exception):
                await self._run


def _bearer(request: Any) -> Bearer:
    """Return the token's owner for the HTTP request of a call."""
    bearer: Bearer = request.scope["user"]
    return bearer


@asgi("/mcp", guards=[needs_token], copy_scope=True, opt={"methods": METHODS})
async def mcp(scope: HTTPScope, receive: Receive, send: Send) -> None:
    """Answer an MCP client (streamable HTTP)."""
    if scope["method"] not in METHODS:
        raise MethodNotAllowedException(headers={"Allow": ", ".join(METHODS)})
    if scope["method"] == "OPTIONS":
        await ASGIResponse(status_code=204, headers={"Allow": ", ".join(METHODS)})(scope, receive, send)
        return
    body = await read_body(scope, receive, MAX_BYTES)
    # The token may have been revoked while the body arrived.
    if not isinstance(scope["user"], Bearer):
        raise unauthorized()
    application = await scope["litestar_app"].state.tools.application()
    await application(scope, replay_body(body, receive), send)
