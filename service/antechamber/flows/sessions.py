"""Sessions of signed-in people: begun by a sign-in, looked up for each request, listed and ended by their person."""

import logging
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.access.callers import Account, AccountRole
from antechamber.core.access.proof import is_proven, prove
from antechamber.core.access.secret_format import digest_secret, has_checksum, mint
from antechamber.core.access.sessions import SHOWN, OpenSession, ProvenElsewhere, check_signed_in
from antechamber.core.errors import ClosedError
from antechamber.core.policy import Policy, SessionRules
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.rows.access import SessionRow, UserRow
from antechamber.flows.last_use import LastUse
from antechamber.flows.lookup_cache import LookUpCache
from antechamber.logs import note

MAX_LISTED: Final = 100
"""Sessions of one account that are listed; further ones can still be ended all at once."""
_MINUTE: Final = 60 * 1_000_000
_log: Final = logging.getLogger(__name__)


class SignedIn(Struct, frozen=True):
    """A new session; its secret is only sent in the cookie."""

    secret: str
    account: Account


class Sessions:
    """Begins, looks up, lists and ends sessions.

    `secret` is the folder's 32-byte secret, which proves that a session was begun by this service. `check` raises
    ClosedError while sign-in is closed. The shipped policy says how long sessions last, until `follow` names the one in
    force.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        randomness: Randomness,
        secret: bytes,
        last_use: LastUse,
        check: Callable[[], object],
    ) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._secret = secret
        self._last_use = last_use
        self._check = check
        self._policy: Callable[[], Policy] = Policy
        self._cache: LookUpCache[Account] = LookUpCache()

    def follow(self, policy: Callable[[], Policy]) -> None:
        """Let sessions last as the policy in force says, which `policy` returns."""
        self._policy = policy

    def _rules(self, role: AccountRole) -> SessionRules:
        return self._policy().session.of(role)

    def begin(self, user: UserRow, tx: Rows, provider: ProvenElsewhere | None = None) -> SignedIn:
        """Begin a session with a new id in a sign-in's transaction; an id that the browser sent is ignored.

        `provider` is where the person signed in, if not here.
        """
        secret = mint("session", self._randomness(24))
        digest, now = digest_secret(secret), self._clock()
        proof = prove(self._secret, "session", digest, user.id, now)
        tx.access.add_session(digest, user.id, now, proof, provider)
        rules, confirmed_at = self._rules(user.role), now if provider is None else provider.confirmed_at
        account = Account(
            id=user.id,
            name=user.name,
            person=user.person,
            role=user.role,
            session=digest,
            ends_at=now + rules.absolute_hours * 60 * _MINUTE,
            provider=None if provider is None else provider.name,
            confirmed_until=confirmed_at + rules.confirm_minutes * _MINUTE,
        )
        return SignedIn(secret, account)

    def is_confirmed(self, account: Account) -> bool:
        """Return whether the last check of who it is is recent enough for a sensitive action."""
        return self._clock() < account.confirmed_until

    def needs_no_read(self, secret: str) -> bool:
        """Return whether a session can be checked without a read from the store."""
        remembered, _ = self._cache.get(digest_secret(secret), self._clock())
        return remembered or not has_checksum(secret)

    def account(self, secret: str) -> Account | None:
        """Return the account of a session, or None if it was ended, or was idle or has lasted for too long.

        While the log contradicts the last checkpoint, all sessions count as ended.
        """
        try:
            self._check()
        except ClosedError:
            return None
        digest, now = digest_secret(secret), self._clock()
        remembered, account = self._cache.get(digest, now)
        if not remembered:
            if not has_checksum(secret):
                return None
            account = self._look_up(digest, now)
            self._cache.put(digest, now, account)
        if account is not None:
            self._last_use.note_session(digest, now)
        return account

    def _look_up(self, digest: str, now: int) -> Account | None:
        with self._store.read() as tx:
            row = tx.access.session(digest)
        if row is None or row.proof != prove(self._secret, "session", digest, row.id, row.created_at):
            return None
        rules = self._rules(row.role)
        ends_at = row.created_at + rules.absolute_hours * 60 * _MINUTE
        seen = max(row.seen_at, self._last_use.of_session(digest))
        if now > ends_at or now - seen > rules.idle_minutes * _MINUTE:
            return None
        return _account(row, digest, ends_at, rules)

    def all(self, account: Account) -> list[OpenSession]:
        """Return the open sessions of an account, the one used last first; at most `MAX_LISTED`."""
        now, rules = self._clock(), self._rules(account.role)
        begun_after = now - rules.absolute_hours * 60 * _MINUTE
        with self._store.read() as tx:
            rows = tx.access.sessions_of(account.id, begun_after, MAX_LISTED)
        # Uses that are not written yet are known here only.
        seen = [replace(row, seen_at=max(row.seen_at, self._last_use.of_session(row.digest))) for row in rows]
        alive = [row for row in seen if now - row.seen_at <= rules.idle_minutes * _MINUTE]
        return sorted(alive, key=lambda row: -row.seen_at)

    def end_others(self, account: Account, shown: str | None) -> int:
        """End one other session of an account, named by the beginning of its digest, or all others for None.

        Return how many were ended; 0 if that session is not open any more.

        Raises SignedOutError, BusyError or UnavailableError.
        """

        def work(tx: Rows) -> int:
            now = self._clock()
            tx.access.hold_sessions()
            check_signed_in(account, tx.access.session(account.session), now)
            return tx.access.end_other_sessions(account, shown, now)

        ended = self._store.write(work).result()
        self._cache.clear()
        note(_log, logging.INFO, "ended other sessions", account=account.name, sessions=ended)
        return ended

    def end(self, account: Account) -> None:
        """End the session of a request immediately."""
        now = self._clock()
        self._store.write(lambda tx: tx.access.end_session(account.session, now)).result()
        self._cache.forget(account.session)
        note(_log, logging.INFO, "signed out", account=account.name, role=account.role)

    def forget(self) -> None:
        """Forget what was looked up: the next request of each session reads its account from the store."""
        self._cache.clear()


def _account(row: SessionRow, digest: str, ends_at: int, rules: SessionRules) -> Account:
    confirmed_at = row.created_at if row.confirmed_at is None else row.confirmed_at
    return Account(
        id=row.id,
        name=row.name,
        person=row.person,
        role=row.role,
        session=digest,
        shortcuts=row.shortcuts,
        views=row.views,
        dense=row.dense == 1,
        ends_at=ends_at,
        provider=row.provider,
        confirmed_until=confirmed_at + rules.confirm_minutes * _MINUTE,
    )


def list_planted(store: Store, secret: bytes) -> list[str]:
    """Return a message for each link, session and identity that was not begun with this folder's secret."""
    with store.read() as tx:
        links, sessions, identities = tx.access.links(), tx.access.sessions(), tx.access.identities()
    planted = [("link", link) for link in links if not is_proven(secret, "link", link)]
    planted += [("session", session) for session in sessions if not is_proven(secret, "session", session)]
    planted += [("identity", identity) for identity in identities if not is_proven(secret, "identity", identity)]
    return [f"{kind} {row.digest[:SHOWN]} of {row.name} was not begun by this service" for kind, row in planted]
