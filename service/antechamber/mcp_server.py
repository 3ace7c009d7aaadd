"""The MCP server: tools to propose events, follow them, answer curators and read memories; none makes durable memory.

It uses the SDK's low-level server, because the convenient one ignores unknown arguments and parses strings that look
like JSON; here arguments are decoded strictly, and identically over each transport.
"""

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, cast

import anyio
import msgspec
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
    jsonrpc_message_adapter,
)
from msgspec import Struct

from antechamber import __version__
from antechamber.core.admission.canonical import decode
from antechamber.core.contract import MemoryPage, NoteItem, Reason, Receipt
from antechamber.core.errors import AntechamberError, RequestRefusedError
from antechamber.core.mcp_tools import (
    AnswerQuestion,
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

INSTRUCTIONS: Final = (
    "Propose what you learned and others should know with propose_memory; a person decides whether it is remembered. "
    "Calling it again with the same arguments is always safe and never proposes twice."
)
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


_READS: Final = {"read_only_hint": True, "idempotent_hint": True, "destructive_hint": False, "open_world_hint": False}
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
            annotations=_READS | {"read_only_hint": False},
        ),
        _Spec(
            name="submission_status",
            title="What became of a proposal",
            description=(
                "Read an own proposal's receipt and, under review, what a curator made of it. If a curator asks a "
                "question, answer it with answer_question."
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
            annotations=_READS | {"read_only_hint": False},
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


def _tool(spec: _Spec) -> Tool:
    return Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=_schema(spec.arguments),
        output_schema=_schema(spec.result),
        annotations=ToolAnnotations(title=spec.title, **spec.annotations),
    )


def build(submits_of: Callable[[Any], Submitting], tools: "ToolHandlers | None" = None) -> Server[Any]:
    """Return a server; `submits_of` returns the submitter for the HTTP request of a call, or for None."""
    tools = tools or ToolHandlers()

    async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(spec) for spec in TOOLS.values()])

    async def call_tool(context: ServerRequestContext[Any], asked: CallToolRequestParams) -> CallToolResult:
        return await tools.call(submits_of(context.request), asked.name, asked.arguments or {})

    return Server(
        "antechamber",
        version=__version__,
        title="Antechamber",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(submits: Submitting, tools: "ToolHandlers") -> None:
    """Serve one client over standard input and output until it disconnects."""
    server, lines = build(lambda _: submits, tools), _StrictLines()
    # The SDK only iterates over this object.
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
        lines.answer = lambda wrong: writing.send(SessionMessage(wrong))
        await server.run(reading, writing, server.create_initialization_options())
    await tools.finish()


class _StrictLines:
    """Lines of standard input; a line that is not a strict message is answered here and not passed on."""

    answer: Callable[[JSONRPCError], Awaitable[None]]

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in anyio.wrap_file(sys.stdin.buffer):
            wrong = _find_error(line)
            if wrong is None:
                yield line.decode()
            else:
                await self.answer(wrong)


@contextlib.asynccontextmanager
async def serving_http(submits_of: Callable[[Any], Submitting]) -> AsyncIterator[Callable[..., Awaitable[None]]]:
    """Serve requests one by one; yield the ASGI application.

    The application expects the whole body in its first message. Without sessions any process can answer any request.
    Responses are plain JSON: with the SDK's event streams a disconnecting client would cancel its call.
    """
    manager = StreamableHTTPSessionManager(build(submits_of), json_response=True, stateless=True)

    async def handle(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
        first: list[Any] = [await receive()]
        wrong = _find_error(first[0]["body"])
        if wrong is None:

            async def again() -> Any:
                return first.pop() if first else await receive()

            await manager.handle_request(scope, again, send)
            return
        body = wrong.model_dump_json(by_alias=True, exclude_unset=True).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async with manager.run():
        yield handle


def _find_error(raw: bytes) -> JSONRPCError | None:
    """Return the response to input that is not strict JSON or not a JSON-RPC message; None for a message.

    The SDK's own response would repeat the input, and its parser keeps the last of two equal members.
    """
    try:
        message = decode(raw)
    except RequestRefusedError as error:
        return _no_message(PARSE_ERROR, str(error))
    try:
        jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValueError:
        return _no_message(INVALID_REQUEST, "this is no message of JSON-RPC 2.0")
    return None


def _no_message(code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=text))


class ToolHandlers:
    """Calls tools; every failure becomes a result that the model can read."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[CallToolResult]] = set()

    async def call(self, submits: Submitting, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call one tool.

        A disconnecting client cancels the task that answers it. The call continues all the same: it is settled, and the
        same arguments find it.
        """
        spec = TOOLS.get(name)
        if spec is None:
            names = ", ".join(TOOLS)
            return _failure(ToolFailure(code="unknown-tool", message=f"there is no such tool; there are {names}"))
        try:
            given = read_arguments(arguments, spec.arguments)
        except RequestRefusedError as error:
            return _refusal(error)
        task = asyncio.ensure_future(_guard(submits, given))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def finish(self) -> None:
        """Give running calls a moment to end; the ledger marks the others as uncertain."""
        if self._running:
            await asyncio.wait(self._running, timeout=SHUTDOWN_GRACE_SECONDS)


async def _guard(submits: Submitting, arguments: Struct) -> CallToolResult:
    try:
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


async def _propose(submits: Submitting, arguments: ProposeMemory) -> CallToolResult:
    proposed: ToolReceipt = await submits.propose(arguments)
    receipt = proposed.receipt
    if proposed.state == "committed" and receipt is not None:
        again = "It was proposed before; nothing changed." if receipt.duplicate else ""
        text = f"{receipt.disposition}: a curator decides. submission_id: {receipt.submission_id}. {again}".strip()
        return _success(text, receipt)
    if proposed.state in {"pending", "uncertain"}:
        return _failure(_later(proposed))
    reasons = receipt.reasons if receipt else []
    first = reasons[0] if reasons else None
    # The contract's advice mentions keys, which a model does not know.
    mend = receipt is not None and receipt.safe_new_key
    advice = "Mend that and call again." if mend else "Do not call again with the same arguments."
    explanation = "; ".join(reason.message for reason in reasons) or proposed.reason
    failure = ToolFailure(
        code=first.code if first else proposed.state,
        message=f"{explanation}. {advice}",
        argument=argument_of(first.pointer) if first else None,
        reasons=without_names(reasons),
        operation_id=proposed.operation_id,
    )
    return _failure(failure)


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
    review = status.review
    became = "it made no proposal" if review is None else f"its proposal is {review.state}"
    question = open_question_of(status)
    asks = f' A curator asks: "{question.text}" Answer with answer_question.' if question else ""
    return _success(f"{status.disposition}; {became}.{asks}", status)


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


async def _search(submits: Submitting, arguments: SearchMemory) -> CallToolResult:
    page = await submits.search(arguments)
    lines = [f"- {item.content}" for item in page.items]
    return _success("\n".join(lines) or "Nothing is remembered there that answers this.", page)


_ACTS: Final[dict[type[Struct], Callable[[Submitting, Any], Awaitable[CallToolResult]]]] = {
    ProposeMemory: _propose,
    SubmissionStatus: _status,
    AnswerQuestion: _answer,
    SearchMemory: _search,
}


def _refusal(error: RequestRefusedError) -> CallToolResult:
    first = error.reasons[0]
    argument = argument_of(first.pointer)
    place = f" (argument {argument})" if argument else ""
    return _failure(
        ToolFailure(
            code=first.code,
            message=f"{first.message}{place}. Mend that and call again.",
            argument=argument,
            reasons=without_names(error.reasons),
        )
    )


def _success(text: str, result: Struct) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], structured_content=msgspec.to_builtins(result))


def _failure(failure: ToolFailure) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=f"{failure.code}: {failure.message}")],
        structured_content=msgspec.to_builtins(failure),
        is_error=True,
    )
