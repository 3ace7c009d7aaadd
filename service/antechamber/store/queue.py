"""The admission queue: one writer thread, one transaction for all that wait (group commit)."""

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, Protocol, TypeVar

from antechamber.core.errors import AntechamberError, UnavailableError

T = TypeVar("T")
_log = logging.getLogger(__name__)

MOST_WAITING: Final = 10_000
"""Work that may wait; beyond it the store says so at once instead of letting callers time out."""
MOST_TOGETHER: Final = 512
"""Work that shares one transaction."""


class Transactions(Protocol):
    """What the queue needs of an engine; called from the writer thread only."""

    def begin(self) -> None:
        """Open a transaction that may write."""

    def attempt(self, work: Callable[[Any], T]) -> T:
        """Run one piece of work inside; what it wrote is undone where it raises."""

    def commit(self) -> None:
        """Put everything on disk."""

    def roll_back(self) -> None:
        """Undo everything, whatever state the transaction is in."""

    def translate(self, error: Exception) -> Exception:
        """Turn a driver's error into ours; other errors come back as they are."""


class _Job:
    """One piece of work and whoever waits for it."""

    __slots__ = ("error", "future", "result", "work")

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.work = work
        self.future: Future[Any] = Future()
        self.result: Any = None
        self.error: Exception | None = None

    def settle(self) -> None:
        if self.future.set_running_or_notify_cancel():
            if self.error is None:
                self.future.set_result(self.result)
            else:
                self.future.set_exception(self.error)


class GroupCommit:
    """Runs work in the order it came, and answers only after the common commit."""

    def __init__(self, transactions: Transactions) -> None:
        """Start the writer thread."""
        self._transactions = transactions
        self._waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="antechamber-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Any], T]) -> Future[T]:
        """Queue work; its future resolves after the commit that holds it.

        Raises UnavailableError when too much is waiting, or after close.
        """
        job = _Job(work)
        with self._gate:
            if self._closed:
                message = "the store is shutting down"
                raise UnavailableError(message)
            if self._waiting.qsize() >= MOST_WAITING:
                message = "too much is waiting to be stored"
                raise UnavailableError(message)
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
        last = False
        while not last:
            jobs, last = self._take()
            if jobs:
                self._run(jobs)
            for job in jobs:
                job.settle()

    def _take(self) -> tuple[list[_Job], bool]:
        """Wait for work and take all that is there; the flag says that nothing follows."""
        jobs: list[_Job] = []
        item = self._waiting.get()
        while item is not None:
            jobs.append(item)
            if len(jobs) == MOST_TOGETHER:
                return jobs, False
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _run(self, jobs: list[_Job]) -> None:
        """Run the jobs in one transaction; if it cannot be kept, every job gets the error and nothing is stored."""
        try:
            self._transactions.begin()
            for job in jobs:
                self._attempt(job)
            self._transactions.commit()
        except Exception as error:  # noqa: BLE001 -- whatever broke the transaction must reach all who wait for it
            self._transactions.roll_back()
            translated = self._transactions.translate(error)
            if not isinstance(translated, AntechamberError):
                _log.exception("transaction failed", exc_info=error)
                translated = UnavailableError("the store cannot commit now")
            for job in jobs:
                job.error = translated

    def _attempt(self, job: _Job) -> None:
        """Run one job; only its own error stays its own."""
        try:
            job.result = self._transactions.attempt(job.work)
        except Exception as error:
            job.error = self._transactions.translate(error)
            if isinstance(job.error, UnavailableError):
                raise
