"""The tools of MCP clients: their descriptions, and what a call does; none of them makes durable memory.

Arguments are decoded strictly, and identically over each transport.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from mcp.types import CallToolResult, Tool
from msgspec import Struct

from antechamber.core.contract import Holder, MemoryItem, MemoryPage, NoteItem, Reason, Receipt, ReviewStatus
from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.mcp_tools import (
    AnswerQuestion,
    MemoryScopes,
    ProposeMemory,
    SearchMemory,
    Status,
    SubmissionStatus,
    Submitting,
    ToolFailure,
    ToolReceipt,
    argument_of,
    open_question_of,
    read_arguments,
    without_names,
)
from antechamber.core.outcomes import RETRY_AFTER, note_outcome
from antechamber.core.tool_calls import call_key

_log: Final = logging.getLogger(__name__)
SHUTDOWN_GRACE_SECONDS: Final = 5.0
"""Seconds for running calls to finish after their client disconnects; clients kill a process that takes longer."""


class _Spec(Struct, frozen=True, kw_only=True):
    """One tool: its description for clients, and the types of its arguments and result."""

    name: str
    title: str
    description: str
    arguments: type[Struct]
    result: type[Struct]
    annotations: dict[str, bool]


_READS: Final = {"readOnlyHint": True, "idempotentHint": True, "destructiveHint": False, "openWorldHint": False}
TOOLS: Final = {
    spec.name: spec
    for spec in (
        _Spec(
            name="propose_memory",
            title="Propose a memory",
            description=(
                "Propose one thing that should be remembered. A curator decides; nothing is remembered before. The "
                "result is the receipt: its disposition says whether it waits for review. After an interruption call "
                "again with the same arguments: it is never proposed twice."
            ),
            arguments=ProposeMemory,
            result=Receipt,
            # A proposal adds to a queue and changes no existing item; it acts on this one service only.
            annotations=_READS | {"readOnlyHint": False},
        ),
        _Spec(
            name="submission_status",
            title="What became of a proposal",
            description=(
                "Get the receipt of one of your proposals and, under review, the curator's decision. If a curator asks "
                "a question, answer it with answer_question."
            ),
            arguments=SubmissionStatus,
            result=Status,
            annotations=_READS,
        ),
        _Spec(
            name="answer_question",
            title="Answer a curator's question",
            description=(
                "Answer the question that submission_status shows. A curator reads the answer; it is never remembered. "
                "Calling again with the same arguments is safe."
            ),
            arguments=AnswerQuestion,
            result=NoteItem,
            annotations=_READS | {"readOnlyHint": False},
        ),
        _Spec(
            name="memory_scopes",
            title="Scopes that may be used",
            description=(
                "List the scopes to which you may propose (submit) and from which you may read, written kind:id; with "
                "* as id, each id of that kind. Call it before the first proposal or search if you know no scope."
            ),
            arguments=MemoryScopes,
            result=Holder,
            annotations=_READS,
        ),
        _Spec(
            name="search_memory",
            title="Search memory",
            description=(
                "Ask what curators admitted to exactly the named scopes, in your own words: the best answers first, at "
                "most 50; the newest for an empty query. No item means that nothing there answers the question."
            ),
            arguments=SearchMemory,
            result=MemoryPage,
            annotations=_READS,
        ),
    )
}


def _schema(kind: type[Struct]) -> dict[str, Any]:
    """Return the self-contained JSON schema of a struct."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = str(schema["$ref"]).rpartition("/")[2]
    own_schema: dict[str, Any] = parts.pop(name)
    return own_schema | ({"$defs": parts} if parts else {})


def _input_schema(kind: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of arguments without references, which strict modes of some SDKs do not follow."""
    schema = _schema(kind)
    return cast("dict[str, Any]", _inlined(schema, schema.pop("$defs", {})))


def _inlined(value: Any, parts: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inlined(member, parts) for member in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(parts[value["$ref"].rpartition("/")[2]], parts)
    return {name: _inlined(member, parts) for name, member in value.items()}


def tool_of(spec: _Spec) -> Tool:
    """Return a tool as a client sees it."""
    return Tool.model_validate(
        {
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "inputSchema": _input_schema(spec.arguments),
            "outputSchema": _schema(spec.result),
            "annotations": {"title": spec.title, **spec.annotations},
        }
    )


class ToolHandlers:
    """Calls tools; every failure becomes a result that the model can read."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[CallToolResult]] = set()

    async def call(
        self, submits: Submitting, name: str, arguments: dict[str, Any], meta: Mapping[str, Any]
    ) -> CallToolResult:
        """Call one tool; `meta` is the request's `_meta`.

        A disconnecting client cancels the task that answers it. The call continues all the same: it is settled, and the
        same arguments find it.
        """
        spec = TOOLS.get(name)
        if spec is None:
            names = ", ".join(TOOLS)
            return _failure(ToolFailure(code="unknown-tool", message=f"there is no such tool; there are {names}"))
        try:
            given = read_arguments(arguments, spec.arguments)
            key = call_key(meta)
        except RequestRefusedError as error:
            return _refusal(error)
        task = asyncio.ensure_future(_guard(submits, given, key))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Give running calls a moment to end; the ledger marks the others as uncertain."""
        if self._running:
            await asyncio.wait(self._running, timeout=SHUTDOWN_GRACE_SECONDS)


async def _guard(submits: Submitting, arguments: Struct, key: str | None) -> CallToolResult:
    try:
        if isinstance(arguments, ProposeMemory):
            return await _propose(submits, arguments, key)
        return await _ACTS[type(arguments)](submits, arguments)
    except RequestRefusedError as error:
        return _refusal(error)
    except AntechamberError as error:
        code = "unavailable" if error.temporary else "refused"
        return _failure(ToolFailure(code=code, message=str(error), retry_same_arguments=error.temporary))
    except Exception:  # noqa: BLE001 -- the model is informed of any failure
        _log.exception("a tool failed unexpectedly")
        failure = ToolFailure(code="failed", message="The tool failed unexpectedly; its log has the details.")
        return _failure(failure)


async def _propose(submits: Submitting, arguments: ProposeMemory, key: str | None) -> CallToolResult:
    proposed: ToolReceipt = await submits.propose(arguments, key)
    receipt = proposed.receipt
    if proposed.state == "committed" and receipt is not None:
        what = "; ".join(reason.message for reason in receipt.reasons) or "a curator decides"
        again = "It was proposed before; nothing changed." if receipt.duplicate else ""
        text = f"{receipt.disposition}: {what}. submission_id: {receipt.submission_id}. {again}".strip()
        return _success(text, receipt)
    if proposed.state in {"pending", "uncertain"}:
        return _failure(_later(proposed))
    if receipt is not None and receipt.disposition == "rejected-conflict":
        return _failure(_conflict(receipt, proposed.operation_id))
    reasons = receipt.reasons if receipt else []
    first = reasons[0] if reasons else None
    # The contract's advice mentions keys, which a model does not know.
    mend = receipt is not None and receipt.safe_new_key
    advice = "Mend that and call again." if mend else "Do not call again with the same arguments."
    explanation = _explain(reasons) or proposed.reason
    failure = ToolFailure(
        code=first.code if first else proposed.state,
        message=f"{explanation}. {advice}",
        argument=argument_of(first.pointer) if first else None,
        reasons=without_names(reasons),
        operation_id=proposed.operation_id,
    )
    return _failure(failure)


def _conflict(receipt: Receipt, operation_id: str) -> ToolFailure:
    """Return what a model learns if the same call proposed something else before: the original stays as it was."""
    return ToolFailure(
        code=receipt.reasons[0].code,
        message=(
            f"{receipt.disposition}: this call proposed something else before, as submission {receipt.submission_id}; "
            "it is unchanged. What differs is the text, or its visibility, supersedes or derived_from. Read it with "
            "submission_status, and do not call again with these arguments. A further proposal is a new call with an "
            "id of its own."
        ),
        reasons=without_names(receipt.reasons),
        operation_id=operation_id,
        submission_id=receipt.submission_id,
    )


def _later(proposed: ToolReceipt) -> ToolFailure:
    """Return why a proposal is not settled; in each case the model should repeat the call with the same arguments."""
    code, message = (
        "uncertain",
        f"Not known yet whether it arrived ({proposed.reason}). Call again with the same arguments.",
    )
    reasons: list[Reason] = []
    if not proposed.sent and proposed.receipt is not None:
        reasons = proposed.receipt.reasons
        code = reasons[0].code
        message = (
            f"{'; '.join(reason.message for reason in reasons)}. Nothing was stored. Tell your operator that the token "
            "or the policy has to be fixed; then call again with the same arguments."
        )
    elif not proposed.sent:
        code = "not-sent"
        message = f"It was not sent ({proposed.reason}). Call again later with the same arguments."
    return ToolFailure(
        code=code, message=message, retry_same_arguments=True, reasons=reasons, operation_id=proposed.operation_id
    )


async def _status(submits: Submitting, arguments: SubmissionStatus) -> CallToolResult:
    status = await submits.status(arguments.submission_id)
    if status is None:
        return _failure(
            ToolFailure(code="not-found", message="no submission of yours has this id", argument="submission_id")
        )
    question = open_question_of(status)
    asks = f' A curator asks: "{question.text}" Answer with answer_question.' if question else ""
    return _success(f"{status.disposition}; {_became(status.review)}.{asks}", status)


def _became(review: ReviewStatus | None) -> str:
    """Return what became of a proposal, and why; many clients show the model the text of a result alone."""
    if review is None:
        return "it made no proposal"
    why = ": ".join(filter(None, (review.reason_code, review.reason_text and f'"{review.reason_text}"')))
    memory = f", as memory_id {review.memory_id}" if review.memory_id else ""
    return f"its proposal is {review.state}{memory}" + (f" ({why})" if why else "")


async def _answer(submits: Submitting, arguments: AnswerQuestion) -> CallToolResult:
    try:
        note = await submits.answer(arguments)
    except RequestRefusedError as error:
        row = note_outcome(error.code)
        if error.code not in RETRY_AFTER and row.retry_same_key:
            raise
        later = error.code in RETRY_AFTER
        advice = "Call again later with the same arguments." if later else "Do not call again with the same arguments."
        message = f"{error}. {advice}"
        return _failure(
            ToolFailure(code=error.code, message=message, retry_same_arguments=later, reasons=error.reasons)
        )
    return _success(f"Kept as {note.kind}; the curator reads it.", note)


async def _scopes(submits: Submitting, _: MemoryScopes) -> CallToolResult:
    holder = await submits.scopes()
    submit, read = (", ".join(scopes) or "no scope" for scopes in (holder.submit, holder.read))
    return _success(f"{holder.name} may propose to: {submit}. It may read: {read}.", holder)


async def _search(submits: Submitting, arguments: SearchMemory) -> CallToolResult:
    page = await submits.search(arguments)
    lines = [_listed(item) for item in page.items]
    return _success("\n".join(lines) or "Nothing is remembered there that answers this.", page)


def _listed(item: MemoryItem) -> str:
    """Return a memory as an item of a list, with the id that `derived_from` takes.

    Further lines are indented, so that no line of a text looks like an item.
    """
    content = "\n  ".join(item.content.splitlines())
    return f"- {content}\n  ({item.kind}, {item.submission_scope}:{item.scope_id}, memory_id {item.memory_id})"


_ACTS: Final[dict[type[Struct], Callable[[Submitting, Any], Awaitable[CallToolResult]]]] = {
    SubmissionStatus: _status,
    AnswerQuestion: _answer,
    MemoryScopes: _scopes,
    SearchMemory: _search,
}


def _refusal(error: RequestRefusedError) -> CallToolResult:
    first = error.reasons[0]
    argument = argument_of(first.pointer)
    return _failure(
        ToolFailure(
            code=first.code,
            message=f"{_explain(error.reasons)}. Mend that and call again.",
            argument=argument,
            reasons=without_names(error.reasons),
        )
    )


def _explain(reasons: Sequence[Reason]) -> str:
    """Return the messages of reasons, each with the argument that it is about."""
    named = ((reason.message, argument_of(reason.pointer)) for reason in reasons)
    return "; ".join(f"{message} (argument {place})" if place else message for message, place in named)


def _success(text: str, result: Struct) -> CallToolResult:
    return _result(text, result, is_error=False)


def _failure(failure: ToolFailure) -> CallToolResult:
    return _result(f"{failure.code}: {failure.message}", failure, is_error=True)


def _result(text: str, result: Struct, *, is_error: bool) -> CallToolResult:
    content = [{"type": "text", "text": text}]
    structured = msgspec.to_builtins(result)
    return CallToolResult.model_validate({"content": content, "structuredContent": structured, "isError": is_error})
