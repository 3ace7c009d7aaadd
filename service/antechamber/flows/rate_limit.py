"""Rate limits: a token bucket of attempts per minute for each name, and a counter of replays."""

import threading
from typing import Final

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
