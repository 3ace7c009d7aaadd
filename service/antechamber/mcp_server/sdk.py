"""The differences between versions 1 and 2 of the MCP SDK, in one place.

Adapters of some frameworks need version 1, and the server must install next to them. Objects of the protocol are made
from the names of the wire, which both versions read.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

from mcp import types as _types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.types import CallToolResult, Tool

_server: Final[Any] = Server
types: Final[Any] = _types
"""The SDK's types of either version."""
IS_FIRST: Final = not hasattr(types, "jsonrpc_message_adapter")
"""Whether this is version 1, whose server has a registry of handlers by the type of the request."""
INTERNAL_ERROR: Final[int] = types.INTERNAL_ERROR
INVALID_PARAMS: Final[int] = types.INVALID_PARAMS
_NOT_FOUND_BEFORE_2026: Final = -32002
"""The code of an unknown resource until the protocol of 2026-07-28, which has that of wrong parameters instead."""
ListTools = Callable[[], list[Tool]]
CallTool = Callable[[Any, str, dict[str, Any], Mapping[str, Any]], Awaitable[CallToolResult]]
"""Answers a call: its HTTP request or None, the tool's name, the arguments and the members of `_meta`."""
_exceptions: Final[Any] = import_module("mcp.shared.exceptions")
_Error: Final[Any] = _exceptions.McpError if IS_FIRST else _exceptions.MCPError


class ProtocolError(_Error):  # type: ignore[misc]
    """An error that the SDK sends as the answer to a request."""

    def __init__(self, code: int, message: str) -> None:
        if IS_FIRST:
            super().__init__(types.ErrorData(code=code, message=message))
        else:
            super().__init__(code, message)


class Asked(NamedTuple):
    """The circumstances of a request."""

    request: Any
    """Its HTTP request, or None."""
    not_found: int
    """The code of an unknown resource in the version of the protocol that the client speaks."""
    notify: Callable[[str | None], Awaitable[None]] | None
    """Notifies the session that the resource at a URI changed or, with None, that the list did.

    None in versions of the protocol whose clients open a stream for that (`subscriptions/listen`).
    """


class Stream(Protocol):
    """What a stream of changes reports."""

    targets: dict[str, Any]
    listed: list[Any]

    async def next(self) -> list[str | None]:
        """Wait for changes and return them, None for the list; nothing after the end."""
        ...


class ResourceHandlers(Protocol):
    """Answers what clients ask of resources; `subscriptions` is None if they cannot subscribe."""

    subscriptions: Any

    async def list_page(self, asked: Asked, cursor: str | None) -> Any:
        """Return a page of resources."""
        ...

    def templates(self) -> Any:
        """Return the templates of addresses."""
        ...

    async def read(self, asked: Asked, uri: str) -> Any:
        """Return the contents of a resource."""
        ...

    async def subscribe(self, asked: Asked, uri: str) -> Any:
        """Subscribe the session to a resource."""
        ...

    async def unsubscribe(self, asked: Asked, uri: str) -> Any:
        """End a subscription of the session."""
        ...

    def listening(self, uris: list[str], *, listing: bool) -> AbstractAsyncContextManager[Stream]:
        """Open a stream of changes."""
        ...


class Handlers(NamedTuple):
    """What a server answers."""

    list_tools: ListTools
    call: CallTool
    resources: ResourceHandlers


def new_server(name: str, title: str, version: str, instructions: str, handlers: Handlers) -> Any:
    """Return a low-level server with these tools and resources."""
    make = _first_server if IS_FIRST else _second_server
    return make(name, title, version, instructions, handlers)


def initialization_options(server: Any, *, subscribes: bool) -> Any:
    """Return what a server declares to clients that begin with `initialize`."""
    options = server.create_initialization_options(NotificationOptions(resources_changed=subscribes))
    # Version 1 never declares it.
    options.capabilities.resources.subscribe = subscribes
    return options


def _second_server(name: str, title: str, version: str, instructions: str, handlers: Handlers) -> Any:
    resources = handlers.resources

    async def listed(_: Any, __: Any) -> Any:
        return types.ListToolsResult(tools=handlers.list_tools())

    async def called(context: Any, asked: Any) -> CallToolResult:
        return await handlers.call(context.request, asked.name, asked.arguments or {}, asked.meta or {})

    async def list_page(context: Any, asked: Any) -> Any:
        return await resources.list_page(_asked(context), asked and asked.cursor)

    async def templates(_: Any, __: Any) -> Any:
        return resources.templates()

    async def read(context: Any, asked: Any) -> Any:
        return await resources.read(_asked(context), str(asked.uri))

    described = {"title": title, "version": version, "instructions": instructions}
    answers = {"on_list_tools": listed, "on_call_tool": called, "on_read_resource": read}
    lists = {"on_list_resources": list_page, "on_list_resource_templates": templates}
    return _server(name, **described, **answers, **lists, **_second_subscriptions(resources))


def _second_subscriptions(resources: ResourceHandlers) -> dict[str, Any]:
    if resources.subscriptions is None:
        return {}

    async def subscribe(context: Any, asked: Any) -> Any:
        return await resources.subscribe(_asked(context), str(asked.uri))

    async def unsubscribe(context: Any, asked: Any) -> Any:
        return await resources.unsubscribe(_asked(context), str(asked.uri))

    async def listen(context: Any, asked: Any) -> Any:
        wanted = asked.notifications
        uris, listing = wanted.resource_subscriptions or [], bool(wanted.resources_list_changed)
        async with resources.listening(uris, listing=listing) as stream:
            return await _serve_stream(context, stream)

    return {
        "on_subscribe_resource": subscribe,
        "on_unsubscribe_resource": unsubscribe,
        "on_subscriptions_listen": listen,
    }


async def _serve_stream(context: Any, stream: Stream) -> Any:
    """Send on a stream of the protocol of 2026-07-28 which changes it reports, then these, until it ends."""
    events: Any = import_module("mcp.shared.subscriptions")
    meta = {events.SUBSCRIPTION_ID_META_KEY: context.request_id}
    reported = {
        "resourcesListChanged": bool(stream.listed) or None,
        "resourceSubscriptions": list(stream.targets) or None,
    }
    params = {"notifications": reported, "_meta": meta}

    async def send(notification: Any) -> None:
        await context.session.send_notification(notification, related_request_id=context.request_id)

    await send(types.SubscriptionsAcknowledgedNotification.model_validate({"params": params}))
    while changed := await stream.next():
        for uri in changed:
            event = events.ResourcesListChanged() if uri is None else events.ResourceUpdated(uri=uri)
            await send(events.event_to_notification(event, meta))
    return types.SubscriptionsListenResult(_meta=meta)


def _asked(context: Any) -> Asked:
    """Return the circumstances of a request to version 2."""
    if context.protocol_version in import_module("mcp_types.version").MODERN_PROTOCOL_VERSIONS:
        return Asked(context.request, INVALID_PARAMS, None)
    return Asked(context.request, _NOT_FOUND_BEFORE_2026, _notifier(context.session))


def _notifier(session: Any) -> Callable[[str | None], Awaitable[None]]:
    async def notify(uri: str | None) -> None:
        await (session.send_resource_list_changed() if uri is None else session.send_resource_updated(uri))

    return notify


def _first_server(name: str, _: str, version: str, instructions: str, handlers: Handlers) -> Any:
    server = _server(name, version=version, instructions=instructions)

    async def listed(_: Any) -> Any:
        return types.ListToolsResult(tools=handlers.list_tools())

    async def called(asked: Any) -> Any:
        given = asked.params
        meta = given.meta.model_dump() if given.meta else {}
        return await handlers.call(server.request_context.request, given.name, given.arguments or {}, meta)

    # The decorators of version 1 would validate the arguments themselves, and repeat them in their errors.
    answers = {types.ListToolsRequest: listed, types.CallToolRequest: called}
    answers |= _first_resources(server, handlers.resources)
    server.request_handlers |= {kind: _wrapped(answer) for kind, answer in answers.items()}
    return server


def _first_resources(server: Any, resources: ResourceHandlers) -> dict[Any, Callable[[Any], Awaitable[Any]]]:
    def circumstances() -> Asked:
        context = server.request_context
        return Asked(context.request, _NOT_FOUND_BEFORE_2026, _notifier(context.session))

    async def list_page(asked: Any) -> Any:
        return await resources.list_page(circumstances(), asked.params and asked.params.cursor)

    async def templates(_: Any) -> Any:
        return resources.templates()

    def by_uri(answer: Callable[[Asked, str], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def handle(asked: Any) -> Any:
            return await answer(circumstances(), str(asked.params.uri))

        return handle

    answers: dict[Any, Callable[[Any], Awaitable[Any]]] = {
        types.ListResourcesRequest: list_page,
        types.ListResourceTemplatesRequest: templates,
        types.ReadResourceRequest: by_uri(resources.read),
    }
    if resources.subscriptions is not None:
        answers[types.SubscribeRequest] = by_uri(resources.subscribe)
        answers[types.UnsubscribeRequest] = by_uri(resources.unsubscribe)
    return answers


def _wrapped(answer: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """Return a handler as version 1 calls it."""

    async def handle(asked: Any) -> Any:
        return types.ServerResult(await answer(asked))

    return handle


def check_message(message: Any) -> None:
    """Raise ValueError if a decoded text is no message of JSON-RPC 2.0.

    The models of the SDK take a request with an invalid id for a notification, which is never answered.
    """
    if isinstance(message, dict) and "method" in message and not _is_id(message.get("id", 0)):
        raise ValueError
    if IS_FIRST:
        types.JSONRPCMessage.model_validate(message)
    else:
        types.jsonrpc_message_adapter.validate_python(message, by_name=False)


def _is_id(value: Any) -> bool:
    """Return whether a value is an id of a request: a text or a whole number (MCP, Basic Protocol, Requests)."""
    whole = value.is_integer() if isinstance(value, float) else isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str) or whole
