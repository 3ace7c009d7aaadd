"""In-memory replacement for the ledger; an event has its own idempotency key, or one derived from content."""

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final

import msgspec

from antechamber.client.errors import complete_event, prepare_each
from antechamber.client.ledger_file import LedgerError
from antechamber.client.operation import Operation, ids_of
from antechamber.core.admission.canonical import NORMAL_FORM
from antechamber.core.delivery_rules import SETTLED, DeliveryRuling
from antechamber.core.outgoing import Body

MAX_OPERATIONS: Final = 5000
"""Maximum number of operations kept, so that the current ones can be reported; more than one batch holds."""


class MemoryLedger:
    """The methods of a ledger that a sender uses, in memory and for the latest operations only."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, Operation] = OrderedDict()

    def together(self) -> contextlib.AbstractContextManager[object]:
        """Return a context without effect: nothing is written to disk."""
        return contextlib.nullcontext()

    def prepare(self, event: Mapping[str, Any] | bytes, *, again: bool = False) -> str:
        """Derive an operation from an event, under the event's own key or one derived from content.

        The same event is the same operation until that is settled, also with `again`.

        Raises InvalidEventError if the event is malformed.
        """
        del again
        return self._prepare(event, ())

    def prepare_all(self, events: Iterable[Mapping[str, Any] | bytes], first: int = 1) -> list[str]:
        """Derive an operation of its own from each line of a batch, also from lines with the same key.

        `first` is the number of the first event. Raises InvalidEventError, with its number, if an event is malformed.
        """
        operations: dict[str, None] = {}

        def prepare(event: Mapping[str, Any] | bytes) -> None:
            operations[self._prepare(event, operations)] = None

        prepare_each(prepare, events, first)
        return list(operations)

    def _prepare(self, event: Mapping[str, Any] | bytes, taken: Container[str]) -> str:
        """Return the event's unsettled operation, or a new one under the first free id; skip the ids in `taken`."""
        body = complete_event(event, None)
        for operation_id in ids_of(body.key):
            entry = self._entries.get(operation_id)
            if operation_id in taken:
                continue
            if entry is None or entry.state in SETTLED:
                self._keep(_operation(operation_id, body))
                break
            if (entry.name, entry.fingerprint) == (body.producer_identity, body.fingerprint):
                break
        self._entries.move_to_end(operation_id)
        return operation_id

    def _keep(self, entry: Operation) -> Operation:
        self._entries[entry.operation_id] = entry
        while len(self._entries) > MAX_OPERATIONS:
            self._entries.popitem(last=False)
        return entry

    def entry(self, operation_id: str) -> Operation:
        """Return one operation.

        Raises LedgerError if this process has not prepared it.
        """
        try:
            return self._entries[operation_id]
        except KeyError:
            message = f"{operation_id} is not known here; without a ledger only its event leads to it"
            raise LedgerError(message) from None

    def begin(self, operation_id: str) -> Operation:
        """Count an attempt.

        Raises LedgerError.
        """
        entry = self.entry(operation_id)
        if entry.state in SETTLED:
            return entry
        counts = {"attempts": entry.attempts + 1, "in_flight": entry.in_flight + 1}
        return self._keep(msgspec.structs.replace(entry, **counts, receipt=None))

    def record_answer(
        self, operation_id: str, judge: Callable[[Operation], DeliveryRuling], answer: bytes | None = None
    ) -> Operation:
        """Record the result of an answer.

        Raises LedgerError.
        """
        entry = self.entry(operation_id)
        if entry.state in SETTLED:
            return entry
        ruling = judge(entry)
        # A refusal that ends no operation is kept too, so that the caller can read its reasons.
        receipt = answer if ruling.final or ruling.over else None
        if ruling.state == "failed" and not ruling.final:
            # An attempt of another process may still arrive, so a new key would not be safe.
            ruling = msgspec.structs.replace(ruling, state="uncertain", over=False)
        as_before = ruling.state == "pending"
        return self._keep(
            msgspec.structs.replace(
                entry,
                state=entry.state if as_before else ruling.state,
                reason=ruling.reason,
                in_flight=entry.in_flight - ruling.over,
                receipt=receipt,
            )
        )


def _operation(operation_id: str, body: Body) -> Operation:
    return Operation(
        id=0,
        operation_id=operation_id,
        kind="submission",
        name=body.producer_identity,
        body=body.body,
        fingerprint=body.fingerprint,
        source_event_hash=body.source_event_hash,
        normal_form=NORMAL_FORM,
        # Another process may have sent it; in_flight counts the attempts of this process.
        state="uncertain",
        attempts=1,
        in_flight=0,
        session=None,
        receipt=None,
        reason="never sent by this process",
        recorded_at=0,
        changed_at=0,
    )
