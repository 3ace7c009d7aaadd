"""The errors that cross a room's border."""

from collections.abc import Sequence

from antechamber.core.contract import Code, Reason


class AntechamberError(Exception):
    """Base of every error this package raises on purpose; its text is fit to show."""

    temporary: bool = False
    """Whether the same again may work by itself."""


class RequestRefusedError(AntechamberError):
    """A request that ends in one of the contract's codes before anything is stored."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        """Take at least one reason; the first decides status and title."""
        super().__init__(reasons[0].message)
        self.reasons = list(reasons)

    @property
    def code(self) -> Code:
        """The code that decides the answer."""
        return self.reasons[0].code


def refuse(code: Code, message: str, pointer: str | None = None) -> RequestRefusedError:
    """Build a refusal with a single reason."""
    return RequestRefusedError([Reason(code=code, message=message, pointer=pointer)])


class BusyError(AntechamberError):
    """Another process holds the store's write lock for longer than an answer may wait."""

    temporary = True


class UnavailableError(AntechamberError):
    """The store cannot commit now; nothing of the refused work was kept."""

    temporary = True


class PolicyError(AntechamberError):
    """A policy file that cannot be put in force; the text names file, key and what to write instead."""


class StaleDecisionError(AntechamberError):
    """A decision made on something that changed meanwhile, or sent a second time."""


class ForbiddenDecisionError(AntechamberError):
    """A decision this person may not make on this proposal; the text says who can."""


class NotFoundError(AntechamberError):
    """Nothing by that id is visible to whoever asks."""


class EraseError(AntechamberError):
    """A text that cannot be erased; the text says why."""


class LogError(AntechamberError):
    """The log contradicts what was signed before, or cannot be signed; the text says what to do."""


class ContradictionError(LogError):
    """The log is not the one that was signed last, or what was signed last is missing."""


class ClosedError(UnavailableError):
    """Nothing is written and no one signs in while the log contradicts what was signed last."""

    def __init__(self, doubt: str) -> None:
        """Take what contradicts, for operators; `str` is fit for callers."""
        super().__init__(
            "the log contradicts what was signed last, and an operator has to act before anything is stored"
        )
        self.doubt = doubt
