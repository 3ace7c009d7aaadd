"""The steps of a sender: record, send, evaluate the answer, retry; each yields a request and gets its response."""

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from antechamber.client.operation import Operation
from antechamber.client.retry import MAX_PAUSE_SECONDS, CircuitBreaker, pause
from antechamber.client.wire import (
    Call,
    Pause,
    QueryParameters,
    Response,
    answer_of,
    answers_of,
    decode_as,
    is_missing,
    is_passing,
    note_of_response,
)
from antechamber.core.contract import MAX_BATCH, MAX_LINES, NoteItem
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
from antechamber.core.outgoing import OutgoingNote

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

    def prepare_all(self, events: Iterable[Mapping[str, Any] | bytes], first: int = 1) -> list[str]:
        """Record the events of a batch as one write, all or none, and return their operation ids in order.

        `first` is the number of the first event.
        """
        ...

    def entry(self, operation_id: str) -> Operation:
        """Return one operation."""
        ...

    def begin(self, operation_id: str) -> Operation:
        """Record that an attempt begins."""
        ...

    def record_answer(
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

    It records them in `operations` and makes up to `attempts` attempts before it leaves an operation for later.
    """

    def __init__(self, operations: OperationStore, breaker: CircuitBreaker, attempts: int) -> None:
        self._operations = operations
        self._breaker = breaker
        self._attempts = attempts
        self._chance = random.SystemRandom().random

    def submit(self, event: Mapping[str, Any] | bytes, *, again: bool) -> DeliverySteps[Operation]:
        """Record an event and send it; return its entry."""
        # One write to disk records both the operation and the begin of its first attempt.
        with self._operations.together():
            operation_id = self._operations.prepare(event, again=again)
            begun = None if self._breaker.remaining() else self._operations.begin(operation_id)
        return (yield from self._attempt(operation_id, begun))

    def send(self, operation_id: str) -> DeliverySteps[Operation]:
        """Send a recorded operation unless it is settled; return its entry. The circuit breaker does not block it."""
        self._breaker.permit_one()
        return (yield from self._attempt(operation_id, None))

    def _attempt(self, operation_id: str, begun: Operation | None) -> DeliverySteps[Operation]:
        for attempt in range(self._attempts):
            if self._breaker.remaining():
                break
            entry = begun or self._operations.begin(operation_id)
            begun = None
            if entry.state in SETTLED:
                return entry
            with self._record_interruption([operation_id]):
                response = yield Call(method="POST", path=SUBMISSIONS, content=entry.body)
            answer = self._read_answer(response)
            entry = self._record_answer(operation_id, answer)
            if entry.state in SETTLED or _is_retry_useless(answer) or attempt + 1 == self._attempts:
                return entry
            yield Pause(pause(attempt, answer.retry_after, self._chance))
        return self._operations.entry(operation_id)

    def _read_answer(self, response: Response | None) -> ServerAnswer:
        answer = answer_of(response or Response())
        self._breaker.record(answer)
        return answer

    def _record_answer(self, operation_id: str, answer: ServerAnswer) -> Operation:
        return self._operations.record_answer(
            operation_id, lambda entry: _judge(entry, answer), _encode_receipt(answer)
        )

    @contextlib.contextmanager
    def _record_interruption(self, operations: Iterable[str]) -> Iterator[None]:
        """If the caller is cancelled while waiting, mark the operations uncertain now instead of at the next start."""
        try:
            yield
        except BaseException:
            unknown = ServerAnswer(reason="interrupted before an answer came")
            # If this cannot be written now, the next opening of the ledger finds it; the cancellation goes on.
            with contextlib.suppress(AntechamberError), self._operations.together():
                for operation_id in operations:
                    self._record_answer(operation_id, unknown)
            raise

    def send_all(self, operations: list[str]) -> DeliverySteps[tuple[list[Operation], set[str]]]:
        """Send recorded operations as one batch; return the entries in order, and the ids that were finally refused."""
        waiting, refused = operations, set[str]()
        for attempt in range(self._attempts):
            if self._breaker.remaining():
                break
            with self._operations.together():
                begun = [self._operations.begin(operation_id) for operation_id in waiting]
            begun = [entry for entry in begun if entry.state not in SETTLED]
            if not begun:
                break
            waiting = [entry.operation_id for entry in begun]
            with self._record_interruption(waiting):
                response = yield _batch_call(begun)
            answers, whole = self._read_answers(response, len(begun))
            with self._operations.together():
                recorded = [self._record_answer(*pair) for pair in zip(waiting, answers, strict=True)]
            if whole.status in _TOO_MUCH and len(waiting) > 1:
                refused |= yield from self._send_halves(waiting)
                break
            answered = dict(zip(waiting, answers, strict=True))
            refusals = {operation_id: answer for operation_id, answer in answered.items() if answer.status in REFUSED}
            # If only the token was refused, the bytes may be valid.
            refused |= {operation_id for operation_id, answer in refusals.items() if not refuses_bearer(answer)}
            waiting = [
                entry.operation_id
                for entry in recorded
                if entry.state not in SETTLED and entry.operation_id not in refusals
            ]
            if not waiting or _is_retry_useless(whole):
                break
            if attempt + 1 < self._attempts:
                yield Pause(pause(attempt, whole.retry_after, self._chance))
        return [self._operations.entry(operation_id) for operation_id in operations], refused

    def _send_halves(self, operations: list[str]) -> DeliverySteps[set[str]]:
        """Send a batch that was too large, perhaps for a proxy, as two halves; return the ids of refused lines."""
        middle = len(operations) // 2
        refused = set[str]()
        for half in (operations[:middle], operations[middle:]):
            _, more = yield from self.send_all(half)
            refused |= more
        return refused

    def _read_answers(self, response: Response | None, count: int) -> tuple[list[ServerAnswer], ServerAnswer]:
        """Return an answer for each line, and the one that decides how to continue."""
        response = response or Response()
        answers = answers_of(response, count)
        if answers is not None:
            self._breaker.record(answers[-1])
            return answers, ServerAnswer(status=response.status, retry_after=1.0)
        whole = self._read_answer(response)
        if whole.status in _TOO_MUCH and count > 1:
            # The status applies to the batch, not to each line.
            return [ServerAnswer(reason=whole.reason)] * count, whole
        return [whole] * count, whole

    def seal(self, operation_id: str) -> DeliverySteps[Operation]:
        """Seal the key of a recorded operation unless it is settled; return its entry."""
        entry = self._operations.begin(operation_id)
        if entry.state in SETTLED:
            return entry
        with self._record_interruption([operation_id]):
            response = yield Call(method="PUT", path=f"{SUBMISSIONS}/by-key/{entry.key}/seal")
        answer = self._read_answer(response)
        return self._operations.record_answer(
            operation_id,
            lambda now: rule_seal(
                answer,
                producer=now.name,
                key=now.key,
                source_event_hash=now.source_event_hash or "",
                sole=now.in_flight == 1,
            ),
            _encode_receipt(answer),
        )

    def recover(self, uncertain: Iterable[Operation], progress: Callable[[int], None]) -> DeliverySteps[Recovery]:
        """Settle uncertain operations: send the same bytes again, and seal the key if the service refuses them.

        The circuit breaker does not block the first attempt.
        """
        self._breaker.permit_one()
        settled: Counter[State] = Counter()
        left: Counter[str] = Counter()
        count = 0
        for group in divide_into_batches(uncertain, body_size):
            entries, refused = yield from self.send_all([entry.operation_id for entry in group])
            for sent in entries:
                entry = sent
                if entry.state not in SETTLED and entry.operation_id in refused:
                    entry = yield from self.seal(entry.operation_id)
                settled[entry.state] += 1
                if entry.state not in SETTLED:
                    left[entry.reason] += 1
            count += len(group)
            progress(len(group))
        return Recovery(found=count, settled=dict(settled), elsewhere=0, left=dict(left))

    def read(self, path: str, params: QueryParameters | None, kind: type[T]) -> DeliverySteps[T]:
        """Read a resource that every service has.

        Raises ReadError.
        """
        return decode_as((yield from self._exchange(Call(method="GET", path=path, params=params))), kind)

    def find(self, path: str, kind: type[T]) -> DeliverySteps[T | None]:
        """Read an item; return None if the service says that nothing by that name is visible.

        Raises ReadError.
        """
        response = yield from self._exchange(Call(method="GET", path=path))
        return None if is_missing(response) else decode_as(response, kind)

    def write_note(self, path: str, note: OutgoingNote) -> DeliverySteps[NoteItem]:
        """Send a note, and send it again while the answer is unclear, which has one effect.

        Raises AnswerError.
        """
        call = Call(method="POST", path=path, content=note.body, key=note.key)
        return note_of_response((yield from self._exchange(call)))

    def _exchange(self, call: Call) -> DeliverySteps[Response]:
        """Make a request that may be repeated, until its answer is final or all attempts are made."""
        response = Response()
        for attempt in range(self._attempts):
            response = (yield call) or Response()
            if not is_passing(response):
                break
            if (response.retry_after or 0) > MAX_PAUSE_SECONDS or attempt + 1 == self._attempts:
                break
            yield Pause(pause(attempt, response.retry_after, self._chance))
        return response


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


def _batch_call(entries: list[Operation]) -> Call:
    content = b"\n".join(entry.body or b"" for entry in entries)
    return Call(method="POST", path=f"{SUBMISSIONS}/batch", content=content, media_type=NDJSON)


def _judge(entry: Operation, answer: ServerAnswer) -> DeliveryRuling:
    hash_ = entry.source_event_hash or ""
    sole = entry.in_flight == 1
    return rule(answer, producer=entry.name, key=entry.key, source_event_hash=hash_, sole=sole)


def _encode_receipt(answer: ServerAnswer) -> bytes | None:
    return msgspec.json.encode(answer.receipt) if answer.receipt else None


def _is_retry_useless(answer: ServerAnswer) -> bool:
    """Return whether an immediate retry is useless: after a refusal, or if the service asks for a longer pause."""
    return answer.status in REFUSED or (answer.retry_after or 0) > MAX_PAUSE_SECONDS
