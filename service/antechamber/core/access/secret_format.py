"""The form of this service's secrets: role prefix, 30 base62 characters (178 bits) and a checksum of 6 characters."""

import re
from typing import Final, Literal
from zlib import crc32

from blake3 import blake3

SecretKind = Literal["producer", "reader", "auditor", "link", "session"]
PREFIXES: Final[dict[SecretKind, str]] = {
    "producer": "antp_",
    "reader": "antr_",
    "auditor": "anta_",
    "link": "antl_",
    "session": "antw_",
}
SECRET_LENGTH: Final = 30
_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FORM: Final = re.compile(r"ant[pralw]_[0-9A-Za-z]{36}")
_BYTES: Final = 24
"""Random bytes for one secret: 192 bits, of which 30 base62 digits keep 178."""


def _base62(value: int, width: int) -> str:
    digits = []
    for _ in range(width):
        value, rest = divmod(value, 62)
        digits.append(_ALPHABET[rest])
    return "".join(reversed(digits))


def _checksum(text: str) -> str:
    return _base62(crc32(text.encode()), 6)


def mint(kind: SecretKind, randomness: bytes) -> str:
    """Form a secret from 24 random bytes.

    Raises ValueError if there are fewer.
    """
    if len(randomness) < _BYTES:
        message = f"a secret takes {_BYTES} random bytes"
        raise ValueError(message)
    body = PREFIXES[kind] + _base62(int.from_bytes(randomness, "big"), SECRET_LENGTH)
    return body + _checksum(body)


def has_checksum(text: str) -> bool:
    """Return whether a text has the form and checksum of a secret; this detects typing errors without a read."""
    return bool(_FORM.fullmatch(text)) and text[-6:] == _checksum(text[:-6])


def digest_secret(secret: str) -> str:
    """Return the digest of a secret for storage: with 178 random bits a plain hash suffices (OWASP ASVS 5.0, 6.5.2)."""
    return blake3(secret.encode()).hexdigest()
