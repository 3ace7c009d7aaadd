"""E-mail addresses that may belong to a person."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.privacy.effort import Effort

_RESERVED: Final = (
    ".example.com", ".example.net", ".example.org", ".example", ".invalid", ".localhost", ".test", ".local",
)  # fmt: skip
"""Domains that no person has (RFC 2606, RFC 6761, RFC 6762)."""
_AUTOMATIC: Final = frozenset({"git", "noreply", "no-reply", "donotreply", "do-not-reply"})
"""Mailboxes of programs."""
_FILES: Final = (
    ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".css", ".js", ".json", ".html", ".htm", ".xml", ".yml",
    ".yaml", ".toml", ".txt", ".ts", ".tsx", ".jsx", ".pdf", ".lock", ".log", ".cfg", ".conf", ".ini", ".dll", ".exe",
)  # fmt: skip
"""Endings of file names, such as `logo@2x.png`, none of which is a top-level domain."""
_ADDRESSES: Final = re.compile(r"(?<![\w.%+@-])[\w.%+'-]*+@[\w.%+@-]*+")
"""Runs of the characters of addresses, each matched from its beginning only, so that a text is read once."""
_DOMAIN: Final = re.compile(r"(?:(?:[^\W_]|-)++\.)+[^\W\d_](?:[^\W_]|-)++")


def find_addresses(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of e-mail addresses, without those of reserved domains and automatic mailboxes.

    Raises EffortSpentError if that takes too many verifications.
    """
    for number, run in enumerate(_ADDRESSES.finditer(text)):
        # Most runs are one address, which takes half a unit.
        effort.spend(number & 1)
        for place, (start, end) in enumerate(_addresses_in(run[0])):
            effort.spend(place > 0)
            if _is_personal(run[0][start:end]):
                yield run.start() + start, run.start() + end


def _addresses_in(run: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the addresses of a run; each begins where the previous one ends."""
    start, sign = 0, run.find("@")
    while sign >= 0:
        following = run.find("@", sign + 1)
        domain = _DOMAIN.match(run, sign + 1, following if following >= 0 else len(run)) if sign > start else None
        if domain is not None:
            yield start, domain.end()
        start, sign = domain.end() if domain else sign + 1, following


def _is_personal(address: str) -> bool:
    local, _, domain = address.lower().rpartition("@")
    return not f".{domain}".endswith((*_RESERVED, *_FILES)) and local.strip("'.") not in _AUTOMATIC


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {"email-addresses": find_addresses}
