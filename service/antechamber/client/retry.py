"""Retry rules: which statuses are retried, the pause between attempts, and the circuit breaker."""

import time
from collections.abc import Callable
from typing import Final

from antechamber.core.delivery_rules import ServerAnswer

_FIRST_PAUSE_SECONDS: Final = 0.25


MAX_PAUSE_SECONDS: Final = 20.0
"""Longest pause; if a service asks for more, the operation is left to a later recovery."""


RETRYABLE: Final = frozenset({429, 500, 502, 503, 504})
"""Statuses after which a read may succeed if repeated."""


def pause(attempt: int, retry_after: float | None, chance: Callable[[], float]) -> float:
    """Return the seconds to wait after this many attempts: doubled each time, a random half to all of it.

    At least as long as the service asks for.
    """
    longest = min(MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0**attempt)
    return max(longest * (0.5 + chance() / 2), retry_after or 0.0)


class CircuitBreaker:
    """Circuit breaker: blocks calls for `cooldown` seconds after `failures` consecutive failures, then permits one."""

    def __init__(self, failures: int, cooldown: float, now: Callable[[], float] = time.monotonic) -> None:
        self._max_failures, self._cooldown, self._now = failures, cooldown, now
        self._failures = 0
        self._open_until = 0.0

    def remaining(self) -> float:
        """Return for how many seconds calls are blocked; 0 if they are allowed."""
        return max(0.0, self._open_until - self._now()) if self._failures >= self._max_failures else 0.0

    def permit_one(self) -> None:
        """Permit the next call: another failure blocks calls again, and a success ends the block."""
        self._open_until = self._now()

    def record(self, answer: ServerAnswer) -> None:
        """Count a failure, or reset the count after an answer that shows that the service works."""
        if answer.status is not None and answer.status < 500 and answer.status != 429:  # noqa: PLR2004 -- RFC 9110, 6585
            self._failures = 0
            return
        self._failures += 1
        if self._failures >= self._max_failures:
            self._open_until = self._now() + self._cooldown
