"""Queries for the change feed."""

from collections.abc import Sequence

from antechamber.core.conversion import convert
from antechamber.core.rows.memories import ChangedScope, FeedRow
from antechamber.store.statements import Statements


class ChangeQueries:
    """Implements core.ports.changes.ChangeRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def page(self, scopes: Sequence[tuple[str, str]], first: int, number: int) -> list[FeedRow]:
        found = [
            convert(row, FeedRow)
            for scope, scope_id in scopes
            for row in self._sql.all(
                "changes_of_scope", submission_scope=scope, scope_id=scope_id, first=first, number=number
            )
        ]
        return sorted(found, key=lambda row: (row.sequence, row.memory))[:number]

    def last(self) -> int:
        return int(self._sql.all("last_change")[0]["sequence"])

    def changed_scopes(self, after: int) -> list[ChangedScope]:
        return [ChangedScope(**row) for row in self._sql.all("changed_scopes", after=after)]
