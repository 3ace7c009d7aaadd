"""What blocking and asynchronous submitters share: everything except waiting."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

import httpx
import msgspec

from antechamber.client.changes import HOLD_SECONDS, read_changes
from antechamber.client.delivery import (
    SUBMISSIONS,
    Delivery,
    DeliverySteps,
    OperationStore,
    Recovery,
    body_size,
    divide_into_batches,
)
from antechamber.client.errors import OperationError, outcome_or_error
from antechamber.client.ledger import Ledger
from antechamber.client.ledger_file import LedgerError
from antechamber.client.memory_ledger import MemoryLedger
from antechamber.client.operation import Operation
from antechamber.client.retry import CircuitBreaker
from antechamber.client.wire import AnswerError, Call, connection_options
from antechamber.core.contract import (
    MAX_LINES,
    ChangePage,
    Channel,
    Holder,
    MemoryDetail,
    MemoryPage,
    NoteItem,
    Receipt,
)
from antechamber.core.errors import RequestRefusedError
from antechamber.core.mcp_tools import Status
from antechamber.core.outgoing import note_of

MAX_FAILURES: Final = 6
COOLDOWN_SECONDS: Final = 10.0
"""Seconds in which `submit` sends nothing after `MAX_FAILURES` consecutive failures, or all attempts of a call."""
MEMORIES: Final = "/v1/memories"
PAGE_OF_CHANGES: Final = 100
Event = Mapping[str, Any] | bytes


def request_options(call: Call, timeout: float) -> dict[str, Any]:
    """Return the options of httpx for a request; `timeout` is in seconds."""
    return {
        "timeout": httpx.Timeout(timeout, read=timeout + call.hold_seconds),
        "method": call.method,
        "url": call.path,
        "params": call.params,
        "content": call.content,
        "headers": ({"content-type": call.media_type} if call.content is not None else {})
        | ({"idempotency-key": call.key} if call.key is not None else {}),
    }


def ignore_progress(_: int) -> None:
    """Ignore progress."""


def next_changes(scopes: Sequence[str], after: str | int | None) -> DeliverySteps[ChangePage]:
    """Read the page of changes after a cursor or the `sequence` of a change; wait for one if there is none."""
    cursor = None if after is None else str(after)
    return change_page(scopes, cursor, wait=True)


def change_page(scopes: Sequence[str], after: str | None, *, wait: bool) -> DeliverySteps[ChangePage]:
    """Read the page of changes after a cursor; with `wait`, hold the request a while if there is none."""
    return read_changes(scopes, after, limit=PAGE_OF_CHANGES, hold=HOLD_SECONDS if wait else 0)


class SubmitterBase:
    """What blocking and asynchronous submitters share: everything except waiting."""

    def __init__(
        self, url: str, token: str, ledger: Ledger | None, *, timeout: float, attempts: int, channel: Channel
    ) -> None:
        self._options = connection_options(url, token, timeout, channel)
        self._timeout = timeout
        self.ledger = ledger
        if ledger is not None:
            ledger.bind(httpx.URL(url).netloc.decode())
        self._operations: OperationStore = ledger or MemoryLedger()
        self._delivery = Delivery(
            self._operations, CircuitBreaker(max(MAX_FAILURES, attempts), COOLDOWN_SECONDS), attempts
        )

    def _recovery(self, progress: Callable[[int], None]) -> DeliverySteps[Recovery]:
        ledger, elsewhere = self.ledger, 0
        if ledger is None:
            message = "without a ledger nothing is known that could be recovered; give the submitter one"
            raise LedgerError(message)
        ledger.sweep()

        def uncertain() -> Iterator[Operation]:
            nonlocal elsewhere
            for entry in ledger.entries("pending", "uncertain"):
                if ledger.under_way_elsewhere(entry):
                    elsewhere += 1
                # A pending operation with an attempt that may arrive belongs to another thread or task of this process.
                elif entry.kind == "submission" and (entry.state == "uncertain" or not entry.in_flight):
                    yield entry

        recovery: Recovery = yield from self._delivery.recover(uncertain(), progress)
        return msgspec.structs.replace(recovery, elsewhere=elsewhere)

    def _batch(self, events: Iterable[Event]) -> DeliverySteps[list[Receipt | OperationError]]:
        outcomes: list[Receipt | OperationError] = []
        rest = iter(events)
        while portion := list(islice(rest, MAX_LINES)):
            operations = self._operations.prepare_all(portion, len(outcomes) + 1)
            results: dict[str, Receipt | OperationError] = {}
            prepared = map(self._operations.entry, dict.fromkeys(operations))
            for group in divide_into_batches(prepared, body_size):
                entries, _ = yield from self._delivery.send_all([entry.operation_id for entry in group])
                results |= {entry.operation_id: outcome_or_error(entry) for entry in entries}
            outcomes += [results[operation_id] for operation_id in operations]
        return outcomes

    def _status(self, location: str, name: str) -> DeliverySteps[Status | None]:
        return self._delivery.find(f"{SUBMISSIONS}/{location}{quote(name, safe='')}", Status)

    def _answer(self, submission_id: str, text: str, key: str | None) -> DeliverySteps[NoteItem]:
        try:
            note = note_of(submission_id, text, key)
        except RequestRefusedError as error:
            raise AnswerError(str(error), error.reasons, temporary=False) from None
        return self._delivery.write_note(f"{SUBMISSIONS}/{quote(submission_id, safe='')}/notes", note)

    def _holder(self) -> DeliverySteps[Holder]:
        return self._delivery.read("/v1/token", None, Holder)

    def _memories(self, **wanted: str | int | list[str] | None) -> DeliverySteps[MemoryPage]:
        params = {name: value for name, value in wanted.items() if value is not None and value not in ("", [])}
        return self._delivery.read(MEMORIES, params, MemoryPage)

    def _memory(self, memory_id: str) -> DeliverySteps[MemoryDetail | None]:
        return self._delivery.find(f"{MEMORIES}/{quote(memory_id, safe='')}", MemoryDetail)
