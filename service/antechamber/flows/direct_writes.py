"""Requests of producers for a durable write: each is refused, and one per hour is recorded in the log."""

import logging
from concurrent.futures import Future

from antechamber.core.errors import AntechamberError
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store

HOUR = 3_600_000_000
"""Microseconds of an hour."""
_log = logging.getLogger(__name__)


class DirectWrites:
    """Records in a store which producers asked for a durable write."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._noted: dict[str, int] = {}

    def note(self, producer_identity: str) -> None:
        """Record a request unless one of this hour is recorded; the refusal does not wait for the record."""
        now = self._clock()
        hour = now // HOUR
        if self._noted.get(producer_identity) == hour:
            return
        self._noted[producer_identity] = hour
        try:
            noted = self._store.write(lambda tx: tx.log.note_direct_write(producer_identity, hour, now))
        except AntechamberError:
            self._noted.pop(producer_identity, None)
            return
        noted.add_done_callback(lambda done: self._look(done, producer_identity))

    def _look(self, done: Future[None], producer_identity: str) -> None:
        """Let the next request retry if this one was not recorded."""
        if error := done.exception():
            self._noted.pop(producer_identity, None)
            _log.warning("a request for a durable write was not noted: %s", error)
