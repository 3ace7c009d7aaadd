"""Callers: the bearer of a token or a signed-in account, each with a role."""

from typing import Final, Literal, get_args

from msgspec import Struct

TokenRole = Literal["producer", "reader", "auditor"]
AccountRole = Literal["curator", "auditor", "operator"]
TOKEN_ROLES: Final[tuple[TokenRole, ...]] = get_args(TokenRole)
ACCOUNT_ROLES: Final[tuple[AccountRole, ...]] = get_args(AccountRole)

COMMAND_LINE: Final = "command-line"
"""The actor of what operators do at the command line; a signed-in operator is named by the account."""


class Bearer(Struct, frozen=True, kw_only=True):
    """The holder of an API token."""

    id: int
    name: str
    role: TokenRole
    read: list[str]
    expires_at: int | None = None
    """Microseconds since 1970 UTC; None for never."""


class Account(Struct, frozen=True, kw_only=True):
    """An account that is signed in at the desk."""

    id: int
    name: str
    person: str
    """The human behind the account; two accounts of one person count as one."""
    role: AccountRole
    session: str
    """Digest of the session id."""
    shortcuts: str | None = None
    """The keyboard shortcuts, in the stored form of core.review.shortcuts."""
    views: str | None = None
    """The saved views, in the stored form of core.review.queue_filter."""
    dense: bool = False
    """Whether lists show one line for each row."""
    ends_at: int = 0
    """When the session ends even if it is in use, in microseconds since 1970 UTC."""
    provider: str | None = None
    """The provider at which the person signed in; None for a link or a password."""
    confirmed_until: int = 0
    """Until when the last check of who it is counts for sensitive actions, in microseconds since 1970 UTC."""


class PasswordChange(Struct, frozen=True, kw_only=True):
    """A new password of an account, and who set it."""

    change_id: str
    user: str
    """The account's name."""
    password: str
    """The password hash."""
    actor: str
    """The account's own name, or `command-line`."""
    role: AccountRole
    session: str
    """Digest of the session that stays open; empty if all of the account's sessions end."""
    changed_at: int
    """Microseconds since 1970 UTC."""


Caller = Bearer | Account
