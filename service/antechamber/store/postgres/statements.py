"""Statements over one PostgreSQL connection: the shared statements, with many sets of values in one round trip."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from antechamber.core.log.rows import LeafWrite
from antechamber.store.hashes import with_bytes, with_text
from antechamber.store.postgres.connection import WatchedConnection
from antechamber.store.postgres.schema_check import compare_triggers
from antechamber.store.statements import fed, statements

_VALUE: Final = re.compile(r"(?<![:\w]):(\w+)")
_INSERT: Final = re.compile(r"INSERT INTO (\w+) \(([^)]+)\)\s+VALUES\s+\(([^)]+)\)")
_STOCK: Final = 512
"""Number of keys taken from the sequence at once."""
_TYPES: Final = {str: "text", int: "bigint", bytes: "bytea"}


@cache
def single(name: str) -> str:
    """Return a statement with named values in psycopg's form: `:name` becomes `%(name)s`."""
    return _VALUE.sub(r"%(\1)s", statements("postgres")[name].replace("%", "%%"))


@cache
def for_each(name: str, members: tuple[tuple[str, str], ...]) -> str:
    """Return a query that runs a statement for every element of a JSON array and numbers its rows.

    `members` are names and PostgreSQL types of the values. For example, with `members` (("producer_identity", "text"),)

        SELECT id FROM producers WHERE producer_identity = :producer_identity

    becomes

        SELECT item.position, found.*
        FROM json_to_recordset(%(items)s) AS item (position bigint, producer_identity text)
        CROSS JOIN LATERAL (SELECT id FROM producers WHERE producer_identity = item.producer_identity LIMIT 1) AS found
    """
    columns = ", ".join(f"{member} {form}" for member, form in members)
    body = _VALUE.sub(r"item.\1", statements("postgres")[name].replace("%", "%%"))
    return (
        f"SELECT item.position, found.* FROM json_to_recordset(%(items)s) AS item (position bigint, {columns}) "  # noqa: S608 -- names of our own
        # The limit shows that one row is wanted, and keeps the planner from reading whole tables into a hash join.
        f"CROSS JOIN LATERAL ({body}\nLIMIT 1) AS found"
    )


@cache
def all_at_once(name: str) -> str:
    """Return an `INSERT … VALUES` rewritten to take its rows as one JSON array; the table defines their types.

    For example,

        INSERT INTO evidence (proposal, owner) VALUES (:proposal, :owner)

    becomes

        INSERT INTO evidence (proposal, owner)
        SELECT proposal, owner FROM json_populate_recordset(NULL::evidence, %(items)s)

    Raises ValueError if the statement is not such an insert, or computes its values.
    """
    match = _INSERT.fullmatch(statements("postgres")[name])
    if match is None or _VALUE.findall(match[3]) != [column.strip() for column in match[2].split(",")]:
        message = f"{name} cannot be written for all rows at once: its values must be named as its columns"
        raise ValueError(message)
    table, columns = match[1], match[2]
    return f"INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, %(items)s)"  # noqa: S608 -- names of our own


def _storable(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Replace U+0000, which PostgreSQL cannot store, by U+FFFF, a noncharacter: look-ups for it find nothing."""
    return {name: value.replace("\0", "\uffff") if isinstance(value, str) else value for name, value in values.items()}


def _json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a JSON array; bytes in PostgreSQL's hex format."""
    raw = [name for name, value in rows[0].items() if value is None or isinstance(value, bytes)]
    plain = [{**row, **{name: _hex(row[name]) for name in raw}} for row in rows] if raw else rows
    return msgspec.json.encode(plain).decode()


def _hex(value: Any) -> Any:
    return f"\\x{value.hex()}" if isinstance(value, bytes) else value


class SequenceStock:
    """What one writer keeps between transactions: unused keys, known keys of producers and policies, and `lane`.

    Unused keys are valid for one connection only.
    """

    def __init__(self, lane: int = 0) -> None:
        self.keys: deque[int] = deque()
        self.numbers: dict[str, int] = {}
        self.lane = lane


class PostgresStatements:
    """Implements store.statements.Statements over one connection, whose owner controls the transaction.

    `stock` holds unused keys and outlives the transaction.
    """

    def __init__(self, link: WatchedConnection, stock: SequenceStock | None = None) -> None:
        self._link = link
        self._stock = stock or SequenceStock()
        self.leaves: list[LeafWrite] = []
        """Leaves to append to the log at the end of the transaction."""

    def one(self, statement: str, /, **values: Any) -> dict[str, Any] | None:
        rows = self.all(statement, **values)
        return rows[0] if rows else None

    def all(self, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        return [with_text(row) for row in self._link.rows(single(statement), _storable(values))]

    def each(self, statement: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        return map(with_text, self._link.stream(single(statement), _storable(values)))

    def find(self, statement: str, keys: Sequence[Mapping[str, Any]], /) -> list[dict[str, Any] | None]:
        """Return the first row for each of many sets of values, in one round trip."""
        return self.find_all((statement, keys))[0]

    def find_all(self, *asked: tuple[str, Sequence[Mapping[str, Any]]]) -> list[list[dict[str, Any] | None]]:
        """Run several independent look-ups in one round trip."""
        sent = [self._ask(statement, keys) if keys else None for statement, keys in asked]
        results: list[list[dict[str, Any] | None]] = []
        for (_, keys), cursor in zip(asked, sent, strict=True):
            rows: list[dict[str, Any] | None] = [None] * len(keys)
            for row in self._link.fetch(cursor) if cursor is not None else ():
                rows[row.pop("position")] = with_text(row)
            results.append(rows)
        return results

    def _ask(self, statement: str, keys: Sequence[Mapping[str, Any]]) -> Any:
        keys = [with_bytes(values) for values in keys]
        members = tuple((name, _TYPES[type(value)]) for name, value in keys[0].items())
        items = _json([{**values, "position": position} for position, values in enumerate(keys)])
        return self._link.send(for_each(statement, members), {"items": items})

    def take(self, number: int) -> list[int]:
        """Return unused integer keys; a stock of them saves a round trip, and gaps do no harm."""
        stock = self._stock.keys
        if len(stock) < number:
            stock.extend(row["id"] for row in self.all("take_submissions", number=max(number, _STOCK)))
        return [stock.popleft() for _ in range(number)]

    def run(self, statement: str, /, **values: Any) -> int:
        cursor = self._link.send(single(statement), values)
        self._link.sync()
        return cursor.rowcount

    def add(self, statement: str, rows: Sequence[Mapping[str, Any]], order: Sequence[str], /) -> None:
        """Insert all rows, sorted in an order common to all processes."""
        key: Callable[[Mapping[str, Any]], list[Any]] = lambda row: [row[name] for name in order]  # noqa: E731
        self._link.send(all_at_once(statement), {"items": _json(sorted(map(with_bytes, rows), key=key))})

    def repeat(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        if rows:
            self._link.many(single(statement), rows)

    def append_leaves(self, leaves: Iterable[LeafWrite], /) -> None:
        """Collect leaves; `write_log` appends them at the end of the transaction."""
        self.leaves += leaves

    def write_log(self) -> None:
        """Append the collected leaves under the log's lock, which is held until the transaction ends."""
        if not self.leaves:
            return
        # A leaf is itself JSON and is sent unescaped, which is half as long; the type JSON keeps its exact bytes.
        items = msgspec.json.encode(
            [
                {
                    "id": place,
                    "leaf": msgspec.Raw(leaf.leaf),
                    "subject": leaf.subject,
                    "submission": leaf.submission,
                    "salt": _hex(leaf.salt),
                }
                for place, leaf in enumerate(self.leaves)
            ]
        ).decode()
        changes, self.leaves = fed(self.leaves), []
        self._link.send(single("append_leaf"), {"items": items})
        # Under the same lock, so that it sees which memories are active at this point of the log.
        self.repeat("add_change", changes)

    def announce(self) -> None:
        self._link.send(single("announce"))

    def write_through(self) -> None:
        """Do nothing: the server manages its own files."""

    def drop_old_pages(self) -> None:
        """Do nothing: the server keeps deleted rows until VACUUM."""

    def rewrite_files(self) -> None:
        """Do nothing: the server writes its files again as its operator decides."""

    def check_files(self) -> Iterator[str]:
        """Yield the triggers that are switched off; the server checks its files itself.

        This is the first of all checks, which may take long.
        """
        self._link.be_patient()
        for row in self.all("guards_switched_off"):
            yield f"{row['name']} on {row['relation']} is switched off"

    def check_schema(self) -> Iterator[str]:
        """Yield the triggers and rules that are not those of the migrations."""
        yield from compare_triggers(self.all("guards_in_force"))
