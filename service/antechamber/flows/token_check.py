"""Checks the token of a request: bearer tokens are looked up by their digest."""

import logging
from collections.abc import Callable
from typing import Final

from antechamber.core.access.callers import Bearer
from antechamber.core.access.secret_format import digest_secret, has_checksum
from antechamber.core.access.workload import is_workload_token
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.flows.last_use import LastUse
from antechamber.flows.lookup_cache import LookUpCache
from antechamber.logs import note

_log: Final = logging.getLogger(__name__)


class TokenCheck:
    """Looks up whose token a request has; a look-up is trusted for a second."""

    def __init__(self, store: Store, clock: Clock, last_use: LastUse) -> None:
        self._store = store
        self._clock = clock
        self._last_use = last_use
        self._cache: LookUpCache[Bearer] = LookUpCache()
        self._vouched: Callable[[str], Bearer | None] = lambda _: None

    def accept(self, vouched: Callable[[str], Bearer | None]) -> None:
        """Also accept workload tokens: `vouched` returns the bearer of one, or None."""
        self._vouched = vouched

    def needs_no_read(self, secret: str) -> bool:
        """Return whether a token can be checked without a read from the store."""
        remembered, _ = self._cache.get(digest_secret(secret), self._clock())
        return remembered or not (has_checksum(secret) or is_workload_token(secret))

    def remembered_bearer(self, secret: str) -> Bearer | None:
        """Return the bearer of a token if it was looked up within the last second, else None."""
        now = self._clock()
        _, bearer = self._cache.get(digest_secret(secret), now)
        self._note(bearer, now)
        return bearer

    def recall(self, secret: str) -> tuple[Bearer | None, bool]:
        """Return what `remembered_bearer` returns, and whether the caller should look the token up again soon."""
        now = self._clock()
        bearer, aging = self._cache.recall(digest_secret(secret), now)
        self._note(bearer, now)
        return bearer, aging

    def bearer(self, secret: str) -> Bearer | None:
        """Return the bearer of a token, or None if the token is unknown, expired, revoked or otherwise refused.

        Raises UnavailableError if the keys of a workload token's issuer are not known yet.
        """
        now = self._clock()
        remembered, bearer = self._cache.get(digest_secret(secret), now)
        if not remembered:
            bearer = self.look_up(secret)
        self._note(bearer, now)
        return bearer

    def look_up(self, secret: str) -> Bearer | None:
        """Look a token up, whatever is remembered of it, and remember the result.

        Raises UnavailableError as `bearer` does.
        """
        digest, now = digest_secret(secret), self._clock()
        if has_checksum(secret):
            bearer = self._look_up(digest, now)
        elif is_workload_token(secret):
            bearer = self._vouched(secret)
        else:
            return None
        self._cache.put(digest, now, bearer)
        return bearer

    def _note(self, bearer: Bearer | None, now: int) -> None:
        """Note the last use of a token that is stored; those of other issuers are not, and have no positive id."""
        if bearer is not None and bearer.id > 0:
            self._last_use.note_token(bearer.id, now)

    def _look_up(self, digest: str, now: int) -> Bearer | None:
        with self._store.read() as tx:
            token = tx.access.token(digest)
        if token is None:
            return None
        expired = token.expires_at is not None and token.expires_at <= now
        if token.revoked_at is not None or expired:
            reason = "expired" if token.revoked_at is None else "revoked"
            note(_log, logging.WARNING, "refused a token", token_id=token.token_id, reason=reason)
            return None
        return Bearer(id=token.id, name=token.name, role=token.role, read=token.read, expires_at=token.expires_at)
