"""Checks of keys and credentials in encoded forms: DER, Base58Check, basic authentication, logins in addresses."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from antechamber.core.privacy.checks.url_logins import real_password
from antechamber.core.privacy.values.noise import is_noise
from antechamber.core.privacy.values.passwords import is_generated, is_pair_password, is_secret, is_wordy
from antechamber.core.privacy.values.phrases import is_numbered
from antechamber.core.privacy.values.words import PLAIN

_SASL_PARTS: Final = 3
"""Identity, user name and password."""
_PASSWORD: Final = re.compile(r":([^\s:@/]{4,})@")
"""The password of an address, between a user and a host (RFC 3986, section 3.2.1)."""
_QUANTUM: Final = 4
_HEAD: Final = 64
"""Characters of base64 that contain everything a check of DER reads."""
_SEQUENCE: Final = b"\x30"
_KEY_PARTS: Final = (b"\x02", b"\x30", b"\x04")
"""Tags of a number, a sequence and octets."""
_LONG_FORM: Final = 0x80
_ENCRYPTED: Final = (bytes.fromhex("2a864886f70d0105"), bytes.fromhex("2a864886f70d010c01"))
"""Object identifiers of password-based encryption: PKCS #5 and PKCS #12 (RFC 8018, RFC 7292)."""
_VERSIONS: Final = (b"\2\1\0", b"\2\1\1", b"\2\1\3")
"""Versions, as numbers in DER: RSA and PKCS #8 keys, EC keys, and PKCS #12 (RFC 8017, RFC 5958, RFC 5915, RFC 7292)."""
_BYTE: Final = re.compile("0x[0-9A-Fa-f]{2}|[1-9][0-9]*|0")
_LARGEST_BYTE: Final = 255
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_CHECKSUM: Final = 4
_BITLOCKER_FACTOR: Final = 11
_BITLOCKER_BITS: Final = 16
_SHORTEST_RANDOM: Final = 12
_MIXED: Final = re.compile("(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9]).{8,}")
_EXAMPLE: Final = re.compile(
    r"pa[s$]?[s$]|pw|w[o0]rd|s[e3]cr[e3]t|token|example|sample|change|test|demo|dummy|fake|user|admin|root|login|guest"
    r"|your?|my|abc|xyz|foo|bar|123|qwert|tr0ub4dor|hunter|correct|db|sql",
    re.IGNORECASE,
)
"""What examples of passwords are made of."""
_DEFAULT_LOGINS: Final = frozenset({"postgres", "root", "admin", "guest", "test", "example", "user", "username"})


def is_private_der(text: str) -> bool:
    """Return whether base64 begins a private key or a PKCS #12 store in DER, and not a certificate or a public key."""
    head = _decode(text)
    start = _find_content(head)
    if start is None:
        return False
    if head[start : start + 3] in _VERSIONS:
        # A number alone may be anything, so a number, a sequence or octets have to follow.
        return head[start + 3 : start + 4] in _KEY_PARTS
    # Encrypted PKCS #8: the algorithm comes first.
    return head[start : start + 1] == _SEQUENCE and any(oid in head[start : start + 20] for oid in _ENCRYPTED)


def _find_content(head: bytes) -> int | None:
    """Return the offset of the content of a sequence; None if there is no sequence."""
    if head[:1] != _SEQUENCE or len(head) == 1:
        return None
    size = head[1]
    return 2 + (size - _LONG_FORM if size > _LONG_FORM else 0)


def _decode(text: str) -> bytes:
    """Return the bytes of the beginning of a base64 text; empty if it is none."""
    head = text[:_HEAD]
    try:
        return b64decode(head[: len(head) // _QUANTUM * _QUANTUM], validate=True)
    except (binascii.Error, ValueError):
        return b""


def is_base58_key(text: str) -> bool:
    """Return whether the checksum of a Base58Check text is right: private keys of Bitcoin (WIF, BIP 32).

    Raises ValueError if the text has a character that Base58 does not have.
    """
    number = 0
    for character in text:
        number = number * len(_BASE58) + _BASE58.index(character)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return sha256(sha256(data[:-_CHECKSUM]).digest()).digest()[:_CHECKSUM] == data[-_CHECKSUM:]


def is_basic_credential(text: str) -> bool:
    """Return whether base64 holds a user name and a password that is no placeholder (RFC 7617)."""
    login = _login_of(text)
    return login is not None and _is_real(*login)


def password_in(value: str) -> str:
    """Return the password of an address or of basic authentication (RFC 7617); another value as it is."""
    address = _PASSWORD.search(value)
    if address is not None:
        return address[1]
    login = _login_of(value)
    return login[1] if login is not None and login[1] else value


def _login_of(text: str) -> tuple[str, str] | None:
    """Return the user name and the password that base64 holds, or None."""
    try:
        login = b64decode(text + "=" * (-len(text) % _QUANTUM), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    user, colon, password = login.partition(":")
    return (user, password) if colon and login.isprintable() else None


def is_sasl_credential(text: str) -> bool:
    """Return whether base64 holds an identity, a user name and a password that is no placeholder (RFC 4616)."""
    try:
        login = b64decode(text + "=" * (-len(text) % _QUANTUM), validate=True).decode()
    except ValueError:
        return False
    parts = login.split("\0")
    return len(parts) == _SASL_PARTS and "".join(parts).isprintable() and _is_real(parts[1], parts[2])


def is_url_password(text: str) -> bool:
    """Return whether `user:password@host` has a password that is no placeholder.

    For a reserved host, which documentation uses, it has to be random or chosen, as examples seldom are.
    """
    login = text.rpartition("@")[0]
    user, _, password = login.partition(":")
    # A reserved host is no proof of an example, if the password is random or chosen.
    is_random = len(password) >= _SHORTEST_RANDOM and is_pair_password(password) and is_secret(password)
    is_chosen = (is_pair_password(unquote(password)) or _MIXED.fullmatch(password) is not None) and _EXAMPLE.search(
        password
    ) is None
    return (is_random or is_chosen or real_password(text)) and _is_real(user, password)


def is_slash_password(text: str) -> bool:
    """Return whether `user/password` has a password that is no placeholder."""
    user, _, password = text.partition("/")
    return _is_real(user, password) and (not is_wordy(password) or is_numbered(password))


def _is_real(user: str, password: str) -> bool:
    """Return whether a password is no placeholder and not the user name again."""
    lower = password.lower()
    return (
        len(password) > 1
        and lower != user.lower()
        and lower not in _DEFAULT_LOGINS
        and (is_generated(password) or not is_noise(password))
    )


def is_bitlocker_key(text: str) -> bool:
    """Return whether each group of a BitLocker recovery key is a number of 16 bits times 11."""
    groups = [int(group) for group in text.split("-")]
    return len(set(groups)) > 1 and all(
        group % _BITLOCKER_FACTOR == 0 and group < _BITLOCKER_FACTOR << _BITLOCKER_BITS for group in groups
    )


def is_kubernetes_value(value: str) -> bool:
    """Return whether base64 at the place of a secret holds one: bytes, or a text that is no placeholder."""
    try:
        text = b64decode(value, validate=True).decode().strip()
    except binascii.Error:
        return False
    except UnicodeDecodeError:
        return True
    return bool(text) and not is_noise(text) and text.lower() not in PLAIN


def is_key_of_bytes(value: str) -> bool:
    """Return whether numbers are the bytes of a key: in disorder, and not those of a text."""
    numbers = [int(number, 0) for number in _BYTE.findall(value)]
    return (
        len(numbers) > 1
        and max(numbers) <= _LARGEST_BYTE
        and len(set(numbers)) > len(numbers) // 2
        and any(one > other for one, other in pairwise(numbers))
        and max(numbers) > len(numbers) * 2
    )


CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "private-der": is_private_der,
    "base58-key": is_base58_key,
    "basic-credential": is_basic_credential,
    "sasl-credential": is_sasl_credential,
    "url-password": is_url_password,
    "slash-password": is_slash_password,
    "bitlocker-key": is_bitlocker_key,
    "kubernetes-value": is_kubernetes_value,
    "key-bytes": is_key_of_bytes,
}
