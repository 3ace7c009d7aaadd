"""The effort of a scan: how much may be verified before a text counts as one that cannot be checked."""

from typing import Final

MAX_EFFORT: Final = 8_192
"""Units of one scan, each about 2 microseconds. Look-alikes that are cheap to verify do not reach it within a body."""


class EffortSpentError(Exception):
    """A text holds more look-alikes of private values than are verified; it counts as a finding."""


class Effort:
    """Counts the verifications of one scan."""

    def __init__(self, most: int = MAX_EFFORT) -> None:
        """Begin with nothing spent."""
        self._most = most
        self.spent = 0

    def spend(self, units: int = 1) -> None:
        """Count one verification.

        Raises EffortSpentError where it would be one too many.
        """
        self.spent += units
        if self.spent > self._most:
            raise EffortSpentError
