"""Values with a blank, a line break or a sign between their characters are read without it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.forms.spaced_values import find_spaced
from antechamber.core.privacy.forms.view import apply
from support import GATE


def read(text: str) -> str:
    """Return a text without what is between the characters of values."""
    return apply(text, find_spaced(text))


@pytest.mark.parametrize("gap", ["/", ".", "-", "_", " | ", " \u00b7 ", ", ", "\n", "\r\n", " "])
def test_any_gap_is_removed(gap: str) -> None:
    """The same sign between all characters divides nothing."""
    assert read(f'say "{gap.join("password=Heron")}" now') == 'say "password=Heron" now'


@pytest.mark.parametrize(
    "text",
    [
        "1.2.3.4.5.6.7.8.9.10",
        "2026-11-28-1-2-3",
        "a/b/c",
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
        "one-two-three-four-five-six",
        "",
    ],
)
def test_numbers_and_words_stay(text: str) -> None:
    """Versions, dates, lists and words with signs between them are no value."""
    assert read(text) == text


def test_a_password_with_signs_between_its_characters_is_found() -> None:
    """All rules judge it, and the finding names the decoder."""
    text = "the log says " + "-".join("DB_PASSWORD=Heron_" + "Maple42x")
    found = GATE.find_private({"": text})
    assert {one.decoded for one in found} == {("spaced",)}


@given(st.text("abcXYZ019_=+", min_size=10, max_size=40).filter(lambda text: sum(map(str.isalpha, text)) > 3))
def test_every_character_comes_back(text: str) -> None:
    """Any row of characters reads as it was."""
    value = f"a{text}a"
    assert read("/".join(value)) == value


@pytest.mark.parametrize("unit", ["a/", "a-", "a ", "a\n", "a | ", "aa/", "a/b-"])
def test_the_search_is_linear(unit: str) -> None:
    """A million characters take a second; a quadratic search takes an hour, so that the limit of each test ends it."""
    list(find_spaced(unit * (1_000_000 // len(unit))))
