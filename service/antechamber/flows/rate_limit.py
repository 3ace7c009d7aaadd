"""Metering: how many attempts somebody may make a minute (token bucket), and how many were made."""

import threading
from collections import Counter
from typing import Final

from antechamber.core.ports.admission import ReplayKey
from antechamber.core.ports.clock import Clock

_MINUTE: Final = 60_000_000


class TokenBuckets:
    """One bucket per name, refilled evenly; counts live in this process, and several threads may take."""

    def __init__(self, clock: Clock) -> None:
        """Start with full buckets."""
        self._clock = clock
        self._gate = threading.Lock()
        self._buckets: dict[str, tuple[float, int]] = {}

    def take(self, name: str, per_minute: int) -> bool:
        """Take one attempt from a bucket; False where it is empty."""
        now = self._clock()
        with self._gate:
            level, since = self._buckets.get(name, (float(per_minute), now))
            level = min(float(per_minute), level + (now - since) * per_minute / _MINUTE)
            taken = level >= 1
            self._buckets[name] = (level - taken, now)
        return taken


class ReplayCounter:
    """Counts attempts until they are written; several threads may count."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._gate = threading.Lock()
        self._counter: Counter[ReplayKey] = Counter()

    def add(self, counted: Counter[ReplayKey]) -> None:
        """Add counts."""
        with self._gate:
            self._counter.update(counted)

    def take(self) -> Counter[ReplayKey]:
        """Take all counts away."""
        with self._gate:
            counted, self._counter = self._counter, Counter()
        return counted
