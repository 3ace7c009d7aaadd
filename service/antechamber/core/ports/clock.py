"""Interfaces for time and randomness, which only the outermost layer provides."""

from collections.abc import Callable

Clock = Callable[[], int]
"""Return the current time in microseconds since 1970 UTC."""


Randomness = Callable[[int], bytes]
"""Return the given number of unpredictable bytes."""
