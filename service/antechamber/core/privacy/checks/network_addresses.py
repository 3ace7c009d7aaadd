"""Addresses of machines: IP version 4 and 6, and MAC, that are not reserved for documents or the machine itself."""

import re
from collections.abc import Callable, Iterator
from ipaddress import IPv6Address, ip_network
from typing import Final

from antechamber.core.privacy.effort import Effort

_V4: Final = re.compile(
    r"[0-9](?<![0-9A-Za-z.].)[0-9]{0,2}\.(?:[0-9]{1,3}\.){2}[0-9]{1,3}(?![0-9A-Za-z]|\.[0-9]|-[0-9]*[A-Za-z])"
)
_VERSION: Final = re.compile(
    r"(?i)(?:\b(?:v|ver|version|versions|release|releases|released|upgrade|upgraded|update|updated|build|firmware"
    r"|driver|package|schema|assemblyversion|fileversion|heading|section|chapter|clause|oid|rev|revision)\b[.]?"
    r"(?:[ _-](?:to|from|is|of|no|number|in|at))?"
    r"[ :=#\"'`(~^<>]{0,4}|[a-z_)\]][/@]|[=~^<>!]=[ ]?|[a-z]-|\u00a7[ ]?|(?-i:[a-z][A-Z]+) )\Z"
)
"""The end of a text before four numbers that are a version or a section, also of a product such as OpenSSL."""
_LOGIN: Final = re.compile(
    r"(?i)(?:\b(?:ssh|scp|sftp|rsync|mosh|ftp)\b[^\n@]{1,59}|://[^\s/@]{1,60}"
    r"|\b(?:root|admin|administrator|ubuntu|debian|centos|ec2-user|vagrant|deploy|backup|git|pi|user))@\Z"
)
"""The end of a text before the address of a login; after any other name and `@`, four numbers are a version."""
_LOGIN_REACH: Final = 64
"""Characters before a number that are searched for a login."""
_REACH: Final = 24
"""Characters before a number that are searched for such a word."""
_V6: Final = re.compile(r":[0-9A-Fa-f]{0,4}:")
"""What each address of version 6 has; the address around it is read from there."""
_V6_BEGINNING: Final = re.compile(r"(?<![0-9A-Za-z:.])[0-9A-Fa-f]{0,4}\Z")
_V6_GROUP: Final = 4
"""Digits of a group of version 6."""
_V6_ADDRESS: Final = re.compile(r"[0-9A-Fa-f:]{4,39}(?:(?<=:)[0-9]{1,3}(?:\.[0-9]{1,3}){3})?(?![0-9A-Za-z:]|\.[0-9])")
"""An address of version 6, also with one of version 4 at its end (RFC 4291, section 2.5.5.2)."""
_MASK: Final = re.compile("/([0-9]|[12][0-9]|30)(?![0-9]|[.][0-9])")
"""The number of bits of a network; one of 31 bits or more is that of a machine."""
_BITS: Final = 32
_HARMLESS_V4: Final = (
    (127,),  # loopback
    (169, 254),  # link-local, RFC 3927
    (192, 0, 2),  # documentation, RFC 5737
    (198, 51, 100),  # documentation, RFC 5737
    (203, 0, 113),  # documentation, RFC 5737
    (0,),  # this network, RFC 6890
    (255,),  # broadcast and masks
)
"""First numbers of addresses that are no finding."""
_HARMLESS_V6: Final = (
    ip_network("2001:db8::/32"),  # documentation, RFC 3849
    ip_network("3fff::/20"),  # documentation, RFC 9637
)
_MOST_NUMBER: Final = 255
_MAC: Final = re.compile(
    r"[0-9A-Fa-f](?<![0-9A-Za-z:.-].)[0-9A-Fa-f](?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5}"
    r"|[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f]{4}){2})(?![0-9A-Za-z:]|[.-][0-9A-Za-z])"
)
_SAME: Final = frozenset({"ffffffffffff"})
_DOCUMENTS: Final = ("00005e0053", "01005e9010")
"""Prefixes of MAC addresses for documents (RFC 7042, section 2.1.2 and 2.1.1)."""


def find_ip_addresses(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of IP addresses, without loopback, unspecified, link-local and documentation addresses.

    Four numbers after a word such as `version` are none. Raises EffortSpentError if there are too many candidates.
    """
    end, longer = 0, set[int]()
    for sign in _V6.finditer(text):
        beginning = _V6_BEGINNING.search(text, max(end, sign.start() - _V6_GROUP), sign.start())
        address = _V6_ADDRESS.match(text, beginning.start()) if beginning else None
        if address is not None:
            effort.spend()
            end = address.end()
            longer.add(end)
            if _is_long(address[0]) and _is_exposed_v6(address[0]):
                yield address.span()
    for match in _V4.finditer(text):
        effort.spend()
        # Four numbers may be the end of an address of version 6.
        if (
            match.end() not in longer
            and _is_exposed(match[0])
            and not _is_version(text, match.start())
            and not _is_network(match[0], text, match.end())
        ):
            yield match.span()


def _is_network(address: str, text: str, end: int) -> bool:
    """Return whether a mask behind an address leaves nothing of it but a network, as in `10.0.0.0/8` (RFC 4632)."""
    mask = _MASK.match(text, end)
    if mask is None:
        return False
    number = int.from_bytes(map(int, address.split(".")))
    return number & ((1 << _BITS - int(mask[1])) - 1) == 0


def _is_version(text: str, start: int) -> bool:
    """Return whether what is before four numbers says that they are a version."""
    return bool(
        _VERSION.search(text, max(0, start - _REACH), start)
        and not _LOGIN.search(text, max(0, start - _LOGIN_REACH), start)
    )


def _is_long(address: str) -> bool:
    """Return whether an address is more than a slice such as `1::2` or a name such as `add::face`."""
    return any(character.isdigit() for character in address) and max(map(len, address.split(":"))) > 2  # noqa: PLR2004


def _is_exposed(text: str) -> bool:
    """Return whether an address of version 4 is neither reserved nor malformed."""
    numbers = tuple(map(int, text.split(".")))
    return (
        max(numbers) <= _MOST_NUMBER
        and numbers[0] < _MOST_NUMBER
        and not any(numbers[: len(first)] == first for first in _HARMLESS_V4)
    )


def _is_exposed_v6(text: str) -> bool:
    """Return whether an address of version 6 is neither reserved nor malformed."""
    try:
        address = IPv6Address(text)
    except ValueError:
        return False
    if (mapped := address.ipv4_mapped) is not None:
        return _is_exposed(str(mapped))
    own = address.is_loopback or address.is_unspecified or address.is_link_local or address.is_multicast
    return not own and not any(address in network for network in _HARMLESS_V6)


def find_mac_addresses(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of MAC addresses, without broadcast and documentation addresses (RFC 7042).

    Six pairs of decimal digits are none.

    Raises EffortSpentError if there are too many candidates.
    """
    for match in _MAC.finditer(text):
        effort.spend()
        digits = re.sub("[:.-]", "", match[0].lower())
        # Six numbers may be a date and a time; of the real addresses, one in 280 has no letter.
        if not digits.isdigit() and digits not in _SAME and not digits.startswith(_DOCUMENTS):
            yield match.span()


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {
    "ip-addresses": find_ip_addresses,
    "mac-addresses": find_mac_addresses,
}
