"""Background work: threads and tasks that no caller waits for; failures are logged and the work is restarted.

Each piece of work has a name. When it fails, its traceback is logged, it runs again after a pause that grows to a
minute, and its alarm is listed until it works again.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Final

from antechamber.core.errors import AntechamberError

FIRST_PAUSE: Final = 1.0
"""Seconds between the first failure and the next attempt; each further failure doubles them."""
LONGEST_PAUSE: Final = 60.0
MAX_TEMPORARY: Final = 3
"""Consecutive temporary failures, such as of a busy store, before they raise an alarm."""
LASTS: Final = 5.0
"""Seconds after which a restarted task counts as working."""
_log: Final = logging.getLogger(__name__)


class Work:
    """One piece of background work and its state; its methods may be called from any thread.

    `name` is shown to operators.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._failures = 0
        self.alarm: str | None = None
        """What fails, for operators; None while it works. Never contains the error's own text, which may quote data."""

    def note_success(self) -> None:
        """Record a success."""
        if self.alarm is not None:
            _log.warning("%s works again", self.name)
        self._failures, self.alarm = 0, None

    def note_failure(self, error: BaseException, *, temporary: tuple[type[BaseException], ...] = ()) -> float:
        """Log a failure and return the seconds to wait before the next attempt.

        A failure is temporary if it has one of these types, or is one of our errors marked as temporary. It is logged
        without a traceback, and the first ones raise no alarm.
        """
        is_temporary = isinstance(error, temporary) or (isinstance(error, AntechamberError) and error.temporary)
        self._failures += 1
        pause = min(FIRST_PAUSE * (1 << min(self._failures - 1, 10)), LONGEST_PAUSE)
        if is_temporary:
            _log.warning("%s failed: %s", self.name, error)
        else:
            _log.error("%s failed; it is tried again", self.name, exc_info=error)
        if not is_temporary or self._failures >= MAX_TEMPORARY or self.alarm is not None:
            self.alarm = (
                f"Background work failed: {self.name} ({type(error).__name__}). It is tried again; the service's log "
                "says more."
            )
        return pause

    async def repeat(self, act: Callable[[], object], seconds: float) -> None:
        """Call `act` in a thread, with this many seconds between two calls, until cancelled."""
        pause = seconds
        while True:
            await asyncio.sleep(pause)
            try:
                await asyncio.to_thread(act)
            except Exception as error:  # noqa: BLE001 -- no error may end the work
                pause = max(seconds, self.note_failure(error))
            else:
                self.note_success()
                pause = seconds

    async def keep(self, run: Callable[[], Awaitable[None]]) -> None:
        """Await `run()`, which should not end, and call it again whenever it ends, until cancelled."""
        error: Exception | None = None
        while True:
            with contextlib.ExitStack() as stack:
                if error is not None:
                    stack.callback(asyncio.get_running_loop().call_later(LASTS, self.note_success).cancel)
                try:
                    await run()
                except Exception as raised:  # noqa: BLE001 -- no error may end the work
                    error = raised
                else:
                    error = RuntimeError("it ended")
            await asyncio.sleep(self.note_failure(error))

    def loop(
        self,
        step: Callable[[], object],
        over: threading.Event,
        *,
        temporary: tuple[type[BaseException], ...] = (),
        longest: float = LONGEST_PAUSE,
    ) -> None:
        """Call `step` repeatedly until `over` is set; runs in a dedicated thread.

        Errors of the types in `temporary` count as temporary failures; `longest` limits the pause after a failure.
        """
        while not over.is_set():
            try:
                step()
            except BaseException as error:  # noqa: BLE001 -- no error may end the work, nor may SystemExit end a thread
                if not (over.is_set() and isinstance(error, temporary)):
                    over.wait(min(self.note_failure(error, temporary=temporary), longest))
            else:
                self.note_success()


class Background:
    """All background work of one process."""

    def __init__(self) -> None:
        self._works: list[Work] = []
        self._sources: list[tuple[str, Callable[[], list[str]]]] = []

    def work(self, name: str) -> Work:
        """Add a piece of work."""
        work = Work(name)
        self._works.append(work)
        return work

    def add_alarms(self, alarms: Callable[[], list[str]], source: str = "background") -> None:
        """Also list the alarms that a function returns; `source` is one of those of the metrics."""
        self._sources.append((source, alarms))

    def alarms(self) -> dict[str, list[str]]:
        """Return the alarms of the work that fails now, and those of all functions, by their sources."""
        found = {"background": [work.alarm for work in self._works if work.alarm is not None]}
        for source, alarms in self._sources:
            found.setdefault(source, []).extend(alarms())
        return {source: texts for source, texts in found.items() if texts}
