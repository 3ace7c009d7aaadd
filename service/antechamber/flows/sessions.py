"""Sessions of signed-in people: begun by a sign-in, looked up for each request, ended by a sign-out."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.proof import is_proven, prove
from antechamber.core.access.secret_format import digest_secret, has_checksum, mint
from antechamber.core.access.sessions import ABSOLUTE, SHOWN
from antechamber.core.errors import ClosedError
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.rows.access import UserRow
from antechamber.flows.last_use import LastUse
from antechamber.flows.lookup_cache import LookUpCache

IDLE_MICROSECONDS: Final = 60 * 60 * 1_000_000


class SignedIn(Struct, frozen=True):
    """A new session; its secret is only sent in the cookie."""

    secret: str
    account: Account


class Sessions:
    """Begins, looks up and ends sessions.

    `secret` is the folder's 32-byte secret, which proves that a session was begun by this service. `check` raises
    ClosedError while sign-in is closed.
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
        self._cache: LookUpCache[Account] = LookUpCache()

    def begin(self, user: UserRow, tx: Rows) -> SignedIn:
        """Begin a session with a new id in a sign-in's transaction; an id that the browser sent is ignored."""
        secret = mint("session", self._randomness(24))
        digest, now = digest_secret(secret), self._clock()
        tx.access.add_session(digest, user.id, now, prove(self._secret, "session", digest, user.id, now))
        return SignedIn(secret, Account(id=user.id, name=user.name, person=user.person, role=user.role, session=digest))

    def needs_no_read(self, secret: str) -> bool:
        """Return whether a session can be checked without a read from the store."""
        remembered, _ = self._cache.get(digest_secret(secret), self._clock())
        return remembered or not has_checksum(secret)

    def account(self, secret: str) -> Account | None:
        """Return the account of a session, or None if it was ended, was idle for an hour or is 12 hours old.

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
        seen = max(row.seen_at, self._last_use.of_session(digest))
        if now - seen > IDLE_MICROSECONDS or now - row.created_at > ABSOLUTE:
            return None
        return Account(
            id=row.id,
            name=row.name,
            person=row.person,
            role=row.role,
            session=digest,
            shortcuts=row.shortcuts,
            views=row.views,
            dense=row.dense == 1,
        )

    def end(self, account: Account) -> None:
        """End a session immediately."""
        now = self._clock()
        self._store.write(lambda tx: tx.access.end_session(account.session, now)).result()
        self._cache.forget(account.session)

    def forget(self) -> None:
        """Forget what was looked up: the next request of each session reads its account from the store."""
        self._cache.clear()


def list_planted(store: Store, secret: bytes) -> list[str]:
    """Return a message for each link and session that was not begun with this folder's secret."""
    with store.read() as tx:
        links, sessions = tx.access.links(), tx.access.sessions()
    planted = [("link", link) for link in links if not is_proven(secret, "link", link)]
    planted += [("session", session) for session in sessions if not is_proven(secret, "session", session)]
    return [f"{kind} {row.digest[:SHOWN]} of {row.name} was not begun by this service" for kind, row in planted]
