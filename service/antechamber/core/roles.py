"""Who asks: the bearer of a token or a person who signed in, and what their role lets them do."""

from typing import Final, Literal

from msgspec import Struct

TokenRole = Literal["producer", "reader", "auditor"]
PersonRole = Literal["curator", "auditor", "operator"]
TOKEN_ROLES: Final[tuple[TokenRole, ...]] = TokenRole.__args__  # type: ignore[attr-defined]
PERSON_ROLES: Final[tuple[PersonRole, ...]] = PersonRole.__args__  # type: ignore[attr-defined]


class Bearer(Struct, frozen=True, kw_only=True):
    """The holder of an API token."""

    id: int
    name: str
    role: TokenRole
    read: list[str]


class Person(Struct, frozen=True, kw_only=True):
    """Somebody who signed in at the desk."""

    id: int
    name: str
    person: str
    role: PersonRole
    session: str
    """Digest of the session id."""
    keys: str | None = None
    """The choice of keys, as core.shortcuts keeps it."""
    views: str | None = None
    """The saved views, as core.filters keeps them."""


Caller = Bearer | Person
