"""Lifetimes as operators write them: a number and `d`, `h` or `m`, such as 90d."""

import re
from typing import Final

from antechamber.core.access.sessions import AccessError

_LIFETIME: Final = re.compile(r"([0-9]{1,5})([dhm])")
_UNITS: Final = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000}


def parse_lifetime(text: str) -> int:
    """Return a lifetime in microseconds.

    Raises AccessError if the text is no lifetime.
    """
    match = _LIFETIME.fullmatch(text)
    if match is None or not int(match[1]):
        message = f"{text} is no lifetime: write a number from 1 to 99999 and d, h or m, e.g. 90d"
        raise AccessError(message)
    return int(match[1]) * _UNITS[match[2]]
