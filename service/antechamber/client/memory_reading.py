"""Reading all memories of scopes, and memories by id."""

from collections.abc import Sequence
from typing import Final

from antechamber.client.submitter import Submitter
from antechamber.client.wire import ReadError
from antechamber.core.addresses import redact_address
from antechamber.core.contract import MemoryItem
from antechamber.core.errors import AntechamberError

_PAGE: Final = 200


def read_memories(submitter: Submitter, scopes: Sequence[str]) -> list[MemoryItem]:
    """Return all active memories of scopes, each written `kind:id`.

    Raises ReadError.
    """
    found: list[MemoryItem] = []
    after: str | None = None
    while True:
        page = submitter.memories(scopes=sorted(set(scopes)), limit=_PAGE, after=after)
        found += page.items
        if (after := page.next) is None:
            return found


def with_address(error: AntechamberError, url: str) -> AntechamberError:
    """Return an error of reading with the address of the service, and any other error as it is."""
    return AntechamberError(f"{redact_address(url)}: {error}") if isinstance(error, ReadError) else error


class ScopeMemories:
    """Memories by id; those of a scope are read together when the first one is asked for."""

    def __init__(self, submitter: Submitter, scope: str) -> None:
        self._submitter = submitter
        self._scope = scope
        self._active: dict[str, MemoryItem] | None = None

    def find(self, memory_id: str) -> MemoryItem | None:
        """Return a memory in any state; None if there is none by that id in a scope that may be read.

        Raises ReadError.
        """
        if self._active is None:
            self._active = {item.memory_id: item for item in read_memories(self._submitter, [self._scope])}
        return self._active.get(memory_id) or self._submitter.memory(memory_id)
