"""The guard for other servers' tools: calls are recorded first, followed up as declared, and never repeated blindly."""

import asyncio
import json
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from mcp import Client
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

from antechamber.client import FailedError, Ledger, LedgerError, NeedsReviewError, SettledByHandError, UncertainError
from antechamber.client.delivery import Recovery
from antechamber.client.guard import (
    CallError,
    Guard,
    IdempotencyKey,
    KeptResult,
    NeverResend,
    ReadOnly,
    ReconcileRead,
    ResendTolerant,
    token_in,
)
from antechamber.client.guarded_call import GuardedCalls
from antechamber.client.ledger import UnderWayError
from antechamber.client.tool_results import encode_result

POSTS = ReconcileRead(
    argument="text",
    template="{value}\n\nref {token}",
    read="find_posts",
    arguments={"query": "{token}"},
    found=token_in("posts", "text"),
    late=0.0,
)
TOOLS: dict[str, Any] = {
    "charge": IdempotencyKey(argument="key"),
    "post": POSTS,
    "put": ResendTolerant(),
    "append": NeverResend(),
}


class Strange(NamedTuple):
    """A result of an unexpected type."""

    answer: Any


class Elsewhere:
    """A session with another server, with scripted faults."""

    def __init__(self) -> None:
        """Start without effects."""
        self.effects: list[tuple[str, dict[str, Any]]] = []
        self.keys: set[str] = set()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.script: list[Any] = []
        self.listed = 0
        self.hanging = asyncio.Event()

    async def list_tools(self, cursor: str | None = None) -> Any:
        """List tools on two pages, with the field names of the SDK's first version."""
        self.listed += 1
        if cursor is None:
            return SimpleNamespace(tools=[described("charge", "amount", "key"), described("look")], nextCursor="2")
        more = [described("post", "text"), described("put", "name"), described("append", "line")]
        return SimpleNamespace(tools=[described("find_posts", "query", reads=True), *more], nextCursor=None)

    async def call_tool(self, name: str, arguments: dict[str, Any], **options: Any) -> Any:
        """Apply the next step of the script; without one the call succeeds."""
        del options
        self.asked.append((name, arguments))
        action = self.script.pop(0) if self.script else "pass"
        if action == "lose":
            raise MCPError(-32000, "Connection closed")
        if isinstance(action, Exception):
            raise action
        if action == "hang":
            self.hanging.set()
            await asyncio.sleep(3600)
        if action == "error":
            return result("card declined", is_error=True)
        if isinstance(action, Strange):
            return action.answer
        answer = self._done(name, arguments)
        if action == "drop":
            raise MCPError(-32001, "Timed out")
        return answer

    def _done(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "find_posts":
            posts = [one for tool, one in self.effects if tool == "post" and arguments["query"] in one["text"]]
            return result(f"{len(posts)} hold {arguments['query']}", structured_content={"posts": posts})
        if name == "charge" and arguments["key"] in self.keys:
            return result("done before")
        self.keys.add(arguments.get("key", ""))
        self.effects.append((name, arguments))
        return result("done")


def described(name: str, *arguments: str, reads: bool | None = None) -> Any:
    """Describe a tool with the field names of the SDK's first version."""
    schema = {"type": "object", "properties": {one: {} for one in arguments}, "required": list(arguments)}
    return SimpleNamespace(name=name, inputSchema=schema, annotations=SimpleNamespace(readOnlyHint=reads))


def result(text: str, **members: Any) -> CallToolResult:
    """Return a tool's result."""
    return CallToolResult(content=[TextContent(text=text)], **members)


@pytest.fixture
def session() -> Elsewhere:
    """A session."""
    return Elsewhere()


def guarded(session: Any, ledger: Ledger, tools: Mapping[str, Any] = TOOLS, **options: Any) -> Guard:
    """Return a guard that returns the SDK's results."""
    defaults = {"server": "elsewhere", "result": CallToolResult.model_validate_json}
    return Guard(session, ledger, tools, **defaults | options)


def call(guard: Guard, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
    """Call a tool."""
    return asyncio.run(guard.call_tool(name, arguments, **options))


def recover(guard: Guard) -> Recovery:
    """Recover."""
    return asyncio.run(guard.recover_uncertain())


def stopped_in(method: str, guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a call and cancel it when the ledger has reached this state."""
    real, reached, go_on = getattr(Ledger, method), threading.Event(), threading.Event()

    def slowly(*arguments: Any, **options: Any) -> Any:
        done = real(*arguments, **options)
        reached.set()
        go_on.wait(10)
        return done

    async def journey() -> None:
        calling = asyncio.create_task(guard.call_tool("append", {"line": "x"}))
        await asyncio.to_thread(reached.wait, 10)
        calling.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await calling

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, method, slowly)
        asyncio.run(journey())


def text(result: Any) -> str:
    """Return the text of a result."""
    return str(result.content[0].text)


def only(ledger: Ledger) -> Any:
    """Return the single operation in the ledger."""
    (entry,) = ledger.entries()
    return entry


ARGUMENTS = {"charge": {"amount": 5}, "post": {"text": "Disk full"}, "put": {"name": "a"}, "append": {"line": "x"}}


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_a_call_is_recorded_made_and_committed(session: Elsewhere, ledger: Ledger, tool: str) -> None:
    """The guard returns the session's own result; repeating the call makes a new one unless it is named."""
    guard = guarded(session, ledger)
    result = call(guard, tool, ARGUMENTS[tool])
    assert text(result) == "done"
    entry = only(ledger)
    assert (entry.state, entry.kind, entry.name, entry.attempts) == ("committed", "call", f"elsewhere/{tool}", 1)
    call(guard, tool, ARGUMENTS[tool])
    assert len(session.effects) == 2
    for _ in range(3):
        assert call(guard, tool, ARGUMENTS[tool], operation="toolu_01") == result
    assert len(session.effects) == 3
    assert ledger.counts()["committed"] == 3


@pytest.mark.parametrize("fault", ["lose", "drop", OSError("broken pipe"), RuntimeError("no structured content")])
@pytest.mark.parametrize(("tool", "most"), [("charge", 1), ("post", 1), ("put", 2)])
def test_an_unclear_answer_is_followed_up(session: Elsewhere, ledger: Ledger, tool: str, most: int, fault: Any) -> None:
    """The strategy decides: send again with the same key, look for the effect first, or simply send again."""
    session.script = [fault]
    result = call(guarded(session, ledger), tool, ARGUMENTS[tool])
    assert not result.is_error
    assert only(ledger).state == "committed"
    assert 1 <= len(session.effects) <= most
    keys = {json.dumps(arguments) for name, arguments in session.asked if name == tool}
    assert len(keys) == 1


@pytest.mark.parametrize("fault", ["lose", "drop"])
def test_a_call_that_cannot_be_verified_is_not_sent_again(session: Elsewhere, ledger: Ledger, fault: str) -> None:
    """Without a way to verify it a person decides; afterwards the same call is a new one."""
    guard = guarded(session, ledger)
    session.script = [fault]
    with pytest.raises(NeedsReviewError, match="may have had its effect") as unclear:
        call(guard, "append", {"line": "x"})
    assert (unclear.value.retry_same_key, unclear.value.safe_new_key) == (False, False)
    for act in (
        lambda: call(guard, "append", {"line": "x"}),
        lambda: asyncio.run(guard.send(only(ledger).operation_id)),
    ):
        with pytest.raises(NeedsReviewError):
            act()
    assert recover(guard).found == 0
    assert len(session.asked) == 1
    ledger.decide(only(ledger).operation_id, "failed", "It is not there.")
    assert text(call(guard, "append", {"line": "x"})) == "done"


def test_a_call_that_a_person_settled_is_an_error(session: Elsewhere, ledger: Ledger) -> None:
    """A call settled as committed has no result to return; a call settled as failed is made again."""
    guard = guarded(session, ledger)
    session.script = ["lose", "lose"]
    operations = []
    for name in ("one", "two"):
        with pytest.raises(NeedsReviewError) as unclear:
            call(guard, "append", {"line": name}, operation=name)
        operations.append(unclear.value.operation_id)
    ledger.decide(operations[0], "committed", "I looked.")
    ledger.decide(operations[1], "failed", "I looked.")
    with pytest.raises(SettledByHandError, match="by hand: I looked"):
        call(guard, "append", {"line": "one"}, operation="one")
    with pytest.raises(FailedError, match="by hand: I looked"):
        asyncio.run(guard.send(operations[1]))
    assert text(call(guard, "append", {"line": "two"}, operation="two")) == "done"


def test_a_tool_that_is_neither_declared_nor_read_only_is_never_sent_again(session: Elsewhere, ledger: Ledger) -> None:
    """A tool without a declaration is sent only once; tools that are read-only or declared so pass through."""
    guard = guarded(session, ledger, {"look": ReadOnly()})
    session.script = ["lose"]
    with pytest.raises(NeedsReviewError):
        call(guard, "charge", {"key": "k"})
    session.script = ["pass", "lose"]
    assert text(call(guard, "find_posts", {"query": "x"})) == "0 hold x"
    with pytest.raises(MCPError):
        call(guard, "look", {})
    with pytest.raises(CallError, match="only reads"):
        asyncio.run(guard.prepare("look", {}))
    with pytest.raises(CallError, match="lists no tool nothing"):
        call(guard, "nothing", {})
    session.script = ["error"]
    with pytest.raises(NeedsReviewError, match="card declined"):
        call(guard, "append", {"line": "x"})
    assert ledger.counts()["needs_review"] == 2


def test_a_model_does_not_see_the_arguments_that_the_guard_sets(session: Elsewhere, ledger: Ledger) -> None:
    """Arguments that the guard adds are neither in the listing nor accepted from the caller."""
    guard = guarded(session, ledger)
    listing = asyncio.run(guard.list_tools())
    (charge, _) = listing.tools
    assert charge.inputSchema == {"type": "object", "properties": {"amount": {}}, "required": ["amount"]}
    with pytest.raises(CallError, match="argument key is filled in"):
        call(guard, "charge", {"amount": 5, "key": "mine"})
    assert ledger.counts()["pending"] == 0
    assert session.asked == []


def test_an_error_of_the_only_attempt_is_the_answer(session: Elsewhere, ledger: Ledger) -> None:
    """The error is returned to the model; the same call, changed or not, is a new operation with a new key."""
    guard = guarded(session, ledger)
    session.script = ["error"]
    assert call(guard, "charge", {"amount": 5}).is_error
    session.script = ["error"]
    for _ in range(2):
        assert text(call(guard, "charge", {"amount": 5}, operation="a")) == "card declined"
    assert not call(guard, "charge", {"amount": 5}).is_error
    assert ledger.counts() == {"pending": 0, "committed": 1, "failed": 2, "uncertain": 0, "needs_review": 0}
    assert len({arguments["key"] for _, arguments in session.asked}) == 3


@pytest.mark.parametrize("code", [-32602, -32603, -32601])
def test_an_error_of_the_protocol_proves_nothing(session: Elsewhere, ledger: Ledger, code: int) -> None:
    """Servers of the SDK send -32602 also for errors inside a tool, after its effect."""
    guard = guarded(session, ledger)
    session.script = [MCPError(code, "Invalid request parameters")]
    with pytest.raises(NeedsReviewError, match="Invalid request"):
        call(guard, "append", {"line": "x"})
    session.script = [MCPError(code, "Invalid request parameters")] * 6
    with pytest.raises(UncertainError):
        call(guard, "charge", {"amount": 5})
    # The server answers each time and more attempts would not help, so a person decides.
    assert recover(guard).settled == {"needs_review": 1}


def test_an_error_proves_nothing_about_an_earlier_unclear_attempt(session: Elsewhere, ledger: Ledger) -> None:
    """The call stays uncertain, and what recovery cannot settle is left to a person."""
    guard = guarded(session, ledger, attempts=2)
    session.script = ["drop", "error"]
    with pytest.raises(UncertainError, match="card declined"):
        call(guard, "charge", {"amount": 5})
    session.script = ["error", "error"]
    assert recover(guard).settled == {"needs_review": 1}
    assert "an earlier attempt may have had its effect; the last: the tool failed: card declined" in only(ledger).reason
    assert len(session.effects) == 1


def test_an_error_is_final_after_a_read_proved_that_the_effect_is_missing(session: Elsewhere, ledger: Ledger) -> None:
    """A read has shown that the earlier attempt had no effect, so the error is the answer."""
    session.script = ["lose", "pass", "error"]
    assert call(guarded(session, ledger), "post", {"text": "Disk full"}).is_error
    assert [name for name, _ in session.asked] == ["post", "find_posts", "post"]
    assert only(ledger).state == "failed"


def test_an_effect_that_is_found_is_not_made_again(session: Elsewhere, ledger: Ledger) -> None:
    """When the effect is found, the result of the read is returned."""
    session.script = ["drop"]
    result = call(guarded(session, ledger), "post", {"text": "Disk full"})
    assert result.structured_content["posts"][0]["text"].startswith("Disk full\n\nref ")
    assert [name for name, _ in session.asked] == ["post", "find_posts"]
    assert only(ledger).reason == "find_posts found its effect"


def test_nothing_is_sent_again_while_the_first_request_may_still_arrive(session: Elsewhere, ledger: Ledger) -> None:
    """While a first request may still arrive, a call does not wait for it; recovery does."""
    slow = POSTS.__class__(**{name: getattr(POSTS, name) for name in POSTS.__struct_fields__} | {"late": 0.2})
    guard = guarded(session, ledger, {"post": slow})
    session.script = ["lose"]
    with pytest.raises(UncertainError):
        call(guard, "post", {"text": "Disk full"})
    assert [name for name, _ in session.asked] == ["post", "find_posts", "find_posts"]
    recovery = recover(guard)
    assert (recovery.found, recovery.settled, recovery.left) == (1, {"committed": 1}, {})
    assert len(session.effects) == 1


@pytest.mark.parametrize("fault", ["lose", "error", Strange(None), Strange({"content": []}), Strange(result("none"))])
def test_a_call_whose_effect_cannot_be_read_is_not_sent_again(session: Elsewhere, ledger: Ledger, fault: Any) -> None:
    """A failed or unreadable look-up leaves the call uncertain; a successful one settles it."""
    guard = guarded(session, ledger)
    session.script = ["lose", fault, fault]
    with pytest.raises(UncertainError):
        call(guard, "post", {"text": "Disk full"})
    assert session.effects == []
    assert recover(guard).settled == {"committed": 1}
    assert len(session.effects) == 1


def test_a_read_result_that_is_not_understood_proves_nothing(session: Elsewhere, ledger: Ledger) -> None:
    """A result that the reader cannot interpret proves neither an effect nor its absence."""

    def find(_: Any, __: str) -> Any:
        return "yes"

    strange = POSTS.__class__(**{name: getattr(POSTS, name) for name in POSTS.__struct_fields__} | {"found": find})
    guard = guarded(session, ledger, {"post": strange})
    session.script = ["lose"]
    with pytest.raises(UncertainError):
        call(guard, "post", {"text": "Disk full"})
    assert session.effects == []
    assert recover(guard).settled == {"needs_review": 1}


@pytest.mark.parametrize(("tool", "state"), [("charge", "uncertain"), ("append", "needs_review")])
def test_a_cancelled_call_is_uncertain(session: Elsewhere, ledger: Ledger, tool: str, state: str) -> None:
    """A cancelled call is uncertain at once, not at the next start; a call without an answer times out."""

    async def journey() -> None:
        guard = guarded(session, ledger)
        session.script = ["hang"]
        calling = asyncio.create_task(guard.call_tool(tool, ARGUMENTS[tool]))
        await session.hanging.wait()
        with pytest.raises(UnderWayError, match="under way elsewhere") as busy:
            await guard.call_tool(tool, ARGUMENTS[tool])
        assert busy.value.temporary
        assert (await guard.recover_uncertain()).elsewhere == 1
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    asyncio.run(journey())
    assert (only(ledger).state, "interrupted" in only(ledger).reason) == (state, True)


def test_a_call_without_an_answer_ends_after_the_timeout(session: Elsewhere, ledger: Ledger) -> None:
    """A call without an answer times out and is followed up with the same key."""
    session.script = ["hang"]
    assert text(call(guarded(session, ledger, timeout=0.05), "charge", {"amount": 5})) == "done"
    assert only(ledger).attempts == 2


@pytest.mark.parametrize(
    ("tool", "state"), [("charge", "committed"), ("post", "committed"), ("append", "needs_review")]
)
def test_the_calls_of_a_dead_agent_are_settled_at_the_next_start(
    session: Elsewhere, path: Path, tool: str, state: str
) -> None:
    """Each call of a dead agent is settled by its strategy; other servers' calls and submissions are left unchanged."""
    with Ledger(path) as first:
        guard = guarded(session, first)
        operation = asyncio.run(guard.prepare(tool, ARGUMENTS[tool]))
        first.begin(operation)
        other = asyncio.run(guarded(session, first, server="other").prepare("charge", {}))
        first.begin(other)
    with Ledger(path) as second:
        assert second.entry(operation).state == "uncertain"
        looked_at: list[int] = []
        recovery = asyncio.run(guarded(session, second).recover_uncertain(looked_at.append))
        assert (recovery.settled, recovery.elsewhere, looked_at) == ({state: 1}, 0, [1])
        assert second.entry(operation).state == state
        assert second.entry(other).state == "uncertain"
    assert len(session.effects) == (state == "committed")


def test_a_call_in_progress_in_another_process_is_left_to_it(session: Elsewhere, path: Path) -> None:
    """Calls of a running process are left to it until it ends."""
    with Ledger(path) as first, Ledger(path) as second:
        operation = asyncio.run(guarded(session, first).prepare("charge", {"amount": 5}))
        first.begin(operation)
        guard = guarded(session, second)
        assert recover(guard).elsewhere == 1
        with pytest.raises(UnderWayError):
            call(guard, "charge", {"amount": 5})
        first.record_answer(operation, lambda _: ruling())
        assert recover(guard).settled == {"committed": 1}
    assert len(session.effects) == 1


def ruling() -> Any:
    """Return the ruling for a call with an unclear answer."""
    from antechamber.core.delivery_rules import DeliveryRuling  # noqa: PLC0415 -- one use

    return DeliveryRuling(state="uncertain", final=False, reason="no answer")


def test_of_two_processes_that_found_no_effect_one_sends(session: Elsewhere, path: Path) -> None:
    """Of two processes that found no effect one sends, and the other gets an error."""
    with Ledger(path) as first, Ledger(path) as second:
        session.script = ["lose", "lose", "lose"]
        with pytest.raises(UncertainError):
            call(guarded(session, first), "post", {"text": "Disk full"})

        class Between(Elsewhere):
            async def call_tool(self, name: str, arguments: dict[str, Any], **options: Any) -> Any:
                """Send from the other process while this one looks."""
                result = await session.call_tool(name, arguments, **options)
                if name == "find_posts":
                    await guarded(session, second).recover_uncertain()
                return result

        assert recover(guarded(Between(), first)).settled == {"committed": 1}
    assert len(session.effects) == 1


def test_a_call_that_recovery_settled_is_answered_from_the_ledger(session: Elsewhere, path: Path) -> None:
    """When the agent died before the outcome arrived, the same call returns it once, and is a new call after that."""
    with Ledger(path) as first:
        first.begin(asyncio.run(guarded(session, first).prepare("charge", {"amount": 5})))
    with Ledger(path) as second:
        guard = guarded(session, second)
        assert recover(guard).settled == {"committed": 1}
        assert text(call(guard, "charge", {"amount": 5})) == "done"
        assert len(session.effects) == 1
        call(guard, "charge", {"amount": 5})
        assert len(session.effects) == 2


@pytest.mark.parametrize("before", [None, "charge", "key"])
def test_a_changed_strategy_follows_up_no_call_of_the_old_one(
    session: Elsewhere, path: Path, before: str | None
) -> None:
    """After a changed declaration, a call sent without a key is not followed up; one never sent has failed."""
    tools = {"charge": IdempotencyKey(argument=before)} if before else {}
    with Ledger(path) as first:
        old = guarded(session, first, tools)
        if before == "charge":
            session.list_tools = lambda **_: listing_of("charge")  # type: ignore[method-assign]
        sent = asyncio.run(old.prepare("charge", {"amount": 1}))
        first.begin(sent)
        unsent = asyncio.run(old.prepare("charge", {"amount": 2}))
    session.__dict__.pop("list_tools", None)
    with Ledger(path) as second:
        settled = recover(guarded(session, second)).settled
        if before == "key":
            assert settled == {"committed": 2}
            return
        assert settled == {"needs_review": 1, "failed": 1}
        assert "declared otherwise" in second.entry(sent).reason
        assert second.entry(unsent).state == "failed"
    assert session.effects == []


async def listing_of(argument: str) -> Any:
    """List one tool with one argument of this name."""
    return SimpleNamespace(tools=[described("charge", "amount", argument)], nextCursor=None)


def test_a_read_that_always_fails_ends_in_review(session: Elsewhere, ledger: Ledger) -> None:
    """A read that is refused each time is left to a person, and later operations are settled."""
    guard = guarded(session, ledger, attempts=1)
    asyncio.run(guard.list_tools())
    session.script = ["lose"] * 7
    for number in range(6):
        with pytest.raises(UncertainError):
            call(guard, "post", {"text": f"Post {number}"})
    with pytest.raises(UncertainError):
        call(guard, "charge", {"amount": 5})
    session.script = ["error"] * 6
    assert recover(guard).settled == {"needs_review": 6, "committed": 1}


def test_a_clock_change_causes_no_early_resend(session: Elsewhere, path: Path) -> None:
    """Waits are measured by a monotonic clock, from the first moment that an attempt was known to be over."""
    slow = POSTS.__class__(**{name: getattr(POSTS, name) for name in POSTS.__struct_fields__} | {"late": 0.3})
    clock = [1_700_000_000_000_000]
    with Ledger(path, clock=lambda: clock[0]) as ledger:
        guard = guarded(session, ledger, {"post": slow})
        session.script = ["pass"] * 0 + ["lose"]
        with pytest.raises(UncertainError):
            call(guard, "post", {"text": "Disk full"})
        clock[0] += 3_600_000_000
        with pytest.raises(UncertainError):
            call(guard, "post", {"text": "Disk full"})
        assert session.effects == []
        assert recover(guard).settled == {"committed": 1}


def test_an_answer_that_cannot_be_recorded_is_requested_again(
    session: Elsewhere, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk is full as the answer arrives, the same call returns it later, in the same process."""
    guard = guarded(session, ledger)
    record_answer = Ledger.record_answer

    def full(*_: Any, **__: Any) -> Any:
        message = "the disk is full"
        raise LedgerError(message)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "record_answer", full)
        with pytest.raises(LedgerError, match="full"):
            call(guard, "charge", {"amount": 5})
    assert Ledger.record_answer is record_answer
    assert (only(ledger).state, ledger.in_hand) == ("pending", set())
    assert text(call(guard, "charge", {"amount": 5})) == "done before"
    assert len(session.effects) == 1


def test_an_error_with_unencodable_text_is_recorded(session: Elsewhere, ledger: Ledger) -> None:
    """An error with a lone surrogate in its text, for example, is stored in a writable form."""
    session.script = [OSError("no such file: \udcff")]
    with pytest.raises(NeedsReviewError, match="no such file"):
        call(guarded(session, ledger), "append", {"line": "x"})


def test_a_call_cancelled_before_it_was_sent_has_failed(
    session: Elsewhere, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call cancelled before it was sent needs no person."""
    stopped_in("begin", guarded(session, ledger), monkeypatch)
    assert (only(ledger).state, session.asked) == ("failed", [])
    assert text(call(guarded(session, ledger), "append", {"line": "x"})) == "done"


def test_a_listing_with_circular_pages_is_read_once(session: Elsewhere, ledger: Ledger) -> None:
    """A listing with circular pages is read once; a tool marked read-only and destructive is not passed through."""
    hints = SimpleNamespace(readOnlyHint=True, destructiveHint=True)
    tool = SimpleNamespace(name="append", inputSchema={"additionalProperties": True}, annotations=hints)

    async def circle(**_: Any) -> Any:
        session.listed += 1
        return SimpleNamespace(tools=[tool], nextCursor="again")

    async def bare(**_: Any) -> Any:
        return [tool]

    session.list_tools = circle  # type: ignore[assignment]
    session.script = ["lose"]
    with pytest.raises(NeedsReviewError):
        call(guarded(session, ledger, {}), "append", {"line": "x"})
    assert session.listed == 2
    session.list_tools = bare  # type: ignore[assignment]
    assert text(call(guarded(session, ledger, {}), "append", {"line": "y"})) == "done"
    assert asyncio.run(guarded(session, ledger).list_tools()) == [tool]


def test_a_childs_copy_of_the_ledger_does_not_outlive_its_parent(path: Path) -> None:
    """The parent's pending calls become uncertain when it ends, even while a forked child lives on."""
    (reading, writing), (hearing, telling) = os.pipe(), os.pipe()
    parent = os.fork()
    if not parent:
        ledger = Ledger(path)
        operation = GuardedCalls(ledger, "elsewhere", TOOLS, 1).prepare("charge", {"amount": 5}, None)
        ledger.begin(operation)
        if not os.fork():
            os.write(telling, b"x")
            os.read(reading, 1)
        os._exit(0)
    os.waitpid(parent, 0)
    os.read(hearing, 1)
    try:
        with Ledger(path) as second:
            assert only(second).state == "uncertain"
    finally:
        os.write(writing, b"x")
        for end in (reading, writing, hearing, telling):
            os.close(end)


def test_an_agent_with_checkpoints_prepares_and_sends(session: Elsewhere, ledger: Ledger) -> None:
    """Preparing again finds the same call, sending again is answered from the ledger, and recovery sends the rest."""
    guard = guarded(session, ledger)
    one = asyncio.run(guard.prepare("append", {"line": "x"}))
    assert asyncio.run(guard.prepare("append", {"line": "x"})) == one
    result = asyncio.run(guard.send(one))
    assert asyncio.run(guard.send(one)) == result
    assert len(session.effects) == 1
    two = asyncio.run(guard.prepare("append", {"line": "y"}))
    assert recover(guard).settled == {"committed": 1}
    assert ledger.entry(two).state == "committed"
    with pytest.raises(CallError, match="no call of other"):
        asyncio.run(guarded(session, ledger, server="other").send(two))
    with pytest.raises(LedgerError, match="has no operation"):
        asyncio.run(guard.send("nothing"))


def test_a_name_identifies_one_call(session: Elsewhere, ledger: Ledger) -> None:
    """A name identifies one call; another call under it raises an error."""
    guard = guarded(session, ledger)
    call(guard, "append", {"line": "x"}, operation="step 4")
    with pytest.raises(CallError, match="operation step 4 of append was another call"):
        call(guard, "append", {"line": "y"}, operation="step 4")
    assert len(session.effects) == 1


@pytest.mark.parametrize("arguments", [{"a": float("nan")}, {"a": "\ud800"}, {"a": {1}}])
def test_arguments_that_are_no_json_are_refused(session: Elsewhere, ledger: Ledger, arguments: Any) -> None:
    """Arguments that are not JSON are neither recorded nor sent."""
    with pytest.raises(CallError, match="no JSON"):
        call(guarded(session, ledger), "append", arguments)
    assert (list(ledger.entries()), session.asked) == ([], [])


def test_numbers_of_any_size_are_sent_unchanged(session: Elsewhere, ledger: Ledger) -> None:
    """Numbers of any size are sent unchanged, also after a restart."""
    arguments = {"big": 2**70, "part": 0.1, "text": "a\u2028b"}
    session.script = ["lose"]
    call(guarded(session, ledger), "put", arguments)
    assert [sent for _, sent in session.asked] == [arguments, arguments]


def test_recovery_stops_at_a_server_that_does_not_answer(session: Elsewhere, ledger: Ledger) -> None:
    """After five operations without an answer recovery leaves the rest for later."""
    guard = guarded(session, ledger, attempts=1)
    asyncio.run(guard.list_tools())
    session.script = ["lose"] * 8
    for number in range(8):
        with pytest.raises(UncertainError):
            call(guard, "charge", {"amount": number})
    session.script, asked = ["lose"] * 8, len(session.asked)
    recovery = recover(guard)
    assert (recovery.found, recovery.settled) == (8, {"uncertain": 8})
    assert recovery.left["the server does not answer"] == 3
    assert len(session.asked) == asked + 5


@pytest.mark.parametrize("server", ["", "a/b"])
def test_a_guard_that_could_not_work_is_refused(session: Elsewhere, ledger: Ledger, server: str) -> None:
    """An unusable guard is refused when it is created."""
    with pytest.raises(CallError, match="short name"):
        guarded(session, ledger, server=server)
    with pytest.raises(CallError, match="at least 1"):
        guarded(session, ledger, attempts=0)
    bad = ReconcileRead(argument="a", template="{value}", read="r", arguments={}, found=token_in())
    with pytest.raises(CallError, match=r"needs \{token\} once"):
        guarded(session, ledger, {"post": bad})


@pytest.mark.parametrize("name", ["charge", "post"])
def test_a_declaration_that_does_not_fit_its_tool_is_refused(session: Elsewhere, ledger: Ledger, name: str) -> None:
    """A key that the tool does not accept protects nothing, and a read that ignores the token finds nothing."""
    other = ReconcileRead(argument="text", read="look", arguments={"about": "{token}"}, found=token_in("a"))
    tools = {"charge": IdempotencyKey(argument="idempotency_key"), "post": other}
    guard = guarded(session, ledger, {name: tools[name]})
    with pytest.raises(CallError, match=f"mend the declaration of {name}"):
        call(guard, name, {"amount": 5})
    with pytest.raises(CallError, match="knows no argument"):
        recover(guard)
    assert (session.asked, list(ledger.entries())) == ([], [])


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (result("", structured_content={"posts": [{"text": "a T b"}]}), True),
        (result("", structured_content={"posts": [{"text": "a"}, {"text": None}], "query": "T"}), False),
        (result("", structured_content={"posts": []}), False),
        (result('{"posts": [{"text": "T"}]}'), True),
        ({"structuredContent": {"posts": {"text": "T"}}}, True),
    ],
)
def test_a_token_is_searched_at_its_path(result: Any, *, expected: bool) -> None:
    """A tool that reports no match for the token has not found the effect."""
    assert token_in("posts", "text")(result, "T") == expected


@pytest.mark.parametrize(
    "strange",
    [
        result("no posts hold T"),
        result("[1]"),
        result("", structured_content={"result": [{"text": "T"}]}),
        {"content": [{"type": "text", "text": '{"posts": [{"text": 5}]}'}]},
        {"content": []},
    ],
)
def test_a_path_that_does_not_exist_proves_nothing(strange: Any) -> None:
    """A path without a value proves neither an effect nor its absence."""
    with pytest.raises((LookupError, ValueError)):
        token_in("posts", "text")(strange, "T")


@pytest.mark.parametrize("strange", [None, "done", ("done",), {"resultType": "input_required", "content": []}, {}])
def test_an_object_that_is_no_result_is_an_unclear_answer(session: Elsewhere, ledger: Ledger, strange: Any) -> None:
    """A result of a wrong type proves nothing about an effect."""
    session.script = [Strange(strange)]
    with pytest.raises(NeedsReviewError, match="no result of a tool"):
        call(guarded(session, ledger), "append", {"line": "x"})


def test_every_result_can_be_stored(session: Elsewhere, ledger: Ledger) -> None:
    """A result is kept in the form of MCP; one that cannot be encoded becomes an empty one."""
    assert json.loads(encode_result(result("done")))["content"][0]["text"] == "done"
    assert json.loads(encode_result({"content": []})) == {"content": []}
    assert json.loads(encode_result(object()))["isError"] is False
    guard = guarded(session, ledger, result=lambda raw: KeptResult(structured_content=len(raw)))
    call(guard, "append", {"line": "x"}, operation="a")
    assert call(guard, "append", {"line": "x"}, operation="a").structured_content > 10


def test_without_the_sdk_a_stored_result_has_the_same_members(session: Elsewhere, ledger: Ledger) -> None:
    """Without the SDK a kept result has the same members under the same names."""
    guard = Guard(session, ledger, TOOLS, server="elsewhere")
    call(guard, "append", {"line": "x"}, operation="a")
    kept = call(guard, "append", {"line": "x"}, operation="a")
    assert (kept.content[0]["text"], kept.structured_content, kept.is_error) == ("done", None, False)


def test_a_client_of_the_sdk_is_guarded(ledger: Ledger) -> None:
    """A client of the SDK gets its own types of listings and results, in memory."""
    called: list[dict[str, Any]] = []

    async def list_tools(_: Any, __: Any) -> ListToolsResult:
        schema = {"type": "object", "properties": {"amount": {}, "key": {}}, "required": ["amount", "key"]}
        hints = ToolAnnotations(read_only_hint=True)
        look = Tool(name="look", input_schema={"type": "object"}, annotations=hints)
        return ListToolsResult(tools=[Tool(name="charge", input_schema=schema), look])

    async def call_tool(_: Any, asked: Any) -> CallToolResult:
        called.append(asked.arguments)
        return result("done")

    async def within(journey: Callable[[Guard], Awaitable[Any]]) -> Any:
        async with Client(Server("elsewhere", on_list_tools=list_tools, on_call_tool=call_tool)) as client:
            return await journey(guarded(client, ledger))

    async def journey(guard: Guard) -> Any:
        listing = await guard.list_tools()
        assert listing.tools[0].input_schema["required"] == ["amount"]
        assert (await guard.call_tool("look")).content
        return [await guard.call_tool("charge", {"amount": 5}, operation="a") for _ in range(2)]

    first, again = asyncio.run(within(journey))
    assert type(first) is type(again) is CallToolResult
    assert again.content == first.content
    assert [set(one) for one in called] == [set(), {"amount", "key"}]
    assert called[1]["key"] == only(ledger).operation_id


def test_an_attempt_that_could_not_be_recorded_is_not_in_hand(
    session: Elsewhere, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk is full before sending, nothing is sent, and the same call succeeds with space again."""
    guard = guarded(session, ledger)
    operation = asyncio.run(guard.prepare("append", {"line": "x"}))

    def full(*_: Any, **__: Any) -> Any:
        message = "the disk is full"
        raise LedgerError(message)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "begin", full)
        with pytest.raises(LedgerError, match="full"):
            asyncio.run(guard.send(operation))
    assert (ledger.in_hand, session.asked) == (set(), [])
    assert text(asyncio.run(guard.send(operation))) == "done"


def test_recovery_leaves_a_call_that_another_task_began(session: Elsewhere, path: Path) -> None:
    """Recovery neither sends nor settles a call that another process started while it looked."""
    with Ledger(path) as first, Ledger(path) as second:
        session.script = ["lose", "lose", "lose"]
        with pytest.raises(UncertainError) as unclear:
            call(guarded(session, first), "post", {"text": "Disk full"})

        class Between(Elsewhere):
            async def call_tool(self, name: str, arguments: dict[str, Any], **options: Any) -> Any:
                """Start the call in the other process while this one looks."""
                second.begin(unclear.value.operation_id)
                return await session.call_tool(name, arguments, **options)

        assert recover(guarded(Between(), first)).settled == {"uncertain": 1}
        assert first.under_way(only(first))
    assert session.effects == []


def test_an_outcome_that_was_not_handed_over_is_returned_again(
    session: Elsewhere, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller cancelled while the outcome arrived can call again, and nothing is made twice."""
    stopped_in("hand_over", guarded(session, ledger), monkeypatch)
    for number in (1, 2):
        assert text(call(guarded(session, ledger), "append", {"line": "x"})) == "done"
        assert len(session.effects) == number
