"""Submitters: propose events, return their receipts, and settle interrupted ones; blocking or asynchronous."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Self, TypeVar

import httpx

from antechamber.client.changes import list_scopes
from antechamber.client.delivery import (
    DeliverySteps,
    Recovery,
    Step,
)
from antechamber.client.errors import OperationError, outcome
from antechamber.client.ledger import Ledger
from antechamber.client.mirror import AsyncMirror, Mirror
from antechamber.client.operation import Operation
from antechamber.client.runner import advance, drive
from antechamber.client.submitter_base import (
    Event,
    SubmitterBase,
    change_page,
    ignore_progress,
    next_changes,
    request_options,
)
from antechamber.client.wire import Pause, Response, SendTrace, failure_of, preparing, response_of
from antechamber.core.contract import (
    ChangeItem,
    ChangePage,
    Channel,
    Holder,
    Match,
    MemoryDetail,
    MemoryPage,
    NoteItem,
    Receipt,
)
from antechamber.core.mcp_tools import Status

TIMEOUT_SECONDS: Final = 15.0
"""Seconds to wait for an answer."""
MAX_ATTEMPTS: Final = 6
T = TypeVar("T")


class Submitter(SubmitterBase):
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
        with preparing():
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
            options = request_options(step, self._timeout)
            return response_of(self._client.request(**options, extensions={"trace": trace.note}))
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

    def recover(self, progress: Callable[[int], None] = ignore_progress) -> Recovery:
        """Settle everything uncertain; `progress` is called with the number of operations processed each time.

        Raises LedgerError.
        """
        return self._run(self._recovery(progress))

    def status(self, submission_id: str) -> Status | None:
        """Return the receipt and review of one of the producer's submissions; None if there is none by that id.

        Raises ReadError.
        """
        return self._run(self._status("", submission_id))

    def answer(self, submission_id: str, text: str, *, key: str | None = None) -> NoteItem:
        """Answer the question that a curator asked about a submission's proposal; without one, it is a note.

        The same text is the same note, however often it is sent, because its key is derived from submission and text;
        `key` replaces that key. Raises AnswerError.
        """
        return self._run(self._answer(submission_id, text, key))

    def holder(self) -> Holder:
        """Return the owner and rights of the token.

        Raises ReadError.
        """
        return self._run(self._holder())

    def by_key(self, key: str) -> Status | None:
        """Return receipt and review by one of the producer's keys; None proves nothing: a request may still arrive.

        Raises ReadError.
        """
        return self._run(self._status("by-key/", key))

    def memories(  # noqa: PLR0913 -- options by name
        self,
        submission_scope: str | None = None,
        scope_id: str | None = None,
        query: str = "",
        after: str | None = None,
        *,
        scopes: Sequence[str] = (),
        match: Match = "any",
        limit: int | None = None,
    ) -> MemoryPage:
        """Return one page of memories of exactly one scope, or of several `scopes`, each written `kind:id`.

        With `query`, a question in natural words, these are the best answers, each with a score; otherwise the newest.
        `match` asks for memories that match each word. `after` is the `next` of the page before.

        Raises ReadError.
        """
        one, named = {"submission_scope": submission_scope, "scope_id": scope_id}, list_scopes(scopes)
        return self._run(self._memories(**one, scope=named, q=query, match=match, limit=limit, after=after))

    def memory(self, memory_id: str) -> MemoryDetail | None:
        """Return one memory in any state; None if there is none by that id in a scope that may be read.

        Raises ReadError.
        """
        return self._run(self._memory(memory_id))

    def changes(self, scopes: Sequence[str], *, after: str | int | None = None) -> Iterator[ChangeItem]:
        """Yield what is admitted and what ends in these scopes, each written `kind:id`, in commit order, without end.

        It waits for changes, and for the service while it cannot be reached. To go on later, keep the `sequence` of the
        last change as `after`. Raises ReadError if the service refuses.
        """
        while True:
            page = self._run(next_changes(scopes, after))
            yield from page.items
            after = page.next

    def change_page(self, scopes: Sequence[str], *, after: str | None = None, wait: bool = True) -> ChangePage:
        """Return one page of changes after a cursor; its `next` is the cursor of the following page.

        Without `after` it is the first page; after `latest` it is empty, and `next` is where the feed ends now. With
        `wait`, an empty page is held until there is a change, at most 25 seconds. It waits for the service while it
        cannot be reached. Raises ReadError if the service refuses.
        """
        return self._run(change_page(scopes, after, wait=wait))

    def mirror(self, path: Path | str | None, scopes: Sequence[str]) -> Mirror:
        """Open a local copy of the memories of these scopes, or create it; its methods bring it up to date.

        Without a path, the copy is in memory. Raises MirrorError.
        """
        return Mirror(path, scopes, self._run)


class AsyncSubmitter(SubmitterBase):
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
        with preparing():
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
            options = request_options(step, self._timeout)
            return response_of(await self._client.request(**options, extensions={"trace": trace.note_async}))
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

    async def recover(self, progress: Callable[[int], None] = ignore_progress) -> Recovery:
        """Settle everything uncertain; see Submitter.recover."""
        return await self._run(self._recovery(progress))

    async def status(self, submission_id: str) -> Status | None:
        """Return a submission's receipt and review; see Submitter.status."""
        return await self._run(self._status("", submission_id))

    async def answer(self, submission_id: str, text: str, *, key: str | None = None) -> NoteItem:
        """Answer a curator's question; see Submitter.answer."""
        return await self._run(self._answer(submission_id, text, key))

    async def holder(self) -> Holder:
        """Return the owner and rights of the token; see Submitter.holder."""
        return await self._run(self._holder())

    async def by_key(self, key: str) -> Status | None:
        """Return receipt and review by a key; see Submitter.by_key."""
        return await self._run(self._status("by-key/", key))

    async def memories(  # noqa: PLR0913 -- options by name
        self,
        submission_scope: str | None = None,
        scope_id: str | None = None,
        query: str = "",
        after: str | None = None,
        *,
        scopes: Sequence[str] = (),
        match: Match = "any",
        limit: int | None = None,
    ) -> MemoryPage:
        """Return one page of memories; see Submitter.memories."""
        one, named = {"submission_scope": submission_scope, "scope_id": scope_id}, list_scopes(scopes)
        return await self._run(self._memories(**one, scope=named, q=query, match=match, limit=limit, after=after))

    async def memory(self, memory_id: str) -> MemoryDetail | None:
        """Return one memory; see Submitter.memory."""
        return await self._run(self._memory(memory_id))

    async def changes(self, scopes: Sequence[str], *, after: str | int | None = None) -> AsyncIterator[ChangeItem]:
        """Yield changes in commit order, without end; see Submitter.changes."""
        while True:
            page = await self._run(next_changes(scopes, after))
            for change in page.items:
                yield change
            after = page.next

    async def change_page(self, scopes: Sequence[str], *, after: str | None = None, wait: bool = True) -> ChangePage:
        """Return one page of changes; see Submitter.change_page."""
        return await self._run(change_page(scopes, after, wait=wait))

    def mirror(self, path: Path | str | None, scopes: Sequence[str]) -> AsyncMirror:
        """Open a local copy of the memories of these scopes; see Submitter.mirror."""
        return AsyncMirror(path, scopes, self._run)
