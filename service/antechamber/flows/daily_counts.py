"""Hourly counts are added up by day, so that the dashboard reads few rows however long the service has run."""

from collections.abc import Mapping
from typing import Final

from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.flows.direct_writes import HOUR

_DAY: Final = 24 * HOUR
LATE_DAYS: Final = 1
"""Whole days after a day until it is added, because clocks of several machines differ."""
AT_ONCE: Final = 31
"""Maximum number of days that one transaction adds."""


class DailyCounts:
    """Adds up the counts of days that have ended."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(self) -> None:
        """Add all days that ended more than a day ago.

        Raises BusyError or UnavailableError.
        """
        before = self._clock() // _DAY - LATE_DAYS
        while self._is_left(before):
            self._store.write(lambda tx: tx.reports.add_days(before, AT_ONCE)).result()

    def _is_left(self, before_day: int) -> bool:
        with self._store.read() as tx:
            first = tx.reports.first_open_day()
        return first is not None and first < before_day


def count_waiting(totals: Mapping[str, int]) -> int:
    """Return how many proposals wait, from totals: those that came, without those that are decided.

    Calibration items and second looks are in neither.
    """
    return totals.get("accepted-for-review", 0) - totals.get("approved", 0) - totals.get("rejected", 0)
