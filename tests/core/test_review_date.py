"""Review dates: a day to come as a date field writes it, which has passed once it has ended in UTC."""

import pytest

from antechamber.core.review.decision import InvalidDecisionError
from antechamber.core.review.review_date import day_name, read_review_date
from antechamber.core.times import parse_time

NOW = parse_time("2027-01-30T12:00:00Z")


def test_a_review_date_is_the_last_moment_of_its_day() -> None:
    """Today and days up to ten years ahead are taken; an empty text is no date."""
    date = read_review_date(" 2027-01-31 ", NOW)
    assert date == parse_time("2027-02-01T00:00:00Z") - 1
    assert (day_name(date), day_name(None)) == ("2027-01-31", None)
    assert day_name(read_review_date("2027-01-30", NOW)) == "2027-01-30"
    assert read_review_date("2037-01-30", NOW)
    assert (read_review_date("", NOW), read_review_date("  ", NOW)) == (None, None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tomorrow", "Write the review date"),
        ("2027-02-30", "Write the review date"),
        ("2027-1-3", "Write the review date"),
        ("2027-01-31T00:00:00Z", "Write the review date"),
        ("\u0662\u0660\u0662\u0667-01-31", "Write the review date"),
        ("2027-01-29", "today or later"),
        ("2038-01-30", "10 years ahead"),
        ("9999-12-31", "10 years ahead"),
    ],
)
def test_any_other_text_is_refused_with_what_to_write(text: str, why: str) -> None:
    """A text that is no day, a day that has passed and one too far ahead are refused."""
    with pytest.raises(InvalidDecisionError, match=why):
        read_review_date(text, NOW)
