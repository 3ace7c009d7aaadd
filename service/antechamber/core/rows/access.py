"""Rows of tokens, accounts and sessions."""

from msgspec import Struct

from antechamber.core.access.callers import AccountRole, TokenRole


class TokenRow(Struct, frozen=True, kw_only=True):
    """One token as operators list it, without its secret or digest."""

    token_id: str
    name: str
    role: TokenRole
    read: list[str]
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


class TokenFacts(Struct, frozen=True, kw_only=True):
    """The facts that decide whether a presented token is valid."""

    id: int
    token_id: str
    name: str
    role: TokenRole
    read: list[str]
    expires_at: int | None
    revoked_at: int | None


class UserRow(Struct, frozen=True, kw_only=True):
    """One account; two accounts with the same `person` belong to the same human."""

    id: int
    name: str
    person: str
    role: AccountRole
    password: str | None
    created_at: int
    disabled_at: int | None


class SessionRow(Struct, frozen=True, kw_only=True):
    """A session with its account."""

    id: int
    name: str
    person: str
    role: AccountRole
    shortcuts: str | None
    views: str | None
    dense: int
    """1 if lists show one line for each row, otherwise 0."""
    created_at: int
    seen_at: int
    confirmed_at: int | None
    """When the person last proved again who it is; None if that was the sign-in, 0 if it is not known."""
    provider: str | None
    """The provider at which the person signed in; None for a link or a password."""
    proof: str
