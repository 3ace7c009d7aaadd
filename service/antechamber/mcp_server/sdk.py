"""The differences between versions 1 and 2 of the MCP SDK, in one place.

Adapters of some frameworks need version 1, and the server must install next to them. Objects of the protocol are made
from the names of the wire, which both versions read.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcp import types as _types
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, Tool

_server: Final[Any] = Server
types: Final[Any] = _types
"""The SDK's types of either version."""
IS_FIRST: Final = not hasattr(types, "jsonrpc_message_adapter")
"""Whether this is version 1, whose server has a registry of handlers by the type of the request."""
ListTools = Callable[[], list[Tool]]
CallTool = Callable[[Any, str, dict[str, Any], Mapping[str, Any]], Awaitable[CallToolResult]]
"""Answers a call: its HTTP request or None, the tool's name, the arguments and the members of `_meta`."""


def new_server(name: str, title: str, version: str, instructions: str, list_tools: ListTools, call: CallTool) -> Any:
    """Return a low-level server with these tools."""
    make = _first_server if IS_FIRST else _second_server
    return make(name, title, version, instructions, list_tools, call)


def _second_server(
    name: str, title: str, version: str, instructions: str, list_tools: ListTools, call: CallTool
) -> Any:
    async def listed(_: Any, __: Any) -> Any:
        return types.ListToolsResult(tools=list_tools())

    async def called(context: Any, asked: Any) -> CallToolResult:
        return await call(context.request, asked.name, asked.arguments or {}, asked.meta or {})

    described = {"title": title, "version": version, "instructions": instructions}
    return _server(name, **described, on_list_tools=listed, on_call_tool=called)


def _first_server(name: str, _: str, version: str, instructions: str, list_tools: ListTools, call: CallTool) -> Any:
    server = _server(name, version=version, instructions=instructions)

    async def listed(_: Any) -> Any:
        return types.ServerResult(types.ListToolsResult(tools=list_tools()))

    async def called(asked: Any) -> Any:
        given = asked.params
        meta = given.meta.model_dump() if given.meta else {}
        return types.ServerResult(await call(server.request_context.request, given.name, given.arguments or {}, meta))

    # The decorators of version 1 would validate the arguments themselves, and repeat them in their errors.
    server.request_handlers[types.ListToolsRequest] = listed
    server.request_handlers[types.CallToolRequest] = called
    return server


def check_message(message: Any) -> None:
    """Raise ValueError if a decoded text is no message of JSON-RPC 2.0."""
    if IS_FIRST:
        types.JSONRPCMessage.model_validate(message)
    else:
        types.jsonrpc_message_adapter.validate_python(message, by_name=False)
