"""Values looked up in the store a moment ago, so that a burst of requests reads each token or session once."""

import threading
from typing import Final, Generic, TypeVar

V = TypeVar("V")

TRUSTED_MICROSECONDS: Final = 1_000_000
"""How long a looked-up token or session is trusted; a revocation takes effect within this time."""
MAX_REMEMBERED: Final = 10_000


class LookUpCache(Generic[V]):
    """Remembers looked-up values by the digest of their secret, None for an unknown secret; thread-safe.

    The event loop and the threads of the pages use the same cache.
    """

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._kept: dict[str, tuple[int, V | None]] = {}
        self._renewed: set[str] = set()

    def get(self, digest: str, now: int) -> tuple[bool, V | None]:
        """Return whether a digest was looked up within `TRUSTED_MICROSECONDS`, and what the look-up returned."""
        with self._gate:
            looked_up_at, value = self._kept.get(digest, (0, None))
        return (True, value) if now - looked_up_at < TRUSTED_MICROSECONDS else (False, None)

    def recall(self, digest: str, now: int) -> tuple[V | None, bool]:
        """Return the remembered value, and whether to look it up again before it is trusted no more.

        The second is True once for each look-up.
        """
        with self._gate:
            looked_up_at, value = self._kept.get(digest, (0, None))
            age = now - looked_up_at
            if age >= TRUSTED_MICROSECONDS:
                return None, False
            aging = age >= TRUSTED_MICROSECONDS // 2 and digest not in self._renewed
            if aging:
                self._renewed.add(digest)
            return value, aging

    def put(self, digest: str, now: int, value: V | None) -> None:
        """Remember a looked-up value; a full cache is cleared."""
        with self._gate:
            if len(self._kept) >= MAX_REMEMBERED:
                self._kept.clear()
                self._renewed.clear()
            self._kept[digest] = (now, value)
            self._renewed.discard(digest)

    def forget(self, digest: str) -> None:
        """Forget one value."""
        with self._gate:
            self._kept.pop(digest, None)

    def clear(self) -> None:
        """Forget all values."""
        with self._gate:
            self._kept.clear()
