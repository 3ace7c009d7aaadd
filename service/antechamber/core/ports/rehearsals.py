"""The interface to rehearsals of a policy: one at a time, beside the service."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from antechamber.core.errors import AntechamberError
from antechamber.core.rehearsal import RehearsalReport


class RehearsalError(AntechamberError):
    """Raised when a rehearsal cannot begin; the text says what to change."""


class RehearsalState(Struct, frozen=True, kw_only=True):
    """The last rehearsal of this process: how far it is, or how it ended."""

    files: list[str]
    """Names of the policy files that differ from those in force."""
    number: int
    """Submissions to replay at most."""
    done: int = 0
    total: int = 0
    """Submissions that are replayed; 0 until that is known."""
    report: RehearsalReport | None = None
    error: str = ""
    """Why it ended without a report."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.report is not None or bool(self.error)


class Rehearsals(Protocol):
    """Rehearses policies in the background."""

    def start(self, files: Mapping[str, bytes], number: int) -> None:
        """Begin to replay the last `number` submissions under the policy in force and under it with other files.

        Raises RehearsalError if one runs, or a name is that of no policy file.
        """

    def state(self) -> RehearsalState | None:
        """Return the last rehearsal, or None before the first."""

    def stop(self) -> None:
        """End a rehearsal that runs."""
