"""Public ids: UUIDv7 (RFC 9562), so that they sort by time and say nothing else."""


def uuid7(now: int, randomness: bytes) -> str:
    """Form an id from a time in microseconds since 1970 UTC and 10 random bytes."""
    tail = int.from_bytes(randomness[:10], "big")
    value = (now // 1000 & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | (tail >> 68 & 0xFFF) << 64
    text = f"{value | 0b10 << 62 | tail & 0x3FFF_FFFF_FFFF_FFFF:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
