"""Rate limits: a token bucket of attempts per minute, and an account of scan steps, for each name."""

import threading
from typing import Final

from antechamber.core.ports.clock import Clock

_MINUTE: Final = 60_000_000
_SECOND: Final = 1_000_000
_BURST: Final = 20
"""Seconds of steps that a name may use at once."""


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


class StepAccounts:
    """One account of scan steps for each name: scans are charged afterwards, and time pays them back.

    In memory and thread-safe.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gate = threading.Lock()
        self._debts: dict[str, tuple[float, int]] = {}

    def charge(self, name: str, steps: int, per_second: int) -> None:
        """Add the steps of a scan to the debt of a name."""
        now = self._clock()
        with self._gate:
            self._debts[name] = (self._debt(name, per_second, now) + steps, now)

    def may_scan(self, name: str, per_second: int) -> bool:
        """Return whether the debt of a name is small enough for another scan."""
        with self._gate:
            return self._debt(name, per_second, self._clock()) <= per_second * _BURST

    def _debt(self, name: str, per_second: int, now: int) -> float:
        debt, since = self._debts.get(name, (0.0, now))
        return max(0.0, debt - (now - since) * per_second / _SECOND)
