"""Runs the steps of a sender: generators that yield a request and receive its response."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Steps = Generator[Any, Any, T]


class UnsentError(BaseException):
    """Thrown into steps whose last request was never made."""


class Turn(NamedTuple):
    """The next step, or the result at the end."""

    step: Any
    result: Any


def advance(steps: Steps[Any], response: Any) -> Turn:
    """Advance the generator by one step. Runs in a thread, where a StopIteration must not escape."""
    try:
        return Turn(steps.send(response), None)
    except StopIteration as end:
        return Turn(None, end.value)


async def drive(steps: Steps[T], do: Callable[[Any], Awaitable[Any]]) -> T:
    """Run steps to their end: they write in threads, and `do` makes their requests."""
    response: Any = None
    is_requested = False
    try:
        while True:
            is_requested = False
            # A step that has begun is written to the end before a cancellation takes effect.
            turn = await finish_write(asyncio.ensure_future(asyncio.to_thread(advance, steps, response)))
            if turn.step is None:
                return turn.result  # type: ignore[no-any-return]
            is_requested = True
            response = await do(turn.step)
    finally:
        _end(steps, is_requested=is_requested)


def _end(steps: Steps[Any], *, is_requested: bool) -> None:
    """Close the generator; throw UnsentError into it if its last request was not made."""
    # If the event loop ended during a step, the generator still runs in its thread and is closed when collected.
    with contextlib.suppress(UnsentError, StopIteration, ValueError):
        if is_requested:
            steps.close()
        else:
            steps.throw(UnsentError())


async def finish_write(write: "asyncio.Future[T]") -> T:
    """Wait for a write to the ledger; a cancellation takes effect after it."""
    try:
        return await asyncio.shield(write)
    except asyncio.CancelledError:
        # Some frameworks cancel more than once.
        while not write.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([write])
        raise
