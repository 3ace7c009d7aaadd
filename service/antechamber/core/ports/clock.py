"""Clock and randomness, which only the outermost layer has."""

from collections.abc import Callable

Clock = Callable[[], int]
"""The time now, in microseconds since 1970 UTC."""


Randomness = Callable[[int], bytes]
"""That many unpredictable bytes."""
