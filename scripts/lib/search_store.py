"""A SQLite store that is filled with memories directly, without proposals and decisions, to measure search."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from antechamber.app import open_store
from antechamber.core.search.terms import index_text
from antechamber.core.search_terms import words_of
from antechamber.settings import DATABASE, Location

Row = tuple[Any, ...]


def fill(folder: Path, memories: Iterable[tuple[str, dict[str, Any]]]) -> Location:
    """Create a store with memories, given as scope id and payload, all in `project` scopes; return its location.

    The store's guards are dropped first, because these texts have no approvals.
    """
    location = Location(data=folder)
    open_store(location).close()
    raw = sqlite3.connect(folder / DATABASE, isolation_level=None)
    raw.execute("PRAGMA foreign_keys = OFF")
    for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    raw.execute("BEGIN")
    raw.execute("INSERT INTO producers (id, producer_identity) VALUES (1, 'worker:release-bot')")
    scopes: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for number, (scope_id, payload) in enumerate(memories, 1):
        scopes[scope_id].append((number, payload))
        _add_memory(raw, number, scope_id, payload)
    for number, (scope_id, entries) in enumerate(scopes.items(), 1):
        _add_index(raw, number, scope_id, entries)
    raw.execute("COMMIT")
    raw.execute("ANALYZE")
    raw.close()
    return location


def _add_memory(raw: sqlite3.Connection, number: int, scope_id: str, payload: dict[str, Any]) -> None:
    text = msgspec.json.encode(payload).decode()
    raw.execute(
        "INSERT INTO proposals (id, proposal_id, producer, owner, submission_scope, scope_id, source_event_hash,"
        " payload, source_span, received_at, state)"
        " VALUES (?, ?, 1, 'ada', 'project', ?, ?, ?, '{\"uri\":\"repo://a\"}', 1,"
        " 'approved')",
        [number, f"p{number}", scope_id, b"h%d" % number, text],
    )
    raw.execute(
        "INSERT INTO memories (id, memory_id, proposal, version, review_record, payload, text_hash,"
        " submission_scope, scope_id, source_span, admitted_at)"
        " VALUES (?, ?, ?, 1, 1, ?, 'h', 'project', ?, '{\"uri\":\"repo://a\"}', 1)",
        [number, f"m{number}", number, text, scope_id],
    )
    words = " ".join(words_of(payload["content"]))
    raw.execute("INSERT INTO memories_search (rowid, words) VALUES (?, ?)", [number, words])


def _add_index(raw: sqlite3.Connection, scope: int, scope_id: str, entries: list[tuple[int, dict[str, Any]]]) -> None:
    """Write what the store itself would write for these memories, in one pass."""
    texts = [(memory, index_text(payload)) for memory, payload in entries]
    holders = Counter(term for _, text in texts for term in text.frequencies)
    words = Counter((word, term) for _, text in texts for word, term in text.words.items())
    length = sum(text.length for _, text in texts)
    raw.execute("INSERT INTO search_scopes VALUES (?, 'project', ?, ?, ?)", [scope, scope_id, len(texts), length])
    (first,) = raw.execute("SELECT coalesce(max(id), 0) + 1 FROM search_terms").fetchone()
    ids = {term: number for number, term in enumerate(holders, first)}
    raw.executemany(
        "INSERT INTO search_terms VALUES (?, ?, ?, ?)", [(ids[term], scope, term, holders[term]) for term in holders]
    )
    raw.executemany(
        "INSERT INTO search_words VALUES (?, ?, ?, ?, ?)",
        [(scope, word, word[::-1], term, number) for (word, term), number in sorted(words.items())],
    )
    raw.executemany("INSERT INTO search_postings VALUES (?, ?, ?, ?)", sorted(_postings(texts, ids)))


def _postings(texts: list[tuple[int, Any]], ids: dict[str, int]) -> Iterator[Row]:
    for memory, text in texts:
        for term, frequency in text.frequencies.items():
            yield ids[term], memory, frequency, text.length
