"""Alarms in the log: a line when one begins, which is also an event of webhooks, and one when it ends."""

import logging
from typing import Final

from antechamber.flows.dashboard import Dashboard
from antechamber.flows.webhooks.alarms import AlarmEvents
from antechamber.logs import note

_log: Final = logging.getLogger(__name__)


class AlarmLog:
    """Compares the alarms of the dashboard with those of the look before; `events` gets those that begin."""

    def __init__(self, dashboard: Dashboard, events: AlarmEvents) -> None:
        self._dashboard = dashboard
        self._events = events
        self._known: set[tuple[str, str]] = set()

    def look(self) -> None:
        """Log which alarms began and which ended."""
        alarms = {(source, text) for source, texts in self._dashboard.alarms_by_source().items() for text in texts}
        for source, text in sorted(alarms - self._known):
            note(_log, logging.ERROR, f"alarm: {text}", source=source)
        for source, text in sorted(self._known - alarms):
            note(_log, logging.INFO, f"alarm ended: {text}", source=source)
        self._events.add([source for source, _ in sorted(alarms - self._known)])
        self._known = alarms
