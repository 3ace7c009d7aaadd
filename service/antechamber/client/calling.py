"""The steps of a guarded call: record, call, believe, and after an unclear answer what the tool's strategy allows."""

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec
from blake3 import blake3
from msgspec import Struct

from antechamber.client.entry import Entry
from antechamber.client.exchange import Pause, pause
from antechamber.client.ledger import Ledger, UnderWayError
from antechamber.client.steps import Recovery
from antechamber.client.tool_results import ending_of, keep
from antechamber.core.calls import (
    CallError,
    Ending,
    NeverResend,
    ReadOnly,
    ReconcileRead,
    Strategy,
    canonical,
    embed,
    fingerprint,
    reading,
    rule_call,
)
from antechamber.core.errors import AntechamberError
from antechamber.core.ledger import SETTLED, Ruling, State

SILENT: Final = 5
"""Operations in a row without an answer, after which recovery leaves the rest for later."""
T = TypeVar("T")


class Invoke(Struct, frozen=True):
    """A tool to call."""

    tool: str
    arguments: dict[str, Any]


class Told(Struct, frozen=True, kw_only=True):
    """What came of it."""

    ending: Ending
    said: str
    result: Any = None


class Made(Struct, frozen=True, kw_only=True):
    """A call as it stands, and the result as it came where this very attempt brought it."""

    entry: Entry
    result: Any = None
    ending: Ending | None = None
    """How the last attempt ended; None where none was made."""


class _Body(Struct, frozen=True):
    """What the ledger keeps of a call."""

    given: str
    """BLAKE3 of the arguments as the caller gave them."""
    arguments: dict[str, Any]


Steps = Generator[Invoke | Pause, Told | None, T]


class Calling:
    """The steps of calls to one server's tools."""

    def __init__(self, ledger: Ledger, server: str, tools: Mapping[str, Strategy | ReadOnly], attempts: int) -> None:
        """Record in a ledger, under the server's name; try so many times before a call is left for later."""
        self._ledger = ledger
        self._prefix = f"{server}/"
        self._tools = tools
        self._attempts = attempts
        self._chance = random.SystemRandom().random

    def _strategy(self, tool: str) -> Strategy:
        """Return what was declared; whatever was not is never sent again."""
        declared = self._tools.get(tool)
        return NeverResend() if declared is None or isinstance(declared, ReadOnly) else declared

    def prepare(self, tool: str, arguments: Mapping[str, Any], operation: str | None) -> str:
        """Record a call and return its operation id.

        Raises CallError where it cannot be made, or where the operation was another call; LedgerError.
        """
        strategy = self._strategy(tool)
        given = blake3(canonical(arguments)).hexdigest()

        def body_of(token: str) -> bytes:
            return canonical(msgspec.structs.asdict(_Body(given, embed(strategy, arguments, token))))

        found = self._ledger.record_call(
            f"{self._prefix}{tool}", fingerprint(arguments, operation), body_of, named=operation is not None
        )
        if _body(self._ledger.entry(found)).given != given:
            message = f"operation {operation} of {tool} was another call, with other arguments"
            raise CallError(message)
        return found

    def call(self, tool: str, arguments: Mapping[str, Any], operation: str | None) -> Steps[Made]:
        """Record a call and make it."""
        # One write to disk for both: that it is there, and that its first attempt begins.
        with self._ledger.together():
            operation_id = self.prepare(tool, arguments, operation)
            entry = self._ledger.entry(operation_id)
            begun = None if entry.attempts else self._ledger.begin(operation_id, after=0)
        return (yield from self._go(operation_id, begun))

    def send(self, operation_id: str) -> Steps[Made]:
        """Make a call that was recorded, unless it is settled.

        Raises CallError where it is no call of this server's tools.
        """
        entry = self._ledger.entry(operation_id)
        if entry.kind != "call" or not entry.name.startswith(self._prefix):
            message = f"{operation_id} is {entry.name}, no call of {self._prefix[:-1]}"
            raise CallError(message)
        return (yield from self._go(operation_id, None))

    def _go(self, operation_id: str, begun: Entry | None, *, patient: bool = False) -> Steps[Made]:
        made = Made(entry=begun or self._ledger.entry(operation_id))
        for attempt in range(self._attempts):
            made = yield from self._once(begun or self._ledger.entry(operation_id), patient=patient, begun=bool(begun))
            begun = None
            if made.entry.state in SETTLED:
                return made
            if attempt + 1 < self._attempts:
                yield Pause(pause(attempt, None, self._chance))
        if patient and made.ending in {"error", "refused"}:
            reason = f"an earlier attempt may have had its effect; the last: {made.entry.reason}"
            return Made(entry=self._end(made.entry, "needs_review", reason))
        return made

    def _once(self, entry: Entry, *, patient: bool, begun: bool) -> Steps[Made]:
        """Make one attempt, where it may be made."""
        if entry.state in SETTLED:
            return Made(entry=entry)
        strategy = self._strategy(entry.name.removeprefix(self._prefix))
        proven = False
        if not begun:
            if entry.attempts:
                made = yield from self._look(entry, strategy, patient=patient)
                if made is not None:
                    return made
                proven = isinstance(strategy, ReconcileRead)
            entry = self._ledger.begin(entry.operation_id, after=entry.attempts)
            if entry.state in SETTLED:
                return Made(entry=entry)
        sole = proven or entry.attempts == 1
        with self._interrupted(entry, strategy, sole=sole):
            told = yield Invoke(entry.name.removeprefix(self._prefix), _body(entry).arguments)
        told = told or Told(ending="unclear", said="no answer")
        return Made(entry=self._settle(entry, strategy, told, sole=sole), result=told.result, ending=told.ending)

    def _settle(self, entry: Entry, strategy: Strategy, told: Told, *, sole: bool) -> Entry:
        kept = keep(told.result) if told.result is not None else None
        ruling = rule_call(strategy, told.ending, told.said, sole=sole)
        return self._ledger.settle(entry.operation_id, lambda _: ruling, kept)

    def _end(self, entry: Entry, state: State, reason: str, kept: bytes | None = None) -> Entry:
        ruling = Ruling(state=state, final=kept is not None, reason=reason)
        return self._ledger.settle(entry.operation_id, lambda _: ruling, kept)

    def _look(self, entry: Entry, strategy: Strategy, *, patient: bool) -> Steps[Made | None]:
        """Look after what became of earlier attempts; None says that the call may be made again.

        Raises UnderWayError.
        """
        if entry.session is not None:
            raise UnderWayError(entry.operation_id)
        if isinstance(strategy, NeverResend):
            return Made(entry=self._end(entry, "needs_review", f"it may have had its effect: {entry.reason}"))
        if not isinstance(strategy, ReconcileRead):
            return None
        missing = strategy.late - self._ledger.age(entry)
        while True:
            told = (yield Invoke(strategy.read, reading(strategy, entry.operation_id))) or Told(
                ending="unclear", said=""
            )
            seen = _seen(strategy, told, entry.operation_id)
            if seen:
                reason = f"{strategy.read} found its effect"
                return Made(entry=self._end(entry, "committed", reason, keep(told.result)))
            if seen is not None and missing <= 0:
                return None
            if seen is None or not patient:
                return Made(entry=entry)
            # A clock that was set back lets nobody wait for longer than a late request can take.
            yield Pause(min(missing, strategy.late))
            missing = 0.0

    @contextlib.contextmanager
    def _interrupted(self, entry: Entry, strategy: Strategy, *, sole: bool) -> Iterator[None]:
        """Whoever stops waiting for an answer does not know it: write that down at once, not at the next start."""
        try:
            yield
        except BaseException:
            # What cannot be written now is found when the ledger is opened next; the interruption goes on.
            with contextlib.suppress(AntechamberError):
                told = Told(ending="unclear", said="interrupted before an answer came")
                self._settle(entry, strategy, told, sole=sole)
            raise

    def recover(self, progress: Callable[[int], None]) -> Steps[Recovery]:
        """Settle what is uncertain; where the server stays silent the rest is left for later."""
        settled: Counter[State] = Counter()
        left: Counter[str] = Counter()
        found = elsewhere = silent = 0
        self._ledger.sweep()
        for entry in self._ledger.entries("pending", "uncertain"):
            if entry.kind != "call" or not entry.name.startswith(self._prefix):
                continue
            if self._ledger.under_way_elsewhere(entry) or (entry.session is not None and entry.attempts):
                elsewhere += 1
                continue
            found += 1
            if silent >= SILENT:
                settled[entry.state] += 1
                left["the server does not answer"] += 1
                continue
            made = yield from self._recovered(entry)
            silent = 0 if made.entry.state in SETTLED else silent + 1
            settled[made.entry.state] += 1
            if made.entry.state not in SETTLED:
                left[made.entry.reason] += 1
            progress(1)
        return Recovery(found=found, settled=dict(settled), elsewhere=elsewhere, left=dict(left))

    def _recovered(self, entry: Entry) -> Steps[Made]:
        """Settle one operation, unless somebody else is at it."""
        try:
            return (yield from self._go(entry.operation_id, None, patient=True))
        except UnderWayError:
            return Made(entry=self._ledger.entry(entry.operation_id))


def _body(entry: Entry) -> _Body:
    # Numbers of any size come back as they were given.
    return _Body(**json.loads(entry.body or b"{}"))


def _seen(strategy: ReconcileRead, told: Told, token: str) -> bool | None:
    """Say whether reading found the effect; None where it could not be read."""
    if told.ending != "done":
        return None
    try:
        return bool(strategy.found(told.result, token))
    except Exception:  # noqa: BLE001 -- a result that its reader does not understand shows nothing
        return None


def told_of(result: Any) -> Told:
    """Say what a result means."""
    ending, said = ending_of(result)
    return Told(ending=ending, said=said, result=result)
