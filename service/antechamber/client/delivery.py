"""The steps of a sender: record, send, evaluate the answer, retry; each yields a request and gets its response."""

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from antechamber.client.operation import Operation
from antechamber.client.retry import MAX_PAUSE_SECONDS, RETRYABLE, CircuitBreaker, pause
from antechamber.client.wire import Call, Pause, Response, answer_of, answers_of, read_as
from antechamber.core.contract import MAX_BATCH, MAX_LINES
from antechamber.core.delivery_rules import (
    REFUSED,
    SETTLED,
    DeliveryRuling,
    ServerAnswer,
    State,
    refuses_bearer,
    rule,
    rule_seal,
)
from antechamber.core.errors import AntechamberError

SUBMISSIONS: Final = "/v1/submissions"
NDJSON: Final = "application/x-ndjson"
_TOO_MUCH: Final = frozenset({400, 413})
"""Statuses of a whole batch that may apply to only a part of it."""
Step = Call | Pause
T = TypeVar("T")
DeliverySteps = Generator[Step, Response | None, T]


class OperationStore(Protocol):
    """Where operations are recorded: a Ledger, or a MemoryLedger, which keeps nothing on disk."""

    def prepare(self, event: Mapping[str, Any] | bytes, *, again: bool = False) -> str:
        """Record an event and return its operation id."""
        ...

    def prepare_all(self, events: Iterable[Mapping[str, Any] | bytes]) -> list[str]:
        """Record the events of a batch as one write, all or none, and return their operation ids in order."""
        ...

    def entry(self, operation_id: str) -> Operation:
        """Return one operation."""
        ...

    def begin(self, operation_id: str) -> Operation:
        """Record that an attempt begins."""
        ...

    def settle(
        self, operation_id: str, judge: Callable[[Operation], DeliveryRuling], answer: bytes | None = None
    ) -> Operation:
        """Record the result of an answer."""
        ...

    def together(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which several records become one write."""
        ...


class Recovery(Struct, frozen=True, kw_only=True):
    """Result of a recovery: what became of the uncertain operations."""

    found: int
    """Number of operations that were uncertain."""
    settled: dict[State, int]
    """Their states after the recovery, with the number of operations in each."""
    elsewhere: int
    """Number of operations in progress in another running process."""
    left: dict[str, int]
    """Reasons why operations are still uncertain, with the number of operations for each."""


class Delivery:
    """The steps of one sender.

    It records operations in `book` and makes up to `attempts` attempts before it leaves an operation for later.
    """

    def __init__(self, book: OperationStore, breaker: CircuitBreaker, attempts: int) -> None:
        self._book = book
        self._breaker = breaker
        self._attempts = attempts
        self._chance = random.SystemRandom().random

    def submit(self, event: Mapping[str, Any] | bytes, *, again: bool) -> DeliverySteps[Operation]:
        """Record an event and send it; return its entry."""
        # One write to disk records both the operation and the begin of its first attempt.
        with self._book.together():
            operation_id = self._book.prepare(event, again=again)
            begun = None if self._breaker.remaining() else self._book.begin(operation_id)
        return (yield from self._attempt(operation_id, begun))

    def send(self, operation_id: str) -> DeliverySteps[Operation]:
        """Send a recorded operation unless it is settled; return its entry."""
        return (yield from self._attempt(operation_id, None))

    def _attempt(self, operation_id: str, begun: Operation | None) -> DeliverySteps[Operation]:
        for attempt in range(self._attempts):
            if self._breaker.remaining():
                break
            entry = begun or self._book.begin(operation_id)
            begun = None
            if entry.state in SETTLED:
                return entry
            with self._interrupted([operation_id]):
                what = yield Call(method="POST", path=SUBMISSIONS, content=entry.body)
            answer = self._learn(what)
            entry = self._settle(operation_id, answer)
            if entry.state in SETTLED or _stop(answer) or attempt + 1 == self._attempts:
                return entry
            yield Pause(pause(attempt, answer.retry_after, self._chance))
        return self._book.entry(operation_id)

    def _learn(self, what: Response | None) -> ServerAnswer:
        answer = answer_of(what or Response())
        self._breaker.record(answer)
        return answer

    def _settle(self, operation_id: str, answer: ServerAnswer) -> Operation:
        return self._book.settle(operation_id, lambda entry: _judged(entry, answer), _kept(answer))

    @contextlib.contextmanager
    def _interrupted(self, operations: Iterable[str]) -> Iterator[None]:
        """If the caller is cancelled while waiting, mark the operations uncertain now instead of at the next start."""
        try:
            yield
        except BaseException:
            unknown = ServerAnswer(reason="interrupted before an answer came")
            # If this cannot be written now, the next opening of the ledger finds it; the cancellation goes on.
            with contextlib.suppress(AntechamberError), self._book.together():
                for operation_id in operations:
                    self._settle(operation_id, unknown)
            raise

    def send_all(self, operations: list[str]) -> DeliverySteps[tuple[list[Operation], set[str]]]:
        """Send recorded operations as one batch; return the entries in order, and the ids that were finally refused."""
        waiting, refused = operations, set[str]()
        for attempt in range(self._attempts):
            if self._breaker.remaining():
                break
            with self._book.together():
                begun = [self._book.begin(operation_id) for operation_id in waiting]
            begun = [entry for entry in begun if entry.state not in SETTLED]
            if not begun:
                break
            waiting = [entry.operation_id for entry in begun]
            with self._interrupted(waiting):
                what = yield _batch(begun)
            answers, whole = self._hear_all(what, len(begun))
            with self._book.together():
                settled = [self._settle(*one) for one in zip(waiting, answers, strict=True)]
            if whole.status in _TOO_MUCH and len(waiting) > 1:
                refused |= yield from self._send_halves(waiting)
                break
            no = {one: answer for one, answer in zip(waiting, answers, strict=True) if answer.status in REFUSED}
            # If only the token was refused, the bytes may be valid.
            refused |= {one for one, answer in no.items() if not refuses_bearer(answer)}
            waiting = [
                entry.operation_id for entry in settled if entry.state not in SETTLED and entry.operation_id not in no
            ]
            if not waiting or _stop(whole):
                break
            if attempt + 1 < self._attempts:
                yield Pause(pause(attempt, whole.retry_after, self._chance))
        return [self._book.entry(operation_id) for operation_id in operations], refused

    def _send_halves(self, operations: list[str]) -> DeliverySteps[set[str]]:
        """Send a batch that was too large, perhaps for a proxy, as two halves; return the ids of refused lines."""
        middle = len(operations) // 2
        refused = set[str]()
        for half in (operations[:middle], operations[middle:]):
            _, more = yield from self.send_all(half)
            refused |= more
        return refused

    def _hear_all(self, what: Response | None, number: int) -> tuple[list[ServerAnswer], ServerAnswer]:
        """Return an answer for each line, and the one that decides how to continue."""
        what = what or Response()
        answers = answers_of(what, number)
        if answers is not None:
            self._breaker.record(answers[-1])
            return answers, ServerAnswer(status=what.status, retry_after=1.0)
        whole = self._learn(what)
        if whole.status in _TOO_MUCH and number > 1:
            # The status applies to the batch, not to each line.
            return [ServerAnswer(reason=whole.reason)] * number, whole
        return [whole] * number, whole

    def seal(self, operation_id: str) -> DeliverySteps[Operation]:
        """Seal the key of a recorded operation unless it is settled; return its entry."""
        entry = self._book.begin(operation_id)
        if entry.state in SETTLED:
            return entry
        with self._interrupted([operation_id]):
            what = yield Call(method="PUT", path=f"{SUBMISSIONS}/by-key/{entry.key}/seal")
        answer = self._learn(what)
        return self._book.settle(
            operation_id,
            lambda now: rule_seal(
                answer,
                producer=now.name,
                key=now.key,
                source_event_hash=now.source_event_hash or "",
                sole=now.in_flight == 1,
            ),
            _kept(answer),
        )

    def recover(self, uncertain: Iterable[Operation], progress: Callable[[int], None]) -> DeliverySteps[Recovery]:
        """Settle uncertain operations: send the same bytes again, and seal the key if the service refuses them."""
        settled: Counter[State] = Counter()
        left: Counter[str] = Counter()
        found = 0
        for group in divide_into_batches(uncertain, body_size):
            entries, refused = yield from self.send_all([entry.operation_id for entry in group])
            for one in entries:
                entry = one
                if entry.state not in SETTLED and entry.operation_id in refused:
                    entry = yield from self.seal(entry.operation_id)
                settled[entry.state] += 1
                if entry.state not in SETTLED:
                    left[entry.reason] += 1
            found += len(group)
            progress(len(group))
        return Recovery(found=found, settled=dict(settled), elsewhere=0, left=dict(left))

    def read(self, path: str, params: dict[str, str] | None, kind: type[T]) -> DeliverySteps[T | None]:
        """Read a resource; return None if nothing by that name is visible.

        Raises ReadError.
        """
        what = Response()
        for attempt in range(self._attempts):
            what = (yield Call(method="GET", path=path, params=params)) or Response()
            if what.status is not None and what.status not in RETRYABLE:
                break
            if (what.retry_after or 0) > MAX_PAUSE_SECONDS or attempt + 1 == self._attempts:
                break
            yield Pause(pause(attempt, what.retry_after, self._chance))
        return read_as(what, kind)


def divide_into_batches(lines: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Divide lines into batches that the service accepts: at most 1,000 lines and 4 MiB each, line ends included."""
    batch: list[T] = []
    size = 0
    for line in lines:
        line_size = size_of(line) + 1
        if batch and (len(batch) == MAX_LINES or size + line_size > MAX_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += line_size
    if batch:
        yield batch


def body_size(entry: Operation) -> int:
    """Return the bytes of an operation's body; 0 if it was erased."""
    return len(entry.body or b"")


def _batch(entries: list[Operation]) -> Call:
    content = b"\n".join(entry.body or b"" for entry in entries)
    return Call(method="POST", path=f"{SUBMISSIONS}/batch", content=content, media_type=NDJSON)


def _judged(entry: Operation, answer: ServerAnswer) -> DeliveryRuling:
    hash_ = entry.source_event_hash or ""
    sole = entry.in_flight == 1
    return rule(answer, producer=entry.name, key=entry.key, source_event_hash=hash_, sole=sole)


def _kept(answer: ServerAnswer) -> bytes | None:
    return msgspec.json.encode(answer.receipt) if answer.receipt else None


def _stop(answer: ServerAnswer) -> bool:
    """Return whether an immediate retry is useless: after a refusal, or if the service asks for a longer pause."""
    return answer.status in REFUSED or (answer.retry_after or 0) > MAX_PAUSE_SECONDS
