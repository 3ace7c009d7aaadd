"""A guard in front of any MCP session: calls of tools that write are recorded first, and none is blindly made twice.

guard = Guard(session, ledger, {"create_ticket": IdempotencyKey(argument="key")}, server="tracker")
await guard.recover_uncertain()
result = await guard.call_tool("create_ticket", {"title": "Disk full"})
"""

import asyncio
import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from antechamber.client.calling import Calling, Invoke, Made, Told, told_of
from antechamber.client.driving import drive, to_the_end
from antechamber.client.exchange import Pause
from antechamber.client.ledger import Ledger
from antechamber.client.results import FailedError, NeedsReviewError, SettledByHandError, UncertainError
from antechamber.client.steps import Recovery
from antechamber.client.tool_results import KeptResult, ending_of_error, kept_result, token_in
from antechamber.core.calls import (
    CallError,
    IdempotencyKey,
    NeverResend,
    ReadOnly,
    ReconcileRead,
    ResendTolerant,
    Strategy,
    check,
    hidden,
)

ATTEMPTS: Final = 3
TIMEOUT: Final = 60.0
__all__ = [
    "CallError",
    "Guard",
    "IdempotencyKey",
    "KeptResult",
    "NeverResend",
    "ReadOnly",
    "ReconcileRead",
    "ResendTolerant",
    "token_in",
]


class Guard:
    """Calls tools in the place of a session, with a ledger in front of those that write."""

    def __init__(  # noqa: PLR0913 -- options by name
        self,
        session: Any,
        ledger: Ledger,
        tools: Mapping[str, Strategy | ReadOnly],
        *,
        server: str,
        attempts: int = ATTEMPTS,
        timeout: float = TIMEOUT,
        result: Callable[[bytes], Any] = kept_result,
    ) -> None:
        """Guard a session; declare each tool once.

        `session` is whatever has `call_tool` and `list_tools`, such as a client of the official SDK. `server` names
        the server in the ledger, the same at each start: operations are recovered by it. A tool that is not
        declared is passed through if it is annotated as read-only, else it is NeverResend. `attempts` is how often
        an unclear answer is followed up before the call is left `uncertain`, `timeout` the seconds that an answer
        may take. `result` reads a result that comes from the ledger; with the official SDK
        `CallToolResult.model_validate_json` makes it the same as one that comes from the server.

        Raises CallError where a declaration could not work.
        """
        if not server or "/" in server:
            message = f"server is a short name without a slash, not {server!r}"
            raise CallError(message)
        for strategy in tools.values():
            check(strategy)
        self._session = session
        self._tools = dict(tools)
        self._ledger = ledger
        self._calling = Calling(ledger, server, self._tools, attempts)
        self._timeout = timeout
        self._result = result
        self._reads: dict[str, bool] = {}

    async def list_tools(self, **options: Any) -> Any:
        """List the server's tools; arguments that the guard fills in are taken out of what a model is told."""
        listing = await self._session.list_tools(**options)
        tools = [self._noted(tool) for tool in listing.tools]
        return _with(listing, "tools", tools)

    def _noted(self, tool: Any) -> Any:
        annotations = getattr(tool, "annotations", None)
        hint = getattr(annotations, "read_only_hint", None) or getattr(annotations, "readOnlyHint", None)
        self._reads[tool.name] = hint is True
        name = hidden(self._tools.get(tool.name))
        return _without(tool, name) if name else tool

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, operation: str | None = None, **options: Any
    ) -> Any:
        """Call a tool and return its result, its errors included.

        `operation` is the caller's own name for this one call, such as the id that a model gave it or a step of a
        checkpoint: by it the call is found again for ever, and what has had its effect is answered from the ledger.
        Without one, the same arguments find a call that is not settled yet, and are a new call otherwise. Other options
        are the session's.

        Raises CallError where the call cannot be made (nothing was recorded), UncertainError, FailedError,
        NeedsReviewError, SettledByHandError, or LedgerError.
        """
        arguments = arguments or {}
        if await self._passes(name):
            return await self._session.call_tool(name, dict(arguments), **options)
        return self._outcome(await self._run(self._calling.call(name, arguments, operation), options))

    async def prepare(self, name: str, arguments: Mapping[str, Any], *, operation: str | None = None) -> str:
        """Record a call that is to be made and return its operation id, which an agent keeps in its checkpoint.

        Raises CallError or LedgerError.
        """
        if await self._passes(name):
            message = f"{name} only reads; there is nothing to record"
            raise CallError(message)
        recording = asyncio.to_thread(self._calling.prepare, name, arguments, operation)
        return await to_the_end(asyncio.ensure_future(recording))

    async def send(self, operation_id: str) -> Any:
        """Make the call that `prepare` recorded; any number of times, of which one counts.

        Raises what `call_tool` raises.
        """
        return self._outcome(await self._run(self._calling.send(operation_id), {}))

    async def recover_uncertain(self, progress: Callable[[int], None] = lambda _: None) -> Recovery:
        """Settle every call of this server of which nobody knows whether it had its effect, as its strategy allows.

        Takes as long as ReconcileRead's `late` where something was cut off a moment ago. `progress` is told of each
        operation.

        Raises LedgerError.
        """
        found: Recovery = await self._run(self._calling.recover(progress), {})
        return found

    async def _passes(self, name: str) -> bool:
        """Whether a call changes nothing and goes through as it is."""
        if name in self._tools:
            return isinstance(self._tools[name], ReadOnly)
        if name not in self._reads:
            await self._list_all(name)
        return self._reads.get(name, False)

    async def _list_all(self, name: str) -> None:
        """Read the listing until the tool comes."""
        options: dict[str, Any] = {}
        while name not in self._reads:
            listing = await self.list_tools(**options)
            cursor = getattr(listing, "next_cursor", None) or getattr(listing, "nextCursor", None)
            if not cursor:
                return
            options = {"cursor": cursor}

    async def _run(self, steps: Any, options: dict[str, Any]) -> Any:
        async def do(step: Invoke | Pause) -> Told | None:
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                return None
            try:
                async with asyncio.timeout(self._timeout):
                    return told_of(await self._session.call_tool(step.tool, step.arguments, **options))
            except Exception as error:  # noqa: BLE001 -- whatever a session raises, what it means is the strategy's
                ending, said = ending_of_error(error)
                return Told(ending=ending, said=said)

        return await drive(steps, do)

    def _outcome(self, made: Made) -> Any:
        """Return the result of a call that ended with one."""
        entry = made.entry
        if entry.state in {"committed", "failed"} and entry.receipt is not None:
            return made.result if made.result is not None else self._result(entry.receipt)
        errors = {"failed": FailedError, "needs_review": NeedsReviewError, "committed": SettledByHandError}
        raise errors.get(entry.state, UncertainError)(entry)


def _with(value: Any, name: str, member: Any) -> Any:
    """Copy one of a session's objects with another member."""
    if hasattr(value, "model_copy"):
        return value.model_copy(update={name: member})
    changed = copy.copy(value)
    setattr(changed, name, member)
    return changed


def _without(tool: Any, argument: str) -> Any:
    """Take an argument out of a tool's input schema."""
    name = "input_schema" if hasattr(tool, "input_schema") else "inputSchema"
    schema = dict(getattr(tool, name))
    schema["properties"] = {key: one for key, one in schema.get("properties", {}).items() if key != argument}
    schema["required"] = [key for key in schema.get("required", []) if key != argument]
    return _with(tool, name, schema)
