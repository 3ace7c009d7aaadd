"""Where webhooks may go: which URLs and which network addresses are allowed."""

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from antechamber.core.errors import AntechamberError

MAX_URL: Final = 2_000
_HOST: Final = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?")
_PRINTABLE: Final = re.compile(r"[!-~]+")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_V4_COMPATIBLE: Final = IPv6Network("::/96")
_ADVICE: Final = "write it like https://hooks.example.org/antechamber"


class TargetError(AntechamberError):
    """Raised when a URL or its network address is not allowed; the text says what to change."""


class WebhookTarget(Struct, frozen=True, kw_only=True):
    """The parts of an endpoint's URL that a request needs."""

    host: str
    """A name, or an IP address without brackets."""
    port: int
    path: str
    """Path and query."""
    secure: bool
    authority: str
    """The value of the header Host."""


def read_target(url: str, *, allow_private: bool) -> WebhookTarget:
    """Return the parts of an endpoint's URL.

    Raises TargetError if it is no URL that can be used; `http` and private addresses need `allow_private`.
    """
    if len(url) > MAX_URL or not _PRINTABLE.fullmatch(url):
        message = f"the URL has more than {MAX_URL} characters, or others than printable ASCII; {_ADVICE}"
        raise TargetError(message)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        message = f"the URL cannot be read; {_ADVICE}"
        raise TargetError(message) from None
    _check_parts(url, parts.scheme, allow_private=allow_private)
    host = parts.hostname or ""
    if not _is_host(host) or port == 0:
        message = f"the URL names no host, or an invalid one; {_ADVICE}; an international name begins with xn--"
        raise TargetError(message)
    secure = parts.scheme == "https"
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port is None else f"{shown}:{port}"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    target = WebhookTarget(
        host=host, port=port or (443 if secure else 80), path=path, secure=secure, authority=authority
    )
    if _is_address(host):
        check_address(host, allow_private=allow_private)
    elif host.rstrip(".").rpartition(".")[2] == "localhost" and not allow_private:
        raise TargetError(_private(host))
    return target


def _check_parts(url: str, scheme: str, *, allow_private: bool) -> None:
    if scheme not in {"https", "http"}:
        message = f"the URL begins with neither https:// nor http://; {_ADVICE}"
        raise TargetError(message)
    if scheme == "http" and not allow_private:
        message = "http sends events unencrypted, so it is only for private networks: use https, or --allow-private"
        raise TargetError(message)
    if "@" in url.partition("://")[2].partition("/")[0] or "#" in url:
        message = "the URL has a user name, a password or a fragment; leave them out: the signature proves the sender"
        raise TargetError(message)


def _is_host(host: str) -> bool:
    # A name of digits and dots alone would be read as an address by some resolvers, in forms that were not checked.
    return _is_address(host) or (_HOST.fullmatch(host) is not None and not re.fullmatch(r"(?i)[0-9.]+|0x.*", host))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def check_address(address: str, *, allow_private: bool) -> None:
    """Refuse a network address to which no webhook may go.

    Public addresses are allowed; private, shared (RFC 6598), unique local and loopback ones with `allow_private`. Never
    allowed are link-local addresses, at which clouds serve credentials of the machine, multicast and reserved ones. An
    IPv6 address that contains an IPv4 address counts as both.

    Raises TargetError.
    """
    for one in _forms(address):
        if one.is_multicast or one.is_unspecified or one.is_link_local or (one.is_reserved and not one.is_loopback):
            message = f"{address} is a link-local, multicast or reserved address, to which no webhook is sent"
            raise TargetError(message)
        site_local = isinstance(one, IPv6Address) and one.is_site_local
        if (site_local or not one.is_global) and not allow_private:
            raise TargetError(_private(address))


def _forms(address: str) -> list[IPv4Address | IPv6Address]:
    """Return an address, or the IPv4 addresses that it contains and through which a packet may leave."""
    one = ip_address(address.partition("%")[0])
    if isinstance(one, IPv4Address):
        return [one]
    if one.ipv4_mapped is not None:
        return [one.ipv4_mapped]
    if one.sixtofour is not None:
        # Whether such an address is global depends on the release of Python; where it leads to does not.
        return [one.sixtofour]
    inner = list(one.teredo or ())
    if one in _NAT64 or (one in _V4_COMPATIBLE and int(one) > 1):
        # Neither counts as a reserved address itself: what it leads to is the IPv4 address.
        return [IPv4Address(int(one) & 0xFFFFFFFF)]
    return [one, *inner]


def _private(address: str) -> str:
    return f"{address} is in a private network; if that is intended, add the webhook with --allow-private"
