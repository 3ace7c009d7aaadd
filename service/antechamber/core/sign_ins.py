"""Sign-in links and sessions as they are kept, and what ends with a log that is given up."""

from typing import Final

from msgspec import Struct

from antechamber.core.records import TokenRow, UserRow
from antechamber.core.roles import PersonRole

ABSOLUTE: Final = 12 * 3_600_000_000
"""Microseconds after which a session is over, however much it is used."""
SHOWN: Final = 16
"""Characters of a digest that a link or session is listed with."""


class Begun(Struct, frozen=True, kw_only=True):
    """A sign-in link or a session: whose it is, and what proves that it was begun here."""

    digest: str
    user: int
    name: str
    role: PersonRole
    at: int
    """When the session began or the link ends, in microseconds since 1970 UTC."""
    proof: str


class Ended(Struct, frozen=True, kw_only=True):
    """All access that ended with a log that was given up."""

    tokens: list[TokenRow]
    links: list[Begun]
    sessions: list[Begun]
    users: list[UserRow]
    """Accounts that can sign in again: which of them were disabled after the backup is not known."""
