"""Patterns of numbers that people group in their own way."""

import re2
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.patterns.literals import needs_of
from antechamber.core.privacy.patterns.separators import accept_separators

NATIONAL = r"(?:BE ?)?[0-9]{4}\.?[0-9]{3}\.?[0-9]{3}"
"""A pattern with the separators that its issuer prints."""


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a whole text."""
    return re2.fullmatch(pattern, text) is not None


@given(st.lists(st.sampled_from(["", "s"]), min_size=9, max_size=9), st.sampled_from(" -."))
def test_a_number_is_found_however_it_is_grouped_with_one_sign(places: list[str], sign: str) -> None:
    """The same sign may be between any two digits, whatever the issuer prints."""
    digits = "0428759497"
    grouped = digits[0] + "".join(
        place.replace("s", sign) + digit for place, digit in zip(places, digits[1:], strict=True)
    )
    assert matches(accept_separators(NATIONAL), grouped)


def test_what_the_pattern_itself_matches_is_still_found() -> None:
    """The form of the issuer is accepted, with other signs for its separators, and letters stay together."""
    wide = accept_separators(NATIONAL)
    for text in ("BE 0428.759.497", "BE0428759497", "BE-0428-759-497", "0428/759/497", "BE 0428 759 497"):
        assert matches(wide, text), text
    for text in ("B E0428759497", "0428759 49", "0428--759497", "0 4-28759497"):
        assert not matches(wide, text), text


def test_repetitions_with_a_range_and_alternatives_are_kept() -> None:
    """Ranges of repetitions, optional characters, escapes and alternatives keep their meaning."""
    wide = accept_separators(r"[0-9]{2,3}[A-Z]?\.[0-9]|X[0-9]{1}")
    for text in ("12.3", "123A.4", "1 2 3 A 4", "1-2-3", "X5", "X-5"):
        assert matches(wide, text), text
    for text in ("1.2", "1234.5.6", "XX5"):
        assert not matches(wide, text), text


def test_the_number_of_digits_is_known_to_the_prefilter() -> None:
    """The digits that every match has in a row are counted across separators, so that most texts are not searched."""
    assert needs_of(NATIONAL).digits == needs_of(accept_separators(NATIONAL)).digits == 10
