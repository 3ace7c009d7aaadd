"""The store's interface for the change feed."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.rows.memories import ChangedScope, FeedRow


class ChangeRows(Protocol):
    """The change feed: changes of memories by the sequence of their leaves. A snapshot sees it without gaps."""

    def page(self, scopes: Sequence[tuple[str, str]], first: int, number: int) -> list[FeedRow]:
        """Return up to `number` changes in exactly these scopes, from sequence `first` on, in commit order."""

    def last(self) -> int:
        """Return the sequence of the last change in any scope; 0 if there is none."""

    def changed_scopes(self, after: int) -> list[ChangedScope]:
        """Return the scope of each change after a sequence, in commit order."""
