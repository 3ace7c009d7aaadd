"""Statements over one SQLite connection: the shared statements, with many sets of values in one call.

Each call releases the GIL and must re-acquire it from a busy event loop, which takes longer than SQLite's own work. So
look-ups and inserts of a whole group are one call each. Their number of rows is padded with NULL to one of a few sizes,
because each size is a statement to prepare.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from antechamber.core.log.rows import LeafWrite
from antechamber.store.hashes import with_bytes, with_text
from antechamber.store.sqlite.packed_leaf import pack, with_leaf
from antechamber.store.sqlite.schema_check import compare_schema
from antechamber.store.statements import fed, statements

_VALUE: Final = re.compile(r"(?<![:\w]):(\w+)")
_SELECT: Final = re.compile(r"SELECT (?!count\()(.*?)\sFROM (.*)", re.DOTALL)
_INSERT: Final = re.compile(r"(INSERT INTO \w+ \([^)]+\))\s+VALUES\s+\(([^)]+)\)")
_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256)
"""Sizes of one call in rows; 256 rows of 18 columns use a seventh of the parameters that SQLite permits (32,766)."""


def _calls(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Sequence[Mapping[str, Any]]]]:
    """Divide rows into few calls; yield the size of each, which may exceed its number of rows, and its rows."""
    for start in range(0, len(rows), _SIZES[-1]):
        some = rows[start : start + _SIZES[-1]]
        yield next(size for size in _SIZES if size >= len(some)), some


def _flat(rows: Sequence[Sequence[Any]], size: int) -> list[Any]:
    """Return all values in one list, padded with NULL."""
    values = list(chain.from_iterable(rows))
    values += [None] * ((size - len(rows)) * len(rows[0]))
    return values


@cache
def for_each(name: str, members: tuple[str, ...], number: int) -> str:
    """Return a query that runs a look-up for each of this many sets of values and numbers its rows.

    A set of NULLs finds nothing. For example, with `members` ("producer_identity",) and `number` 2,

        SELECT id FROM producers WHERE producer_identity = :producer_identity

    becomes

        WITH item (position, given_producer_identity) AS (VALUES (0, ?), (1, ?))
        SELECT item.position, id
        FROM item CROSS JOIN producers WHERE producer_identity = item.given_producer_identity

    Raises ValueError if the statement is more than a join.
    """
    match = _SELECT.fullmatch(statements("sqlite")[name])
    if match is None:
        message = f"{name} cannot be asked for many at once"
        raise ValueError(message)
    sets = ", ".join(f"({position}{', ?' * len(members)})" for position in range(number))
    names, body = ", ".join(f"given_{member}" for member in members), _VALUE.sub(r"item.given_\1", match[2])
    # CROSS JOIN keeps SQLite from scanning a whole table for the sets of values (documentation of its query planner).
    return (
        f"WITH item (position, {names}) AS (VALUES {sets}) SELECT item.position, {match[1]} FROM item CROSS JOIN {body}"  # noqa: S608 -- names of our own
    )


@cache
def all_at_once(name: str, number: int) -> tuple[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]]:
    """Return an insert of this many rows that skips those beginning with NULL, and a function for one row's values.

    For example, with `number` 2,

        INSERT INTO evidence (proposal, owner) VALUES (:proposal, :owner)

    becomes

        INSERT INTO evidence (proposal, owner)
        SELECT * FROM (VALUES (?, ?), (?, ?)) WHERE column1 IS NOT NULL

    Raises ValueError if the statement is not such an insert.
    """
    match = _INSERT.fullmatch(statements("sqlite")[name])
    if match is None:
        message = f"{name} cannot be written for all rows at once"
        raise ValueError(message)
    members = _VALUE.findall(match[2])
    row = f"({', '.join('?' * len(members))})"
    rows = f"SELECT * FROM (VALUES {', '.join([row] * number)}) WHERE column1 IS NOT NULL"  # noqa: S608 -- no values
    return f"{match[1]} {rows}", itemgetter(*members)


def _stored(row: sqlite3.Row) -> dict[str, Any]:
    """Return a row with the texts of what is stored in a shorter form."""
    return with_leaf(with_text(dict(row)))


class SqliteStatements:
    """Implements store.statements.Statements over one connection, whose owner controls the transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._statements = statements("sqlite")
        self.announced = False
        self._last: int | None = None
        self.leaves: list[LeafWrite] = []
        """Leaves to append to the log at the end of the transaction."""
        self.deleted = False
        """Whether the transaction deleted values that no file may keep."""
        self.unmoved = False
        """Whether the database file itself must hold what was written and may not hold it yet."""
        self.stale_pages = False
        """Whether the write-ahead log holds pages with deleted values; they are overwritten in the file itself."""
        self.scattered = False
        """Whether the file is to be written again, because it may hold copies of deleted values in other pages."""

    def one(self, statement: str, /, **values: Any) -> dict[str, Any] | None:
        row = self._connection.execute(self._statements[statement], values).fetchone()
        return _stored(row) if row is not None else None

    def all(self, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        return [_stored(row) for row in self._connection.execute(self._statements[statement], values)]

    def each(self, statement: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        for row in self._connection.execute(self._statements[statement], values):
            yield _stored(row)

    def run(self, statement: str, /, **values: Any) -> int:
        return self._connection.execute(self._statements[statement], values).rowcount

    def find(self, statement: str, keys: Sequence[Mapping[str, Any]], /) -> list[dict[str, Any] | None]:
        """Return the first row, or None, for each of a few sets of values."""
        return [self.one(statement, **values) for values in keys]

    def find_all(self, *asked: tuple[str, Sequence[Mapping[str, Any]]]) -> list[list[dict[str, Any] | None]]:
        """Run several look-ups, each with one call for many sets of values."""
        return [list(chain.from_iterable(self._found(name, *call) for call in _calls(keys))) for name, keys in asked]

    def _found(self, statement: str, size: int, keys: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        query = for_each(statement, tuple(keys[0]), size)
        rows: list[dict[str, Any] | None] = [None] * len(keys)
        for row in self._connection.execute(
            query, _flat([tuple(with_bytes(values).values()) for values in keys], size)
        ):
            rows[row["position"]] = _stored(row)
        return rows

    def take(self, number: int) -> list[int]:
        """Return the integer keys after the last one; if another process took them meanwhile, their rows collide."""
        if self._last is None:
            self._last = self.all("last_submission")[0]["id"]
        first, self._last = self._last + 1, self._last + number
        return list(range(first, first + number))

    def forget(self) -> None:
        """Drop the cached last key, because a transaction was undone."""
        self._last = None

    def add(self, statement: str, rows: Sequence[Mapping[str, Any]], _order: Sequence[str], /) -> None:
        """Insert all rows; with a single writer no order is needed."""
        for size, some in _calls(rows):
            insert, values = all_at_once(statement, size)
            # Not `execute`, which releases the GIL once more to read the last row's key.
            self._connection.executemany(insert, [_flat([values(with_bytes(row)) for row in some], size)])

    def repeat(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        self._connection.executemany(self._statements[statement], rows)

    def append_leaves(self, leaves: Iterable[LeafWrite], /) -> None:
        """Collect leaves; `write_log` appends them at the end of the transaction."""
        self.leaves += leaves

    def write_log(self) -> int:
        """Append the collected leaves; return the log's size, or 0 if there is nothing to append."""
        if not self.leaves:
            return 0
        first = int(self.all("log_size")[0]["size"])
        leaves, self.leaves = self.leaves, []
        rows = [
            {
                "sequence": sequence,
                "leaf": pack(leaf.leaf.decode()),
                "submission": leaf.submission,
                "subject": leaf.subject,
                "salt": leaf.salt,
            }
            for sequence, leaf in enumerate(leaves, first)
        ]
        self.add("append_leaf", rows, ())
        if changes := fed(leaves):
            self.repeat("add_change", changes)
        return first + len(rows)

    def write_through(self) -> None:
        self.unmoved = True

    def drop_old_pages(self) -> None:
        self.deleted = self.unmoved = self.stale_pages = True

    def rewrite_files(self) -> None:
        self.scattered = True

    def announce(self) -> None:
        """Record that watchers must be called after the commit."""
        self.announced = True

    def check_files(self) -> Iterator[str]:
        """Yield what SQLite's own checks find broken."""
        for pragma in ("PRAGMA integrity_check", "PRAGMA foreign_key_check"):
            for row in self._connection.execute(pragma):
                if tuple(row) != ("ok",):
                    yield f"{pragma.removeprefix('PRAGMA ')}: " + " ".join(map(str, row))

    def check_schema(self) -> Iterator[str]:
        """Yield the triggers, views and indexes that are not those of the migrations."""
        yield from compare_schema(self._connection)
