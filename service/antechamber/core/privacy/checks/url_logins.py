"""Checks of passwords in URLs and of tokens of this service: checksums, placeholders and reserved hosts."""

from collections.abc import Callable
from typing import Final

from antechamber.core.access.secret_format import has_checksum
from antechamber.core.privacy.checks.random_values import is_random_value

_RESERVED: Final = (
    ".example.com", ".example.net", ".example.org", ".example", ".invalid", ".localhost", ".test",
)  # fmt: skip
_PLACEHOLDERS: Final = frozenset({"password", "pass", "passwd", "pwd", "secret", "token", "xxx", "changeme", "pw", "p"})


def own_token(text: str) -> bool:
    """Return whether a match is a token of this service, and not a word that looks like one."""
    return has_checksum(text)


def _is_reserved(host: str) -> bool:
    return f".{host.lower().rstrip('.')}".endswith(_RESERVED)


def real_password(text: str) -> bool:
    """Return whether a match has a password that is not a placeholder, for a host that is not reserved.

    Placeholders are, for example, `user:password@` and `${USER}:${PASS}@`. For a reserved host, as in documentation,
    only a random value counts.
    """
    credentials, _, host = text.rpartition("@")
    secret = credentials.partition(":")[2]
    placeholder = (
        secret.lower() in _PLACEHOLDERS
        or secret.startswith(("$", "<", "{", "[", "%s", "%("))
        or set(secret) <= {"x", "X", "*", "."}
    )
    return not placeholder and (not _is_reserved(host) or is_random_value(secret))


CHECKS: Final[dict[str, Callable[[str], bool]]] = {"own-token": own_token, "real-password": real_password}
