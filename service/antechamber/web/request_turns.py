"""Admits requests a few at a time, so that a flood of them does not block the event loop."""

import asyncio
import threading
from collections import deque
from typing import Final

AT_ONCE: Final = 4
"""Requests admitted in one iteration of the event loop; most finish within it."""


class RequestTurns(threading.local):
    """Requests waiting to begin: those of known connections first, otherwise in order of arrival.

    Each thread, and so each event loop, has its own queues.
    """

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._begun = 0
        self._known: deque[asyncio.Future[None]] = deque()
        self._strange: deque[asyncio.Future[None]] = deque()

    async def take(self, *, known: bool) -> None:
        """Return when this request may begin; at once if few requests begin."""
        loop = asyncio.get_running_loop()
        if not self._begun:
            loop.call_soon(self._next_round)
        self._begun += 1
        if self._begun > self._at_once:
            waiting = loop.create_future()
            (self._known if known else self._strange).append(waiting)
            await waiting

    def _next_round(self) -> None:
        """Admit waiting requests, up to the limit; called once in each iteration while requests arrive."""
        self._begun = 0
        while self._begun < self._at_once and (self._known or self._strange):
            first = (self._known or self._strange).popleft()
            if not first.done():
                first.set_result(None)
                self._begun += 1
        if self._begun:
            asyncio.get_running_loop().call_soon(self._next_round)
