"""A raw connection to a database of each engine, as any program with write access could open it."""

import re
import sqlite3
from typing import Any

import psycopg
import pytest

from antechamber.settings import Location
from support import dump, locked


class Raw:
    """A raw connection, as any program with write access to the database could open it."""

    def __init__(self, location: Location, connection: Any) -> None:
        self.location = location
        self._connection = connection

    @property
    def engine(self) -> str:
        """Return which engine this is."""
        return "sqlite" if self.location.database_url is None else "postgres"

    def execute(self, sql: str, values: dict[str, Any] | None = None) -> Any:
        """Run a statement with named parameters."""
        if self.engine == "postgres":
            sql = re.sub(r"(?<![:\w]):(\w+)", r"%(\1)s", sql)
        return self._connection.execute(sql, values or {})

    def one(self, sql: str, **values: Any) -> dict[str, Any]:
        """Return the first row as a dict."""
        cursor = self.execute(sql, values)
        return dict(zip([column[0] for column in cursor.description], cursor.fetchone(), strict=True))

    def copy(self, table: str, rest: str = "", **changes: str) -> str:
        """Build an INSERT that copies a table's rows with some expressions replaced and a fresh integer key."""
        names = [column[0] for column in self.execute(f"SELECT * FROM {table} LIMIT 0").description]
        names = [name for name in names if name != "id" or "id" in changes]
        chosen = ", ".join(changes.get(name, name) for name in names)
        return f"INSERT INTO {table} ({', '.join(names)}) SELECT {chosen} FROM {table} {rest}"

    def refused(self, sql: str, values: dict[str, Any] | None = None) -> None:
        """Expect a statement to violate a constraint and to change nothing.

        The service keeps signing and counting meanwhile, so its writes are blocked while the contents are compared.
        """
        if self.engine == "postgres":
            with locked(self.location):
                before = dump(self.location)
                with pytest.raises(psycopg.IntegrityError):
                    self.execute(sql, values)
                assert dump(self.location) == before
            return
        for recursive in (0, 1):
            self.execute(f"PRAGMA recursive_triggers = {recursive}")
            self.execute("BEGIN IMMEDIATE")
            before = "\n".join(self._connection.iterdump())
            with pytest.raises(sqlite3.IntegrityError):
                self.execute(sql, values)
            assert "\n".join(self._connection.iterdump()) == before
            self.execute("ROLLBACK")
