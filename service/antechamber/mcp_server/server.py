"""The MCP server over standard input and output, and over HTTP.

It uses the SDK's low-level server, because the convenient one ignores unknown arguments and parses strings that look
like JSON.
"""

import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, cast

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    ListToolsResult,
    PaginatedRequestParams,
    jsonrpc_message_adapter,
)

from antechamber import __version__
from antechamber.core.admission.canonical import decode
from antechamber.core.errors import RequestRefusedError
from antechamber.core.mcp_tools import Submitting
from antechamber.mcp_server.tools import TOOLS, ToolHandlers, tool_of

INSTRUCTIONS: Final = (
    "Propose what you learned and others should know with propose_memory; a person decides whether it is remembered. "
    "Calling it again with the same arguments is always safe and never proposes twice."
)


def build(submits_of: Callable[[Any], Submitting], tools: ToolHandlers | None = None) -> Server[Any]:
    """Return a server; `submits_of` returns the submitter for the HTTP request of a call, or for None."""
    tools = tools or ToolHandlers()

    async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool_of(spec) for spec in TOOLS.values()])

    async def call_tool(context: ServerRequestContext[Any], asked: CallToolRequestParams) -> CallToolResult:
        return await tools.call(submits_of(context.request), asked.name, asked.arguments or {}, asked.meta or {})

    return Server(
        "antechamber",
        version=__version__,
        title="Antechamber",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(submits: Submitting, tools: ToolHandlers) -> None:
    """Serve one client over standard input and output until it disconnects."""
    server, lines = build(lambda _: submits, tools), _StrictLines()
    # The SDK only iterates over this object.
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
        lines.answer = lambda wrong: writing.send(SessionMessage(wrong))
        await server.run(reading, writing, server.create_initialization_options())
    await tools.finish()


class _StrictLines:
    """Lines of standard input; a line that is not a strict message is answered here and not passed on."""

    answer: Callable[[JSONRPCError], Awaitable[None]]

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in anyio.wrap_file(sys.stdin.buffer):
            wrong = _find_error(line)
            if wrong is None:
                yield line.decode()
            else:
                await self.answer(wrong)


@contextlib.asynccontextmanager
async def serving_http(submits_of: Callable[[Any], Submitting]) -> AsyncIterator[Callable[..., Awaitable[None]]]:
    """Serve requests one by one; yield the ASGI application.

    The application expects the whole body in its first message. Without sessions any process can answer any request.
    Responses are plain JSON: with the SDK's event streams a disconnecting client would cancel its call.
    """
    manager = StreamableHTTPSessionManager(build(submits_of), json_response=True, stateless=True)

    async def handle(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        first: list[Any] = [await receive()]
        wrong = _find_error(first[0]["body"])
        if wrong is None:

            async def again() -> Any:
                return first.pop() if first else await receive()

            await manager.handle_request(scope, again, send)
            return
        body = wrong.model_dump_json(by_alias=True, exclude_unset=True).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async with manager.run():
        yield handle


def _find_error(raw: bytes) -> JSONRPCError | None:
    """Return the response to input that is not strict JSON or not a JSON-RPC message; None for a message.

    The SDK's own response would repeat the input, and its parser keeps the last of two equal members.
    """
    try:
        message = decode(raw)
    except RequestRefusedError as error:
        return _no_message(PARSE_ERROR, str(error))
    try:
        jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValueError:
        return _no_message(INVALID_REQUEST, "this is no message of JSON-RPC 2.0")
    return None


def _no_message(code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=text))
