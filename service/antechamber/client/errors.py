"""Results of sending: a receipt, or an error that states whether retrying or a new operation is safe."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeVar

from antechamber.client.operation import Operation
from antechamber.core import errors
from antechamber.core.contract import Reason, Receipt
from antechamber.core.errors import AntechamberError
from antechamber.core.outgoing import Body, body_of

T = TypeVar("T")


class InvalidEventError(errors.RequestRefusedError):
    """An event is malformed: nothing was recorded or sent; `reasons` state what to change."""

    retry_same_key: bool = False
    safe_new_key: bool = True

    def __init__(self, reasons: Sequence[Reason], number: int | None = None) -> None:
        super().__init__(reasons)
        self.number = number
        """Which event of a batch it is, from 1; None for a single event."""

    def __str__(self) -> str:
        event = "" if self.number is None else f"event {self.number} of the batch: "
        named = (f"{one.message} (at {one.pointer})" if one.pointer else one.message for one in self.reasons)
        return event + "; ".join(named)


def prepare_each(
    prepare: Callable[[Mapping[str, Any] | bytes], T], events: Iterable[Mapping[str, Any] | bytes], first: int
) -> list[T]:
    """Return what `prepare` returns for each event of a batch; `first` is the number of the first one.

    Raises InvalidEventError with the number of the event that is malformed.
    """
    prepared: list[T] = []
    for number, event in enumerate(events, first):
        try:
            prepared.append(prepare(event))
        except InvalidEventError as error:
            raise InvalidEventError(error.reasons, number) from None
    return prepared


def complete_event(event: Mapping[str, Any] | bytes, key: str | None) -> Body:
    """Complete an event with its hash and this key; without a key, with its own or one derived from its content.

    Raises InvalidEventError.
    """
    try:
        return body_of(event, key)
    except errors.RequestRefusedError as error:
        raise InvalidEventError(error.reasons) from None


class OperationError(AntechamberError):
    """An operation was not accepted, or not yet; `entry` is the operation as recorded in the ledger."""

    retry_same_key: bool = False
    """Whether the same operation should be sent again."""
    safe_new_key: bool = False
    """Whether the corrected event may be submitted as a new operation without being stored twice."""

    advice: ClassVar[str] = ""

    def __init__(self, entry: Operation) -> None:
        text = f"{entry.operation_id}: {entry.reason}"
        AntechamberError.__init__(self, f"{text.rstrip('.')}. {self.advice}" if self.advice else text)
        self.operation_id = entry.operation_id
        self.reason = entry.reason
        self.receipt = entry.typed_receipt()


class UncertainError(OperationError):
    """It is unknown whether the event was stored; the ledger has the operation, and `send` or `recover` resolves it.

    Without a ledger, `receipt` is the service's refusal if the last attempt was refused.
    """

    retry_same_key = True


class NotSentError(OperationError):
    """No attempt reached the service or still can: there was no connection, or the circuit breaker was open.

    The ledger keeps the operation; `send`, `submit` or `recover` sends the same bytes under the same key. Without a
    ledger this covers only the attempts of this process.
    """

    retry_same_key = True
    advice = (
        "It was not sent: there was no connection, or sending pauses for some seconds after several failures in a row. "
        "With a ledger, recover() and send() try at once."
    )


class RefusedError(OperationError, errors.RequestRefusedError):
    """The service refused the token before it stored anything (401, 403), and no other attempt can still arrive.

    `reasons` and `receipt` are the service's. Once the token or the policy is fixed, `send`, `submit` or `recover`
    sends the same bytes under the same key. Without a ledger this covers only the attempts of this process.
    """

    retry_same_key = True
    advice = "Nothing was stored; fix the token or the policy and send it again."

    def __init__(self, entry: Operation) -> None:
        super().__init__(entry)
        self.reasons = self.receipt.reasons if self.receipt else []


class FailedError(OperationError):
    """The event was not stored and never will be, or had no effect; a receipt, if the service kept one, states why."""

    safe_new_key = True


class NeedsReviewError(OperationError):
    """A person must decide (`antechamber ledger settle`): another event has its key, or a call may have had effect."""


class SettledByHandError(OperationError):
    """A person marked the operation as committed; there is no receipt."""


_ERRORS: Final = {"failed": FailedError, "needs_review": NeedsReviewError, "committed": SettledByHandError}


def outcome(entry: Operation) -> Receipt:
    """Return the receipt of an operation that the service has accepted.

    Raises UncertainError, NotSentError, RefusedError, FailedError, NeedsReviewError or SettledByHandError.
    """
    receipt = entry.typed_receipt()
    if entry.state == "committed" and receipt is not None and receipt.disposition != "rejected-conflict":
        return receipt
    if entry.is_unsent():
        raise (NotSentError if entry.receipt is None else RefusedError)(entry)
    raise _ERRORS.get(entry.state, UncertainError)(entry)


def outcome_or_error(entry: Operation) -> Receipt | OperationError:
    """Return the receipt, or the error that `outcome` raises."""
    try:
        return outcome(entry)
    except OperationError as error:
        return error
