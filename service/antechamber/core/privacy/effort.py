"""The effort of a scan: the number of verifications after which a text counts as impossible to check."""

from typing import Final

MAX_EFFORT: Final = 6_000
"""Units of one scan, each about 4 microseconds; an ordinary text of 64 KB takes 200, one of many notes up to 5,200."""


class EffortSpentError(Exception):
    """Raised when a text has more look-alikes of private values than are verified; this counts as a finding."""


class Effort:
    """Counts the verifications of one scan, at most `most` units."""

    def __init__(self, most: int = MAX_EFFORT) -> None:
        self._most = most
        self.spent = 0

    def spend(self, units: int = 1) -> None:
        """Count one verification.

        Raises EffortSpentError if the limit is exceeded.
        """
        self.spent += units
        if self.spent > self._most:
            raise EffortSpentError
