"""Queries for the rehearsal of a policy."""

from antechamber.core.conversion import convert
from antechamber.core.rows.rehearsal import RehearsalWindow, RehearsedDecision, RehearsedSubmission
from antechamber.store.statements import Statements


class RehearsalQueries:
    """Implements core.ports.rehearsal.RehearsalRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def window(self, number: int) -> RehearsalWindow:
        ends = self._sql.all("rehearsal_window", number=number)[0]
        counted = self._sql.all("count_rehearsed", **ends)[0]
        return convert(ends | counted, RehearsalWindow)

    def submissions(self, first: int, last: int, number: int) -> list[RehearsedSubmission]:
        rows = self._sql.all("rehearsed_submissions", first=first, last=last, number=number)
        return convert(rows, list[RehearsedSubmission], strict=False)

    def decisions(self, first: int, last: int) -> list[RehearsedDecision]:
        return convert(self._sql.all("rehearsed_decisions", first=first, last=last), list[RehearsedDecision])
