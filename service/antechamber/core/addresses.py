"""URLs in settings: which ones are valid, and which parts of them may be shown."""

import re
from typing import Final
from urllib.parse import urlsplit

HIDDEN: Final = "(an address that may hold a password, so it is not shown)"
_HOST: Final = r"(?:\[[0-9A-Fa-f:.%]+\]|[^@:\[\],]*)(?::[0-9]*)?"
_AUTHORITY: Final = re.compile(rf"(?:[^@]*@)?{_HOST}(?:,{_HOST})*")
_UNENCODED: Final = re.compile(r"\s|%(?!(?!00)[0-9A-Fa-f]{2})")


def redact_address(url: str) -> str:
    """Return the parts of a URL that may be shown: scheme, host, port and path, without credentials and query.

    Return HIDDEN if the end of a password in it is ambiguous.
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
    """Return whether a text is an HTTP or HTTPS URL."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def has_secrets(url: str) -> bool:
    """Return whether a URL may have credentials, a query or a fragment."""
    return bool(set("@?#") & set(url))


def is_database(url: str) -> bool:
    """Return whether a text is a PostgreSQL URL that can be parsed in only one way.

    If a password has an unencoded special character, the driver takes part of it for a host, a port or a name, and
    repeats that part in its errors.
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
