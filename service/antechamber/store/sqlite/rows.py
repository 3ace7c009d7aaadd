"""Rows over one SQLite connection: the shared statements, many sets of values in one call.

Each call gives the interpreter away and has to win it back from a busy event loop, which takes longer than all that
SQLite does in between. So look-ups and inserts of a whole group are one call each, filled up with NULL to one of a few
sizes, because each size is a statement to be prepared.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from antechamber.core.log.leaf import LeafWrite
from antechamber.core.log.rows import SignedCheckpoint
from antechamber.store.access import AccessQueries
from antechamber.store.admissions import AdmissionQueries
from antechamber.store.log import LogQueries
from antechamber.store.memories import MemoryQueries
from antechamber.store.quarantine import QuarantineQueries
from antechamber.store.reports import ReportQueries
from antechamber.store.review_queue import QueueQueries
from antechamber.store.reviews import ReviewQueries
from antechamber.store.statements import statements

_VALUE: Final = re.compile(r"(?<![:\w]):(\w+)")
_SELECT: Final = re.compile(r"SELECT (?!count\()(.*?)\sFROM (.*)", re.DOTALL)
_INSERT: Final = re.compile(r"(INSERT INTO \w+ \([^)]+\))\s+VALUES\s+\(([^)]+)\)")
_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256)
"""Rows of one call; 256 of 18 columns are a seventh of the values that SQLite takes (32,766)."""


def _calls(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Sequence[Mapping[str, Any]]]]:
    """Divide rows into few calls, each with its size, which may be larger than its number of rows."""
    for start in range(0, len(rows), _SIZES[-1]):
        some = rows[start : start + _SIZES[-1]]
        yield next(size for size in _SIZES if size >= len(some)), some


def _flat(rows: Sequence[Sequence[Any]], size: int) -> list[Any]:
    """Return all values one after another, filled up with NULL."""
    values = list(chain.from_iterable(rows))
    values += [None] * ((size - len(rows)) * len(rows[0]))
    return values


@cache
def for_each(name: str, members: tuple[str, ...], number: int) -> str:
    """Return a query that runs a look-up for each of that many sets of values and numbers what it finds.

    A set of NULLs finds nothing. Raises ValueError for one that is more than a join.
    """
    match = _SELECT.fullmatch(statements("sqlite")[name])
    if match is None:
        message = f"{name} cannot be asked for many at once"
        raise ValueError(message)
    sets = ", ".join(f"({position}{', ?' * len(members)})" for position in range(number))
    names, body = ", ".join(f"given_{member}" for member in members), _VALUE.sub(r"item.given_\1", match[2])
    # CROSS JOIN keeps SQLite from looking through a whole table for the sets of values (its planner's documentation).
    return (
        f"WITH item (position, {names}) AS (VALUES {sets}) SELECT item.position, {match[1]} FROM item CROSS JOIN {body}"  # noqa: S608 -- names of our own
    )


@cache
def all_at_once(name: str, number: int) -> tuple[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]]:
    """Return an insert of that many rows but for those that begin with NULL, and what takes the values out of one.

    Raises ValueError for another statement.
    """
    match = _INSERT.fullmatch(statements("sqlite")[name])
    if match is None:
        message = f"{name} cannot be written for all rows at once"
        raise ValueError(message)
    members = _VALUE.findall(match[2])
    row = f"({', '.join('?' * len(members))})"
    rows = f"SELECT * FROM (VALUES {', '.join([row] * number)}) WHERE column1 IS NOT NULL"  # noqa: S608 -- no values
    return f"{match[1]} {rows}", itemgetter(*members)


class SqliteRows(
    AdmissionQueries,
    MemoryQueries,
    QueueQueries,
    ReviewQueries,
    QuarantineQueries,
    AccessQueries,
    ReportQueries,
    LogQueries,
):
    """All rows over one connection."""

    lane = 0

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use a connection whose transaction somebody else controls."""
        self._connection = connection
        self._statements = statements("sqlite")
        self.announced = False
        self.known_producers: dict[str, int] = {}
        self._last: int | None = None
        self.leaves: list[LeafWrite] = []
        """What the log gets at the end of the transaction."""
        self.first_signed = False
        """Whether the log's first checkpoint was added and is not known to be in the database file itself."""

    def one(self, statement: str, /, **values: Any) -> dict[str, Any] | None:
        """Return the first row."""
        row = self._connection.execute(self._statements[statement], values).fetchone()
        return dict(row) if row is not None else None

    def all(self, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        """Return all rows."""
        return [dict(row) for row in self._connection.execute(self._statements[statement], values)]

    def each(self, statement: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        """Yield rows without holding them all."""
        for row in self._connection.execute(self._statements[statement], values):
            yield dict(row)

    def run(self, statement: str, /, **values: Any) -> int:
        """Run a write and return how many rows it touched."""
        return self._connection.execute(self._statements[statement], values).rowcount

    def find(self, statement: str, keys: Sequence[Mapping[str, Any]], /) -> list[dict[str, Any] | None]:
        """Return the first row for each of a few sets of values."""
        return [self.one(statement, **values) for values in keys]

    def find_all(self, *asked: tuple[str, Sequence[Mapping[str, Any]]]) -> list[list[dict[str, Any] | None]]:
        """Do several look-ups for many sets of values."""
        return [list(chain.from_iterable(self._found(name, *call) for call in _calls(keys))) for name, keys in asked]

    def _found(self, statement: str, size: int, keys: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        query = for_each(statement, tuple(keys[0]), size)
        rows: list[dict[str, Any] | None] = [None] * len(keys)
        for row in self._connection.execute(query, _flat([tuple(values.values()) for values in keys], size)):
            rows[row["position"]] = dict(row)
        return rows

    def take(self, number: int) -> list[int]:
        """Return integer keys behind the last one; where another process took them meanwhile, their rows collide."""
        if self._last is None:
            self._last = self.all("last_submission")[0]["id"]
        first, self._last = self._last + 1, self._last + number
        return list(range(first, first + number))

    def forget(self) -> None:
        """Forget what was known from before, because a transaction was undone."""
        self.known_producers.clear()
        self._last = None

    def add(self, statement: str, rows: Sequence[Mapping[str, Any]], _order: Sequence[str], /) -> None:
        """Run an insert for all rows; a single writer waits for nobody, so any order is good."""
        for size, some in _calls(rows):
            insert, values = all_at_once(statement, size)
            # Not `execute`, which would give the interpreter away once more to ask for the last row's key.
            self._connection.executemany(insert, [_flat([values(row) for row in some], size)])

    def repeat(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run a write once for each set of values."""
        self._connection.executemany(self._statements[statement], rows)

    def log(self, leaves: Iterable[LeafWrite], /) -> None:
        """Have leaves appended to the log at the end of the transaction."""
        self.leaves += leaves

    def write_log(self) -> int:
        """Append them; return the log's size, 0 where there is nothing to append."""
        if not self.leaves:
            return 0
        first = self.log_size()
        rows = [
            {"id": index, **leaf._asdict(), "leaf": leaf.leaf.decode()} for index, leaf in enumerate(self.leaves, first)
        ]
        self.leaves = []
        self.add("add_leaf", rows, ())
        return first + len(rows)

    def add_checkpoint(self, signed: SignedCheckpoint) -> None:
        """Keep a checkpoint unless it is there."""
        self.first_signed |= self.checkpoint() is None
        super().add_checkpoint(signed)

    def announce(self) -> None:
        """Note that those who watch are to be woken after the commit."""
        self.announced = True

    def check_files(self) -> Iterator[str]:
        """Yield what SQLite itself finds broken."""
        for pragma in ("PRAGMA integrity_check", "PRAGMA foreign_key_check"):
            for row in self._connection.execute(pragma):
                if tuple(row) != ("ok",):
                    yield f"{pragma.removeprefix('PRAGMA ')}: " + " ".join(map(str, row))
