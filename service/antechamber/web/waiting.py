"""Waits of routes that hold a request until there is something to answer."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def first_of(*waits: Coroutine[Any, Any, object], seconds: float) -> None:
    """Wait for the first of several events, or for this many seconds."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Also if the client has gone and the request is cancelled during the wait.
        for task in tasks:
            task.cancel()
