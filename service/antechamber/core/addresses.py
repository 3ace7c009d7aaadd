"""Addresses of settings: what is one, and what may be shown of it."""

import re
from typing import Final
from urllib.parse import urlsplit

HIDDEN: Final = "(an address that may hold a password, so it is not shown)"
_HOST: Final = r"(?:\[[0-9A-Fa-f:.%]+\]|[^@:\[\],]*)(?::[0-9]*)?"
_AUTHORITY: Final = re.compile(rf"(?:[^@]*@)?{_HOST}(?:,{_HOST})*")
_UNENCODED: Final = re.compile(r"\s|%(?!(?!00)[0-9A-Fa-f]{2})")


def shown(url: str) -> str:
    """Return what may be shown of an address: scheme, host, port and path, without credentials and query.

    HIDDEN where it cannot be told where a password in it ends.
    """
    if not set("@?#") & set(url):
        return url
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return HIDDEN
    if not parts.hostname or "@" in parts.path + parts.query + parts.fragment:
        return HIDDEN
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path}"


def is_address(url: str) -> bool:
    """Tell whether a text is an address of HTTP."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def has_secrets(url: str) -> bool:
    """Tell whether an address has credentials, a query or a fragment."""
    return bool(set("@?#") & set(url))


def is_database(url: str) -> bool:
    """Tell whether a text is an address of PostgreSQL that can be read in one way only.

    Of a password with a special character that is not encoded, the driver takes a part for a host, a port or a name,
    and repeats it in its errors.
    """
    scheme, _, rest = url.partition("://")
    authority, tail = re.split(r"(?=[/?])|\Z", rest, maxsplit=1)
    query = tail.partition("?")[2]
    return (
        scheme in {"postgresql", "postgres"}
        and _UNENCODED.search(url) is None
        and _AUTHORITY.fullmatch(authority) is not None
        and "@" not in tail
        and all("=" in pair for pair in query.split("&") if query)
    )
