"""A clock that nobody sets: it takes the time of day once and then counts what has passed."""

from datetime import timedelta
from typing import Final

from antechamber.core.ports.clock import Clock

TOLERATED: Final = 10_000_000
"""Microseconds that the system's time of day may differ before an operator hears of it."""


class SteadyClock:
    """The time by which a running service stamps and expires.

    A system clock that is set, jumps or stands still neither ends a session early nor keeps a revoked token alive.
    """

    def __init__(self, wall: Clock, elapsed: Clock) -> None:
        """Begin at the time of day; `elapsed` counts microseconds from any moment, time asleep included."""
        self._wall = wall
        self._elapsed = elapsed
        self._offset = wall() - elapsed()

    def __call__(self) -> int:
        """Return the time now, in microseconds since 1970 UTC."""
        return self._elapsed() + self._offset

    @property
    def alarm(self) -> str | None:
        """Say by how much the system's clock was set meanwhile; None while both agree."""
        ahead = self._wall() - self()
        if abs(ahead) <= TOLERATED:
            return None
        by = timedelta(seconds=round(abs(ahead) / 1_000_000))
        return (
            f"The system's clock was set {'forward' if ahead > 0 else 'back'} by {by} since the service started. "
            "The service goes on counting from its start, so that nothing expires early or late; once the system's "
            "clock is right, restart the service to take its time."
        )
