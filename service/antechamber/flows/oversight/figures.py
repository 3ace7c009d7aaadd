"""Figures of oversight for the dashboard: a person's own, and those of all others together."""

from msgspec import Struct

from antechamber.core.ports.store import Rows
from antechamber.core.review.blind import OversightShares, of_others, shares_of
from antechamber.core.review.screen_time import Pace, pace_of


class OversightFigures(Struct, frozen=True, kw_only=True):
    """Shares since the beginning, and the pace of the latest decisions."""

    own: OversightShares
    """The reader's own."""
    others: OversightShares | None
    """Those of all other persons together; None if these are too few to stay anonymous."""
    own_pace: Pace
    others_pace: Pace | None


def oversight_figures(tx: Rows, person: str, since: int) -> OversightFigures:
    """Return the figures that a person may see; `since` is the time from which times on screen are kept."""
    counts, times = tx.blind.counts(), tx.blind.screen_times(since)
    others, their_times = of_others(counts, person), of_others(times, person)
    return OversightFigures(
        own=shares_of(row for row in counts if row.person == person),
        others=None if others is None else shares_of(others),
        own_pace=pace_of([time for time in times if time.person == person]),
        others_pace=None if their_times is None else pace_of(their_times),
    )
