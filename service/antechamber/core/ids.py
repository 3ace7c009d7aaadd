"""Public ids: UUIDv7 (RFC 9562), which sort by time and reveal nothing else."""

from functools import lru_cache
from typing import Final

_VARIANT: Final = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""The hexadecimal digit with the variant: two bits are 10, two are random."""


def uuid7(now: int, randomness: bytes) -> str:
    """Return an id made from a time in microseconds since 1970 UTC and 10 random bytes."""
    tail = randomness.hex()
    return f"{_moment(now // 1000)}-7{tail[:3]}-{_VARIANT[tail[4]]}{tail[5:8]}-{tail[8:20]}"


def earliest(now: int) -> str:
    """Return a lower bound: ids of this millisecond or later sort after it, all earlier ones before it."""
    return _moment(now // 1000)


@lru_cache(maxsize=64)
def _moment(millisecond: int) -> str:
    """Return the 48 bits of a time as text; cached, because many ids share one."""
    digits = f"{millisecond & 0xFFFF_FFFF_FFFF:012x}"
    return f"{digits[:8]}-{digits[8:]}"
