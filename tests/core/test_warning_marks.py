"""The words of findings, marked in texts and in indented JSON."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.rule import Finding
from antechamber.core.review.hidden_text import pretty
from antechamber.core.review.warning_marks import MarkedRun, WarningMarks

TITLES = {"a": "First rule", "b": "Second rule"}


def marks(*spans: tuple[str, str, int, int]) -> WarningMarks:
    """Return marks of findings, each a rule, a pointer, a start and an end."""
    return WarningMarks([Finding(pointer, rule, "warn", start, end) for rule, pointer, start, end in spans], TITLES)


def shown(runs: list[MarkedRun]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the text and titles of each run."""
    return [("".join(piece.text for piece in run.pieces), run.titles) for run in runs]


def test_the_words_of_a_finding_are_a_run_of_their_own() -> None:
    """Text around a finding is a run without titles, and findings at another pointer change nothing."""
    found = marks(("a", "/x", 4, 7), ("b", "/y", 0, 3))
    assert shown(found.mark_text("one two three", "/x")) == [("one ", ()), ("two", ("First rule",)), (" three", ())]
    assert shown(found.mark_text("one", "/z")) == [("one", ())]


def test_findings_that_overlap_are_divided_where_they_begin_and_end() -> None:
    """A part that two rules found has both titles; a rule that is not known any more has its id."""
    found = marks(("a", "", 0, 4), ("b", "", 2, 6), ("gone", "", 6, 7))
    assert shown(found.mark_text("abcdefgh", "")) == [
        ("ab", ("First rule",)),
        ("cd", ("First rule", "Second rule")),
        ("ef", ("Second rule",)),
        ("g", ("gone",)),
        ("h", ()),
    ]


def test_a_token_of_hidden_characters_stays_whole() -> None:
    """A finding within a run of hidden characters marks the token of the run."""
    runs = marks(("a", "", 2, 3)).mark_text("a\u200b\u200b\u200bb", "")
    assert [(run.pieces[0].code, run.titles) for run in runs] == [
        ("", ()),
        ("U+200B \u00d7 3", ("First rule",)),
        ("", ()),
    ]


def test_strings_within_attributes_are_marked_in_their_json() -> None:
    """Escapes and indentation before a finding do not move its mark; numbers and names stay as they are."""
    value = {"a/b": ['x "two" y', 7, None], "c": {"d": "two"}}
    found = marks(("a", "/payload/attributes/a~1b/0", 3, 6), ("b", "/payload/attributes/c/d", 0, 3))
    runs = shown(found.mark_value(value, "/payload/attributes"))
    assert "".join(text for text, _ in runs) == pretty(value)
    assert [run for run in runs if run[1]] == [("two", ("First rule",)), ("two", ("Second rule",))]


def test_a_value_that_has_every_sign_is_shown_without_marks() -> None:
    """A text with all noncharacters leaves none to hold a place; it is shown as it is."""
    text = "".join(map(chr, range(0xFDD0, 0xFDF0)))
    runs = marks(("a", "/x", 0, 1)).mark_value([text], "")
    assert all(run.titles == () for run in runs)
    assert "".join(text for text, _ in shown(runs)) == pretty([text])


def test_each_rule_is_listed_once_for_each_place() -> None:
    """The list names titles, places, numbers and decoders."""
    found = marks(("a", "/x", 0, 1), ("a", "/x", 2, 3), ("gone", "/x", 0, 1))
    assert [(one.title, one.pointer, one.count, one.decoded) for one in found.list_cautions()] == [
        ("First rule", "/x", 2, ()),
        ("gone", "/x", 1, ()),
    ]


SPANS = st.lists(st.tuples(st.sampled_from("ab"), st.just("/0"), st.integers(0, 30), st.integers(0, 40)), max_size=6)
TEXTS = st.text(st.sampled_from('ab \n\u200b\u202e\ufe0f\U000e0041\u0430\u4e2d<&"\\\ufdd0'), max_size=40)


@given(TEXTS, SPANS)
def test_marks_lose_nothing_of_a_text(text: str, spans: list[tuple[str, str, int, int]]) -> None:
    """The joined runs equal the text, and its JSON, for any spans."""
    found = marks(*spans)
    assert "".join(part for part, _ in shown(found.mark_text(text, "/0"))) == text
    value: Any = [text]
    assert "".join(part for part, _ in shown(found.mark_value(value, ""))) == pretty(value)


@given(TEXTS, st.integers(0, 30), st.integers(1, 10))
def test_each_plain_character_of_a_finding_is_marked(text: str, start: int, size: int) -> None:
    """Every character inside the span is in a run with the rule's title."""
    offset = 0
    for part, titles in shown(marks(("a", "", start, start + size)).mark_text(text, "")):
        for place in range(offset, offset + len(part)):
            assert not start <= place < min(start + size, len(text)) or titles == ("First rule",)
        offset += len(part)
