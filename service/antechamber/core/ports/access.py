"""What tokens, accounts and sessions need of a store."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from antechamber.core.access.callers import PasswordChange
from antechamber.core.access.sign_ins import BegunAccess, EndedAccess
from antechamber.core.rows.access import SessionRow, TokenCheck, TokenRow, UserRow


class AccessRows(Protocol):
    """Tokens, people and sessions. Secrets come in as digests only."""

    def add_token(self, row: TokenRow, digest: str) -> None:
        """Keep a new token."""

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, oldest first."""

    def token(self, digest: str) -> TokenCheck | None:
        """Return the token with this digest."""

    def revoke_tokens(self, name: str, now: int) -> int:
        """Revoke by token id or name; return how many."""

    def touch_tokens(self, used: Mapping[int, int]) -> None:
        """Note when tokens were last used."""

    def add_user(self, user: UserRow) -> bool:
        """Add an account; False where the name is taken."""

    def users(self) -> list[UserRow]:
        """Return all accounts by name."""

    def user(self, name: str) -> UserRow | None:
        """Return one account."""

    def disable_user(self, name: str, now: int) -> bool:
        """Disable an account and end its sessions; False where there is none to disable."""

    def set_password(self, change: PasswordChange) -> bool:
        """Set a password and end the account's other sessions and its links; False where there is no such account."""

    def add_link(self, digest: str, user: int, expires_at: int, proof: str = "") -> None:
        """Keep a one-time sign-in link."""

    def link(self, digest: str) -> BegunAccess | None:
        """Return a link, used or not."""

    def links(self) -> list[BegunAccess]:
        """Return all links."""

    def sessions(self) -> list[BegunAccess]:
        """Return all sessions."""

    def end_access(self, now: int, begun_after: int) -> EndedAccess:
        """End all tokens, links and sessions, each with its leaf; sessions that began before are over anyway."""

    def use_link(self, digest: str, now: int) -> UserRow | None:
        """Consume a link and return whose it is; None where it is used, expired or unknown."""

    def set_views(self, user: int, views: str) -> None:
        """Keep somebody's saved views."""

    def set_keys(self, user: int, keys: str | None) -> None:
        """Keep somebody's choice of keys."""

    def add_session(self, digest: str, user: int, now: int, proof: str = "") -> None:
        """Begin a session."""

    def session(self, digest: str) -> SessionRow | None:
        """Return a session that has not been ended."""

    def share_sessions(self) -> None:
        """Let no other transaction end access, by a password, an account or a log given up, until this one ends."""

    def hold_sessions(self) -> None:
        """Let no other transaction act under a session until this one ends."""

    def signed_in(self, digest: str) -> SessionRow | None:
        """Return a session that has not been ended; no other transaction can end one until this one ends."""

    def touch_sessions(self, seen: Mapping[str, int]) -> None:
        """Note when sessions were last seen."""

    def end_session(self, digest: str, now: int) -> None:
        """End a session."""

    def failures(self, subject: str, since: int) -> tuple[int, int]:
        """Return how many sign-ins failed for a subject since then, and when the last one did."""

    def hold_failures(self) -> None:
        """Let no other transaction count failed sign-ins until this one ends."""

    def add_failure(self, subject: str, now: int) -> int:
        """Count a failed sign-in and return its id."""

    def take_back_failures(self, ids: Sequence[int]) -> None:
        """Forget failed sign-ins that did not fail after all."""

    def forget_failures(self, subject: str, before: int) -> None:
        """Forget a subject's failures and everybody's old ones."""
