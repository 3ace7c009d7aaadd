"""Alarms as events: those that begin are stored for the endpoints, apart from the log, which may be what fails."""

from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store


class AlarmEvents:
    """Stores alarms as events; while the store accepts no writes, they wait in memory and are tried again."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._waiting: list[str] = []

    def add(self, sources: list[str]) -> None:
        """Store alarms of these sources, and those that could not be stored before, if there is an endpoint."""
        self._waiting += sources
        if not self._waiting:
            return
        try:
            with self._store.read() as tx:
                wanted = any("alarm.raised" in webhook.events for webhook in tx.webhooks.all())
            if wanted:
                now, waiting = self._clock(), list(self._waiting)
                self._store.write(lambda tx: tx.webhooks.add_alarms(waiting, now)).result()
        except (BusyError, UnavailableError):
            return
        self._waiting.clear()
