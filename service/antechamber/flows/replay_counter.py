"""Counting replays in memory until they are written."""

import threading
from collections import Counter

from antechamber.core.ports.admission import ReplayKey


class ReplayCounter:
    """Counts replays in memory until they are written; thread-safe."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._counter: Counter[ReplayKey] = Counter()

    def add(self, counted: Counter[ReplayKey]) -> None:
        """Add counts."""
        with self._gate:
            self._counter.update(counted)

    def take(self) -> Counter[ReplayKey]:
        """Return all counts and reset them."""
        with self._gate:
            counted, self._counter = self._counter, Counter()
        return counted
