"""How the steps of a sender are driven: each yields what to do and is told what came of it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
Driven = Generator[Any, Any, T]


class UnsentError(BaseException):
    """Thrown into steps whose last request was never made."""


class Turn(NamedTuple):
    """What to do next, or the end."""

    step: Any
    result: Any


def advance(steps: Driven[Any], told: Any) -> Turn:
    """Go on to the next step; out of a thread of its own no StopIteration may come."""
    try:
        return Turn(steps.send(told), None)
    except StopIteration as end:
        return Turn(None, end.value)


async def drive(steps: Driven[T], do: Callable[[Any], Awaitable[Any]]) -> T:
    """Run steps to their end: what they write is written in threads, what they ask for is done by `do`."""
    told: Any = None
    asked = False
    try:
        while True:
            asked = False
            # A step that was begun is written to the end, and only then may whoever waits be told to stop.
            turn = await to_the_end(asyncio.ensure_future(asyncio.to_thread(advance, steps, told)))
            if turn.step is None:
                return turn.result  # type: ignore[no-any-return]
            asked = True
            told = await do(turn.step)
    finally:
        _end(steps, asked=asked)


def _end(steps: Driven[Any], *, asked: bool) -> None:
    """End steps, and let them know whether their last request was made."""
    # Where the loop ended under them they are still at work in their thread, and end when nobody knows them any more.
    with contextlib.suppress(UnsentError, StopIteration, ValueError):
        if asked:
            steps.close()
        else:
            steps.throw(UnsentError())


async def to_the_end(under_way: "asyncio.Future[T]") -> T:
    """Wait for what writes to the ledger; whoever is told to stop does so when it is done."""
    try:
        return await asyncio.shield(under_way)
    except asyncio.CancelledError:
        # Told once or many times over, as some frameworks do.
        while not under_way.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([under_way])
        raise
