"""Micro-batches: items that arrive within one iteration of the event loop are handled together."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Input = TypeVar("Input")
Result = TypeVar("Result")


class MicroBatcher(Generic[Input, Result]):
    """Collects items into micro-batches and returns each caller its own result; a batch costs one thread hand-over.

    `handle` receives a list of items; its future resolves to their results in the same order.
    """

    def __init__(self, handle: Callable[[list[Input]], Future[list[Result]]]) -> None:
        self._handle = handle
        self._arrived: dict[asyncio.AbstractEventLoop, list[tuple[Input, asyncio.Future[Result]]]] = {}

    async def submit(self, item: Input) -> Result:
        """Return an item's result.

        Raises what `handle` or its future raises.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Result] = loop.create_future()
        arrived = self._arrived.setdefault(loop, [])
        arrived.append((item, waiter))
        if len(arrived) == 1:
            loop.call_soon(self._hand_over, loop)
        return await waiter

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        arrived = self._arrived.pop(loop)
        waiters = [waiter for _, waiter in arrived]
        try:
            done = self._handle([item for item, _ in arrived])
        except Exception as error:  # noqa: BLE001 -- every waiter must receive the error
            _fail(waiters, error)
            return
        done.add_done_callback(lambda done: loop.call_soon_threadsafe(_deliver, waiters, done))


def _deliver(waiters: list[asyncio.Future[Result]], done: Future[list[Result]]) -> None:
    error = done.exception()
    if error is not None:
        _fail(waiters, error)
        return
    for waiter, result in zip(waiters, done.result(), strict=True):
        if not waiter.done():
            waiter.set_result(result)


def _fail(waiters: list[asyncio.Future[Result]], error: BaseException) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_exception(error)
