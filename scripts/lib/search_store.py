"""A store that is filled with memories directly, without proposals' texts and decisions, to measure search."""

import contextlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import psycopg

from antechamber.app.maintenance import migrate
from antechamber.core.search.terms import index_text
from antechamber.core.search_terms import words_of
from antechamber.settings import DATABASE, Location

Row = tuple[Any, ...]
Payloads = Sequence[dict[str, Any]]
_PROPOSALS: Final = (
    "id, proposal_id, producer, owner, submission_scope, scope_id, source_event_hash, payload, source_span,"
    " received_at, state"
)
_MEMORIES: Final = (
    "id, memory_id, proposal, version, review_record, payload, text_hash, submission_scope, scope_id, source_span,"
    " admitted_at"
)
_SPAN: Final = '{"uri":"repo://a"}'


class _Target(Protocol):
    """A database whose guards are switched off, because these texts have no approvals."""

    def write(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        """Insert rows in their order."""


class _File(_Target):
    """A SQLite file."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw
        # Durability is unnecessary here: after a crash the file is filled again.
        for setting in ("foreign_keys = OFF", "journal_mode = OFF", "synchronous = OFF", "cache_size = -500000"):
            raw.execute(f"PRAGMA {setting}")
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")

    def write(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        marks = ", ".join("?" * len(columns.split(",")))
        self._raw.execute("BEGIN")
        self._raw.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)  # noqa: S608 -- our own names
        self._raw.execute("COMMIT")


class _Server(_Target):
    """A PostgreSQL database, reached as its superuser."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self._raw = raw
        raw.execute("SET search_path = antechamber")
        raw.execute("SET session_replication_role = replica")

    def write(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        with self._raw.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


def fill(location: Location, scopes: Mapping[str, Payloads]) -> None:
    """Create a store with the memories of `project` scopes, given by scope id.

    The memories of all scopes take turns, as they do where many agents work at once. Scopes may share a list of
    payloads, which is then analyzed once.
    """
    migrate(location)
    with _target(location) as target:
        target.write("producers", "id, producer_identity", [(1, "worker:release-bot")])
        target.write("proposals", _PROPOSALS, (_proposal(*memory) for memory in _memories(scopes)))
        target.write("memories", _MEMORIES, (_memory(*memory) for memory in _memories(scopes)))
        _add_index(target, scopes)


def index_words(location: Location, payloads: Payloads) -> None:
    """Fill the full-text index of the desk for the only scope of a SQLite store."""
    with contextlib.closing(sqlite3.connect(location.data / DATABASE)) as raw, raw:
        rows = ((number, " ".join(words_of(payload["content"]))) for number, payload in enumerate(payloads, 1))
        raw.executemany("INSERT INTO memories_search (rowid, words) VALUES (?, ?)", rows)


@contextlib.contextmanager
def _target(location: Location) -> Iterator[_Target]:
    if location.database_url is None:
        with contextlib.closing(sqlite3.connect(location.data / DATABASE, isolation_level=None)) as raw:
            yield _File(raw)
            raw.execute("ANALYZE")
            raw.execute("PRAGMA journal_mode = WAL")
        return
    with psycopg.connect(location.database_url, autocommit=True) as connection:
        yield _Server(connection)
        # As autovacuum does in time; without it no index alone can answer.
        connection.execute("VACUUM ANALYZE")


def _memories(scopes: Mapping[str, Payloads]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield number, scope id and payload of each memory."""
    for place in range(max(map(len, scopes.values()))):
        for number, (scope_id, payloads) in enumerate(scopes.items(), 1):
            if place < len(payloads):
                yield place * len(scopes) + number, scope_id, payloads[place]


def _proposal(number: int, scope_id: str, payload: dict[str, Any]) -> Row:
    del payload  # No search reads it again.
    return number, f"p{number}", 1, "ada", "project", scope_id, b"h%d" % number, "{}", _SPAN, 1, "approved"


def _memory(number: int, scope_id: str, payload: dict[str, Any]) -> Row:
    text = msgspec.json.encode(payload).decode()
    return number, f"m{number}", number, 1, 1, text, "h", "project", scope_id, _SPAN, 1


class _Index(NamedTuple):
    """What the store itself would write for one list of payloads; memories are places in that list."""

    length: int
    words: list[tuple[str, str, int]]
    """Each word with its term and number of memories, sorted."""
    postings: dict[str, list[tuple[int, int, int]]]
    """Place, frequency and length of each memory with a term, by sorted terms."""


def _analyze(payloads: Payloads) -> _Index:
    texts = [index_text(payload) for payload in payloads]
    words = Counter((word, term) for text in texts for word, term in text.words.items())
    postings: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for place, text in enumerate(texts):
        length = text.length
        for term, frequency in text.frequencies.items():
            postings[term].append((place, frequency, length))
    return _Index(
        sum(text.length for text in texts),
        [(word, term, number) for (word, term), number in sorted(words.items())],
        dict(sorted(postings.items())),
    )


def _add_index(target: _Target, scopes: Mapping[str, Payloads]) -> None:
    """Write the index of each scope in one pass."""
    analyzed: dict[int, _Index] = {}
    first = 1
    for scope, (scope_id, payloads) in enumerate(scopes.items(), 1):
        found = analyzed.get(id(payloads)) or analyzed.setdefault(id(payloads), _analyze(payloads))
        ids = {term: number for number, term in enumerate(found.postings, first)}
        first += len(ids)
        target.write(
            "search_scopes",
            "id, submission_scope, scope_id, memories, length",
            [(scope, "project", scope_id, len(payloads), found.length)],
        )
        target.write(
            "search_terms",
            "id, scope, term, memories",
            ((ids[term], scope, term, len(held)) for term, held in found.postings.items()),
        )
        target.write(
            "search_words",
            "scope, word, reversed, term, memories",
            ((scope, word, word[::-1], term, number) for word, term, number in found.words),
        )
        target.write(
            "search_postings",
            "term, memory, frequency, length",
            (
                (ids[term], place * len(scopes) + scope, frequency, length)
                for term, held in found.postings.items()
                for place, frequency, length in held
            ),
        )
