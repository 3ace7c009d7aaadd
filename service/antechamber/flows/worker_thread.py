"""A worker thread for work that takes too long for the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from antechamber.core.errors import UnavailableError

T = TypeVar("T")


class WorkerThread:
    """One thread that runs one piece of work at a time; more threads would keep the GIL from the event loop for longer.

    `name` is the thread's name; at most `most` pieces of work may wait or run.
    """

    def __init__(self, name: str, limit: int) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._most = limit
        self._waiting = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises.

        Raises UnavailableError if too much work waits already.
        """
        if self._waiting >= self._most:
            message = "too many long requests wait; try again later"
            raise UnavailableError(message)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._waiting -= 1
