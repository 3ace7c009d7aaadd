"""Threads by purpose, so that no kind of work waits behind another one.

Token look-ups have their own, and so have what agents read, and pages and exports, which may take seconds. Passwords
have theirs in `web.passwords`. What is left, decisions and periodic work, shares the event loop's default executor.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from litestar.concurrency import set_asyncio_executor

T = TypeVar("T")

LOOK_UPS: Final = ThreadPoolExecutor(4, thread_name_prefix="look-up")
"""Looks tokens and sessions up: short reads that every request may need."""
AGENTS: Final = ThreadPoolExecutor(4, thread_name_prefix="agent")
"""Reads receipts and memories for agents."""
PAGES: Final = ThreadPoolExecutor(8, thread_name_prefix="page")
"""Renders pages and streams exports: the framework runs its synchronous handlers here."""
set_asyncio_executor(PAGES)


async def run(executor: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any) -> T:
    """Run work in a thread of an executor and return its result."""
    return await asyncio.get_running_loop().run_in_executor(executor, partial(work, *arguments))
