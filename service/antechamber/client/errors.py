"""What a sender gets back: a receipt, or an error that says whether the same again or something new is safe."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from antechamber.client.operation import Operation
from antechamber.core import errors
from antechamber.core.contract import Receipt
from antechamber.core.errors import AntechamberError
from antechamber.core.outgoing import Body, body_of


class InvalidEventError(errors.RequestRefusedError):
    """An event that is malformed: nothing was recorded and nothing was sent; `reasons` say what to change."""

    retry_same_key: bool = False
    safe_new_key: bool = True


def completed(event: Mapping[str, Any] | bytes, key: str | None) -> Body:
    """Complete an event with its hash and this key, or with one derived from its content.

    Raises InvalidEventError.
    """
    try:
        return body_of(event, key)
    except errors.RequestRefusedError as error:
        raise InvalidEventError(error.reasons) from None


class OperationError(AntechamberError):
    """An operation that was not accepted, or not yet."""

    retry_same_key: bool = False
    """Whether sending the same operation again is the thing to do."""
    safe_new_key: bool = False
    """Whether the event, mended, may be submitted as a new operation without landing twice."""

    advice: ClassVar[str] = ""

    def __init__(self, entry: Operation) -> None:
        """Take the operation as the ledger has it."""
        said = f"{entry.operation_id}: {entry.reason}"
        AntechamberError.__init__(self, f"{said.rstrip('.')}. {self.advice}" if self.advice else said)
        self.operation_id = entry.operation_id
        self.receipt = entry.typed_receipt()


class UncertainError(OperationError):
    """Nobody knows yet whether it landed; the ledger has it, and `send` or `recover` will find out."""

    retry_same_key = True


class NotSentError(OperationError):
    """No attempt reached the service, or can still: there was no connection, or none was tried after earlier failures.

    The ledger has the operation; `send`, `submit` or `recover` sends the same bytes under the same key. Without a
    ledger this speaks of the attempts of this process.
    """

    retry_same_key = True
    advice = "It was not sent; send it again when the service can be reached."


class RefusedError(OperationError, errors.RequestRefusedError):
    """The service refused the token before anything was stored (401, 403), and no other attempt can still arrive.

    `reasons` and `receipt` are the service's. Once the token or the policy is fixed, `send`, `submit` or `recover`
    sends the same bytes under the same key. Without a ledger this speaks of the attempts of this process.
    """

    retry_same_key = True
    advice = "Nothing was stored; fix the token or the policy and send it again."

    def __init__(self, entry: Operation) -> None:
        """Take the operation as the ledger has it, with the receipt of its refusal."""
        super().__init__(entry)
        self.reasons = self.receipt.reasons if self.receipt else []


class FailedError(OperationError):
    """It did not land and never will, or had no effect; the receipt, where the service kept one, says why."""

    safe_new_key = True


class NeedsReviewError(OperationError):
    """A person decides (`antechamber ledger settle`): another event has its key, or a call may have had its effect."""


class SettledByHandError(OperationError):
    """A person called it committed; there is no receipt."""


_ERRORS: Final = {"failed": FailedError, "needs_review": NeedsReviewError, "committed": SettledByHandError}


def outcome(entry: Operation) -> Receipt:
    """Return the receipt of an operation that the service has.

    Raises UncertainError, NotSentError, RefusedError, FailedError, NeedsReviewError or SettledByHandError.
    """
    receipt = entry.typed_receipt()
    if entry.state == "committed" and receipt is not None and receipt.disposition != "rejected-conflict":
        return receipt
    if entry.unsent():
        raise (NotSentError if entry.receipt is None else RefusedError)(entry)
    raise _ERRORS.get(entry.state, UncertainError)(entry)


def outcome_or_error(entry: Operation) -> Receipt | OperationError:
    """Return the receipt, or the error that `outcome` raises."""
    try:
        return outcome(entry)
    except OperationError as error:
        return error
