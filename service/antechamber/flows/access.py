"""Access: tokens, accounts, sign-in and sessions. A secret is shown once and stored only as a digest."""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from blake3 import blake3
from msgspec import Struct

from antechamber.core.access.callers import Bearer, Person, PersonRole, TokenRole
from antechamber.core.access.secret_format import digest_secret, has_checksum, mint
from antechamber.core.access.sessions import ABSOLUTE, SHOWN, AccessError, BegunAccess, check_signed_in, no_account
from antechamber.core.contract import NAME, PRODUCER
from antechamber.core.errors import AntechamberError, ClosedError
from antechamber.core.ids import uuid7
from antechamber.core.ports.access import AccessRows
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.queue_filter import with_view
from antechamber.core.rows.access import TokenRow, UserRow
from antechamber.flows.passwords import AccountPasswords
from antechamber.flows.sign_in_limits import check_attempts, count_attempt, forgive, subjects_of

V = TypeVar("V")

SECOND: Final = 1_000_000
LINK_LIFETIME: Final = 15 * 60 * SECOND
IDLE: Final = 60 * 60 * SECOND
CHECKED_FOR: Final = SECOND
"""Microseconds for which a looked-up token or session is trusted; a revocation takes effect within this time."""
MAX_REMEMBERED: Final = 10_000
_ADDRESS: Final = "address"
"""Name of the note that holds the public address."""


class SignedIn(Struct, frozen=True):
    """A new session; its secret is only sent in the cookie."""

    secret: str
    person: Person


class Access:
    """Issues, checks and ends tokens, sign-in links and sessions, whose digests are in a store.

    `secret` is the folder's 32-byte secret, which proves that links and sessions were created by this service. `check`
    raises ClosedError while sign-in is closed.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        randomness: Randomness,
        secret: bytes,
        check: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._secret = secret
        self._check = check
        self._bearers: dict[str, tuple[int, Bearer | None]] = {}
        self._people: dict[str, tuple[int, Person | None]] = {}
        self._used: dict[int, int] = {}
        self._seen: dict[str, int] = {}
        self._noted: str | None = None
        self.passwords = AccountPasswords(store, clock, randomness, self._people.clear)

    def issue(self, name: str, role: TokenRole, read: list[str], lifetime: int | None) -> tuple[str, str]:
        """Create a token that is valid for `lifetime` microseconds; return its id and the secret, which is shown once.

        Raises AccessError if the name or a grant is ill-formed.
        """
        _check_token(name, role, read)
        now, secret = self._clock(), mint(role, self._randomness(24))
        row = TokenRow(
            token_id=uuid7(now, self._randomness(10)),
            name=name,
            role=role,
            read=read,
            created_at=now,
            expires_at=None if lifetime is None else now + lifetime,
            revoked_at=None,
            last_used_at=None,
        )
        self._store.write(lambda tx: tx.access.add_token(row, digest_secret(secret))).result()
        return row.token_id, secret

    def tokens(self) -> list[TokenRow]:
        """Return all tokens."""
        with self._store.read() as tx:
            return tx.access.tokens()

    def revoke(self, name: str) -> int:
        """Revoke tokens by id or name; return how many were revoked."""
        now = self._clock()
        return self._store.write(lambda tx: tx.access.revoke_tokens(name, now)).result()

    def remembers(self, secret: str) -> bool:
        """Return whether a token or session can be checked without a read from the store."""
        digest, since = digest_secret(secret), self._clock() - CHECKED_FOR
        known = self._bearers.get(digest) or self._people.get(digest)
        return known[0] > since if known else not has_checksum(secret)

    def remembered_bearer(self, secret: str) -> Bearer | None:
        """Return the bearer of a token if it was looked up within the last second, else None."""
        now = self._clock()
        checked, bearer = self._bearers.get(digest_secret(secret), (0, None))
        if bearer is None or now - checked >= CHECKED_FOR:
            return None
        self._used[bearer.id] = now
        return bearer

    def bearer(self, secret: str) -> Bearer | None:
        """Return the bearer of a token, or None if the token is unknown, expired or revoked."""
        digest, now = digest_secret(secret), self._clock()
        checked, bearer = self._bearers.get(digest, (0, None))
        if now - checked >= CHECKED_FOR:
            if not has_checksum(secret):
                return None
            bearer = self._look_up(digest, now)
            _remember(self._bearers, digest, (now, bearer))
        if bearer is not None:
            self._used[bearer.id] = now
        return bearer

    def _look_up(self, digest: str, now: int) -> Bearer | None:
        with self._store.read() as tx:
            token = tx.access.token(digest)
        if token is None or token.revoked_at is not None or (token.expires_at is not None and token.expires_at <= now):
            return None
        return Bearer(id=token.id, name=token.name, role=token.role, read=token.read)

    def add_user(self, name: str, role: PersonRole, person: str | None, password: str | None) -> None:
        """Add an account; `password` is already hashed.

        Raises AccessError if the name is taken or ill-formed.
        """
        for word in (name, person or name):
            if not NAME.fullmatch(word):
                message = f'"{word}" is no name: use letters, digits and . _ / @ - , and begin with a letter or digit'
                raise AccessError(message)
        user = UserRow(
            id=0,
            name=name,
            person=person or name,
            role=role,
            password=password,
            created_at=self._clock(),
            disabled_at=None,
        )
        if not self._store.write(lambda tx: tx.access.add_user(user)).result():
            message = f"the name {name} is taken; choose another, or disable that account first"
            raise AccessError(message)

    def users(self) -> list[UserRow]:
        """Return all accounts."""
        with self._store.read() as tx:
            return tx.access.users()

    def disable(self, name: str) -> bool:
        """Disable an account and end its sessions; return False if there is no enabled account of this name."""
        now = self._clock()
        return self._store.write(lambda tx: tx.access.disable_user(name, now)).result()

    def link(self, name: str) -> str:
        """Create a sign-in link and return its secret, which works once, within 15 minutes.

        Raises AccessError if there is no such account.
        """
        with self._store.read() as tx:
            user = tx.access.user(name)
        if user is None or user.disabled_at is not None:
            raise no_account(name)
        secret, expires = mint("link", self._randomness(24)), self._clock() + LINK_LIFETIME
        digest = digest_secret(secret)
        proof = self._proof("link", digest, user.id, expires)
        self._store.write(lambda tx: tx.access.add_link(digest, user.id, expires, proof)).result()
        return secret

    def sign_in_by_link(self, secret: str) -> SignedIn | None:
        """Consume a link and begin a session; return None if it is used, expired, unknown or was not created here.

        Raises ClosedError while the log contradicts the last checkpoint.
        """
        self._check()
        with self._store.read() as tx:
            # A read comes first, because a write for each made-up link would delay decisions.
            if tx.access.link(digest_secret(secret)) is None:
                return None
        return self._store.write(partial(self._enter_by_link, secret)).result()

    def _enter_by_link(self, secret: str, tx: Rows) -> SignedIn | None:
        tx.access.share_sessions()
        digest = digest_secret(secret)
        kept = tx.access.link(digest)
        if kept is None or not self._began("link", kept):
            return None
        user = tx.access.use_link(digest, self._clock())
        return None if user is None else self._begin(user, tx.access)

    def sign_in(self, name: str, address: str, verify: Callable[[str | None], bool]) -> SignedIn | None:
        """Begin a session if `verify` accepts the account's password hash (None for names without one).

        `address` is the client's address. It is empty if a proxy hides it; then only names are throttled, because
        otherwise one attacker could lock all users out.

        Raises TooManyAttemptsError, for known and unknown names alike; ClosedError while the log contradicts the last
        checkpoint; BusyError or UnavailableError.
        """
        self._check()
        subjects = subjects_of(name, address)
        with self._store.read() as tx:
            check_attempts(tx.access, subjects, self._clock())
            user = tx.access.user(name)
        counted = self._store.write(lambda tx: count_attempt(tx.access, subjects, self._clock())).result()
        good = user is not None and user.disabled_at is None
        if not verify(user.password if user and good else None) or user is None:
            return None
        return self._store.write(partial(self._enter, user, subjects, counted)).result()

    def _enter(self, user: UserRow, subjects: list[str], counted: list[int], tx: Rows) -> SignedIn | None:
        """Undo the count and begin a session; return None if the account changed while its password was hashed."""
        # This comes first: a transaction that ends access then either commits before this one reads the account, or
        # waits until this one has committed.
        tx.access.share_sessions()
        known = tx.access.user(user.name)
        if known is None or known.disabled_at is not None or known.password != user.password:
            return None
        forgive(tx.access, subjects, counted, self._clock())
        return self._begin(user, tx.access)

    def _begin(self, user: UserRow, access: AccessRows) -> SignedIn:
        """Begin a session with a new id; an id that the browser sent is ignored."""
        secret = mint("session", self._randomness(24))
        digest, now = digest_secret(secret), self._clock()
        access.add_session(digest, user.id, now, self._proof("session", digest, user.id, now))
        return SignedIn(secret, Person(id=user.id, name=user.name, person=user.person, role=user.role, session=digest))

    def person(self, secret: str) -> Person | None:
        """Return the person of a session, or None if it was ended, was idle for an hour or is 12 hours old.

        While the log contradicts the last checkpoint, all sessions count as ended.
        """
        try:
            self._check()
        except ClosedError:
            return None
        digest, now = digest_secret(secret), self._clock()
        checked, person = self._people.get(digest, (0, None))
        if now - checked >= CHECKED_FOR:
            if not has_checksum(secret):
                return None
            person = self._look_up_session(digest, now)
            _remember(self._people, digest, (now, person))
        if person is not None:
            self._seen[digest] = now
        return person

    def _look_up_session(self, digest: str, now: int) -> Person | None:
        with self._store.read() as tx:
            row = tx.access.session(digest)
        if row is None or row.proof != self._proof("session", digest, row.id, row.created_at):
            return None
        seen = max(row.seen_at, self._seen.get(digest, 0))
        if now - seen > IDLE or now - row.created_at > ABSOLUTE:
            return None
        return Person(
            id=row.id,
            name=row.name,
            person=row.person,
            role=row.role,
            session=digest,
            keys=row.keys,
            views=row.views,
        )

    def planted(self) -> list[str]:
        """Return a message for each link and session that was not created with this folder's secret."""
        with self._store.read() as tx:
            kept = [("link", one) for one in tx.access.links()] + [("session", one) for one in tx.access.sessions()]
        return [
            f"{kind} {one.digest[:SHOWN]} of {one.name} was not begun by this service"
            for kind, one in kept
            if not self._began(kind, one)
        ]

    def _began(self, kind: str, kept: BegunAccess) -> bool:
        return kept.proof == self._proof(kind, kept.digest, kept.user, kept.at)

    def _proof(self, kind: str, digest: str, user: int, at: int) -> str:
        """Return the proof that a link or session was created here: BLAKE3 of its values, keyed with the secret."""
        return blake3(f"{kind} {digest} {user} {at}".encode(), key=self._secret).hexdigest()

    def choose_keys(self, person: Person, keys: str | None) -> None:
        """Store a person's keyboard shortcuts for all of the person's sessions.

        Raises SignedOutError, BusyError or UnavailableError.
        """

        def work(tx: Rows) -> None:
            check_signed_in(person, tx.access.signed_in(person.session), self._clock())
            tx.access.set_keys(person.id, keys)

        self._store.write(work).result()
        self._people.clear()

    def save_view(self, person: Person, name: str, text: str) -> None:
        """Store a filter of the queue under a name, or delete the view if the filter is empty.

        Raises FilterError, SignedOutError, BusyError or UnavailableError.
        """

        def work(tx: Rows) -> None:
            session = tx.access.signed_in(person.session)
            check_signed_in(person, session, self._clock())
            # The views come from the row read here, because `person` may be older than the last saved view.
            tx.access.set_views(person.id, with_view(session.views if session else None, name, text))

        self._store.write(work).result()
        self._people.clear()

    def sign_out(self, person: Person) -> None:
        """End a session immediately."""
        now = self._clock()
        self._store.write(lambda tx: tx.access.end_session(person.session, now)).result()
        self._people.pop(person.session, None)

    def note_address(self, url: str) -> None:
        """Store the address under which the service is served, for the links that the command line prints.

        A repeated call with the same address does nothing, so among several processes the one started last sets the
        address.

        Raises BusyError or UnavailableError.
        """
        if self._noted == url:
            return
        if self.address() != url:
            self._store.write(lambda tx: tx.reports.set_meta(_ADDRESS, url)).result()
        self._noted = url

    def address(self) -> str | None:
        """Return the address under which the service was served last, or None if it never was."""
        with self._store.read() as tx:
            return tx.reports.meta(_ADDRESS)

    def flush(self) -> None:
        """Write when tokens were used and sessions seen, in an ordinary commit."""
        used, self._used = self._used, {}
        seen, self._seen = self._seen, {}
        if not (used or seen):
            return
        try:
            self._store.write(partial(_touch, used, seen)).result()
        except AntechamberError as error:
            self._used, self._seen = used | self._used, seen | self._seen
            if not isinstance(error, ClosedError):
                raise


def _touch(used: dict[int, int], seen: dict[str, int], tx: Rows) -> None:
    tx.access.touch_tokens(used)
    tx.access.touch_sessions(seen)


def _remember(cache: dict[str, V], key: str, value: V) -> None:
    """Cache a looked-up value; a full cache is cleared."""
    if len(cache) >= MAX_REMEMBERED:
        cache.clear()
    cache[key] = value


def _check_token(name: str, role: TokenRole, read: list[str]) -> None:
    grammar = PRODUCER if role == "producer" else NAME
    if not grammar.fullmatch(name):
        form = "kind:name, e.g. worker:release-bot" if role == "producer" else "letters, digits and . _ / @ -"
        message = f'"{name}" is no name for a {role} token: it must be {form}'
        raise AccessError(message)
    if role == "reader" and not read:
        message = "a reader token needs --read, e.g. --read project:apollo"
        raise AccessError(message)
    for grant in read:
        scope, colon, scope_id = grant.partition(":")
        if not colon or not scope or not scope_id:
            message = f'--read "{grant}" is no scope: write scope:scope_id, e.g. project:apollo'
            raise AccessError(message)
        if role == "reader" and scope == "session" and "*" in grant:
            message = f'--read "{grant}": a session is read by whoever worked in it; name single sessions'
            raise AccessError(message)
