"""Public ids: UUIDv7 (RFC 9562), so that they sort by time and say nothing else."""

from functools import lru_cache
from typing import Final

_VARIANT: Final = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""The digit that holds the variant: two bits of it are 10, two are random."""


def uuid7(now: int, randomness: bytes) -> str:
    """Form an id from a time in microseconds since 1970 UTC and 10 random bytes."""
    tail = randomness.hex()
    return f"{_moment(now // 1000)}-7{tail[:3]}-{_VARIANT[tail[4]]}{tail[5:8]}-{tail[8:20]}"


def earliest(now: int) -> str:
    """Return what no id of this millisecond or a later one comes before, and every earlier one does."""
    return _moment(now // 1000)


@lru_cache(maxsize=64)
def _moment(millisecond: int) -> str:
    """Write the 48 bits of a time; many ids share one."""
    digits = f"{millisecond & 0xFFFF_FFFF_FFFF:012x}"
    return f"{digits[:8]}-{digits[8:]}"
