"""Change notifications from all processes: one LISTEN connection, opened for the first watcher."""

import threading
import time
from collections.abc import Callable
from typing import Final

import psycopg

from antechamber.background import Work
from antechamber.store.errors import StoreError
from antechamber.store.postgres.connection import Connection, Watchdog, connect, hang_up
from antechamber.store.watchers import Watchers

_PAUSE_SECONDS: Final = 2.0
_SILENCE_SECONDS: Final = 5.0
"""After this many seconds without a notification the connection is tested: a network may have dropped it silently."""


class Listener:
    """Calls its watchers when any process announces a change; it connects when the first watcher registers."""

    def __init__(self, url: str, watchdog: Watchdog, work: Work) -> None:
        self._url = url
        self._work = work
        self._watchdog = watchdog
        self._watchers = Watchers()
        self._gate = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._connection: Connection | None = None

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` after each change; return a function that ends the subscription."""
        end = self._watchers.watch(wake)
        with self._gate:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._listen, name="antechamber-listener", daemon=True)
                self._thread.start()
        return end

    def _listen(self) -> None:
        # A network failure or a restart of the server breaks the connection.
        broken = (psycopg.Error, OSError, StoreError)
        self._work.loop(self._follow, self._stop, temporary=broken, longest=_PAUSE_SECONDS)

    def _follow(self) -> None:
        with connect(self._url, self._watchdog) as connection:
            with self._gate:
                self._connection = connection
            with self._watchdog.over(connection):
                connection.execute("LISTEN antechamber")
            # Changes before this LISTEN were not received, so watchers must look once.
            self._watchers.wake()
            self._work.note_success()
            tried = time.monotonic()
            while not self._stop.is_set():
                if list(connection.notifies(timeout=_SILENCE_SECONDS, stop_after=1)):
                    self._watchers.wake()
                if time.monotonic() - tried > _SILENCE_SECONDS:
                    with self._watchdog.over(connection):
                        connection.execute("SELECT 1")
                    tried = time.monotonic()

    def close(self) -> None:
        """Stop listening at once."""
        with self._gate:
            self._stop.set()
            if self._connection is not None:
                hang_up(self._connection)
        if self._thread is not None:
            self._thread.join()
