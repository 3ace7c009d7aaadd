"""Group commit: one writer runs all waiting work in one transaction.

The writer is a thread of its own. On an embedded engine a caller may be the writer for one quick transaction instead:
where two threads take turns with one interpreter, they wait for it longer than such a transaction takes.
"""

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import groupby
from time import perf_counter
from typing import Any, Final, Protocol, TypeVar

from antechamber.background import Work
from antechamber.core.errors import AntechamberError, UnavailableError
from antechamber.core.metrics import definitions as metrics
from antechamber.core.metrics.meters import Meters
from antechamber.traces import recorder

T = TypeVar("T")
_log = logging.getLogger(__name__)

MAX_WAITING: Final = 10_000
"""Maximum number of waiting items; beyond it the store refuses work at once instead of letting callers time out."""
MAX_BYTES: Final = 32 << 20
"""Maximum bytes of all waiting items, to bound memory. An empty queue accepts an item of any size."""
MAX_TOGETHER: Final = 512
"""Maximum number of items in one transaction; a single job with more items is not divided."""
MAX_BYTES_TOGETHER: Final = 4 << 20
"""Maximum bytes in one transaction: each byte is copied several times, and large items gain little from sharing it."""
MAX_TRIES: Final = 5
"""How often a transaction that the engine rolled back is run before its callers get an error."""
MAX_HERE: Final = 128
"""Maximum number of items of a transaction in the caller's thread, which does nothing else meanwhile."""
MAX_HERE_SECONDS: Final = 0.005
"""Longest mean of recent commits with which the next one runs in the caller's thread: a fast disk takes a twentieth."""
SLOW_PAUSE: Final = 1.0
"""Seconds in which the writer's thread runs all transactions, after commits in callers' threads took longer."""
MAX_HERE_IN_A_ROW: Final = 1_000
"""Items after which the thread runs a transaction, in which the engine may also tidy up its files."""


_CANNOT: Final = "the store cannot commit now"


class AgainError(Exception):
    """The engine rolled back the whole transaction for a reason that a retry may resolve."""


class Transactions(Protocol):
    """What the group commit requires from an engine; called by one thread at a time."""

    def begin(self, *, here: bool) -> None:
        """Open a transaction that may write; with `here` it waits for no other process and does nothing else."""

    def attempt(self, work: Callable[[Any], T], *, promotes: bool) -> T:
        """Run one piece of work inside the transaction; if it raises, undo what it wrote."""

    def commit(self) -> None:
        """Commit the transaction; on return everything is on disk."""

    def roll_back(self) -> None:
        """Undo everything, in any state of the transaction."""

    def translate(self, error: Exception) -> Exception:
        """Return one of our errors or AgainError for a driver's error; return other errors unchanged."""

    def close(self) -> None:
        """Release the resources of the writer thread."""


class _Job:
    """One piece of work and the future of its caller. Jobs with items and the same work run in one call."""

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

    def resolve(self) -> None:
        if self.future.set_running_or_notify_cancel():
            if self.error is None:
                self.future.set_result(self.result)
            else:
                self.future.set_exception(self.error)


class GroupCommit:
    """Runs work in order of arrival, and resolves its futures only after the common commit.

    `transactions` is the engine's part; `work` records whether transactions succeed. `embedded` permits transactions in
    the threads of callers.
    """

    def __init__(self, transactions: Transactions, work: Work, *, embedded: bool = False) -> None:
        self._transactions = transactions
        self._work = work
        self._embedded = embedded
        self._writing = threading.Lock()
        """Held by the thread that is the writer."""
        self._in_a_row = 0
        self._commit_seconds = 0.0
        """Mean of the recent commits in callers' threads, later ones weighted more.

        A commit in the writer's thread also waits for the GIL afterwards, so it does not show how fast the disk is.
        """
        self._slow_until = 0.0
        """Until when the thread runs all transactions, in the seconds of `perf_counter`."""
        self.meters: Final = Meters(metrics.GROUP_SIZE, metrics.TRANSACTION_SECONDS, metrics.COMMIT_SECONDS)
        self._pause: float | None = None
        """Seconds to wait for work before the writer tries an empty transaction; None while transactions succeed."""
        self._waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._number = self._size = 0
        self._thread = threading.Thread(target=self._serve, name="antechamber-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Any], T], *, promotes: bool = False) -> Future[T]:
        """Queue work; its future resolves after the commit that contains it.

        Raises UnavailableError if too much is waiting, or after close.
        """
        return self._put(_Job(work, promotes=promotes))

    def gather(
        self, work: Callable[[Sequence[Any], Any], list[T]], items: Sequence[Any], size: int, *, here: bool = False
    ) -> Future[list[T]]:
        """Queue items of `size` bytes in total; all items that wait for the same work are passed to it in one call.

        With `here` the caller is the writer, if nothing else waits and commits are quick; the future is resolved then.

        Raises UnavailableError if too much is waiting, or after close.
        """
        job = _Job(work, items, size)
        return job.future if here and self._embedded and self._run_here(job) else self._put(job)

    def _run_here(self, job: _Job) -> bool:
        """Run a job in this thread; return False if it has to wait for the writer's thread."""
        if self._pause is not None or job.number > MAX_HERE or perf_counter() < self._slow_until:
            return False
        if self._in_a_row >= MAX_HERE_IN_A_ROW or not self._writing.acquire(blocking=False):
            return False
        try:
            # What arrived before goes first. What arrives during this transaction waits for the thread.
            # Whatever goes wrong, the thread runs the job again and has the time to find out what it is.
            if self._closed or self._number or self._commit_once([job], here=True) is not None:
                return False
        finally:
            self._writing.release()
        self._in_a_row += job.number
        self._work.note_success()
        job.resolve()
        return True

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
                    with self._writing:
                        self._answer(jobs)
        finally:
            with self._writing:
                self._end(jobs)

    def _answer(self, jobs: list[_Job]) -> None:
        """Run jobs and resolve their futures in every case: no caller may wait for a writer that failed."""
        self._in_a_row = 0
        try:
            self._run(jobs)
        except BaseException as raised:  # noqa: BLE001 -- the writer thread must survive every error
            self._failed(raised)
            self._roll_back()
            for job in jobs:
                job.error = UnavailableError(_CANNOT)
        with self._gate:
            self._number -= sum(job.number for job in jobs)
            self._size -= sum(job.size for job in jobs)
        for job in jobs:
            job.resolve()

    def _failed(self, error: BaseException) -> None:
        self._pause = self._work.note_failure(error)

    def _end(self, jobs: list[_Job]) -> None:
        """Refuse new work, and fail the waiting work if the thread ends because of an error."""
        with self._gate:
            self._closed = True
        left = [job for job in jobs if not job.future.done()]
        with contextlib.suppress(queue.Empty):
            while True:
                left += filter(None, [self._waiting.get_nowait()])
        for job in left:
            job.error = UnavailableError("the writer ended; the service has to be started again")
            job.resolve()
        self._transactions.close()

    def _take(self) -> tuple[list[_Job], bool]:
        """Wait for work and return the waiting jobs; the flag is True if no more will follow.

        While transactions fail, return without jobs after a pause, so that an empty transaction is tried.
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
        """Run the jobs in one transaction; if it cannot commit, every job gets the error and nothing is stored."""
        error: Exception | None = AgainError()
        for _ in range(MAX_TRIES):
            if not isinstance(error := self._commit_once(jobs), AgainError):
                break
        if error is None:
            self._pause = None
            self._work.note_success()
            return
        self.meters.count(metrics.FAILED_TRANSACTIONS)
        for job in jobs:
            job.error = UnavailableError(_CANNOT) if isinstance(error, AgainError) else error

    def _commit_once(self, jobs: list[_Job], *, here: bool = False) -> Exception | None:
        """Try to run the jobs in one transaction and commit it; return None, or the error that undid everything.

        After AgainError another try may succeed.
        """
        began = perf_counter()
        try:
            self._transactions.begin(here=here)
            for _, group in groupby(jobs, key=lambda job: job.kind):
                self._attempt(list(group))
            worked = perf_counter()
            self._transactions.commit()
        except Exception as raised:  # noqa: BLE001 -- every error of the transaction must reach all callers
            self._roll_back()
            error = self._transactions.translate(raised)
            if here or isinstance(error, AgainError | AntechamberError):
                return error
            self._failed(raised)
            return UnavailableError(_CANNOT)
        ended = perf_counter()
        if here:
            self._commit_seconds += (ended - worked - self._commit_seconds) / 8
            if self._commit_seconds > MAX_HERE_SECONDS:
                self._commit_seconds, self._slow_until = 0.0, ended + SLOW_PAUSE
        self.meters.observe(metrics.COMMIT_SECONDS, ended - worked)
        self.meters.observe(metrics.TRANSACTION_SECONDS, ended - began)
        items = sum(job.number for job in jobs)
        self.meters.observe(metrics.GROUP_SIZE, items)
        if (traces := recorder()) is not None:
            traces.record_transaction(ended - began, ended - worked, items)
        return None

    def _roll_back(self) -> None:
        """Undo everything; an error in doing so must not end the writer thread."""
        try:
            self._transactions.roll_back()
        except Exception:  # noqa: BLE001 -- an engine that cannot roll back closes its connection
            _log.exception("a transaction could not be rolled back")

    def _attempt(self, jobs: list[_Job]) -> None:
        """Run jobs that share one call; if it fails, run each alone, so that only the failing job gets the error."""
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
        results = self._transactions.attempt(lambda tx: first.work(items, tx), promotes=False)
        parts = iter(results)
        return [[next(parts) for _ in job.items or ()] for job in jobs]
