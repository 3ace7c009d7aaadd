"""Wall-clock time that ignores later changes of the system clock: read once, then advanced by a monotonic clock."""

import contextlib
from datetime import timedelta
from typing import Final

import msgspec

from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.core.webhooks.events import time_of

BEHIND: Final = 5 * 60 * 1_000_000
"""Microseconds that the newest leaf may be ahead of the clock without an alarm: clocks of several hosts differ."""
TOLERATED: Final = 10_000_000
"""Maximum difference of the system clock in microseconds; beyond it an alarm is raised."""


class SteadyClock:
    """The clock that a running service uses for timestamps and expiry.

    `wall` is read once for the time of day; `elapsed` counts microseconds from any moment, including time asleep. If
    the system clock is set, jumps or stops, no session ends early and no revoked token stays valid.
    """

    def __init__(self, wall: Clock, elapsed: Clock) -> None:
        self._wall = wall
        self._elapsed = elapsed
        self._offset = wall() - elapsed()
        self._recorded = 0

    def compare(self, store: Store) -> None:
        """Keep the time of the log's newest leaf, which is not after the current time; a damaged leaf is left out."""
        with store.read() as tx:
            leaves = tx.log.leaf_texts(max(tx.log.size() - 1, 0), 1)
        with contextlib.suppress(msgspec.DecodeError, ValueError):
            self._recorded = max(map(time_of, leaves), default=0)

    def __call__(self) -> int:
        """Return the current time in microseconds since 1970 UTC."""
        return self._elapsed() + self._offset

    @property
    def alarm(self) -> str | None:
        """Return by how much the system clock was set meanwhile, or is behind the log; None while all agree."""
        if (behind := self._recorded - self()) > BEHIND:
            return (
                f"The system's clock is {_time(behind)} behind the newest entry of the log, or it was ahead when that "
                "was written. Events that agents observed meanwhile are refused as in the future. Set the clock right, "
                "and restart the service to take its time."
            )
        ahead = self._wall() - self()
        if abs(ahead) <= TOLERATED:
            return None
        return (
            f"The system's clock was set {'forward' if ahead > 0 else 'back'} by {_time(abs(ahead))} since the service "
            "started. The service goes on counting from its start, so that nothing expires early or late; once the "
            "system's clock is right, restart the service to take its time."
        )


def _time(micros: int) -> timedelta:
    return timedelta(seconds=round(micros / 1_000_000))
