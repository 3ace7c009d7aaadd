"""The search index: entries of active memories, and the queries that rank them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from antechamber.core.ports.search import KnownTerm, RankedMemory, ScopeStatistics
from antechamber.core.search.question import NearWords, VocabularyWord
from antechamber.core.search.ranking import SearchPlan
from antechamber.core.search.terms import index_text
from antechamber.store.statements import Statements

_LAST: str = "\U0010ffff"
"""The last code point; a text followed by it comes after all texts that begin with it."""


class SearchQueries:
    """Implements core.ports.search.SearchRows with named statements, and keeps the index current."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def add(self, memory: int, submission_scope: str, scope_id: str, payload: str) -> None:
        """Add a memory that became active; its scope's row is locked first, so that writers do not deadlock."""
        text = index_text(msgspec.json.decode(payload))
        scope = {"submission_scope": submission_scope, "scope_id": scope_id}
        self._sql.run("count_in_search_scope", **scope, length=text.length)
        words = [
            {**scope, "word": word, "reversed": word[::-1], "term": term} for word, term in sorted(text.words.items())
        ]
        postings = [
            {**scope, "term": term, "memory": memory, "frequency": frequency, "length": text.length}
            for term, frequency in sorted(text.frequencies.items())
        ]
        self._sql.repeat("count_search_term", [{**scope, "term": row["term"]} for row in postings])
        self._sql.repeat("count_search_word", words)
        self._sql.repeat("add_search_posting", postings)

    def remove(self, memory: int, submission_scope: str, scope_id: str, payload: str) -> None:
        """Remove a memory that is no longer active, and the words that no other memory of its scope has."""
        text = index_text(msgspec.json.decode(payload))
        scope = {"submission_scope": submission_scope, "scope_id": scope_id}
        self._sql.run("uncount_in_search_scope", **scope, length=text.length)
        terms = [{**scope, "term": term} for term in sorted(text.frequencies)]
        words = [{**scope, "word": word} for word in sorted(text.words)]
        self._sql.repeat("remove_search_posting", [{**row, "memory": memory} for row in terms])
        for name, rows in (("search_term", terms), ("search_word", words)):
            self._sql.repeat(f"uncount_{name}", rows)
            self._sql.repeat(f"forget_{name}", rows)

    def statistics(self, scopes: Sequence[tuple[str, str]]) -> list[ScopeStatistics]:
        keys = [{"submission_scope": scope, "scope_id": scope_id} for scope, scope_id in scopes]
        rows = self._sql.find("search_scope", keys)
        return [ScopeStatistics(**row) for row in rows if row is not None and row["memories"] > 0]

    def terms(self, scopes: Sequence[int], terms: Sequence[str]) -> list[KnownTerm]:
        rows = self._sql.find("search_term", [{"scope": scope, "term": term} for scope in scopes for term in terms])
        return [KnownTerm(**row) for row in rows if row is not None]

    def vocabulary(self, scopes: Sequence[int], near: NearWords) -> list[VocabularyWord]:
        values: dict[str, Any] = {
            "beginning": near.beginning,
            "after_beginning": near.beginning + _LAST,
            "end": near.end[::-1],
            "after_end": near.end[::-1] + _LAST,
            "shortest": near.shortest,
            "longest": near.longest,
        }
        return [VocabularyWord(**row) for scope in scopes for row in self._sql.all("near_words", scope=scope, **values)]

    def best(
        self, plan: SearchPlan, known: Sequence[KnownTerm], after: RankedMemory | None, number: int
    ) -> list[RankedMemory]:
        ids: dict[str, list[int]] = {}
        for term in known:
            ids.setdefault(term.term, []).append(term.id)
        wanted = [
            {
                "term": number_of_term,
                "position": want.position,
                "weight": want.weight,
                "cover": want.cover,
                "leads": int(want.leads),
            }
            for want in plan.wanted
            for number_of_term in ids[want.term]
        ]
        rows = self._sql.all(
            "best_memories",
            wanted=msgspec.json.encode(wanted).decode(),
            memories=plan.corpus.memories,
            terms=plan.corpus.length,
            least_cover=plan.least_cover,
            least_words=plan.least_words,
            after_score=None if after is None else after.score,
            after_memory=None if after is None else after.id,
            number=number,
        )
        return [RankedMemory(**row) for row in rows]
