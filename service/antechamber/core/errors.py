"""The errors that cross the borders of layers."""

from collections.abc import Callable, Sequence
from typing import Any

from antechamber.core.contract import Code, Reason


class AntechamberError(Exception):
    """Base of all errors that this package raises on purpose; the text may be shown to callers."""

    temporary: bool = False
    """Whether a retry may succeed without a change."""


class RequestRefusedError(AntechamberError):
    """Raised when a request is refused with one of the contract's codes before anything is stored.

    `reasons` has at least one reason; the first determines status and title.
    """

    def __init__(self, reasons: Sequence[Reason]) -> None:
        super().__init__(reasons[0].message)
        self.reasons = list(reasons)

    @property
    def code(self) -> Code:
        """The code that determines the answer."""
        return self.reasons[0].code


def refuse(code: Code, message: str, pointer: str | None = None) -> RequestRefusedError:
    """Return a refusal with a single reason."""
    return RequestRefusedError([Reason(code=code, message=message, pointer=pointer)])


def read_all(*steps: Callable[[], Any]) -> tuple[Any, ...]:
    """Return the results of steps that read parts of one request.

    Raises RequestRefusedError with the reasons of all steps that refuse, each reason once.
    """
    results, reasons = list[Any](), list[Reason]()
    for step in steps:
        try:
            results.append(step())
        except RequestRefusedError as error:
            reasons += [reason for reason in error.reasons if reason not in reasons]
    if reasons:
        raise RequestRefusedError(reasons)
    return tuple(results)


class BusyError(AntechamberError):
    """Raised when another process holds the store's write lock for longer than an answer may wait."""

    temporary = True


class UnavailableError(AntechamberError):
    """Raised when the store cannot commit now; nothing of the refused work was kept."""

    temporary = True


class FetchError(AntechamberError):
    """Raised when a document of another service cannot be had now; the text says why."""

    temporary = True


class PolicyError(AntechamberError):
    """Raised when a policy file is not valid; the text names file, key and what to write instead."""


class DamagedError(UnavailableError):
    """Raised when the database file is damaged: no repetition helps, only a backup."""

    temporary = False


class StaleDecisionError(AntechamberError):
    """Raised when a decision was made on something that changed meanwhile, or was sent a second time."""


class ForbiddenDecisionError(AntechamberError):
    """Raised when this person may not make this decision on this proposal; the message explains who can."""


class NotFoundError(AntechamberError):
    """Raised when nothing with that id is visible to the caller."""


class EraseError(AntechamberError):
    """Raised when a text cannot be erased; the message explains why."""


class LogError(AntechamberError):
    """Raised when the log contradicts an earlier checkpoint, or cannot be signed; the message explains what to do."""


class ContradictionError(LogError):
    """Raised when the log is not the one that was signed last, or cannot be compared with it."""


class UnusableCheckpointError(ContradictionError):
    """Raised when the file of the last checkpoint is missing, or holds something else: there is nothing to compare."""


class ClosedError(UnavailableError):
    """Raised while the log contradicts the last checkpoint: no write and no sign-in is possible.

    `doubt` describes the contradiction for operators; `str` is a text for callers.
    """

    def __init__(self, doubt: str) -> None:
        super().__init__(
            "the log contradicts what was signed last or cannot be compared with it, and an operator has to act before "
            "anything is stored"
        )
        self.doubt = doubt
