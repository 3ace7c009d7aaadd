"""The ticket of a sign-in at a provider: a cookie that binds what the provider answers to the browser that began it.

State, nonce and PKCE verifier follow from the ticket's random id and the folder's secret, so that no row is stored for
a sign-in that was only begun.
"""

import base64
import hmac
from typing import Final, Literal

import msgspec
from blake3 import blake3
from msgspec import Struct

from antechamber.core.conversion import parse_json

LIFETIME: Final = 600 * 1_000_000
"""How long a sign-in may take, in microseconds."""
MAX_TICKET: Final = 3_000
"""Characters of a ticket."""
MAX_NEXT: Final = 1_000
"""Characters of the address of the page after the sign-in; a longer one is left out."""
Purpose = Literal["state", "nonce", "verifier"]


class Ticket(Struct, frozen=True, kw_only=True):
    """A sign-in at a provider that was begun."""

    flow: str
    """Random id."""
    provider: str
    begun_at: int
    """Microseconds since 1970 UTC."""
    next: str | None
    """The local address of the page after the sign-in."""
    session: str | None = None
    """Digest of the session whose person proves again who it is; None for a sign-in."""


def seal_ticket(secret: bytes, ticket: Ticket) -> str:
    """Return the cookie of a ticket; `secret` is the folder's 32-byte secret."""
    body = base64.urlsafe_b64encode(msgspec.json.encode(ticket)).decode().rstrip("=")
    return f"{body}.{_mac(secret, body)}"


def open_ticket(secret: bytes, cookie: str, now: int) -> Ticket | None:
    """Return the ticket of a cookie, or None if it was not made here or is too old."""
    body, _, mac = cookie.partition(".")
    if len(cookie) > MAX_TICKET or not hmac.compare_digest(
        mac.encode("utf-8", "surrogatepass"), _mac(secret, body).encode()
    ):
        return None
    ticket = parse_json(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), Ticket)
    return ticket if ticket.begun_at <= now < ticket.begun_at + LIFETIME else None


def derive(secret: bytes, ticket: Ticket, purpose: Purpose) -> str:
    """Return a secret of a sign-in: 64 hexadecimal digits."""
    return blake3(f"provider {purpose} {ticket.flow}".encode(), key=secret).hexdigest()


def _mac(secret: bytes, body: str) -> str:
    return blake3(f"provider ticket {body}".encode("utf-8", "surrogatepass"), key=secret).hexdigest()
