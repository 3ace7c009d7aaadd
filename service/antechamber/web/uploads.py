"""Uploads that never end: a body must be there within a time, or whoever sends it hears so."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from antechamber.core.errors import UnavailableError

T = TypeVar("T")

UPLOAD_SECONDS: Final = 20.0
"""How long a body may take; 4 MiB within it is 1.7 Mbit/s."""
LATE: Final = f"the upload took longer than {UPLOAD_SECONDS:.0f} seconds"
_EVERY: Final = 1.0


class Uploads:
    """Bodies that are being read. One look at all of them each second costs less than a timer for each."""

    def __init__(self, seconds: float = UPLOAD_SECONDS) -> None:
        """Begin with none."""
        self._seconds = seconds
        self._begun: dict[asyncio.Task[object], float] = {}
        self._late: set[asyncio.Task[object]] = set()
        self._ending = False

    async def read(self, body: Awaitable[T]) -> T:
        """Await a body.

        Raises TimeoutError where it does not come in time, UnavailableError where the process ends first.
        """
        task = asyncio.current_task()
        if task is None:
            return await body
        self._begun[task] = task.get_loop().time()
        try:
            return await body
        except asyncio.CancelledError:
            if task not in self._late:
                raise
            task.uncancel()
            if self._ending:
                message = "the service is shutting down"
                raise UnavailableError(message) from None
            raise TimeoutError(LATE) from None
        finally:
            del self._begun[task]
            self._late.discard(task)

    async def watch(self, stopping: asyncio.Event) -> None:
        """End what takes too long, and once the process stops, everything that is not there yet."""
        while True:
            await asyncio.sleep(_EVERY)
            now, self._ending = asyncio.get_running_loop().time(), stopping.is_set()
            for task, begun in list(self._begun.items()):
                if now - begun > self._seconds or self._ending:
                    self._late.add(task)
                    task.cancel()
