"""MCP tools and resources inside the service, which use the same admission and recall as all other channels."""

import asyncio
from collections.abc import Sequence
from functools import partial

from antechamber.core.access.callers import Bearer
from antechamber.core.contract import Holder, MemoryDetail, MemoryPage, NoteItem, Receipt
from antechamber.core.conversion import convert, parse_json
from antechamber.core.delivery_rules import ServerAnswer, rule
from antechamber.core.errors import AntechamberError, NotFoundError, RequestRefusedError
from antechamber.core.mcp_tools import AnswerQuestion, ProposeMemory, SearchMemory, Status, ToolReceipt, event_of
from antechamber.core.outgoing import body_of, note_of
from antechamber.flows.admit import Admission
from antechamber.flows.producer_notes import ProducerNotes
from antechamber.flows.recall import MemoryQuery, Recall
from antechamber.flows.replies import Reply


class InProcessTools:
    """The tools and resources of one bearer (implements core.mcp_resources.Serving)."""

    def __init__(self, admission: Admission, recall: Recall, notes: ProducerNotes, bearer: Bearer) -> None:
        self._admission = admission
        self._recall = recall
        self._notes = notes
        self._bearer = bearer

    async def propose(self, proposed: ProposeMemory, key: str | None) -> ToolReceipt:
        """Submit an event under the call's key or, without one, a key derived from its content: no ledger is needed.

        Raises RequestRefusedError if the event is malformed, AntechamberError if the token does not belong to a
        producer.
        """
        if self._bearer.role != "producer":
            message = "this token is no producer's; use one that is"
            raise AntechamberError(message)
        body = body_of(event_of(proposed, self._bearer.name), key)
        reply = await self._admission.submit(body.body, [], self._bearer, "mcp")
        receipt = parse_json(reply.body, Receipt)
        ruling = rule(
            ServerAnswer(status=reply.status, receipt=receipt),
            producer=self._bearer.name,
            key=body.key,
            source_event_hash=body.source_event_hash,
            sole=True,
        )
        return ToolReceipt(
            state=ruling.state, receipt=receipt, reason=ruling.reason, operation_id=body.key, sent=not ruling.over
        )

    async def status(self, submission_id: str) -> Status | None:
        """Return the receipt and review of the bearer's own submission, or None if there is none by that id."""
        try:
            receipt = await asyncio.to_thread(partial(self._recall.receipt, self._bearer, submission_id=submission_id))
        except NotFoundError:
            return None
        return convert(receipt, Status, from_attributes=True)

    async def scopes(self) -> Holder:
        """Return the holder of the token and its rights."""
        return await asyncio.to_thread(self._recall.holder, self._bearer)

    async def answer(self, given: AnswerQuestion) -> NoteItem:
        """Answer a curator's question under a key derived from the arguments.

        Raises RequestRefusedError, or AntechamberError if the bearer has no such submission.
        """
        note = note_of(given.submission_id, given.text)
        try:
            return _written(await self._notes.write(given.submission_id, note.body, [note.key], self._bearer))
        except NotFoundError:
            message = "no submission of yours has this id"
            raise AntechamberError(message) from None

    async def search(self, asked: SearchMemory) -> MemoryPage:
        """Return the best answers to a question, or the newest memories, of exactly the named scopes.

        Raises RequestRefusedError as `Recall.memories` does.
        """
        scope, scope_id = asked.named_scope()
        wanted = MemoryQuery(
            submission_scope=scope, scope_id=scope_id, scopes=asked.several_scopes(), q=asked.query, match=asked.match
        )
        return await asyncio.to_thread(self._recall.memories, self._bearer, wanted)

    async def newest(self, scopes: Sequence[str], after: str, limit: int) -> MemoryPage:
        """Return a page of the newest memories of these scopes.

        Raises RequestRefusedError as `Recall.memories` does.
        """
        wanted = MemoryQuery(scopes=scopes, after=after or None, limit=limit)
        return await asyncio.to_thread(self._recall.memories, self._bearer, wanted)

    async def memory(self, memory_id: str) -> MemoryDetail | None:
        """Return a memory in any state, or None if there is none by that id that the bearer may read."""
        try:
            return await asyncio.to_thread(self._recall.memory, self._bearer, memory_id)
        except NotFoundError:
            return None


def _written(reply: Reply) -> NoteItem:
    """Return the note of an answer.

    Raises RequestRefusedError if the note was refused.
    """
    if reply.problem:
        raise RequestRefusedError(parse_json(reply.body, Receipt).reasons)
    return parse_json(reply.body, NoteItem)
