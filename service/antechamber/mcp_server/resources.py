"""The resources of MCP clients: memories of granted scopes, listed, read and subscribed to.

What may not be read, has ended or never existed is one and the same error.
"""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.mcp_resources import (
    PAGE,
    TEMPLATES,
    ListCursor,
    MemoryAddress,
    Reading,
    listed_scopes,
    memory_contents,
    read_address,
    read_list_cursor,
    resource_of,
    scope_contents,
)
from antechamber.mcp_server.sdk import INTERNAL_ERROR, INVALID_PARAMS, Asked, ProtocolError, types
from antechamber.mcp_server.subscriptions import (
    MAX_STREAMS,
    MAX_SUBSCRIPTIONS,
    Subscriber,
    Subscriptions,
    TooManyError,
)

_log: Final = logging.getLogger(__name__)
_BAD_CURSOR: Final = "the cursor is none of this list; list from the beginning, without a cursor"
_NOT_FOUND: Final = "Resource not found"
_TOO_MANY: Final = (
    f"a session subscribes to at most {MAX_SUBSCRIPTIONS} resources, on at most {MAX_STREAMS} streams; end one first"
)
ReadsOf = Callable[[Any], Reading]


class Resources:
    """Answers what clients ask of resources; without `subscriptions`, none are offered."""

    def __init__(self, reads_of: ReadsOf, subscriptions: Subscriptions | None) -> None:
        self._reads_of = reads_of
        self.subscriptions = subscriptions

    async def list_page(self, asked: Asked, cursor: str | None) -> Any:
        """Return a page of resources, the newest of each group of scopes first."""
        with _errors():
            place = read_list_cursor(cursor)
            reads = self._reads_of(asked.request)
            grants = (await reads.scopes()).read
            groups = listed_scopes(grants)
            if place is None or (cursor is not None and place.group >= len(groups)):
                raise ProtocolError(INVALID_PARAMS, _BAD_CURSOR)
            if self.subscriptions is not None and asked.notify is not None:
                # The list is of use without notifications, too.
                with contextlib.suppress(AntechamberError):
                    await self.subscriptions.follow_list(grants, asked.notify)
            found, following = await _page(reads, groups, place)
            listed = {"resources": found, "nextCursor": following and following.text()}
            return types.ListResourcesResult.model_validate(listed)

    def templates(self) -> Any:
        """Return the templates of addresses."""
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": list(TEMPLATES)})

    async def read(self, asked: Asked, uri: str) -> Any:
        """Return the contents of a resource."""
        with _errors():
            contents = await _contents(self._reads_of(asked.request), uri)
            if contents is None:
                raise ProtocolError(asked.not_found, _NOT_FOUND)
            return types.ReadResourceResult.model_validate({"contents": contents})

    async def subscribe(self, asked: Asked, uri: str) -> Any:
        """Subscribe the session to a resource that may be read."""
        with _errors():
            if not await _offered(self.subscriptions).subscribe(uri, _offered(asked.notify)):
                raise ProtocolError(asked.not_found, _NOT_FOUND)
            return types.EmptyResult()

    async def unsubscribe(self, _: Asked, uri: str) -> Any:
        """End a subscription of the session; one that does not exist is no error."""
        _offered(self.subscriptions).unsubscribe(uri)
        return types.EmptyResult()

    @contextlib.asynccontextmanager
    async def listening(self, uris: list[str], *, listing: bool) -> AsyncIterator[Subscriber]:
        """Open a stream of changes of the resources that may be read; the others are left out."""
        async with contextlib.AsyncExitStack() as stack:
            with _errors():
                stream = _offered(self.subscriptions).listening(uris, listing=listing)
                subscriber = await stack.enter_async_context(stream)
            yield subscriber


def _offered(part: Any) -> Any:
    """Return what only a server with subscriptions has."""
    if part is None:
        raise ProtocolError(INVALID_PARAMS, "this transport offers no subscriptions of this kind")
    return part


async def _page(
    reads: Reading, groups: list[tuple[str, ...]], place: ListCursor
) -> tuple[list[dict[str, Any]], ListCursor | None]:
    """Return the resources from a place of the list, and where the next page begins."""
    if not groups:
        return [], None
    try:
        page = await reads.newest(groups[place.group], place.after, PAGE)
    except RequestRefusedError:
        raise ProtocolError(INVALID_PARAMS, _BAD_CURSOR) from None
    found = [resource_of(item) for item in page.items]
    if page.next is not None:
        return found, ListCursor(place.group, page.next)
    if place.group + 1 == len(groups):
        return found, None
    following = ListCursor(place.group + 1)
    return (found, following) if found else await _page(reads, groups, following)


async def _contents(reads: Reading, uri: str) -> list[dict[str, Any]] | None:
    """Return the contents of a resource; None if there is none that may be read."""
    address = read_address(uri)
    if address is None:
        return None
    if isinstance(address, MemoryAddress):
        memory = await reads.memory(address.memory_id)
        return memory_contents(uri, memory) if memory is not None and memory.state == "active" else None
    try:
        return scope_contents(uri, await reads.newest([address.scope], "", PAGE))
    except RequestRefusedError:
        return None


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    """Raise each failure as an error of the protocol that repeats nothing of what was sent."""
    try:
        yield
    except TooManyError:
        raise ProtocolError(INVALID_PARAMS, _TOO_MANY) from None
    except AntechamberError as error:
        raise ProtocolError(INTERNAL_ERROR, str(error)) from None
    except ProtocolError:
        raise
    except Exception:  # noqa: BLE001 -- the log has it, the client only that it failed
        _log.exception("a resource failed unexpectedly")
        message = "The server failed unexpectedly; its log has the details."
        raise ProtocolError(INTERNAL_ERROR, message) from None
