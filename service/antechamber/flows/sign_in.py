"""Sign-in by a one-time link or by a password; each begins a session."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from antechamber.core.access.callers import Account
from antechamber.core.access.proof import is_proven, prove
from antechamber.core.access.secret_format import digest_secret, mint
from antechamber.core.access.sessions import no_account
from antechamber.core.metrics.definitions import SIGN_INS
from antechamber.core.metrics.meters import Meters
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.rows.access import UserRow
from antechamber.flows.operator_check import actor_of
from antechamber.flows.sessions import Sessions, SignedIn
from antechamber.flows.sign_in_limits import TooManyAttemptsError, check_attempts, count_attempt, forgive, subjects_of
from antechamber.logs import note

_log: Final = logging.getLogger(__name__)
LINK_LIFETIME_MICROSECONDS: Final = 15 * 60 * 1_000_000


class SignIn:
    """Creates and consumes sign-in links, and checks passwords; `sessions` begins the sessions.

    `secret` is the folder's 32-byte secret, which proves that a link was created by this service. `check` raises
    ClosedError while sign-in is closed.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        randomness: Randomness,
        secret: bytes,
        sessions: Sessions,
        check: Callable[[], object],
    ) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._secret = secret
        self._sessions = sessions
        self._check = check
        self.meters: Final = Meters()

    def create_link(self, name: str, account: Account | None = None) -> str:
        """Create a sign-in link and return its secret, which works once, within 15 minutes.

        `account` is the signed-in operator who asks for it. Raises AccessError if there is no such account,
        SignedOutError if the operator's session has ended.
        """
        with self._store.read() as tx:
            user = tx.access.user(name)
        if user is None or user.disabled_at is not None:
            raise no_account(name)
        now = self._clock()
        secret, expires = mint("link", self._randomness(24)), now + LINK_LIFETIME_MICROSECONDS
        digest = digest_secret(secret)
        proof = prove(self._secret, "link", digest, user.id, expires)

        def work(tx: Rows) -> None:
            actor_of(tx, account, now)
            tx.access.add_link(digest, user.id, expires, proof)

        self._store.write(work).result()
        if account is not None:
            note(_log, logging.INFO, "made a sign-in link", account=name, by=account.name)
        return secret

    def consume_link(self, secret: str) -> SignedIn | None:
        """Consume a link and begin a session; return None if it is used, expired, unknown or was not created here.

        Raises ClosedError while the log contradicts the last checkpoint.
        """
        self._check()
        with self._store.read() as tx:
            # A read comes first, because a write for each made-up link would delay decisions.
            known = tx.access.link(digest_secret(secret)) is not None
        return self._ended("link", self._store.write(partial(self._begin_by_link, secret)).result() if known else None)

    def _ended(
        self, how: str, signed_in: SignedIn | None, user: UserRow | None = None, address: str = ""
    ) -> SignedIn | None:
        """Count and log an attempt to sign in, and return its result.

        `user` is the account that was named, if there is one: people sometimes type a password as their name.
        """
        self.meters.count(SIGN_INS, "done" if signed_in else "failed")
        if signed_in is not None:
            note(_log, logging.INFO, "signed in", account=signed_in.account.name, role=signed_in.account.role, by=how)
        else:
            account = user.name if user else None
            note(_log, logging.WARNING, "sign-in failed", account=account, by=how, address=address or None)
        return signed_in

    def _begin_by_link(self, secret: str, tx: Rows) -> SignedIn | None:
        tx.access.share_sessions()
        digest = digest_secret(secret)
        link = tx.access.link(digest)
        if link is None or not is_proven(self._secret, "link", link):
            return None
        user = tx.access.use_link(digest, self._clock())
        return None if user is None else self._sessions.begin(user, tx)

    def check_password(self, name: str, address: str, verify: Callable[[str | None], bool]) -> SignedIn | None:
        """Begin a session if `verify` accepts the account's password hash (None for names without one).

        `address` is the client's address. It is empty if a proxy hides it; then only names are throttled, because
        otherwise one attacker could lock all users out.

        Raises TooManyAttemptsError, for known and unknown names alike; ClosedError while the log contradicts the last
        checkpoint; BusyError or UnavailableError.
        """
        self._check()
        subjects = subjects_of(name, address)
        with self._store.read() as tx:
            user = tx.access.user(name)
            try:
                check_attempts(tx.access, subjects, self._clock())
            except TooManyAttemptsError:
                self.meters.count(SIGN_INS, "limited")
                account = user.name if user else None
                refused = "sign-in refused after too many failures"
                note(_log, logging.WARNING, refused, account=account, address=address or None)
                raise
        counted = self._store.write(lambda tx: count_attempt(tx.access, subjects, self._clock())).result()
        good = user is not None and user.disabled_at is None
        if not verify(user.password if user and good else None) or user is None:
            return self._ended("password", None, user, address)
        begun = self._store.write(partial(self._begin_by_password, user, subjects, counted)).result()
        return self._ended("password", begun, user, address)

    def _begin_by_password(self, user: UserRow, subjects: list[str], counted: list[int], tx: Rows) -> SignedIn | None:
        """Undo the count and begin a session; return None if the account changed while its password was hashed."""
        # This comes first: a transaction that ends access then either commits before this one reads the account, or
        # waits until this one has committed.
        tx.access.share_sessions()
        current = tx.access.user(user.name)
        if current is None or current.disabled_at is not None or current.password != user.password:
            return None
        forgive(tx.access, subjects, counted, self._clock())
        return self._sessions.begin(user, tx)
