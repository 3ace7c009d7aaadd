"""The verb that serves MCP clients beside an agent: it connects tools, a submitter and its ledger."""

import asyncio
import contextlib
import hashlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click

from antechamber.cli.options import fail, ledger_option, own_token, service_option
from antechamber.client.ledger import Ledger
from antechamber.client.submitter import AsyncSubmitter
from antechamber.client.wire import AnswerError, ReadError
from antechamber.core.contract import ChangePage, Holder, MemoryDetail, MemoryPage, NoteItem
from antechamber.core.errors import AntechamberError, RequestRefusedError, refuse
from antechamber.core.mcp_resources import ServingSession
from antechamber.core.mcp_tools import (
    AnswerQuestion,
    ProposeMemory,
    SearchMemory,
    Status,
    ToolReceipt,
    event_of,
)
from antechamber.resources import how_to_install

_NO_PRODUCER: Final = "this token is no producer's; set ANTECHAMBER_TOKEN to one that is"


class LedgerSubmits:
    """Submits through a ledger, and reads, (implements core.mcp_resources.ServingSession)."""

    def __init__(self, submitter: AsyncSubmitter, ledger: Ledger, token: str) -> None:
        self._submitter = submitter
        self._ledger = ledger
        self._token = hashlib.sha256(token.encode()).digest()

    async def propose(self, proposed: ProposeMemory, key: str | None) -> ToolReceipt:
        """Record and send an event."""
        event = event_of(proposed, await self._producer())
        operation_id = await asyncio.to_thread(self._prepare, event, key)
        with contextlib.suppress(AntechamberError):
            await self._submitter.send(operation_id)
        entry = await asyncio.to_thread(self._ledger.entry, operation_id)
        return ToolReceipt(
            state=entry.state,
            receipt=entry.typed_receipt(),
            reason=entry.reason,
            operation_id=operation_id,
            sent=not entry.is_unsent(),
        )

    def _prepare(self, event: dict[str, Any], key: str | None) -> str:
        """Record an event; if its own key was sealed, record it under a new one: the model still proposes it."""
        operation_id = self._ledger.prepare(event, key=key)
        again = key is None and self._ledger.entry(operation_id).is_sealed()
        return self._ledger.prepare(event, again=True) if again else operation_id

    async def _producer(self) -> str:
        """Return the token's producer; the ledger keeps it, so that events can be recorded while offline."""
        producer = self._ledger.holder(self._token)
        if producer is None:
            holder = await self.scopes()
            if holder.role != "producer":
                raise AntechamberError(_NO_PRODUCER)
            producer = holder.name
            self._ledger.keep_holder(self._token, producer)
        return producer

    async def status(self, submission_id: str) -> Status | None:
        """Return the receipt and review of a submission."""
        return await self._submitter.status(submission_id)

    async def scopes(self) -> Holder:
        """Return the holder of the token and its rights."""
        return await self._submitter.holder()

    async def answer(self, given: AnswerQuestion) -> NoteItem:
        """Send the answer to a question."""
        try:
            return await self._submitter.answer(given.submission_id, given.text)
        except AnswerError as error:
            if error.reasons:
                raise RequestRefusedError(error.reasons) from None
            raise

    async def search(self, asked: SearchMemory) -> MemoryPage:
        """Return one page of memories."""
        scope, scope_id = asked.named_scope()
        return await self._submitter.memories(
            scope, scope_id, asked.query, scopes=asked.several_scopes(), match=asked.match
        )

    async def newest(self, scopes: Sequence[str], after: str, limit: int) -> MemoryPage:
        """Return a page of the newest memories of these scopes."""
        try:
            return await self._submitter.memories(scopes=scopes, after=after or None, limit=limit)
        except ReadError as error:
            if error.pointer is None:
                raise
            raise refuse("malformed", str(error), error.pointer) from None

    async def memory(self, memory_id: str) -> MemoryDetail | None:
        """Return a memory in any state."""
        return await self._submitter.memory(memory_id)

    async def changes(self, scopes: Sequence[str], after: str, *, wait: bool) -> ChangePage:
        """Return a page of the change feed."""
        return await self._submitter.change_page(scopes, after=after, wait=wait)


@click.command()
@service_option
@ledger_option
def mcp(url: str, path: Path) -> None:
    """Serve an MCP client over standard input and output: propose memories, follow them, search memory.

    The token comes from ANTECHAMBER_TOKEN. What an earlier run left uncertain is settled while the client works.
    """
    token = own_token()
    try:
        from antechamber.mcp_server import ToolHandlers, serve_stdio  # noqa: PLC0415 -- an optional extra
    except ImportError:
        fail(AntechamberError(f"The MCP server needs packages that are not installed. {how_to_install('mcp')}"))
    try:
        with Ledger(path) as ledger:
            tools = ToolHandlers()
            asyncio.run(
                _serve_until_asked(url, token, ledger, lambda submits: serve_stdio(submits, tools), tools.finish)
            )
    except AntechamberError as error:
        fail(error)


async def _serve_until_asked(
    url: str,
    token: str,
    ledger: Ledger,
    serve: Callable[[ServingSession], Awaitable[None]],
    finish: Callable[[], Awaitable[None]],
) -> None:
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    async with AsyncSubmitter(url, token, ledger, channel="mcp") as submitter, _recover_in_background(submitter):
        serving = asyncio.ensure_future(serve(LedgerSubmits(submitter, ledger, token)))
        stopping = asyncio.ensure_future(asked.wait())
        await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():
            await finish()
            ledger.close()
            # The thread that reads standard input is blocked in a read; nothing else is left to do.
            os._exit(0)
        stopping.cancel()
        await serving


@contextlib.asynccontextmanager
async def _recover_in_background(submitter: AsyncSubmitter) -> AsyncIterator[None]:
    """Settle uncertain operations in the background; those that cannot be settled now are tried at the next start."""
    recovery = asyncio.create_task(submitter.recover())
    try:
        yield
    finally:
        recovery.cancel()
        with contextlib.suppress(asyncio.CancelledError, AntechamberError):
            await recovery
