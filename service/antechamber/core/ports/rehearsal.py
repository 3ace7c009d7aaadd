"""The store's interface for the rehearsal of a policy."""

from typing import Protocol

from antechamber.core.rows.rehearsal import RehearsalWindow, RehearsedDecision, RehearsedSubmission


class RehearsalRows(Protocol):
    """Stored submissions and decisions, in the order in which they were stored."""

    def window(self, number: int) -> RehearsalWindow:
        """Return the window that ends with the newest submission and has this number of submissions with a text.

        If the store has fewer, the window begins with the first submission.
        """

    def submissions(self, first: int, last: int, number: int) -> list[RehearsedSubmission]:
        """Return at most `number` submissions from one integer key to another, both included, in their order."""

    def decisions(self, first: int, last: int) -> list[RehearsedDecision]:
        """Return the decisions on the proposals from one integer key to another, both included, by proposal and age."""
