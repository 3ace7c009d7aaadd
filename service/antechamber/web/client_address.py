"""The address of a client: the connection's own, or the one that a trusted proxy names."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_OWN_NETWORK_BITS: Final = 64
"""One customer has all addresses of such a network of IPv6 (RFC 6177)."""


def client_address(peer: str) -> str:
    """Return the address that a client's failures count under; IPv6 as its /64 network."""
    return _group(peer) or peer


def forwarded_address(field: str) -> str:
    """Return the same from the field of a trusted proxy; empty where there is no address in it.

    The right-most address is the one that the proxy saw, with or without a port; all others may come from the client.
    The peer's would be the proxy's, under which the failures of all clients would count together.
    """
    last = field.rpartition(",")[2].strip()
    return _group(last) or _group(last.rpartition(":")[0]) or ""


def _group(text: str) -> str | None:
    try:
        address: IPv4Address | IPv6Address = ip_address(text.strip("[]"))
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address), _OWN_NETWORK_BITS), strict=False))
