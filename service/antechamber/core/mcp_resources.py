"""Memories and scopes as resources of MCP: their addresses, their listing, and the interface that reads them."""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import unquote

import msgspec

from antechamber.core.contract import (
    KEY,
    MAX_SCOPES,
    NAME,
    SCOPES,
    ChangePage,
    Holder,
    MemoryDetail,
    MemoryItem,
    MemoryPage,
)
from antechamber.core.mcp_tools import Submitting

PAGE: Final = 50
"""Maximum number of resources on a page, and of memories in a scope's resource."""
MAX_URI: Final = 512
MAX_NAME: Final = 60
"""Maximum number of characters of a resource's name."""
TEMPLATES: Final = (
    {
        "uriTemplate": "antechamber://memories/{memory_id}",
        "name": "memory",
        "title": "A memory",
        "description": "One active memory by its memory_id: its text, then the item as search_memory returns it.",
    },
    {
        "uriTemplate": "antechamber://scopes/{kind}/{id}",
        "name": "scope",
        "title": "The memories of a scope",
        "description": f"The newest memories of exactly this scope as JSON, at most {PAGE}.",
        "mimeType": "application/json",
    },
)
_URI: Final = re.compile(r"antechamber://(memories|scopes)/(.+)")
_CURSOR: Final = re.compile(r"([0-9]{1,4})\.(.{0,128})")


class MemoryAddress(NamedTuple):
    """The resource of one memory."""

    memory_id: str


class ScopeAddress(NamedTuple):
    """The resource of a scope, written `kind:id`."""

    scope: str


class ListCursor(NamedTuple):
    """How far a client has listed: `after` is the memory id at which a page of a group of scopes ends, or empty."""

    group: int
    after: str = ""

    def text(self) -> str:
        """Return the cursor as clients get it."""
        return f"{self.group}.{self.after}"


def read_address(uri: str) -> MemoryAddress | ScopeAddress | None:
    """Return what a URI names; None if it is the address of no memory and no scope."""
    match = _URI.fullmatch(uri) if len(uri) <= MAX_URI else None
    if match is None:
        return None
    if match[1] == "memories":
        return MemoryAddress(match[2]) if KEY.fullmatch(match[2]) else None
    kind, _, rest = match[2].partition("/")
    scope_id = unquote(rest)
    return ScopeAddress(f"{kind}:{scope_id}") if kind in SCOPES and NAME.fullmatch(scope_id) else None


def read_list_cursor(text: str | None) -> ListCursor | None:
    """Parse a cursor; the first page has none. Return None if it is no cursor."""
    if text is None:
        return ListCursor(0)
    match = _CURSOR.fullmatch(text)
    return None if match is None else ListCursor(int(match[1]), match[2])


def listed_scopes(read: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the scopes that grants name, in groups that one request can read.

    A grant of each id of a kind (`session:*`) names none: memories are read of named scopes only.
    """
    named = sorted({grant for grant in read if not grant.endswith(":*")})
    return [tuple(named[start : start + MAX_SCOPES]) for start in range(0, len(named), MAX_SCOPES)]


def resource_of(item: MemoryItem) -> dict[str, Any]:
    """Return the entry of a memory in the list of resources, with the names of the protocol."""
    return {
        "uri": f"antechamber://memories/{item.memory_id}",
        "name": first_words(item.content),
        "description": f"{item.kind} in {item.submission_scope}:{item.scope_id}",
        "mimeType": "text/plain",
        "size": len(item.content.encode()),
        "annotations": {"lastModified": item.admitted_at},
    }


def first_words(text: str) -> str:
    """Return the first words of a text on one line, without control characters."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text[: 4 * MAX_NAME]).split())
    if len(line) <= MAX_NAME:
        return line or "(no printable text)"
    whole, _, _ = line[:MAX_NAME].rpartition(" ")
    return f"{whole or line[: MAX_NAME - 1]}…"


def memory_contents(uri: str, memory: MemoryDetail) -> list[dict[str, Any]]:
    """Return the contents of a memory: the text as admitted, and the item as `search_memory` returns it."""
    item = MemoryItem(**{name: getattr(memory, name) for name in MemoryItem.__struct_fields__})
    text = {"uri": uri, "mimeType": "text/plain", "text": memory.content}
    return [text, {"uri": uri, "mimeType": "application/json", "text": msgspec.json.encode(item).decode()}]


def scope_contents(uri: str, page: MemoryPage) -> list[dict[str, Any]]:
    """Return the contents of a scope: its newest memories."""
    return [{"uri": uri, "mimeType": "application/json", "text": msgspec.json.encode(page).decode()}]


class Reading(Protocol):
    """Reads for the resources, with the rights of one token."""

    async def scopes(self) -> Holder:
        """Return whose token it is, and the scopes that it may submit to and read.

        Raises AntechamberError if that cannot be read.
        """
        ...

    async def newest(self, scopes: Sequence[str], after: str, limit: int) -> MemoryPage:
        """Return the newest active memories of exactly these scopes, after a memory id or from the newest.

        Raises RequestRefusedError if a scope or the id is refused, AntechamberError if they cannot be read.
        """
        ...

    async def memory(self, memory_id: str) -> MemoryDetail | None:
        """Return a memory in any state; None if there is none by that id in a scope that may be read.

        Raises AntechamberError if it cannot be read.
        """
        ...


class Following(Reading, Protocol):
    """Reads, and follows changes."""

    async def changes(self, scopes: Sequence[str], after: str, *, wait: bool) -> ChangePage:
        """Return the changes after a cursor, or from `latest`; with `wait`, hold until there is one, at most a while.

        Raises AntechamberError if the service refuses.
        """
        ...


class Serving(Submitting, Reading, Protocol):
    """Everything that the tools and resources of a client need."""


class ServingSession(Submitting, Following, Protocol):
    """The same for a session, which may subscribe."""
