"""Checks that a pattern cannot express: checksums and reserved names."""

import re
from collections.abc import Iterator
from typing import Final

from antechamber.core.access.secret_format import has_checksum
from antechamber.core.privacy.effort import Effort

_RESERVED: Final = (
    ".example.com", ".example.net", ".example.org", ".example", ".invalid", ".localhost", ".test", ".local",
)  # fmt: skip
_NOBODY: Final = frozenset({"git", "noreply", "no-reply", "donotreply", "do-not-reply"})
_PLACEHOLDERS: Final = frozenset({"password", "pass", "passwd", "pwd", "secret", "token", "xxx", "changeme", "pw", "p"})
_ADDRESSES: Final = re.compile(r"(?<![\w.%+@-])[\w.%+-]*+@[\w.%+@-]*+")
"""Runs of the characters of addresses, each matched from its beginning only, so that a text is read once."""
_DOMAIN: Final = re.compile(r"(?:(?:[^\W_]|-)++\.)+[^\W\d_](?:[^\W_]|-)++")


def always(_text: str) -> bool:
    """Return True, which accepts every match of the pattern."""
    return True


def own_token(text: str) -> bool:
    """Return whether a match is a token of this service, and not a word that looks like one."""
    return has_checksum(text)


def holds_address(text: str, effort: Effort) -> bool:
    """Return whether a text contains an e-mail address that may belong to a person.

    Raises EffortSpentError if that takes too many verifications.
    """
    return any(
        _personal_address(address, effort) for run in _ADDRESSES.finditer(text) for address in _addresses_in(run[0])
    )


def _addresses_in(run: str) -> Iterator[str]:
    """Yield the addresses of a run; each begins where the previous one ends."""
    local, *rest = run.split("@")
    for piece in rest:
        domain = _DOMAIN.match(piece) if local else None
        if domain is not None:
            yield f"{local}@{domain[0]}"
        local = piece[domain.end() :] if domain else piece


def _personal_address(text: str, effort: Effort) -> bool:
    """Return whether an address may be a person's: no reserved domain (RFC 2606, RFC 6761) and no automatic mailbox."""
    effort.spend()
    local, _, domain = text.lower().rpartition("@")
    return not _is_reserved(domain) and local not in _NOBODY


def _is_reserved(host: str) -> bool:
    return f".{host.lower().rstrip('.')}".endswith(_RESERVED)


def real_password(text: str) -> bool:
    """Return whether a match has a password that is not a placeholder, for a host that is not reserved.

    Placeholders are, for example, `user:password@` and `${USER}:${PASS}@`.
    """
    credentials, _, host = text.rpartition("@")
    secret = credentials.partition(":")[2]
    placeholder = (
        secret.lower() in _PLACEHOLDERS
        or secret.startswith(("$", "<", "{", "[", "%s", "%("))
        or set(secret) <= {"x", "X", "*", "."}
    )
    return not placeholder and not _is_reserved(host)
