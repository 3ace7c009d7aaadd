"""Suspicious hidden characters are found, and those that text needs are not."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.checks.hidden_characters import find_hidden, find_needed, kind_of
from antechamber.core.privacy.effort import Effort
from antechamber.core.review.hidden_text import is_hidden, reveal
from support import GATE

ALL = frozenset({"tag", "selector", "direction", "other"})


def spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of hidden characters."""
    return list(find_hidden(text, Effort(), ALL))


NEEDED = {
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "skin": "\U0001f44d\U0001f3fd and \U0001f9d1\U0001f3ff\u200d\U0001f680",
    "heart": "\u2764\ufe0f\u200d\U0001f525 \u2764\ufe0e",
    "keycap": "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "flag": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "rainbow": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "arabic": "\u0647\u200d",
    "balinese": "\u1b05\u1b13\u1b44\u200c\u1b31",
    "adlam": "\U0001e900\u200d\U0001e901",
    "persian behind latin": "PDF\u200c\u0647\u0627",
    "hindi": "\u0915\u094d\u200d\u0937 \u0915\u094d\u200c\u0937",
    "mongolian": "\u182d\u180b\u1820",
    "thai": "\u0e01\u200b\u0e02",
    "japanese": "\u6771\u4eac\u3000\u5927\u962a \u845b\U000e0100",
    "indented": "a\n\u3000b",
    "math": "\u2229\ufe00",
    "hyphen": "Donau\u00addampf",
    "spaces": "12\u00a0km, 1\u202f000, a\u2009b",
    "hebrew": "\u05e9\u05dc\u05d5\u05dd\u200f!",
    "braille": "\u2803\u2800\u2803",
    "jamo": "\u115f\u1161 \u1100\u1160",
    "mark": "\ufeffFirst line",
    "lines": "a\r\n\tb",
}
HIDDEN = {
    "zero width": ("pass\u200bword", [(4, 5)]),
    "joiner": ("a\u200db", [(1, 2)]),
    "half": ("word\u00ad 1", [(4, 5)]),
    "tags": ("a\U000e0048\U000e0069b", [(1, 3)]),
    "tags after a flag": ("\U0001f3f4\U000e0068\U000e0069 x", [(1, 3)]),
    "data": ("\u263a\ufe0f\U000e0158\U000e0155", [(2, 4)]),
    "bare selector": ("\ufe0fa", [(0, 1)]),
    "override": ("a\u202eb\u202cc", [(1, 2), (3, 4)]),
    "mark": ("a\u200eb", [(1, 2)]),
    "filler": ("a\u3164\u2800b", [(1, 3)]),
    "wide space": ("a\u3000b", [(1, 2)]),
    "control": ("a\x07b", [(1, 2)]),
    "order mark": ("a\ufeffb", [(1, 2)]),
    "mongolian": ("a\u180bb", [(1, 2)]),
    "lao": ("a\u200b\u0e81", [(1, 2)]),
    "run": ("\u6771\u200b\u200b\u4eac", [(1, 3)]),
}


@pytest.mark.parametrize("name", NEEDED)
def test_what_text_needs_is_no_finding(name: str) -> None:
    """Emoji, joiners, variants, spaces and marks in their place are text, alone and within a sentence."""
    assert spans(NEEDED[name]) == []
    assert not any(
        one.rule_id.startswith(("hidden-", "text-d")) for one in GATE.scan({"": f"{NEEDED[name]} and so on"})
    )


@pytest.mark.parametrize("name", NEEDED)
def test_what_text_needs_is_shown_as_text(name: str) -> None:
    """The desk draws no token for it, and raises no warning."""
    assert [(piece.text, piece.code) for piece in reveal(NEEDED[name])] == [(NEEDED[name], "")]


@pytest.mark.parametrize("name", HIDDEN)
def test_what_hides_text_is_found(name: str) -> None:
    """Hidden characters out of place are found with their span, and their rule warns."""
    text, expected = HIDDEN[name]
    assert spans(text) == expected
    found = [one for one in GATE.scan({"": text}) if one.rule_id.startswith(("hidden-", "text-d")) and not one.decoded]
    assert sorted((one.start, one.end) for one in found) == expected
    assert {one.action for one in found} == {"warn"}


def test_each_suspicious_character_is_drawn_on_the_desk() -> None:
    """Whatever a rule finds is hidden by the desk's definition too, so that the curator sees a token."""
    for code in range(1, sys.maxunicode + 1):
        for _ in find_hidden(f"a{chr(code)}b", Effort(), ALL):
            assert is_hidden(chr(code))


def test_kinds_of_hidden_characters() -> None:
    """Tags, selectors, controls of direction and others have rules of their own."""
    assert [kind_of(sign) for sign in "\U000e0041\ufe0f\U000e0100\u202e\u3164"] == [
        "tag",
        "selector",
        "selector",
        "direction",
        "other",
    ]
    assert list(find_hidden("a\u202eb", Effort(), frozenset({"tag"}))) == []


@given(
    st.text(st.sampled_from("a1 \u200b\u200d\ufe0f\U0001f468\U0001f3fd\U000e0041\u0645\u094d\u4e2d\u00ad"), max_size=30)
)
def test_spans_are_in_order_and_hold_hidden_characters(text: str) -> None:
    """Spans never overlap, and each consists of hidden characters."""
    last = 0
    for start, end in spans(text):
        assert last <= start < end <= len(text)
        assert all(map(is_hidden, text[start:end]))
        last = end


@given(
    st.text(
        st.sampled_from(
            "a b1#\u0645\u0915\u6771\u2764\ufe0f\u200c\u200d\u00ad\u00a0\u3000\r\n\U0001f469\U000e0067\U000e007f"
        )
    )
)
def test_what_is_found_is_drawn(text: str) -> None:
    """No character of a finding counts as text, and whatever counts as text is hidden otherwise."""
    needed = find_needed(text)
    assert not any(place in needed for start, end in spans(text) for place in range(start, end))
    assert all(is_hidden(text[place]) for place in needed)
