"""Wall-clock time that ignores later changes of the system clock: read once, then advanced by a monotonic clock."""

from datetime import timedelta
from typing import Final

from antechamber.core.ports.clock import Clock

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

    def __call__(self) -> int:
        """Return the current time in microseconds since 1970 UTC."""
        return self._elapsed() + self._offset

    @property
    def alarm(self) -> str | None:
        """Return by how much the system clock was set meanwhile; None while both clocks agree."""
        ahead = self._wall() - self()
        if abs(ahead) <= TOLERATED:
            return None
        by = timedelta(seconds=round(abs(ahead) / 1_000_000))
        return (
            f"The system's clock was set {'forward' if ahead > 0 else 'back'} by {by} since the service started. "
            "The service goes on counting from its start, so that nothing expires early or late; once the system's "
            "clock is right, restart the service to take its time."
        )
