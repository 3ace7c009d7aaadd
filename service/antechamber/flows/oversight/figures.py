"""Figures of oversight for the dashboard: a person's own, and those of all others together."""

from msgspec import Struct

from antechamber.core.ports.store import Rows
from antechamber.core.review.blind import OversightShares, of_others, shares_of


class OversightFigures(Struct, frozen=True, kw_only=True):
    """Shares since the beginning."""

    own: OversightShares
    """The reader's own."""
    others: OversightShares | None
    """Those of all other persons together; None if these are too few to stay anonymous."""


def oversight_figures(tx: Rows, person: str) -> OversightFigures:
    """Return the figures that a person may see."""
    counts = tx.blind.counts()
    others = of_others(counts, person)
    return OversightFigures(
        own=shares_of(row for row in counts if row.person == person),
        others=None if others is None else shares_of(others),
    )
