"""Submitters: propose events, return their receipts, and settle interrupted ones; blocking or asynchronous."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from antechamber.client.delivery import (
    SUBMISSIONS,
    Delivery,
    DeliverySteps,
    OperationStore,
    Recovery,
    Step,
    body_size,
    divide_into_batches,
)
from antechamber.client.errors import OperationError, outcome, outcome_or_error
from antechamber.client.ledger import Ledger
from antechamber.client.ledger_file import LedgerError
from antechamber.client.memory_ledger import MemoryLedger
from antechamber.client.operation import Operation
from antechamber.client.retry import CircuitBreaker
from antechamber.client.runner import advance, drive
from antechamber.client.wire import Call, Pause, Response, SendTrace, connection_options, failure_of, response_of
from antechamber.core.contract import MAX_LINES, Channel, Holder, MemoryPage, Receipt
from antechamber.core.mcp_tools import Status

TIMEOUT_SECONDS: Final = 15.0
"""Seconds to wait for an answer."""
MAX_ATTEMPTS: Final = 6
MAX_FAILURES: Final = 5
COOLDOWN_SECONDS: Final = 30.0
"""Seconds in which nothing is sent after `MAX_FAILURES` consecutive failures."""
MEMORIES: Final = "/v1/memories"
Event = Mapping[str, Any] | bytes
T = TypeVar("T")


def _request(call: Call) -> dict[str, Any]:
    return {
        "method": call.method,
        "url": call.path,
        "params": call.params,
        "content": call.content,
        "headers": {"content-type": call.media_type} if call.content is not None else {},
    }


def _ignore_progress(_: int) -> None:
    """Ignore progress."""


class _Base:
    """What blocking and asynchronous submitters share: everything except waiting."""

    def __init__(
        self, url: str, token: str, ledger: Ledger | None, *, timeout: float, attempts: int, channel: Channel
    ) -> None:
        self._options = connection_options(url, token, timeout, channel)
        self.ledger = ledger
        if ledger is not None:
            ledger.bind(httpx.URL(url).netloc.decode())
        self._operations: OperationStore = ledger or MemoryLedger()
        self._delivery = Delivery(self._operations, CircuitBreaker(MAX_FAILURES, COOLDOWN_SECONDS), attempts)

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
            operations = self._operations.prepare_all(portion)
            results: dict[str, Receipt | OperationError] = {}
            prepared = map(self._operations.entry, dict.fromkeys(operations))
            for group in divide_into_batches(prepared, body_size):
                entries, _ = yield from self._delivery.send_all([entry.operation_id for entry in group])
                results |= {entry.operation_id: outcome_or_error(entry) for entry in entries}
            outcomes += [results[operation_id] for operation_id in operations]
        return outcomes

    def _status(self, location: str, name: str) -> DeliverySteps[Status | None]:
        return self._delivery.read(f"{SUBMISSIONS}/{location}{quote(name, safe='')}", None, Status)

    def _holder(self) -> DeliverySteps[Holder | None]:
        return self._delivery.read("/v1/token", None, Holder)

    def _memories(self, scope: str, scope_id: str, query: str, after: str | None) -> DeliverySteps[MemoryPage | None]:
        params = {"submission_scope": scope, "scope_id": scope_id, "q": query}
        return self._delivery.read(MEMORIES, params | ({"after": after} if after else {}), MemoryPage)


class Submitter(_Base):
    """Proposes events and waits for the answers; close it, or use it in a with statement."""

    def __init__(  # noqa: PLR0913 -- options by name
        self,
        url: str,
        token: str,
        ledger: Ledger | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        attempts: int = MAX_ATTEMPTS,
        channel: Channel = "http",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Connect to a service with a producer's token and a ledger.

        Without a ledger, an event may have an `idempotency_key` of its own; otherwise its key is derived from content.

        `timeout` is the seconds to wait for an answer, `attempts` how often an unclear answer is retried before the
        operation is left `uncertain`; `channel` is the channel that the service records; `transport` is httpx's, for
        example for proxies and private certificates.

        Raises AddressError, or LedgerError if the ledger belongs to another service.
        """
        super().__init__(url, token, ledger, timeout=timeout, attempts=attempts, channel=channel)
        self._client = httpx.Client(**self._options, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the ledger stays open."""
        self._client.close()

    def _run(self, steps: DeliverySteps[T]) -> T:
        response: Response | None = None
        with contextlib.closing(steps):
            while True:
                step, result = advance(steps, response)
                if step is None:
                    return result  # type: ignore[no-any-return]
                response = self._do(step)

    def _do(self, step: Step) -> Response | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        trace = SendTrace()
        try:
            return response_of(self._client.request(**_request(step), extensions={"trace": trace.note}))
        except httpx.HTTPError as error:
            return failure_of(error, trace)

    def submit(self, event: Event, *, again: bool = False) -> Receipt:
        """Propose an event: record it, send it, and send the same bytes again while the answer is unclear.

        `event` is the body of `POST /v1/submissions` without key and hash, or its JSON. The same event is the same
        operation, no matter who submits it or how often; `again` asks for a new one after a refusal.

        Raises InvalidEventError if it is malformed (nothing is recorded), NotSentError if no attempt can have arrived,
        RefusedError if the service refused the token, UncertainError, FailedError, NeedsReviewError.
        """
        return outcome(self._run(self._delivery.submit(event, again=again)))

    def send(self, operation_id: str) -> Receipt:
        """Send what `ledger.prepare` recorded; repeated calls have one effect.

        Raises NotSentError, RefusedError, UncertainError, FailedError, NeedsReviewError or LedgerError.
        """
        return outcome(self._run(self._delivery.send(operation_id)))

    def submit_batch(self, events: Iterable[Event]) -> list[Receipt | OperationError]:
        """Propose many events; return the receipt or error of each, in order.

        With a ledger, the same event is sent once. Without one, each event is a line of its own.

        Raises InvalidEventError if one of a thousand is malformed, before any of these is recorded.
        """
        return self._run(self._batch(events))

    def seal(self, operation_id: str) -> Operation:
        """Give an operation up: seal its key, so that the event is never stored, unless it was stored before.

        Raises LedgerError.
        """
        return self._run(self._delivery.seal(operation_id))

    def recover(self, progress: Callable[[int], None] = _ignore_progress) -> Recovery:
        """Settle everything uncertain; `progress` is called with the number of operations processed each time.

        Raises LedgerError.
        """
        return self._run(self._recovery(progress))

    def status(self, submission_id: str) -> Status | None:
        """Return the receipt and review of one of the producer's submissions; None if there is none by that id.

        Raises ReadError.
        """
        return self._run(self._status("", submission_id))

    def holder(self) -> Holder | None:
        """Return the owner and rights of the token; None from a service that is too old to report them.

        Raises ReadError.
        """
        return self._run(self._holder())

    def by_key(self, key: str) -> Status | None:
        """Return receipt and review by one of the producer's keys; None proves nothing: a request may still arrive.

        Raises ReadError.
        """
        return self._run(self._status("by-key/", key))

    def memories(
        self, submission_scope: str, scope_id: str, query: str = "", after: str | None = None
    ) -> MemoryPage | None:
        """Return one page of memories of exactly one scope, newest first.

        Raises ReadError.
        """
        return self._run(self._memories(submission_scope, scope_id, query, after))


class AsyncSubmitter(_Base):
    """Submitter for asyncio: it writes to the ledger in threads, so that the event loop does not wait for the disk."""

    def __init__(  # noqa: PLR0913 -- options by name
        self,
        url: str,
        token: str,
        ledger: Ledger | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        attempts: int = MAX_ATTEMPTS,
        channel: Channel = "http",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Open a connection pool; the arguments are those of Submitter.

        Raises AddressError or LedgerError.
        """
        super().__init__(url, token, ledger, timeout=timeout, attempts=attempts, channel=channel)
        self._client = httpx.AsyncClient(**self._options, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the ledger stays open."""
        await self._client.aclose()

    async def _run(self, steps: DeliverySteps[T]) -> T:
        return await drive(steps, self._do)

    async def _do(self, step: Step) -> Response | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        trace = SendTrace()
        try:
            return response_of(await self._client.request(**_request(step), extensions={"trace": trace.note_async}))
        except httpx.HTTPError as error:
            return failure_of(error, trace)

    async def submit(self, event: Event, *, again: bool = False) -> Receipt:
        """Propose an event; see Submitter.submit."""
        return outcome(await self._run(self._delivery.submit(event, again=again)))

    async def send(self, operation_id: str) -> Receipt:
        """Send a recorded operation; see Submitter.send."""
        return outcome(await self._run(self._delivery.send(operation_id)))

    async def submit_batch(self, events: Iterable[Event]) -> list[Receipt | OperationError]:
        """Propose many events; see Submitter.submit_batch."""
        return await self._run(self._batch(events))

    async def seal(self, operation_id: str) -> Operation:
        """Give an operation up; see Submitter.seal."""
        return await self._run(self._delivery.seal(operation_id))

    async def recover(self, progress: Callable[[int], None] = _ignore_progress) -> Recovery:
        """Settle everything uncertain; see Submitter.recover."""
        return await self._run(self._recovery(progress))

    async def status(self, submission_id: str) -> Status | None:
        """Return a submission's receipt and review; see Submitter.status."""
        return await self._run(self._status("", submission_id))

    async def holder(self) -> Holder | None:
        """Return the owner and rights of the token; see Submitter.holder."""
        return await self._run(self._holder())

    async def by_key(self, key: str) -> Status | None:
        """Return receipt and review by a key; see Submitter.by_key."""
        return await self._run(self._status("by-key/", key))

    async def memories(
        self, submission_scope: str, scope_id: str, query: str = "", after: str | None = None
    ) -> MemoryPage | None:
        """Return one page of memories; see Submitter.memories."""
        return await self._run(self._memories(submission_scope, scope_id, query, after))
