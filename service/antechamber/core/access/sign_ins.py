"""Sign-in links and sessions as they are kept, and what ends with a log that is given up."""

from typing import Final

from msgspec import Struct

from antechamber.core.access.callers import Person, PersonRole
from antechamber.core.errors import AntechamberError
from antechamber.core.rows.access import SessionRow, TokenRow, UserRow

ABSOLUTE: Final = 12 * 3_600_000_000
"""Microseconds after which a session is over, however much it is used."""
SHOWN: Final = 16
"""Characters of a digest that a link or session is listed with."""


class AccessError(AntechamberError):
    """A token or account that cannot be made or found; the text says what to change."""


class SignedOutError(AntechamberError):
    """An act under a session or account that has ended meanwhile; nothing was recorded."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("You are signed out; sign in again.")


class BegunAccess(Struct, frozen=True, kw_only=True):
    """A sign-in link or a session: whose it is, and what proves that it was begun here."""

    digest: str
    user: int
    name: str
    role: PersonRole
    at: int
    """When the session began or the link ends, in microseconds since 1970 UTC."""
    proof: str


class EndedAccess(Struct, frozen=True, kw_only=True):
    """All access that ended with a log that was given up."""

    tokens: list[TokenRow]
    links: list[BegunAccess]
    sessions: list[BegunAccess]
    users: list[UserRow]
    """Accounts that can sign in again: which of them were disabled after the backup is not known."""


def no_account(name: str) -> AccessError:
    """Return the refusal of a name that no active account has."""
    return AccessError(f"there is no account {name}; add it with: antechamber user add {name} --role curator")


def check_signed_in(person: Person, session: SessionRow | None, now: int) -> None:
    """Check by its row in the transaction of an act that a person's session is theirs and has not ended.

    That it idled for too long was looked up before; this very act ends its idling.

    Raises SignedOutError.
    """
    if session is None or now - session.created_at > ABSOLUTE:
        raise SignedOutError
    if (session.id, session.role, session.person) != (person.id, person.role, person.person):
        raise SignedOutError
