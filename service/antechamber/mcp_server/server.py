"""The MCP server over standard input and output, and over HTTP.

It uses the SDK's low-level server, because the convenient one ignores unknown arguments and parses strings that look
like JSON.
"""

import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, CallToolResult

from antechamber import __version__
from antechamber.core.admission.canonical import decode
from antechamber.core.errors import RequestRefusedError
from antechamber.core.mcp_resources import Serving, ServingSession
from antechamber.mcp_server.resources import Resources
from antechamber.mcp_server.sdk import Handlers, check_message, initialization_options, new_server
from antechamber.mcp_server.subscriptions import Subscriptions
from antechamber.mcp_server.tools import TOOLS, ToolHandlers, tool_of

INSTRUCTIONS: Final = (
    "Propose what you learned and others should know with propose_memory; a person decides whether it is remembered. "
    "Calling it again with the same arguments is always safe and never proposes twice."
)


def build(
    tools_of: Callable[[Any], Serving], tools: ToolHandlers | None = None, subscriptions: Subscriptions | None = None
) -> Any:
    """Return a server; `tools_of` returns what submits and reads for the HTTP request of a call, or for None.

    It offers subscriptions if it gets those of its only session.
    """
    handlers = tools or ToolHandlers()

    async def call(request: Any, name: str, arguments: dict[str, Any], meta: Mapping[str, Any]) -> CallToolResult:
        return await handlers.call(tools_of(request), name, arguments, meta)

    listed = [tool_of(spec) for spec in TOOLS.values()]
    answers = Handlers(lambda: listed, call, Resources(tools_of, subscriptions))
    return new_server("antechamber", "Antechamber", __version__, INSTRUCTIONS, answers)


async def serve_stdio(serving: ServingSession, tools: ToolHandlers) -> None:
    """Serve one client over standard input and output until it disconnects."""
    subscriptions = Subscriptions(serving)
    server, lines = build(lambda _: serving, tools, subscriptions), _StrictLines()
    # The SDK only iterates over this object.
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
        lines.answer = lambda wrong: writing.send(SessionMessage(cast("Any", _Answer(wrong))))
        try:
            await server.run(reading, writing, initialization_options(server, subscribes=True))
        finally:
            await subscriptions.close()
    await tools.finish()


class _Answer:
    """An answer that is already encoded, in place of the SDK's: version 1 has none whose id is null."""

    def __init__(self, text: str) -> None:
        self._text = text

    def model_dump_json(self, **_: Any) -> str:
        """Return the text that the SDK writes."""
        return self._text


class _StrictLines:
    """Lines of standard input; a line that is not a strict message is answered here and not passed on."""

    answer: Callable[[str], Awaitable[None]]

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in anyio.wrap_file(sys.stdin.buffer):
            wrong = _find_error(line)
            if wrong is None:
                yield line.decode()
            else:
                await self.answer(wrong)


@contextlib.asynccontextmanager
async def serving_http(tools_of: Callable[[Any], Serving]) -> AsyncIterator[Callable[..., Awaitable[None]]]:
    """Serve requests one by one; yield the ASGI application.

    The application expects the whole body in its first message. Without sessions any process can answer any request.
    Responses are plain JSON: with the SDK's event streams a disconnecting client would cancel its call.
    """
    manager = StreamableHTTPSessionManager(build(tools_of), json_response=True, stateless=True)

    async def handle(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        first: list[Any] = [await receive()]
        wrong = _find_error(first[0]["body"])
        if wrong is None:

            async def again() -> Any:
                return first.pop() if first else await receive()

            await manager.handle_request(scope, again, send)
            return
        body = wrong.encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async with manager.run():
        yield handle


def _find_error(raw: bytes) -> str | None:
    """Return the response to input that is not strict JSON or not a JSON-RPC message; None for a message.

    The SDK's own response would repeat the input, and its parser keeps the last of two equal members.
    """
    try:
        message = decode(raw)
    except RequestRefusedError as error:
        return _no_message(PARSE_ERROR, str(error))
    try:
        check_message(message)
    except ValueError:
        return _no_message(INVALID_REQUEST, "this is no message of JSON-RPC 2.0")
    return None


def _no_message(code: int, text: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}})
