"""The address of a client: that of the connection, or the one that a trusted proxy reports."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_OWN_NETWORK_BITS: Final = 64
"""One customer typically owns a whole IPv6 network of this prefix length (RFC 6177)."""


def client_address(peer: str) -> str:
    """Return the address under which a client's failures are counted; for IPv6 its /64 network."""
    return _group(peer) or peer


def forwarded_address(field: str) -> str:
    """Return the client's address from the header field of a trusted proxy; an empty text if it has none.

    The right-most address is the one that the proxy saw, with or without a port; the client may have forged all others.
    The connection's own address would be the proxy's, under which the failures of all clients would be counted
    together.
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
