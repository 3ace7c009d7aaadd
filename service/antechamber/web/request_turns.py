"""Turns: requests begin a few at a time, so that a flood of them does not keep the event loop from all else."""

import asyncio
import threading
from collections import deque
from typing import Final

AT_ONCE: Final = 4
"""Requests that begin in one round of the event loop; most are over within it."""


class RequestTurns(threading.local):
    """Requests that wait to begin: those of known connections first, each kind in the order they came.

    The event loop of each thread has its own.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        """Begin with none that waits."""
        self._at_once = at_once
        self._begun = 0
        self._known: deque[asyncio.Future[None]] = deque()
        self._strange: deque[asyncio.Future[None]] = deque()

    async def take(self, *, known: bool) -> None:
        """Return when it is this request's turn; at once where few begin."""
        loop = asyncio.get_running_loop()
        if not self._begun:
            loop.call_soon(self._next_round)
        self._begun += 1
        if self._begun > self._at_once:
            waiting = loop.create_future()
            (self._known if known else self._strange).append(waiting)
            await waiting

    def _next_round(self) -> None:
        """Begin what waits, as far as a round takes it; called once in each round while requests come."""
        self._begun = 0
        while self._begun < self._at_once and (self._known or self._strange):
            first = (self._known or self._strange).popleft()
            if not first.done():
                first.set_result(None)
                self._begun += 1
        if self._begun:
            asyncio.get_running_loop().call_soon(self._next_round)
