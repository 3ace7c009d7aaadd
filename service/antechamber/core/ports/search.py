"""The store's interface for search: what the index holds of the scopes that are read."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from antechamber.core.search.question import NearWords, VocabularyWord
from antechamber.core.search.ranking import SearchPlan


class ScopeStatistics(Struct, frozen=True, kw_only=True):
    """Statistics of one scope in the index."""

    id: int
    memories: int
    length: int
    """Number of terms of all memories."""


class KnownTerm(Struct, frozen=True, kw_only=True):
    """A term of one scope, and the number of its memories that have it."""

    id: int
    term: str
    memories: int


class RankedMemory(Struct, frozen=True, kw_only=True):
    """A memory that answers a question; `id` is its integer key."""

    id: int
    score: int


class SearchRows(Protocol):
    """The search index; only active memories are in it."""

    def statistics(self, scopes: Sequence[tuple[str, str]]) -> list[ScopeStatistics]:
        """Return the statistics of those of the scopes that have memories."""

    def terms(self, scopes: Sequence[int], terms: Sequence[str]) -> list[KnownTerm]:
        """Return the terms that exist, each for each scope."""

    def vocabulary(self, scopes: Sequence[int], near: NearWords) -> list[VocabularyWord]:
        """Return words near another one, each for each scope."""

    def best(
        self, plan: SearchPlan, known: Sequence[KnownTerm], after: RankedMemory | None, number: int
    ) -> list[RankedMemory]:
        """Return the memories that answer a question, the best first; of equal ones, the newest."""
