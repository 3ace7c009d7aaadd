"""Rows over one SQLite connection."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from antechamber.store.access import Access
from antechamber.store.admissions import Admissions
from antechamber.store.recall import Recall
from antechamber.store.reports import Reports
from antechamber.store.reviews import Reviews
from antechamber.store.statements import statements


class SqliteRows(Admissions, Recall, Reviews, Access, Reports):
    """All rows over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use a connection whose transaction somebody else controls."""
        self._connection = connection
        self._statements = statements("sqlite")
        self.announced = False

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
        """Return the first row for each of many sets of values."""
        return [self.one(statement, **values) for values in keys]

    def find_all(self, *asked: tuple[str, Sequence[Mapping[str, Any]]]) -> list[list[dict[str, Any] | None]]:
        """Do several such look-ups; a call costs nothing here, so one after another."""
        return [self.find(statement, keys) for statement, keys in asked]

    def take(self, table: str, number: int, /) -> list[int]:
        """Return that many integer keys behind the last one."""
        return [row["id"] for row in self.all(f"take_{table}", number=number)]

    def add(self, statement: str, rows: Sequence[Mapping[str, Any]], _order: Sequence[str], /) -> None:
        """Run an insert for all rows; a single writer waits for nobody, so any order is good."""
        self.repeat(statement, rows)

    def repeat(self, statement: str, rows: Sequence[Mapping[str, Any]], /) -> None:
        """Run a write once for each set of values."""
        self._connection.executemany(self._statements[statement], rows)

    def announce(self) -> None:
        """Note that those who watch are to be woken after the commit."""
        self.announced = True

    def check_files(self) -> Iterator[str]:
        """Yield what SQLite itself finds broken."""
        for pragma in ("PRAGMA integrity_check", "PRAGMA foreign_key_check"):
            for row in self._connection.execute(pragma):
                if tuple(row) != ("ok",):
                    yield f"{pragma.removeprefix('PRAGMA ')}: " + " ".join(map(str, row))
