"""Keys of the issuers of workload tokens: fetched in the background, and kept while an issuer cannot be reached."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from antechamber.core.access.workload import Issuer, Key, find_key, read_keys
from antechamber.core.errors import FetchError, UnavailableError
from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.workload import Fetch
from antechamber.logs import note

_log: Final = logging.getLogger(__name__)
_SECOND: Final = 1_000_000
REFRESH: Final = 600 * _SECOND
"""Age at which keys are fetched again, in microseconds."""
AGAIN: Final = 30 * _SECOND
"""Time between two attempts, for a key that is not known yet or after a failure, in microseconds."""
LONGEST: Final = 86_400 * _SECOND
"""Age up to which keys count while the issuer cannot be reached, in microseconds."""


class _Kept(Struct):
    """What is known of the keys at one address."""

    keys: list[Key] = []
    fetched_at: int | None = None
    tried_at: int | None = None
    wanted: bool = False
    """Whether a token named a key that is not among them."""
    failure: str | None = None


class IssuerKeys:
    """Keeps the keys of all issuers in the policy; `find` never waits for the network. Thread-safe."""

    def __init__(self, policy: Callable[[], Policy], fetch: Fetch, clock: Clock) -> None:
        self._policy = policy
        self._fetch = fetch
        self._clock = clock
        self._gate = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def find(self, issuer: Issuer, key_id: str, algorithm: str) -> Key | None:
        """Return the key of a token, or None if the issuer has no such key.

        Raises UnavailableError if that is not known yet, because the keys were not fetched since the token came, or
        cannot be fetched.
        """
        if issuer.keys_url is None:
            return find_key(issuer.keys, key_id, algorithm)
        now = self._clock()
        with self._gate:
            kept = self._kept.setdefault(issuer.keys_url, _Kept())
            fresh = kept.fetched_at is not None and now - kept.fetched_at < LONGEST
            known = fresh and any(key.get("kid") == key_id for key in kept.keys)
            asked_lately = kept.failure is None and kept.tried_at is not None and now - kept.tried_at < AGAIN
            kept.wanted = kept.wanted or not known
            if known or asked_lately:
                return find_key(kept.keys, key_id, algorithm)
        message = f"the keys of {issuer.issuer} are not known here yet, or cannot be fetched; try again in a moment"
        raise UnavailableError(message)

    def tick(self) -> None:
        """Fetch the keys that are due, and forget those of issuers that the policy does not list any more."""
        issuers = [issuer for issuer in self._policy().issuers.values() if issuer.keys_url is not None]
        urls = {str(issuer.keys_url): issuer for issuer in issuers}
        with self._gate:
            self._kept = {url: self._kept.get(url, _Kept()) for url in urls}
            due = [(url, kept) for url, kept in self._kept.items() if _is_due(kept, self._clock())]
        for url, kept in due:
            self._refresh(urls[url], url, kept)

    def _refresh(self, issuer: Issuer, url: str, kept: _Kept) -> None:
        failure, keys = None, kept.keys
        try:
            keys = read_keys(self._fetch(url, allow_private=issuer.allow_private))
        except (FetchError, ValueError) as error:
            failure = str(error)
        now = self._clock()
        with self._gate:
            before, kept.failure, kept.tried_at = kept.failure, failure, now
            if failure is None:
                kept.keys, kept.fetched_at, kept.wanted = keys, now, False
        if failure is not None and before is None:
            note(_log, logging.WARNING, "keys cannot be fetched", issuer=issuer.issuer, reason=failure)
        elif failure is None and before is not None:
            note(_log, logging.WARNING, "keys are fetched again", issuer=issuer.issuer)

    def alarms(self) -> list[str]:
        """Return what operators have to know: issuers whose keys cannot be fetched, and why."""
        with self._gate:
            failing = {url: kept.failure for url, kept in self._kept.items() if kept.failure is not None}
        return [
            f"The keys of {issuer.issuer} cannot be fetched: {failing[issuer.keys_url]}. Workload tokens that need new "
            "keys get 503; keys that were fetched in the last 24 hours go on working."
            for issuer in self._policy().issuers.values()
            if issuer.keys_url in failing
        ]


def _is_due(kept: _Kept, now: int) -> bool:
    if kept.tried_at is None:
        return True
    soon = kept.wanted or kept.failure is not None
    return now - kept.tried_at >= (AGAIN if soon else REFRESH)
