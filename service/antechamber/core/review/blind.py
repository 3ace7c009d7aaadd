"""Blind items: proposals that measure how decisions are made. What a decision on one counts as, and its figures.

A share of few decisions says little, so each share has its Wilson score interval: E. B. Wilson, "Probable Inference,
the Law of Succession, and Statistical Inference", Journal of the American Statistical Association 22 (1927), 209-212.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final, Literal, Protocol, TypeVar

from msgspec import Struct

from antechamber.core.review.decision import APPROVING, DecisionKind

BlindKind = Literal["calibration", "second-look"]
Verdict = Literal["approve", "reject"]
_REJECTING: Final = frozenset({"reject", "merge"})
_Z: Final = 1.959963984540054
"""The quantile of the standard normal distribution for an interval of 95 %."""
MIN_OTHERS: Final = 2
"""Persons besides the reader whose decisions an aggregate holds at least: with one, it would show that person's."""


class BlindCount(Struct, frozen=True, kw_only=True):
    """How many decisions of one person on blind items are alike."""

    kind: BlindKind
    verdict: Verdict
    decision: DecisionKind
    warned: bool
    """Whether the page showed a warning."""
    person: str
    number: int


class Share(Struct, frozen=True, kw_only=True):
    """A share with its interval."""

    number: int
    total: int

    @property
    def rate(self) -> float:
        """The share, from 0 to 1.

        Raises ZeroDivisionError if nothing was counted.
        """
        return self.number / self.total

    @property
    def interval(self) -> tuple[float, float]:
        """The Wilson score interval of 95 %, from 0 to 1; all of it if nothing was counted."""
        return wilson_interval(self.number, self.total)


class OversightShares(Struct, frozen=True, kw_only=True):
    """What the decisions on blind items show, of one person or of several."""

    false_approvals: Share
    """Approvals among the calibration items that should be rejected."""
    past_warnings: Share
    """The same among those of them whose page showed a warning."""
    false_rejections: Share
    """Rejections among the calibration items that should be approved."""
    agreement: Share
    """Second looks that came to the first decision, among those that came to one."""


def verdict_of(kind: DecisionKind) -> Verdict | None:
    """Return what a decision counts as; None for a request for a second person, which is neither."""
    if kind in APPROVING:
        return "approve"
    return "reject" if kind in _REJECTING else None


def wilson_interval(number: int, total: int) -> tuple[float, float]:
    """Return the Wilson score interval of 95 % of `number` in `total`, from 0 to 1; all of it if `total` is 0."""
    if total == 0:
        return 0.0, 1.0
    rate, square = number / total, _Z * _Z
    center = rate + square / (2 * total)
    margin = _Z * math.sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    scale = 1 + square / total
    return max(0.0, min(rate, (center - margin) / scale)), min(1.0, max(rate, (center + margin) / scale))


def shares_of(counts: Iterable[BlindCount]) -> OversightShares:
    """Sum up decisions on blind items."""
    rows = list(counts)
    bad = [row for row in rows if row.kind == "calibration" and row.verdict == "reject"]
    good = [row for row in rows if row.kind == "calibration" and row.verdict == "approve"]
    looks = [row for row in rows if row.kind == "second-look" and verdict_of(row.decision) is not None]
    return OversightShares(
        false_approvals=_share(bad, "approve"),
        past_warnings=_share([row for row in bad if row.warned], "approve"),
        false_rejections=_share(good, "reject"),
        agreement=Share(
            number=sum(row.number for row in looks if verdict_of(row.decision) == row.verdict),
            total=sum(row.number for row in looks),
        ),
    )


def second_look_obstacle(judges: frozenset[str], person: str) -> str | None:
    """Return why a person cannot take a second look, or None for one who did not decide on the proposal before."""
    return "You decided on this text before, so another person must look at it." if person in judges else None


class _OfPerson(Protocol):
    @property
    def person(self) -> str:
        """Who decided."""


P = TypeVar("P", bound=_OfPerson)


def of_others(counts: Sequence[P], person: str) -> list[P] | None:
    """Return the decisions of all persons but the reader; None if these are too few to stay anonymous."""
    others = [row for row in counts if row.person != person]
    return others if len({row.person for row in others}) >= MIN_OTHERS else None


def _share(rows: Sequence[BlindCount], counted: Verdict) -> Share:
    return Share(
        number=sum(row.number for row in rows if verdict_of(row.decision) == counted),
        total=sum(row.number for row in rows),
    )
