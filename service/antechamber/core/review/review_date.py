"""Review dates: the day after which a memory comes up for review, as a curator chose it."""

from typing import Final

from antechamber.core.review.decision import InvalidDecisionError
from antechamber.core.times import format_time, parse_time

_DAY: Final = 86_400_000_000
"""Microseconds of a day."""
MAX_YEARS: Final = 10
_MAX_AHEAD: Final = (MAX_YEARS * 366) * _DAY


def read_review_date(text: str, now: int) -> int | None:
    """Return the last microsecond of a day in UTC, written as 2027-01-31; None for an empty text.

    Raises InvalidDecisionError if the text is no day, or one that has passed or is too far ahead.
    """
    if not text.strip():
        return None
    try:
        review_after = parse_time(f"{text.strip()}T00:00:00Z") + _DAY - 1
    except ValueError:
        message = "Write the review date as 2027-01-31, or leave it empty."
        raise InvalidDecisionError(message) from None
    if not now <= review_after <= now + _MAX_AHEAD:
        message = f"The review date must be today or later, at most {MAX_YEARS} years ahead. Choose another one."
        raise InvalidDecisionError(message)
    return review_after


def day_name(review_after: int | None) -> str | None:
    """Return the day of a review date, as 2027-01-31; None for none."""
    return None if review_after is None else format_time(review_after)[:10]
