"""In-memory replacement for the ledger; idempotency keys are derived from content."""

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from antechamber.client.errors import completed
from antechamber.client.ledger_file import LedgerError
from antechamber.client.operation import Operation
from antechamber.core.admission.canonical import NORMAL_FORM
from antechamber.core.delivery_rules import SETTLED, DeliveryRuling

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
        """Derive an operation from an event; the same event is always the same operation, also with `again`.

        Raises InvalidEventError if the event is malformed.
        """
        del again
        found = completed(event, None)
        entry = self._entries.get(found.key)
        if entry is None or entry.state in SETTLED:
            self._keep(
                Operation(
                    id=0,
                    operation_id=found.key,
                    kind="submission",
                    name=found.producer_identity,
                    body=found.body,
                    fingerprint=found.fingerprint,
                    source_event_hash=found.source_event_hash,
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
            )
        return found.key

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
        begun = {"attempts": entry.attempts + 1, "in_flight": entry.in_flight + 1}
        return self._keep(msgspec.structs.replace(entry, **begun, receipt=None))

    def settle(
        self, operation_id: str, judge: Callable[[Operation], DeliveryRuling], answer: bytes | None = None
    ) -> Operation:
        """Record the result of an answer.

        Raises LedgerError.
        """
        entry = self.entry(operation_id)
        if entry.state in SETTLED:
            return entry
        ruling = judge(entry)
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
                receipt=answer if ruling.final or as_before else None,
            )
        )
