"""Comparison of the triggers, views and indexes of a SQLite file with those that its migrations make."""

import contextlib
import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Final

from antechamber.store.sqlite.schema import split_script
from antechamber.store.statements import migrations

_OBJECTS: Final = (
    "SELECT name, type, sql FROM sqlite_schema WHERE type IN ('trigger', 'view', 'index') "
    "AND sql IS NOT NULL AND NOT (type = 'index' AND tbl_name = '_sqlite_migrations')"
)
"""Without tables: SQLite itself writes the text of an altered table, and of those of an index of words."""


def compare_schema(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield each trigger, view or index that is missing, planted, or not that of this version."""
    found = {name: (kind, sql) for name, kind, sql in map(tuple, connection.execute(_OBJECTS))}
    wanted = _wanted()
    for name in sorted(found.keys() | wanted.keys()):
        kind = (wanted.get(name) or found[name])[0]
        if name not in found:
            yield f"{kind} {name} is missing from the schema"
        elif name not in wanted:
            yield f"{kind} {name} does not belong to the schema"
        elif found[name] != wanted[name]:
            yield f"{kind} {name} differs from that of the schema"


@cache
def _wanted() -> dict[str, tuple[str, str]]:
    """Return kind and text of each object that the migrations make, by name."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for _, script in migrations("sqlite"):
            for statement in split_script(script):
                connection.execute(statement)
        return {name: (kind, sql) for name, kind, sql in connection.execute(_OBJECTS)}
