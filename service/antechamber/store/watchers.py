"""Callbacks that run after a commit that changed the queue or the quarantine."""

import logging
import threading
from collections.abc import Callable
from typing import Final

_log: Final = logging.getLogger(__name__)


class Watchers:
    """Thread-safe list of callbacks for changes of the queue or the quarantine."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._wakes: list[Callable[[], object]] = []

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` after each change, from the thread that noticed it; return a function that ends this."""
        with self._gate:
            self._wakes.append(wake)

        def end() -> None:
            with self._gate:
                self._wakes.remove(wake)

        return end

    def wake(self) -> None:
        """Call every callback; an exception in one is logged and does not stop the others."""
        with self._gate:
            wakes = list(self._wakes)
        for wake in wakes:
            try:
                wake()
            except Exception:  # noqa: BLE001 -- the commit is on disk, so a failing callback must not fail its callers
                _log.exception("a watcher of the queue failed")
