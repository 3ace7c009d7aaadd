"""Stored sign-in links and sessions, and the access that ends when a log is abandoned."""

from typing import Final

from msgspec import Struct

from antechamber.core.access.callers import Account, AccountRole
from antechamber.core.errors import AntechamberError
from antechamber.core.rows.access import SessionRow, TokenRow, UserRow

MAX_ABSOLUTE_HOURS: Final = 720
"""The longest life of a session that a policy may grant, in hours."""
LONGEST: Final = MAX_ABSOLUTE_HOURS * 3_600_000_000
"""Microseconds after which a session has ended under any policy."""
SHOWN: Final = 16
"""Leading characters of a digest shown in lists of links and sessions."""


class AccessError(AntechamberError):
    """Raised when a token or account cannot be created or found; the message explains what to change."""


class SignedOutError(AntechamberError):
    """Raised when the session or account of a request has ended meanwhile; nothing was recorded."""

    def __init__(self) -> None:
        super().__init__("You are signed out; sign in again.")


class BegunAccess(Struct, frozen=True, kw_only=True):
    """A sign-in link or a session: its account, and the proof that this service created it."""

    digest: str
    user: int
    name: str
    role: AccountRole
    at: int
    """When the session began or the link expires, in microseconds since 1970 UTC."""
    proof: str


class OpenSession(Struct, frozen=True, kw_only=True):
    """A session that has not been ended, as its person lists it."""

    digest: str
    created_at: int
    seen_at: int

    @property
    def shown(self) -> str:
        """The beginning of the digest, which names the session on a page and in the log."""
        return self.digest[:SHOWN]


class ProvenElsewhere(Struct, frozen=True, kw_only=True):
    """The provider at which the person of a new session signed in."""

    name: str
    confirmed_at: int
    """When the person proved there who it is, in microseconds since 1970 UTC; 0 if the provider does not say."""


class EndedAccess(Struct, frozen=True, kw_only=True):
    """All access that ended with an abandoned log."""

    tokens: list[TokenRow]
    links: list[BegunAccess]
    sessions: list[BegunAccess]
    users: list[UserRow]
    """Accounts that can sign in again, because it is unknown which of them were disabled after the backup."""


def no_account(name: str) -> AccessError:
    """Return the error for a name that no active account has."""
    return AccessError(
        f"there is no account {name} that is enabled; see: antechamber user list. Add one: antechamber user add NAME"
    )


def check_signed_in(account: Account, session: SessionRow | None, now: int) -> None:
    """Check that the session row of a signed-in account belongs to it and has not ended.

    The row is read in the transaction of the request. The idle time is not checked again: it was checked when the
    session was looked up, and the request itself counts as use.

    Raises SignedOutError if the check fails.
    """
    if session is None or now > account.ends_at:
        raise SignedOutError
    if (session.id, session.role, session.person) != (account.id, account.role, account.person):
        raise SignedOutError
