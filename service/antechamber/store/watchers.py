"""Watchers: callbacks that run after a commit changed the queue or the quarantine."""

import logging
import threading
from collections.abc import Callable
from typing import Final

_log: Final = logging.getLogger(__name__)


class Watchers:
    """Those who want to know that the queue or the quarantine changed."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._gate = threading.Lock()
        self._wakes: list[Callable[[], object]] = []

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` after each change, from the thread that noticed it; return what ends that."""
        with self._gate:
            self._wakes.append(wake)

        def end() -> None:
            with self._gate:
                self._wakes.remove(wake)

        return end

    def wake(self) -> None:
        """Tell everybody."""
        with self._gate:
            wakes = list(self._wakes)
        for wake in wakes:
            try:
                wake()
            except Exception:  # noqa: BLE001 -- what is on disk must not be called failed because of it
                _log.exception("somebody who watches the queue could not be told")
