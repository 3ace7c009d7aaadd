"""A guard for any MCP session: it records calls of writing tools first, and repeats one only if that is safe.

For example:

    guard = Guard(session, ledger, {"create_ticket": IdempotencyKey(argument="key")}, server="tracker")
    await guard.recover_uncertain()
    result = await guard.call_tool("create_ticket", {"title": "Disk full"})
"""

import asyncio
import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from antechamber.client.delivery import Recovery
from antechamber.client.errors import FailedError, NeedsReviewError, SettledByHandError, UncertainError
from antechamber.client.guarded_call import CallOutcome, GuardedCalls, Invoke, ToolAnswer, answer_of_result
from antechamber.client.ledger import Ledger, UnderWayError
from antechamber.client.resend_strategy import (
    CallError,
    IdempotencyKey,
    NeverResend,
    ReadOnly,
    ReconcileRead,
    ResendTolerant,
    Strategy,
    check,
    hidden_argument,
    required_arguments,
)
from antechamber.client.runner import drive, finish_write
from antechamber.client.tool_results import KeptResult, decode_result, ending_of_error, token_in
from antechamber.client.wire import Pause

MAX_ATTEMPTS: Final = 3
TIMEOUT_SECONDS: Final = 60.0
__all__ = [
    "CallError",
    "Guard",
    "IdempotencyKey",
    "KeptResult",
    "NeverResend",
    "ReadOnly",
    "ReconcileRead",
    "ResendTolerant",
    "UnderWayError",
    "token_in",
]


class Guard:
    """Calls tools on behalf of a session, and records those that write in a ledger first."""

    def __init__(  # noqa: PLR0913 -- options by name
        self,
        session: Any,
        ledger: Ledger,
        tools: Mapping[str, Strategy | ReadOnly],
        *,
        server: str,
        attempts: int = MAX_ATTEMPTS,
        timeout: float = TIMEOUT_SECONDS,
        result: Callable[[bytes], Any] = decode_result,
    ) -> None:
        """Guard a session; each tool is declared once.

        `session` is any object with `call_tool` and `list_tools`, such as a client of the official SDK. `server` names
        the server in the ledger and must be the same at each start, because operations are recovered by it. A tool that
        is not declared is passed through if it is annotated as read-only; otherwise it is NeverResend. `attempts` is
        how often an unclear answer is followed up before the call is left `uncertain`, `timeout` the seconds to wait
        for an answer. `result` decodes a result that comes from the ledger; with the official SDK
        `CallToolResult.model_validate_json` makes it equal to one from the server.

        Raises CallError if a declaration could not work.
        """
        if not server or "/" in server:
            message = f"server is a short name without a slash, not {server!r}"
            raise CallError(message)
        if attempts < 1:
            message = "attempts is at least 1"
            raise CallError(message)
        for strategy in tools.values():
            check(strategy)
        self._session = session
        self._tools = dict(tools)
        self._ledger = ledger
        self._calls = GuardedCalls(ledger, server, self._tools, attempts)
        self._timeout = timeout
        self._result = result
        self._reads: dict[str, bool] = {}

    async def list_tools(self, **options: Any) -> Any:
        """Return the server's tools for a model, without the arguments that the guard fills in."""
        listing = await self._session.list_tools(**options)
        tools = [self._note_tool(tool) for tool in _tools(listing)]
        return _with(listing, "tools", tools) if hasattr(listing, "tools") else tools

    def _note_tool(self, tool: Any) -> Any:
        """Note whether a tool only reads; return it without the argument that the guard fills in.

        Raises CallError if its declaration gives it an argument that it does not have.
        """
        schema = _schema(tool)
        # A schema that permits any argument does not list the ones that it knows.
        properties = None if schema.get("additionalProperties") is True else schema.get("properties")
        for name, strategy in self._tools.items():
            unknown = required_arguments(strategy, name).get(tool.name, set()) - set(properties or ())
            if unknown and properties is not None:
                message = f"{tool.name} knows no argument {', '.join(sorted(unknown))}; mend the declaration of {name}"
                raise CallError(message)
        notes = getattr(tool, "annotations", None)
        reads, destroys = (
            _hint(notes, "read_only_hint", "readOnlyHint"),
            _hint(notes, "destructive_hint", "destructiveHint"),
        )
        self._reads[tool.name] = reads and not destroys
        argument = hidden_argument(self._tools.get(tool.name))
        return _without(tool, argument) if argument else tool

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, operation: str | None = None, **options: Any
    ) -> Any:
        """Call a tool and return its result, which may be an error.

        `operation` is the caller's own name for this one call, such as the id that a model gave it or a step of a
        checkpoint: the call is found again by it forever, and once it has had its effect the ledger answers it. Without
        a name, the same arguments find a call whose outcome was not handed over yet, and are a new call otherwise.
        Other options are passed to the session.

        Raises CallError if the call cannot be made (nothing was recorded), UncertainError or UnderWayError if repeating
        the same call later returns its outcome, NeedsReviewError, FailedError, SettledByHandError, LedgerError, and the
        session's errors if its tools cannot be listed.
        """
        arguments = arguments or {}
        if await self._only_reads(name):
            return await self._session.call_tool(name, dict(arguments), **options)
        outcome = await self._run(self._calls.call(name, arguments, operation), options)
        return await self._result_of(outcome, named=operation is not None)

    async def prepare(self, name: str, arguments: Mapping[str, Any], *, operation: str | None = None) -> str:
        """Record a call to be made and return its operation id, which an agent keeps in its checkpoint.

        Raises CallError or LedgerError.
        """
        if await self._only_reads(name):
            message = f"{name} only reads; there is nothing to record"
            raise CallError(message)
        recording = asyncio.to_thread(self._calls.prepare, name, arguments, operation)
        return await finish_write(asyncio.ensure_future(recording))

    async def send(self, operation_id: str) -> Any:
        """Make the call that `prepare` recorded; repeated calls have one effect.

        Raises what `call_tool` raises.
        """
        return await self._result_of(await self._run(self._calls.send(operation_id), {}), named=True)

    async def recover_uncertain(self, progress: Callable[[int], None] = lambda _: None) -> Recovery:
        """Settle every unsettled call of this server, as its strategy allows.

        A call that was only prepared is made. ReconcileRead waits until no request can arrive late. A call needs a
        person if the server answers and its answers are inconclusive; if the server does not answer, the next start
        continues. `progress` is called after each operation.

        Raises CallError, LedgerError, and the session's errors if its tools cannot be listed.
        """
        await self._list_all()
        recovery: Recovery = await self._run(self._calls.recover(progress), {})
        return recovery

    async def _only_reads(self, name: str) -> bool:
        """Return whether a call only reads and is passed through unchanged.

        Raises CallError if the server has no such tool.
        """
        declared = self._tools.get(name)
        if isinstance(declared, ReadOnly):
            return True
        if name not in self._reads:
            await self._list_all()
        if name not in self._reads:
            message = f"the server lists no tool {name}"
            raise CallError(message)
        return declared is None and self._reads[name]

    async def _list_all(self) -> None:
        """Read all pages of the listing; stop if the server repeats a cursor."""
        cursors: set[str] = set()
        cursor = None
        async with asyncio.timeout(self._timeout):
            while cursor not in cursors:
                cursors |= {cursor} if cursor else set()
                listing = await self.list_tools(**({"cursor": cursor} if cursor else {}))
                cursor = getattr(listing, "next_cursor", None) or getattr(listing, "nextCursor", None)
                if not cursor:
                    return

    async def _run(self, steps: Any, options: dict[str, Any]) -> Any:
        async def do(step: Invoke | Pause) -> ToolAnswer | None:
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                return None
            try:
                async with asyncio.timeout(self._timeout):
                    return answer_of_result(await self._session.call_tool(step.tool, step.arguments, **options))
            except Exception as error:  # noqa: BLE001 -- the strategy decides what any error of a session means
                ending, reason = ending_of_error(error)
                return ToolAnswer(ending=ending, reason=reason)

        return await drive(steps, do)

    async def _result_of(self, outcome: CallOutcome, *, named: bool) -> Any:
        """Return the result of a call that has one, and record that it was handed over."""
        entry = outcome.entry
        if entry.state not in {"committed", "failed"}:
            raise {"needs_review": NeedsReviewError}.get(entry.state, UncertainError)(entry)
        if not named:
            await self._hand_over(entry.operation_id)
        if entry.receipt is None:
            raise (SettledByHandError if entry.state == "committed" else FailedError)(entry)
        return outcome.result if outcome.result is not None else self._result(entry.receipt)

    async def _hand_over(self, operation_id: str) -> None:
        try:
            await finish_write(asyncio.ensure_future(asyncio.to_thread(self._ledger.hand_over, operation_id)))
        except asyncio.CancelledError:
            self._ledger.hand_over(operation_id, heard=False)
            raise


def _tools(listing: Any) -> list[Any]:
    """Return the tools of a listing, which some clients return as a bare list."""
    return list(getattr(listing, "tools", listing))


def _schema(tool: Any) -> dict[str, Any]:
    return dict(getattr(tool, "input_schema", None) or getattr(tool, "inputSchema", None) or {})


def _hint(annotations: Any, *names: str) -> bool:
    return any(getattr(annotations, name, None) is True for name in names)


def _with(value: Any, name: str, member: Any) -> Any:
    """Return a copy of a session's object with one member replaced."""
    if hasattr(value, "model_copy"):
        return value.model_copy(update={name: member})
    changed = copy.copy(value)
    setattr(changed, name, member)
    return changed


def _without(tool: Any, argument: str) -> Any:
    """Return a tool without one argument in its input schema."""
    schema = _schema(tool)
    schema["properties"] = {name: member for name, member in schema.get("properties", {}).items() if name != argument}
    schema["required"] = [key for key in schema.get("required", []) if key != argument]
    return _with(tool, "input_schema" if hasattr(tool, "input_schema") else "inputSchema", schema)
