"""What both engines share beside statements: the error of a store that cannot be opened, and those who watch."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from antechamber.core.errors import AntechamberError

_log: Final = logging.getLogger(__name__)

OTHER_SCHEMA: Final = (
    "this data was written by another version, a newer one or one before the first release; install that version, or "
    "restore a backup of before"
)
OLDER_SCHEMA: Final = "this data was written by an older version; make a backup, then run: antechamber migrate"

MOVED: Final = "moved"
"""Note in a SQLite file whose data lives in a PostgreSQL database now."""


class StoreError(AntechamberError):
    """The store cannot be opened; the text says what to do."""


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
