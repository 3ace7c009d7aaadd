"""The admission queue: one writer thread, one transaction for all that wait (group commit)."""

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import groupby
from typing import Any, Final, Protocol, TypeVar

from antechamber.background import Work
from antechamber.core.errors import AntechamberError, UnavailableError

T = TypeVar("T")
_log = logging.getLogger(__name__)

MAX_WAITING: Final = 10_000
"""Items that may wait; beyond it the store says so at once instead of letting callers time out."""
MAX_BYTES: Final = 32 << 20
"""Bytes of all that waits, so that memory stays flat; what comes first is taken however large it is."""
MAX_TOGETHER: Final = 512
"""Items that share one transaction; a single piece of work with more of them is not divided."""
MAX_BYTES_TOGETHER: Final = 4 << 20
"""Bytes that share one transaction: each is copied a few times on its way, and large ones gain little by company."""
MAX_TRIES: Final = 5
"""Transactions that the engine undid may begin again this often before callers are told to come back."""


_CANNOT: Final = "the store cannot commit now"


class AgainError(Exception):
    """The engine undid a whole transaction for a reason that another try may mend."""


class Transactions(Protocol):
    """What the queue needs of an engine; called from the writer thread only."""

    def begin(self) -> None:
        """Open a transaction that may write."""

    def attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        """Run one piece of work inside; what it wrote is undone where it raises."""

    def commit(self) -> None:
        """Put everything on disk."""

    def roll_back(self) -> None:
        """Undo everything, whatever state the transaction is in."""

    def translate(self, error: Exception) -> Exception:
        """Turn a driver's error into ours or AgainError; other errors come back as they are."""

    def close(self) -> None:
        """Release what the writer thread holds."""


class _Job:
    """Some work, and whoever waits for it; jobs with items and the same work are done in one call."""

    __slots__ = ("error", "future", "items", "number", "promotes", "result", "size", "work")

    def __init__(
        self, work: Callable[..., Any], items: Sequence[Any] | None = None, size: int = 0, *, promotes: bool = False
    ) -> None:
        self.work = work
        self.items = items
        self.number = 1 if items is None else len(items)
        self.size = size
        self.promotes = promotes
        self.future: Future[Any] = Future()
        self.result: Any = None
        self.error: Exception | None = None

    @property
    def kind(self) -> object:
        return self.work if self.items is not None else self

    def settle(self) -> None:
        if self.future.set_running_or_notify_cancel():
            if self.error is None:
                self.future.set_result(self.result)
            else:
                self.future.set_exception(self.error)


class GroupCommit:
    """Runs work in the order it came, and answers only after the common commit."""

    def __init__(self, transactions: Transactions, work: Work) -> None:
        """Start the writer thread; `work` hears whether transactions work."""
        self._transactions = transactions
        self._work = work
        self._pause: float | None = None
        """Seconds to wait for work before the writer tries an empty transaction; None while transactions work."""
        self._waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._number = self._size = 0
        self._thread = threading.Thread(target=self._serve, name="antechamber-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Any], T], *, promotes: bool = False) -> Future[T]:
        """Queue work; its future resolves after the commit that holds it.

        Raises UnavailableError when too much is waiting, or after close.
        """
        return self._put(_Job(work, promotes=promotes))

    def gather(self, work: Callable[[Sequence[Any], Any], list[T]], items: Sequence[Any], size: int) -> Future[list[T]]:
        """Queue items of together `size` bytes for work that takes all that wait for it in one call.

        Raises UnavailableError when too much is waiting, or after close.
        """
        return self._put(_Job(work, items, size))

    def _put(self, job: _Job) -> Future[Any]:
        with self._gate:
            if self._closed:
                message = "the store is shutting down"
                raise UnavailableError(message)
            if self._number >= MAX_WAITING or self._size >= MAX_BYTES:
                message = "too much is waiting to be stored"
                raise UnavailableError(message)
            self._number += job.number
            self._size += job.size
            self._waiting.put(job)
        return job.future

    def close(self) -> None:
        """Finish all accepted work, then stop the thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _serve(self) -> None:
        jobs, last = list[_Job](), False
        try:
            while not last:
                jobs, last = self._take()
                if jobs or self._pause is not None:
                    self._answer(jobs)
        finally:
            self._end(jobs)

    def _answer(self, jobs: list[_Job]) -> None:
        """Run jobs and resolve their futures, whatever happens: no caller waits for a writer that failed."""
        try:
            self._run(jobs)
        except BaseException as raised:  # noqa: BLE001 -- the thread that all wait for must not end over it
            self._failed(raised)
            self._roll_back()
            for job in jobs:
                job.error = UnavailableError(_CANNOT)
        with self._gate:
            self._number -= sum(job.number for job in jobs)
            self._size -= sum(job.size for job in jobs)
        for job in jobs:
            job.settle()

    def _failed(self, error: BaseException) -> None:
        self._pause = self._work.failed(error)

    def _end(self, jobs: list[_Job]) -> None:
        """Refuse what comes from now on, and what still waits if the thread ends by an error."""
        with self._gate:
            self._closed = True
        left = [job for job in jobs if not job.future.done()]
        with contextlib.suppress(queue.Empty):
            while True:
                left += filter(None, [self._waiting.get_nowait()])
        for job in left:
            job.error = UnavailableError("the writer ended; the service has to be started again")
            job.settle()
        self._transactions.close()

    def _take(self) -> tuple[list[_Job], bool]:
        """Wait for work and take what is there; the flag says that nothing follows.

        While transactions fail, it returns without work after a pause, so that an empty one is tried.
        """
        jobs: list[_Job] = []
        number = size = 0
        try:
            item = self._waiting.get(timeout=self._pause)
        except queue.Empty:
            return jobs, False
        while item is not None:
            jobs.append(item)
            number, size = number + item.number, size + item.size
            if number >= MAX_TOGETHER or size >= MAX_BYTES_TOGETHER:
                return jobs, False
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _run(self, jobs: list[_Job]) -> None:
        """Run the jobs in one transaction; if it cannot be kept, every job gets the error and nothing is stored."""
        error: Exception = UnavailableError(_CANNOT)
        for _ in range(MAX_TRIES):
            try:
                self._transactions.begin()
                for _, group in groupby(jobs, key=lambda job: job.kind):
                    self._attempt(list(group))
                self._transactions.commit()
            except Exception as raised:  # noqa: BLE001 -- whatever broke the transaction must reach all who wait for it
                self._roll_back()
                translated = self._transactions.translate(raised)
                if isinstance(translated, AgainError):
                    continue
                if isinstance(translated, AntechamberError):
                    error = translated
                else:
                    self._failed(raised)
            else:
                self._pause = None
                self._work.worked()
                return
            break
        for job in jobs:
            job.error = error

    def _roll_back(self) -> None:
        """Undo everything; the thread that all wait for must not end over it."""
        try:
            self._transactions.roll_back()
        except Exception:  # noqa: BLE001 -- an engine that cannot undo gives its connection up
            _log.exception("a transaction could not be undone")

    def _attempt(self, jobs: list[_Job]) -> None:
        """Run jobs that share one call; where it fails each runs alone, so that only its own error stays its own."""
        try:
            for job, result in zip(jobs, self._results(jobs), strict=True):
                job.result, job.error = result, None
        except Exception as raised:
            error = self._transactions.translate(raised)
            if isinstance(error, UnavailableError | AgainError):
                raise error from raised
            if len(jobs) == 1:
                jobs[0].error = error
                return
            for job in jobs:
                self._attempt([job])

    def _results(self, jobs: list[_Job]) -> list[Any]:
        first = jobs[0]
        if first.items is None:
            return [self._transactions.attempt(first.work, promotes=first.promotes)]
        items = [item for job in jobs for item in job.items or ()]
        results = self._transactions.attempt(lambda rows: first.work(items, rows), promotes=False)
        parts = iter(results)
        return [[next(parts) for _ in job.items or ()] for job in jobs]
