"""What a pattern cannot say: checksums, number ranges and reserved names."""

import re
from functools import cache
from typing import Final

from stdnum import iban as iban_number
from stdnum import luhn, numdb

from antechamber.core.tokens import has_checksum

_RESERVED: Final = ("example.com", "example.net", "example.org", "example", "invalid", "localhost", "test", "local")
_NOBODY: Final = frozenset({"git", "noreply", "no-reply", "donotreply", "do-not-reply"})
_PLACEHOLDERS: Final = frozenset({"password", "pass", "passwd", "pwd", "secret", "token", "xxx", "changeme", "pw", "p"})
_CARD_LENGTHS: Final[tuple[tuple[range, int, frozenset[int]], ...]] = (
    (range(4, 5), 1, frozenset({13, 16, 19})),
    (range(51, 56), 2, frozenset({16})),
    (range(2221, 2721), 4, frozenset({16})),
    (range(34, 35), 2, frozenset({15})),
    (range(37, 38), 2, frozenset({15})),
    (range(300, 306), 3, frozenset({14})),
    (range(36, 37), 2, frozenset({14})),
    (range(38, 40), 2, frozenset({14})),
    (range(6011, 6012), 4, frozenset({16, 19})),
    (range(644, 660), 3, frozenset({16, 19})),
    (range(3528, 3590), 4, frozenset({16, 17, 18, 19})),
    (range(62, 63), 2, frozenset({16, 17, 18, 19})),
)
"""Issuer prefixes (ISO/IEC 7812) with their digits and the lengths that cards of that issuer have."""
_IBAN_HEAD: Final = 4
"""Characters before the account: country and check digits."""


def always(_text: str) -> bool:
    """Accept whatever the pattern found."""
    return True


def own_token(text: str) -> bool:
    """Tell one of our tokens from a word that looks like one."""
    return has_checksum(text)


def personal_address(text: str) -> bool:
    """Tell an address that may belong to a person from reserved domains (RFC 2606, RFC 6761) and nobody's mailboxes."""
    local, _, domain = text.lower().rpartition("@")
    return not _is_reserved(domain) and local not in _NOBODY


def _is_reserved(host: str) -> bool:
    host = host.lower().rstrip(".")
    return any(host == name or host.endswith("." + name) for name in _RESERVED)


def real_password(text: str) -> bool:
    """Tell a password from a placeholder such as `user:password@` or `${USER}:${PASS}@`, and from reserved hosts."""
    credentials, _, host = text.rpartition("@")
    secret = credentials.partition(":")[2]
    placeholder = (
        secret.lower() in _PLACEHOLDERS
        or secret.startswith(("$", "<", "{", "[", "%s", "%("))
        or set(secret) <= {"x", "X", "*", "."}
    )
    return not placeholder and not _is_reserved(host)


def card_number(text: str) -> bool:
    """Tell a payment card number by issuer prefix, length and Luhn digit (ISO/IEC 7812-1).

    Groups of digits that follow it (an expiry date) do not hide it.
    """
    groups = re.split("[ \xa0-]", text)
    digits, end = "".join(groups), 0
    lengths = _card_lengths(digits)
    for group in groups:
        end += len(group)
        if end in lengths and len(set(digits[:end])) > 1 and luhn.is_valid(digits[:end]):
            return True
    return False


def _card_lengths(digits: str) -> frozenset[int]:
    """Return the lengths that cards with this issuer prefix have."""
    return frozenset().union(
        *(lengths for prefixes, width, lengths in _CARD_LENGTHS if int(digits[:width]) in prefixes)
    )


def iban(text: str) -> bool:
    """Tell an IBAN by country, length and check digits (ISO 13616); what follows it in the text does not hide it."""
    compact = text.replace(" ", "").replace("-", "").upper()
    length = _iban_length(compact[:2])
    return length > 0 and len(compact) >= length and iban_number.is_valid(compact[:length])


@cache
def _iban_length(country: str) -> int:
    """Return how many characters a country's IBANs have, 0 for countries that have none."""
    ((_, properties), *_rest) = numdb.get("iban").info(country)
    parts = re.findall(r"(\d+)!", properties.get("bban", ""))
    return _IBAN_HEAD + sum(map(int, parts)) if parts else 0
