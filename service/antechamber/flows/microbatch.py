"""Micro-batches: items that arrive in one iteration of the event loop, or during an earlier batch, are one batch.

Each event loop has batches of its own.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, Generic, TypeVar

Input = TypeVar("Input")
Result = TypeVar("Result")


MAX_HELD: Final = 128
"""Maximum number of items that wait for the result of an earlier batch; at this number they are handed over."""
Deliver = Callable[[Result | BaseException], None]
"""Gets the result of an item in the event loop, or the error that kept it from having one."""


class MicroBatcher(Generic[Input, Result]):
    """Collects items into micro-batches and returns each caller its own result; a batch costs one thread hand-over.

    `handle` receives a list of items; its future resolves to their results in the same order.
    """

    def __init__(self, handle: Callable[[list[Input]], Future[list[Result]]]) -> None:
        self._handle = handle
        self._arrived: dict[asyncio.AbstractEventLoop, list[tuple[Input, Deliver[Result]]]] = {}
        self._on_their_way: Counter[asyncio.AbstractEventLoop] = Counter()
        """Number of batches that have no result yet, by event loop."""

    async def submit(self, item: Input) -> Result:
        """Return an item's result.

        Raises what `handle` or its future raises.
        """
        waiter: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.put(item, partial(_resolve, waiter))
        return await waiter

    def put(self, item: Input, deliver: Deliver[Result]) -> None:
        """Have `deliver` called with an item's result, later in the running event loop."""
        loop = asyncio.get_running_loop()
        arrived = self._arrived.setdefault(loop, [])
        arrived.append((item, deliver))
        # After the result of the earlier batch, `handle` may again do its work in this thread.
        if self._on_their_way[loop]:
            if len(arrived) == MAX_HELD:
                self._hand_over(loop)
        elif len(arrived) == 1:
            loop.call_soon(self._hand_over, loop)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        arrived = self._arrived.pop(loop, [])
        if not arrived:
            return
        waiters = [deliver for _, deliver in arrived]
        try:
            done = self._handle([item for item, _ in arrived])
        except Exception as error:  # noqa: BLE001 -- every waiter must receive the error
            _deliver(loop, waiters, [error] * len(waiters))
            return
        if done.done():
            _pass_on(loop, waiters, done)
        else:
            self._on_their_way[loop] += 1
            done.add_done_callback(lambda done: loop.call_soon_threadsafe(self._take_back, loop, waiters, done))

    def _take_back(
        self, loop: asyncio.AbstractEventLoop, waiters: Sequence[Deliver[Result]], done: Future[list[Result]]
    ) -> None:
        self._on_their_way[loop] -= 1
        if not self._on_their_way[loop]:
            del self._on_their_way[loop]
            loop.call_soon(self._hand_over, loop)
        _pass_on(loop, waiters, done)


def _pass_on(loop: asyncio.AbstractEventLoop, waiters: Sequence[Deliver[Result]], done: Future[list[Result]]) -> None:
    error = done.exception()
    _deliver(loop, waiters, done.result() if error is None else [error] * len(waiters))


def _deliver(
    loop: asyncio.AbstractEventLoop, waiters: Sequence[Deliver[Result]], results: Sequence[Result | BaseException]
) -> None:
    """Give each waiter its result; if one fails to take it, the others still get theirs."""
    for deliver, result in zip(waiters, results, strict=True):
        try:
            deliver(result)
        except Exception as error:  # noqa: BLE001 -- reported by the loop
            loop.call_exception_handler({"message": "a result could not be delivered", "exception": error})


def _resolve(waiter: asyncio.Future[Result], result: Result | BaseException) -> None:
    if waiter.done():
        return
    if isinstance(result, BaseException):
        waiter.set_exception(result)
    else:
        waiter.set_result(result)
