"""The steps of a guarded call: record, call, evaluate the answer; after an unclear one follow the tool's strategy."""

import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from blake3 import blake3
from msgspec import Struct

from antechamber.client.delivery import Recovery
from antechamber.client.ledger import Ledger, UnderWayError
from antechamber.client.operation import Operation
from antechamber.client.resend_strategy import (
    UNDECLARED,
    CallError,
    Ending,
    NeverResend,
    ReadOnly,
    ReconcileRead,
    Strategy,
    canonical,
    describe_embedding,
    embed,
    fingerprint,
    read_arguments,
    rule_call,
)
from antechamber.client.retry import pause
from antechamber.client.runner import UnsentError
from antechamber.client.tool_results import encode_result, ending_of
from antechamber.client.wire import Pause
from antechamber.core.delivery_rules import SETTLED, DeliveryRuling, State
from antechamber.core.errors import AntechamberError

MAX_UNANSWERED: Final = 5
"""Number of consecutive operations without an answer after which recovery leaves the rest for later."""
T = TypeVar("T")


class Invoke(Struct, frozen=True):
    """Request to call a tool."""

    tool: str
    arguments: dict[str, Any]


class ToolAnswer(Struct, frozen=True, kw_only=True):
    """Answer of a tool, or why there is none."""

    ending: Ending
    reason: str
    result: Any = None


class CallOutcome(Struct, frozen=True, kw_only=True):
    """State of a call, and the raw result if this very attempt returned it."""

    entry: Operation
    result: Any = None
    ending: Ending | None = None
    """How the last attempt ended, or the read of an earlier one's effect; None if neither was made."""
    reason: str = ""


class _Body(Struct, frozen=True):
    """Content of a call as recorded in the ledger."""

    given: str
    """BLAKE3 digest of the arguments as the caller gave them."""
    embedding: list[str]
    """How the token was embedded."""
    arguments: dict[str, Any]


CallSteps = Generator[Invoke | Pause, ToolAnswer | None, T]


class GuardedCalls:
    """The steps of calls to one server's tools.

    They are recorded in a ledger under the server's name; a call is left for later after `attempts` attempts.
    """

    def __init__(self, ledger: Ledger, server: str, tools: Mapping[str, Strategy | ReadOnly], attempts: int) -> None:
        self._ledger = ledger
        self._prefix = f"{server}/"
        self._tools = tools
        self._attempts = attempts
        self._chance = random.SystemRandom().random
        self._ended_at: dict[tuple[str, int], float] = {}
        """When each attempt was first known to have ended, by a monotonic clock."""

    def _strategy(self, tool: str) -> Strategy:
        """Return the declared strategy of a tool; an undeclared tool is never called again."""
        declared = self._tools.get(tool)
        return UNDECLARED if declared is None or isinstance(declared, ReadOnly) else declared

    def prepare(self, tool: str, arguments: Mapping[str, Any], operation: str | None) -> str:
        """Record a call and return its operation id.

        Raises CallError if it cannot be made, or if the operation was another call; LedgerError.
        """
        strategy = self._strategy(tool)
        given = blake3(canonical(arguments)).hexdigest()

        def body_of(token: str) -> bytes:
            body = _Body(given, describe_embedding(strategy), embed(strategy, arguments, token))
            return canonical(msgspec.structs.asdict(body))

        operation_id = self._ledger.record_call(
            f"{self._prefix}{tool}", fingerprint(arguments, operation), body_of, named=operation is not None
        )
        if _body(self._ledger.entry(operation_id)).given != given:
            message = f"operation {operation} of {tool} was another call, with other arguments"
            raise CallError(message)
        return operation_id

    def call(self, tool: str, arguments: Mapping[str, Any], operation: str | None) -> CallSteps[CallOutcome]:
        """Record a call and make it."""
        # One write to disk records both the operation and the begin of its first attempt.
        with self._ledger.together():
            operation_id = self.prepare(tool, arguments, operation)
            entry = self._ledger.entry(operation_id)
            begun = None if entry.attempts or entry.state in SETTLED else self._claim(operation_id, 0)
        return (yield from self._try_repeatedly(operation_id, begun))

    def send(self, operation_id: str) -> CallSteps[CallOutcome]:
        """Make a recorded call unless it is settled.

        Raises CallError if it is not a call of this server's tools.
        """
        entry = self._ledger.entry(operation_id)
        if entry.kind != "call" or not entry.name.startswith(self._prefix):
            message = f"{operation_id} is {entry.name}, no call of {self._prefix[:-1]}"
            raise CallError(message)
        return (yield from self._try_repeatedly(operation_id, None))

    def _try_repeatedly(
        self, operation_id: str, begun: Operation | None, *, patient: bool = False
    ) -> CallSteps[CallOutcome]:
        outcome = CallOutcome(entry=begun or self._ledger.entry(operation_id))
        for attempt in range(self._attempts):
            outcome = yield from self._try_once(
                begun or self._ledger.entry(operation_id), patient=patient, begun=bool(begun)
            )
            begun = None
            if outcome.entry.state in SETTLED:
                return outcome
            if attempt + 1 < self._attempts:
                yield Pause(pause(attempt, None, self._chance))
        if patient and outcome.ending in {"error", "unclear"}:
            # The server answered, and would give the same answer at each start.
            reason = f"an earlier attempt may have had its effect; the last: {outcome.reason}"
            return CallOutcome(entry=self._end(outcome.entry, "needs_review", reason))
        return outcome

    def _try_once(self, entry: Operation, *, patient: bool, begun: bool) -> CallSteps[CallOutcome]:
        """Make one attempt, if the strategy permits it."""
        if entry.state in SETTLED:
            return CallOutcome(entry=entry)
        strategy = self._strategy(entry.name.removeprefix(self._prefix))
        proven = False
        if not begun:
            outcome = yield from self._check_earlier(entry, strategy, patient=patient)
            if outcome is not None:
                return outcome
            proven = isinstance(strategy, ReconcileRead)
            entry = self._claim(entry.operation_id, entry.attempts)
            if entry.state in SETTLED:
                return CallOutcome(entry=entry)
        return (yield from self._attempt(entry, strategy, sole=proven or entry.attempts == 1))

    def _claim(self, operation_id: str, after: int) -> Operation:
        """Record that an attempt begins and mark it as in hand, as one step for other threads.

        Raises UnderWayError.
        """
        try:
            with self._ledger.together():
                entry = self._ledger.begin(operation_id, after=after)
                if entry.state not in SETTLED:
                    self._ledger.in_hand.add(operation_id)
        except UnderWayError:
            raise
        except BaseException:
            self._ledger.in_hand.discard(operation_id)
            raise
        return entry

    def _attempt(self, entry: Operation, strategy: Strategy, *, sole: bool) -> CallSteps[CallOutcome]:
        """Call the tool and record what its answer means."""
        try:
            with self._record_interruption(entry, strategy, sole=sole):
                answer = yield Invoke(entry.name.removeprefix(self._prefix), _body(entry).arguments)
            answer = answer or ToolAnswer(ending="silent", reason="no answer")
            recorded = self._record_answer(entry, strategy, answer, sole=sole)
        finally:
            self._ledger.in_hand.discard(entry.operation_id)
            self._note_end(entry)
        return CallOutcome(entry=recorded, result=answer.result, ending=answer.ending, reason=answer.reason)

    def _note_end(self, entry: Operation) -> float:
        """Return when this attempt was first known to have ended."""
        return self._ended_at.setdefault((entry.operation_id, entry.attempts), time.monotonic())

    def _record_answer(self, entry: Operation, strategy: Strategy, answer: ToolAnswer, *, sole: bool) -> Operation:
        receipt = encode_result(answer.result) if answer.result is not None else None
        ruling = rule_call(strategy, answer.ending, answer.reason, sole=sole)
        return self._ledger.record_answer(entry.operation_id, lambda _: ruling, receipt)

    def _end(self, entry: Operation, state: State, reason: str, receipt: bytes | None = None) -> Operation:
        """End an operation, unless another attempt has begun meanwhile."""
        ruling = DeliveryRuling(state=state, final=receipt is not None, reason=reason)
        attempts = entry.attempts
        return self._ledger.record_answer(
            entry.operation_id,
            lambda now: ruling if now.attempts == attempts and not self._ledger.under_way(now) else None,
            receipt,
        )

    def _check_earlier(self, entry: Operation, strategy: Strategy, *, patient: bool) -> CallSteps[CallOutcome | None]:
        """Check what became of earlier attempts; None means that the call may be made.

        Raises UnderWayError.
        """
        if self._ledger.under_way(entry):
            raise UnderWayError(entry.operation_id)
        if _body(entry).embedding != describe_embedding(strategy):
            reason = f"it was recorded while its tool was declared otherwise: {entry.reason}"
            return CallOutcome(entry=self._end(entry, "needs_review" if entry.attempts else "failed", reason))
        if not entry.attempts or not isinstance(strategy, NeverResend | ReconcileRead):
            return None
        if isinstance(strategy, NeverResend):
            return CallOutcome(entry=self._end(entry, "needs_review", f"it may have had its effect: {entry.reason}"))
        return (yield from self._reconcile(entry, strategy, patient=patient))

    def _reconcile(self, entry: Operation, strategy: ReconcileRead, *, patient: bool) -> CallSteps[CallOutcome | None]:
        """Read whether the effect exists; None means that it does not and cannot appear any more."""
        missing = self._note_end(entry) + strategy.late - time.monotonic()
        while True:
            answer = (yield Invoke(strategy.read, read_arguments(strategy, entry.operation_id))) or _NO_ANSWER
            exists = _has_effect(strategy, answer, entry.operation_id)
            if exists:
                reason = f"{strategy.read} found its effect"
                return CallOutcome(entry=self._end(entry, "committed", reason, encode_result(answer.result)))
            if exists is None:
                ending: Ending = "silent" if answer.ending == "silent" else "unclear"
                reason = answer.reason or f"the result of {strategy.read} does not say"
                return CallOutcome(entry=entry, ending=ending, reason=reason)
            if missing <= 0:
                return None
            if not patient:
                return CallOutcome(entry=entry)
            yield Pause(missing)
            missing = 0.0

    @contextlib.contextmanager
    def _record_interruption(self, entry: Operation, strategy: Strategy, *, sole: bool) -> Iterator[None]:
        """If the caller is cancelled while waiting, record that now instead of at the next start."""
        try:
            yield
        except BaseException as interruption:
            # If this cannot be written now, the next look at the operation finds it; the cancellation goes on.
            with contextlib.suppress(AntechamberError):
                if isinstance(interruption, UnsentError) and sole:
                    ruling = DeliveryRuling(state="failed", final=False, reason="interrupted before it was sent")
                    self._ledger.record_answer(entry.operation_id, lambda _: ruling)
                else:
                    answer = ToolAnswer(ending="silent", reason="interrupted before an answer came")
                    self._record_answer(entry, strategy, answer, sole=sole)
            raise

    def recover(self, progress: Callable[[int], None]) -> CallSteps[Recovery]:
        """Settle what is uncertain; if the server does not answer, leave the rest for later."""
        settled: Counter[State] = Counter()
        left: Counter[str] = Counter()
        elsewhere = silent = 0
        self._ledger.sweep()
        ours = [entry.operation_id for entry in self._unsettled() if self._note_end(entry)]
        for operation_id in ours:
            entry = self._ledger.entry(operation_id)
            if self._ledger.under_way(entry):
                elsewhere += 1
                continue
            outcome = CallOutcome(entry=entry, reason="the server does not answer", ending="silent")
            if silent < MAX_UNANSWERED:
                outcome = yield from self._recover_one(entry)
            silent = silent + 1 if outcome.ending == "silent" and outcome.entry.state not in SETTLED else 0
            settled[outcome.entry.state] += 1
            if outcome.entry.state not in SETTLED:
                left[outcome.reason or outcome.entry.reason] += 1
            progress(1)
        return Recovery(found=settled.total(), settled=dict(settled), elsewhere=elsewhere, left=dict(left))

    def _unsettled(self) -> Iterator[Operation]:
        """Yield this server's unsettled calls."""
        for entry in self._ledger.entries("pending", "uncertain"):
            if entry.kind == "call" and entry.name.startswith(self._prefix):
                yield entry

    def _recover_one(self, entry: Operation) -> CallSteps[CallOutcome]:
        """Settle one operation, unless another task or process is working on it."""
        try:
            return (yield from self._try_repeatedly(entry.operation_id, None, patient=True))
        except UnderWayError:
            return CallOutcome(entry=self._ledger.entry(entry.operation_id))


def _body(entry: Operation) -> _Body:
    # The standard library decodes numbers of any size unchanged.
    return _Body(**json.loads(entry.body or b"{}"))


def _has_effect(strategy: ReconcileRead, answer: ToolAnswer, token: str) -> bool | None:
    """Return whether the read found the effect; None if it failed or its result was not understood."""
    if answer.ending != "done":
        return None
    try:
        exists = strategy.found(answer.result, token)
    except Exception:  # noqa: BLE001 -- a result that `found` does not understand proves nothing
        return None
    return exists if isinstance(exists, bool) else None


_NO_ANSWER: Final = ToolAnswer(ending="silent", reason="no answer")


def answer_of_result(result: Any) -> ToolAnswer:
    """Return how a call ended that returned this result."""
    ending, reason = ending_of(result)
    return ToolAnswer(ending=ending, reason=reason, result=result)
