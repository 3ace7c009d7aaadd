"""What a sender gets back: a receipt, or an error that says whether the same again or something new is safe."""

from typing import Final

from antechamber.client.entry import Entry
from antechamber.core.contract import Receipt
from antechamber.core.errors import AntechamberError


class OperationError(AntechamberError):
    """An operation that was not accepted, or not yet."""

    retry_same_key: bool = False
    """Whether sending the same operation again is the thing to do."""
    safe_new_key: bool = False
    """Whether the event, mended, may be submitted as a new operation without landing twice."""

    def __init__(self, entry: Entry) -> None:
        """Take the operation as the ledger has it."""
        super().__init__(f"{entry.operation_id}: {entry.reason}")
        self.operation_id = entry.operation_id
        self.receipt = entry.typed_receipt()


class UncertainError(OperationError):
    """Nobody knows yet whether it landed; the ledger has it, and `send` or `recover` will find out."""

    retry_same_key = True


class FailedError(OperationError):
    """It did not land and never will, or had no effect; the receipt, where the service kept one, says why."""

    safe_new_key = True


class NeedsReviewError(OperationError):
    """A person decides (`antechamber ledger settle`): another event has its key, or a call may have had its effect."""


class SettledByHandError(OperationError):
    """A person called it committed; there is no receipt."""


_ERRORS: Final = {"failed": FailedError, "needs_review": NeedsReviewError, "committed": SettledByHandError}


def outcome(entry: Entry) -> Receipt:
    """Return the receipt of an operation that the service has.

    Raises UncertainError, FailedError, NeedsReviewError or SettledByHandError.
    """
    receipt = entry.typed_receipt()
    if entry.state == "committed" and receipt is not None and receipt.disposition != "rejected-conflict":
        return receipt
    raise _ERRORS.get(entry.state, UncertainError)(entry)


def outcome_or_error(entry: Entry) -> Receipt | OperationError:
    """Return the receipt, or the error that `outcome` raises."""
    try:
        return outcome(entry)
    except OperationError as error:
        return error
