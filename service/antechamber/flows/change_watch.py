"""Wake the requests that wait for changes: one thread reads the change feed for all of them."""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from antechamber.background import Work
from antechamber.core.errors import refuse
from antechamber.core.ports.store import Store

LOOK_SECONDS: Final = 0.5
"""Seconds between two looks without a notification: a process of the command line does not notify on SQLite."""
MIN_INTERVAL_SECONDS: Final = 0.05
"""Seconds between two looks while notifications keep arriving, as they do for each submission."""
MAX_WAITING: Final = 3_000
"""Maximum number of requests that wait in one process: the rest of its connections is for other requests."""
MAX_WAITING_OF_TOKEN: Final = 1_000
Scope = tuple[str, str]


class _Waiter:
    """A request that waits, and the event loop in which it does."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.news = asyncio.Event()

    def wake(self) -> None:
        # The loop may have ended since.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.news.set)


class ChangeWatch:
    """Follows the change feed of a store in a background thread; `work` records whether it can be read."""

    def __init__(self, store: Store, work: Work) -> None:
        self._store = store
        self._work = work
        self._gate = threading.Lock()
        self._waiting: dict[Scope, set[_Waiter]] = {}
        self._of_token: Counter[int] = Counter()
        self._notified = threading.Event()
        self._over = threading.Event()
        with store.read() as tx:
            self._seen = tx.changes.last()
        self._forget = store.watch(self._notified.set)

    @contextlib.contextmanager
    def waiting(self, scopes: Iterable[Scope], token: int) -> Iterator[asyncio.Event]:
        """Enter a wait of a token; the event is set after the next change in one of these scopes.

        A caller that reads the feed inside the context misses no change. Raises RequestRefusedError (`rate-limited`)
        if too many wait.
        """
        waiter, scopes = _Waiter(), list(scopes)
        with self._gate:
            if self._of_token.total() >= MAX_WAITING or self._of_token[token] >= MAX_WAITING_OF_TOKEN:
                raise refuse("rate-limited", "too many requests wait for changes; ask without `wait`, or later")
            self._of_token[token] += 1
            for scope in scopes:
                self._waiting.setdefault(scope, set()).add(waiter)
        try:
            yield waiter.news
        finally:
            with self._gate:
                self._leave(waiter, scopes, token)

    def _leave(self, waiter: _Waiter, scopes: list[Scope], token: int) -> None:
        self._of_token[token] -= 1
        if not self._of_token[token]:
            del self._of_token[token]
        for scope in scopes:
            self._waiting[scope].discard(waiter)
            if not self._waiting[scope]:
                del self._waiting[scope]

    def run(self) -> None:
        """Follow the feed until `stop` is called; this runs in its own thread."""
        self._work.loop(self._turn, self._over, longest=LOOK_SECONDS)

    def _turn(self) -> None:
        self._notified.wait(LOOK_SECONDS)
        self._notified.clear()
        self.look()
        self._over.wait(MIN_INTERVAL_SECONDS)

    def look(self) -> None:
        """Wake the requests that wait for changes since the last look.

        Raises BusyError or UnavailableError.
        """
        with self._store.read() as tx:
            changed = tx.changes.changed_scopes(self._seen)
        with self._gate:
            woken = {
                waiter for row in changed for waiter in self._waiting.get((row.submission_scope, row.scope_id), ())
            }
        for waiter in woken:
            waiter.wake()
        self._seen = max([self._seen, *(row.sequence for row in changed)])

    def stop(self) -> None:
        """Make `run` return soon."""
        self._over.set()
        self._notified.set()
        self._forget()
