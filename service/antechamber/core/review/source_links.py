"""The address of a proposal's source in a browser: an https address as it is, another one by the policy's table."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from antechamber.core.errors import PolicyError

PLACES: Final = ("path", "revision", "start", "end")
"""The parts of a source span that an address of the table may name in braces."""
_NO_REVISION: Final = "HEAD"


def link_to(span: Mapping[str, Any], addresses: Mapping[str, str]) -> str | None:
    """Return the https address to which the desk links a source span; None if there is none.

    `addresses` has an address by the beginning of the URI that it replaces; the longest matching one counts. An address
    whose fragment names lines loses the fragment if the span has none.
    """
    uri = str(span["uri"])
    matching = max((one for one in addresses if uri.startswith(one)), key=len, default=None)
    if matching is None:
        return uri if _is_https(uri) else None
    path, start = quote(uri[len(matching) :], safe="/"), span.get("start")
    revision = quote(str(span.get("revision") or _NO_REVISION), safe="/")
    address, hash_sign, fragment = addresses[matching].partition("#")
    if not start and "{start}" in fragment:
        hash_sign = fragment = ""
    parts = {"path": path, "revision": revision, "start": start or "", "end": span.get("end") or start or ""}
    return (address + hash_sign + fragment).format_map(parts)


def check_addresses(addresses: Mapping[str, str]) -> None:
    """Check the policy's table of addresses.

    Raises PolicyError, whose text names the entry.
    """
    for beginning, address in addresses.items():
        try:
            example = address.format_map(dict.fromkeys(PLACES, "1"))
        except (KeyError, ValueError, IndexError, AttributeError):
            example = ""
        if not beginning or not _is_https(example):
            message = (
                f'guidelines.toml: [sources] "{beginning}": write an https address; it may name '
                + ", ".join(f"{{{place}}}" for place in PLACES)
                + ', e.g. "https://git.example.com/apollo/blob/{revision}/{path}#L{start}-L{end}"'
            )
            raise PolicyError(message)


def _is_https(address: str) -> bool:
    """Return whether an address is https with a host, without a user's name and without characters beyond ASCII."""
    if not address.isascii() or not address.isprintable() or " " in address:
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
