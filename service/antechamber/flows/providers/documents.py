"""What providers publish: discovery documents and keys, fetched when a sign-in needs them, and kept for a while."""

import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import Struct

from antechamber.core.access.providers import Metadata, Provider, discovery_url, may_be_private, read_metadata
from antechamber.core.access.workload import Key, find_key, read_keys
from antechamber.core.errors import FetchError
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.workload import Fetch

T = TypeVar("T")
_SECOND: Final = 1_000_000
KEPT: Final = 600 * _SECOND
"""How long a document counts, in microseconds."""
AGAIN: Final = 30 * _SECOND
"""Time between two fetches of keys for a key that is not known, in microseconds."""
FAILED: Final = 5 * _SECOND
"""Time after a failure in which a document is not asked for again, in microseconds."""
MAX_KEPT: Final = 100
"""Documents that are kept."""


class _Kept(Struct):
    """A document as it was read, or why it could not be."""

    value: Any
    failure: str | None
    at: int


class ProviderDocuments:
    """Keeps documents and keys of providers; `fetch` gets them. Thread-safe; a request may wait for the network."""

    def __init__(self, fetch: Fetch, clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._gate = threading.Lock()
        self._kept: dict[tuple[str, str, bool], _Kept] = {}

    def metadata(self, provider: Provider) -> Metadata:
        """Return what a provider says of itself.

        Raises FetchError.
        """
        url = discovery_url(provider.issuer)
        return self._get(url, provider, KEPT, lambda data: read_metadata(data, provider))

    def known(self, provider: Provider) -> Metadata | None:
        """Return the same without waiting for the network; None if it was not fetched."""
        with self._gate:
            kept = self._kept.get(_name(discovery_url(provider.issuer), provider))
        return None if kept is None else kept.value

    def key(self, provider: Provider, metadata: Metadata, key_id: str, algorithm: str) -> Key | None:
        """Return the key of a token, or None if the provider has no such key.

        A key that is not known is looked for at most twice a minute. Raises FetchError.
        """
        found = find_key(self._get(metadata.jwks_uri, provider, KEPT, read_keys), key_id, algorithm)
        if found is None:
            found = find_key(self._get(metadata.jwks_uri, provider, AGAIN, read_keys), key_id, algorithm)
        return found

    def _get(self, url: str, provider: Provider, age: int, read: Callable[[bytes], T]) -> T:
        """Return a document that is younger than an age, in microseconds.

        Raises FetchError.
        """
        name = _name(url, provider)
        with self._gate:
            kept = self._kept.get(name)
        if kept is None or self._clock() - kept.at >= (age if kept.failure is None else FAILED):
            kept = self._read(url, provider, read)
            with self._gate:
                # The policy may list other providers by now.
                while len(self._kept) >= MAX_KEPT:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[name] = kept
        if kept.failure is not None:
            raise FetchError(kept.failure)
        value: T = kept.value
        return value

    def _read(self, url: str, provider: Provider, read: Callable[[bytes], T]) -> _Kept:
        try:
            value = read(self._fetch(url, allow_private=may_be_private(provider, url)))
        except (FetchError, ValueError) as error:
            return _Kept(None, str(error), self._clock())
        return _Kept(value, None, self._clock())


def _name(url: str, provider: Provider) -> tuple[str, str, bool]:
    """Return the name of a document, which was checked for an issuer of the policy."""
    return url, provider.issuer, provider.allow_private
