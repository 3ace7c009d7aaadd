"""Rate limits: a token bucket of attempts per minute for each name, and a counter of replays."""

import threading
from collections import Counter
from typing import Final

from antechamber.core.ports.admission import ReplayKey
from antechamber.core.ports.clock import Clock

_MINUTE: Final = 60_000_000


class TokenBuckets:
    """One token bucket for each name, full at first and refilled evenly; in memory and thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gate = threading.Lock()
        self._buckets: dict[str, tuple[float, int]] = {}

    def take(self, name: str, per_minute: int) -> bool:
        """Take one token from a bucket; return False if the bucket is empty."""
        now = self._clock()
        with self._gate:
            level, since = self._buckets.get(name, (float(per_minute), now))
            level = min(float(per_minute), level + (now - since) * per_minute / _MINUTE)
            taken = level >= 1
            self._buckets[name] = (level - taken, now)
        return taken


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
