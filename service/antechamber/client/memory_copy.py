"""A copy of the memories of some scopes in memory, with the methods of a mirror's file."""

from collections.abc import Sequence

from antechamber.client.changes import list_scopes
from antechamber.core.contract import ChangePage, MemoryItem


class MemoryCopy:
    """Memories of some scopes, and how far of the change feed they are; `scopes` are written `kind:id`."""

    def __init__(self, scopes: Sequence[str]) -> None:
        self.scopes = sorted(set(list_scopes(scopes)))
        self._held: dict[str, MemoryItem] = {}
        self._cursor: str | None = None

    def cursor(self) -> str | None:
        """Return the cursor up to which the changes are applied; None at the beginning."""
        return self._cursor

    def apply(self, after: str | None, page: ChangePage) -> None:
        """Apply the page that follows a cursor, unless the copy has moved on."""
        if self._cursor != after:
            return
        self._cursor = page.next
        for change in page.items:
            if change.memory is None:
                self._held.pop(change.memory_id, None)
            else:
                self._held[change.memory_id] = change.memory

    def reset(self) -> None:
        """Remove all memories and begin at the beginning of the feed."""
        self._held.clear()
        self._cursor = None

    def clean(self) -> None:
        """Do nothing: memory has no file in which copies could remain."""

    def memories(self) -> list[MemoryItem]:
        """Return all memories, the newest first."""
        return sorted(self._held.values(), key=lambda memory: (memory.admitted_at, memory.memory_id), reverse=True)

    def close(self) -> None:
        """Remove all memories."""
        self.reset()
