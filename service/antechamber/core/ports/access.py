"""The store's interface for tokens, accounts and sessions."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from antechamber.core.access.callers import COMMAND_LINE, Account, AccountRole, PasswordChange
from antechamber.core.access.sessions import BegunAccess, EndedAccess, OpenSession, ProvenElsewhere
from antechamber.core.rows.access import SessionRow, TokenFacts, TokenRow, UserRow


class AccessRows(Protocol):
    """Tokens, accounts and sessions. Secrets are passed as digests only."""

    def add_token(self, row: TokenRow, digest: str, actor: str = COMMAND_LINE) -> None:
        """Store a new token; the leaf names the actor."""

    def tokens(self) -> list[TokenRow]:
        """Return all tokens, oldest first."""

    def token(self, digest: str) -> TokenFacts | None:
        """Return the token with this digest."""

    def revoke_tokens(self, name: str, now: int, actor: str = COMMAND_LINE) -> int:
        """Revoke tokens by id or name; return how many."""

    def touch_tokens(self, used: Mapping[int, int]) -> None:
        """Store when tokens were last used."""

    def add_user(self, user: UserRow, actor: str = COMMAND_LINE) -> bool:
        """Add an account; return False if the name is taken."""

    def users(self) -> list[UserRow]:
        """Return all accounts by name."""

    def user(self, name: str) -> UserRow | None:
        """Return one account."""

    def disable_user(self, name: str, now: int, actor: str = COMMAND_LINE) -> bool:
        """Disable an account and end its sessions; return False if there is no enabled account of this name."""

    def identity(self, digest: str) -> BegunAccess | None:
        """Return the account of a subject of a provider by the digest of issuer and subject, with its proof."""

    def identities(self) -> list[BegunAccess]:
        """Return the accounts of all such subjects."""

    def add_identity(self, digest: str, user: int, now: int, proof: str) -> None:
        """Bind a subject to an account; the binding is final."""

    def set_role(self, user: UserRow, role: AccountRole, now: int, actor: str) -> None:
        """Change an account's role to another one; the leaf names the actor. The caller holds the sessions."""

    def finish_sign_in(self, digest: str, now: int, before: int) -> bool:
        """Store that a sign-in at a provider ended; return False if it had ended already.

        Sign-ins that ended before a time are forgotten.
        """

    def end_sessions_of(self, name: str, now: int) -> int:
        """End all sessions of an account; return how many."""

    def set_password(self, change: PasswordChange) -> bool:
        """Set a password, end the account's other sessions and its links; return False if there is no such account."""

    def add_link(self, digest: str, user: int, expires_at: int, proof: str = "") -> None:
        """Store a one-time sign-in link."""

    def link(self, digest: str) -> BegunAccess | None:
        """Return a link, used or not."""

    def links(self) -> list[BegunAccess]:
        """Return all links."""

    def sessions(self) -> list[BegunAccess]:
        """Return all sessions."""

    def end_access(self, now: int, begun_after: int) -> EndedAccess:
        """End all tokens, links and sessions and write a leaf for each; skip sessions that began before `begun_after`.

        Those sessions have expired already.
        """

    def use_link(self, digest: str, now: int) -> UserRow | None:
        """Consume a link and return its account; return None if the link is used, expired or unknown."""

    def set_views(self, user: int, views: str) -> None:
        """Store an account's saved views."""

    def set_choices(self, user: int, shortcuts: str | None, *, dense: bool) -> None:
        """Store an account's keyboard shortcuts, and whether its lists are dense."""

    def add_session(
        self, digest: str, user: int, now: int, proof: str = "", provider: ProvenElsewhere | None = None
    ) -> None:
        """Begin a session; `provider` is where the person signed in, if not here."""

    def session(self, digest: str) -> SessionRow | None:
        """Return a session that has not been ended."""

    def share_sessions(self) -> None:
        """Take a shared lock: until this transaction ends, no other transaction ends access.

        Access ends by a password change, by disabling an account, or when a log is abandoned.
        """

    def hold_sessions(self) -> None:
        """Take an exclusive lock: until this transaction ends, no other transaction acts under a session."""

    def signed_in(self, digest: str) -> SessionRow | None:
        """Return a session that has not been ended; until this transaction ends, no other transaction can end one."""

    def touch_sessions(self, seen: Mapping[str, int]) -> None:
        """Store when sessions were last seen."""

    def end_session(self, digest: str, now: int) -> None:
        """End a session."""

    def sessions_of(self, user: int, begun_after: int, limit: int) -> list[OpenSession]:
        """Return an account's sessions that have not been ended, the one used last first."""

    def end_other_sessions(self, account: Account, shown: str | None, now: int) -> int:
        """End an account's sessions, but the one of the request: the one whose digest begins so, or None for all.

        Return how many were ended.
        """

    def confirm_session(self, digest: str, now: int) -> None:
        """Store that the person of a session proved again who it is."""

    def failures(self, subject: str, since: int) -> tuple[int, int]:
        """Return how many sign-ins failed for a subject since a time, and when the last one failed."""

    def hold_failures(self) -> None:
        """Lock the failed sign-ins: no other transaction counts them until this one ends."""

    def add_failure(self, subject: str, now: int) -> int:
        """Count a failed sign-in and return its id."""

    def take_back_failures(self, ids: Sequence[int]) -> None:
        """Delete counted sign-ins that did not fail after all."""

    def forget_failures(self, subject: str, before: int) -> None:
        """Delete a subject's failed sign-ins, and the old ones of all subjects."""
