"""Runs the steps of a sender: generators that yield a request and receive its response."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Driven = Generator[Any, Any, T]


class UnsentError(BaseException):
    """Thrown into steps whose last request was never made."""


class Turn(NamedTuple):
    """The next step, or the result at the end."""

    step: Any
    result: Any


def advance(steps: Driven[Any], told: Any) -> Turn:
    """Advance the generator by one step. Runs in a thread, where a StopIteration must not escape."""
    try:
        return Turn(steps.send(told), None)
    except StopIteration as end:
        return Turn(None, end.value)


async def drive(steps: Driven[T], do: Callable[[Any], Awaitable[Any]]) -> T:
    """Run steps to their end: they write in threads, and `do` makes their requests."""
    told: Any = None
    asked = False
    try:
        while True:
            asked = False
            # A step that has begun is written to the end before a cancellation takes effect.
            turn = await to_the_end(asyncio.ensure_future(asyncio.to_thread(advance, steps, told)))
            if turn.step is None:
                return turn.result  # type: ignore[no-any-return]
            asked = True
            told = await do(turn.step)
    finally:
        _end(steps, asked=asked)


def _end(steps: Driven[Any], *, asked: bool) -> None:
    """Close the generator; throw UnsentError into it if its last request was not made."""
    # If the event loop ended during a step, the generator still runs in its thread and is closed when collected.
    with contextlib.suppress(UnsentError, StopIteration, ValueError):
        if asked:
            steps.close()
        else:
            steps.throw(UnsentError())


async def to_the_end(under_way: "asyncio.Future[T]") -> T:
    """Wait for a write to the ledger; a cancellation takes effect after it."""
    try:
        return await asyncio.shield(under_way)
    except asyncio.CancelledError:
        # Some frameworks cancel more than once.
        while not under_way.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([under_way])
        raise
