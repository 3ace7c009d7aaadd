"""Thread pools by purpose, so that one kind of work does not wait for another.

Token look-ups have their own pool, and so have agents' reads, and pages and exports, which may take seconds. Passwords
have theirs in `web.passwords`. The rest, decisions and periodic work, shares the event loop's default executor.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

from litestar.concurrency import set_asyncio_executor

T = TypeVar("T")

LOOK_UPS: Final = ThreadPoolExecutor(4, thread_name_prefix="look-up")
"""Looks up tokens and sessions: short reads that every request may need."""
AGENTS: Final = ThreadPoolExecutor(4, thread_name_prefix="agent")
"""Reads receipts and memories for agents."""
PAGES: Final = ThreadPoolExecutor(8, thread_name_prefix="page")
"""Renders pages and streams exports: the framework runs its synchronous handlers here."""
set_asyncio_executor(PAGES)


async def run(executor: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any) -> T:
    """Run work in a thread of a pool and return its result."""
    return await asyncio.get_running_loop().run_in_executor(executor, partial(work, *arguments))
