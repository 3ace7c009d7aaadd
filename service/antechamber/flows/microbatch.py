"""Micro-batches: items that arrive within one iteration of the event loop are handled together."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Generic, TypeVar

Input = TypeVar("Input")
Result = TypeVar("Result")


Deliver = Callable[[Result | BaseException], None]
"""Gets the result of an item in the event loop, or the error that kept it from having one."""


class MicroBatcher(Generic[Input, Result]):
    """Collects items into micro-batches and returns each caller its own result; a batch costs one thread hand-over.

    `handle` receives a list of items; its future resolves to their results in the same order.
    """

    def __init__(self, handle: Callable[[list[Input]], Future[list[Result]]]) -> None:
        self._handle = handle
        self._arrived: dict[asyncio.AbstractEventLoop, list[tuple[Input, Deliver[Result]]]] = {}

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
        if len(arrived) == 1:
            loop.call_soon(self._hand_over, loop)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        arrived = self._arrived.pop(loop)
        waiters = [deliver for _, deliver in arrived]
        try:
            done = self._handle([item for item, _ in arrived])
        except Exception as error:  # noqa: BLE001 -- every waiter must receive the error
            _fail(waiters, error)
            return
        if done.done():
            _deliver(waiters, done)
        else:
            done.add_done_callback(lambda done: loop.call_soon_threadsafe(_deliver, waiters, done))


def _deliver(waiters: Sequence[Deliver[Result]], done: Future[list[Result]]) -> None:
    error = done.exception()
    if error is not None:
        _fail(waiters, error)
        return
    for deliver, result in zip(waiters, done.result(), strict=True):
        deliver(result)


def _fail(waiters: Sequence[Deliver[Result]], error: BaseException) -> None:
    for deliver in waiters:
        deliver(error)


def _resolve(waiter: asyncio.Future[Result], result: Result | BaseException) -> None:
    if waiter.done():
        return
    if isinstance(result, BaseException):
        waiter.set_exception(result)
    else:
        waiter.set_result(result)
