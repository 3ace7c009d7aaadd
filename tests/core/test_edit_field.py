"""The edit field preserves every text, and an edit changes exactly what was typed."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from antechamber.core.review.edit_field import MAX_TOKENS, FieldError, from_field, to_field
from antechamber.core.review.hidden_text import is_hidden

CODES = (*range(0x40000), *range(0x40000, 0xE0000, 997), *range(0xE0000, 0xF0000), *range(0xF0000, 0x110000, 997))
CHARACTERS = [chr(code) for code in CODES if not 0xD800 <= code <= 0xDFFF]
"""All assigned code points, and samples of the unassigned and private planes."""
IGNORABLE = [
    chr(code)
    for codes in (
        (0xAD, 0x34F, 0x61C, 0x3164, 0xFEFF, 0xFFA0),
        range(0x115F, 0x1161),
        range(0x17B4, 0x17B6),
        range(0x180B, 0x1810),
        range(0x200B, 0x2010),
        range(0x202A, 0x202F),
        range(0x2060, 0x2070),
        range(0xFE00, 0xFE10),
        range(0xFFF0, 0xFFF9),
        range(0x1BCA0, 0x1BCA4),
        range(0x1D173, 0x1D17B),
        range(0xE0000, 0xE1000),
    )
    for code in codes
]
"""The code points with the property Default_Ignorable_Code_Point (Unicode, DerivedCoreProperties.txt)."""
SPACES = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
LITERALS = (
    "\u27e6U+200C\u27e7",
    "\u27e6",
    "\u27e7",
    "U+200C\u27e7",
    "\u27e6U+",
    "\u27e6U+200B\u00d73\u27e7",
    "\u27e6u+d",
)
NATURAL = (
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0646\u0645\u06cc\u200c\u0634\u0648\u062f",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u26a0\ufe0f \u2764\ufe0f\u200d\U0001f525",
    "\U0001f9d1\U0001f3fd\u200d\U0001f680",
    "\u6771\u4eac\u3000\u5927\u962a\n\u3000\u3053\u3093\u306b\u3061\u306f",
)
PARTS = st.one_of(
    st.sampled_from([*IGNORABLE, *SPACES, *LITERALS, *NATURAL, *map(chr, range(32))]),
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.sampled_from(
        ["deploy", "e\u0301\u0301\u0301\u0301\u0301", "\u200b" * 40, "p\u0430ypal", "\U0001f1e9\U0001f1ea"]
    ),
)
TEXTS = st.lists(PARTS, max_size=12).map("".join)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\u27e6"), max_size=12)


def test_every_character_comes_back_alone_between_letters_and_doubled() -> None:
    """Every kind of code point survives alone, between letters and doubled."""
    for first in range(0, len(CHARACTERS), 10_000):
        text = "\n".join(f"a{one}b{one}{one}" for one in CHARACTERS[first : first + 10_000])
        assert from_field(to_field(text).text) == text
    hidden = [one for one in (*IGNORABLE, *SPACES) if is_hidden(one)]
    for around in ("\u0645{}\u0645", "\u26a0{}\u26a0", "\u6771{}\u6771"):
        text = "\n".join(around.format(one) for one in hidden)
        assert from_field(to_field(text).text) == text


@given(TEXTS)
@example("".join(IGNORABLE))
@example("".join(LITERALS) * 2)
def test_a_field_that_is_sent_back_as_it_came_is_the_same_text(text: str) -> None:
    """A field returned unchanged gives the same text, even if that contains apparent tokens."""
    assert from_field(to_field(text).text) == text


@given(TEXTS, WORDS, TEXTS)
def test_a_word_that_is_typed_is_the_whole_change(before: str, word: str, after: str) -> None:
    """A word can be typed between any two characters or tokens."""
    assert from_field(to_field(before).text + word + to_field(after).text) == before + word + after


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_deleted_is_the_whole_change(before: str, gone: str, after: str) -> None:
    """Deleting a range between two characters or tokens deletes nothing else."""
    whole = from_field(to_field(before).text + to_field(gone).text + to_field(after).text)
    assert whole == before + gone + after
    assert from_field(to_field(before).text + to_field(after).text) == before + after


@given(TEXTS)
@example("a\u200c\u200c b\u3000\u3000c \ufe0f")
def test_a_field_shows_every_character(text: str) -> None:
    """Invisible characters become tokens unless they change the look of their neighbors."""
    field = to_field(text).text
    hidden = [index for index, character in enumerate(field) if is_hidden(character)]
    for index in hidden:
        before, after = field[max(index - 1, 0) : index], field[index + 1 : index + 2]
        assert field[index] in "\u200c\u200d\u3000\ufe0f"
        assert not before or not is_hidden(before) or before == "\ufe0f" or field[index] == "\u3000"
        if field[index] in "\u200c\u3000":
            assert unicodedata.category(after) == "Lo"
        if field[index] == "\u200d":
            assert unicodedata.category(after) == "So"


def test_natural_writing_is_left_as_it_is() -> None:
    """Persian, emoji and Japanese stay readable; the same characters elsewhere become tokens."""
    for text in NATURAL:
        assert to_field(text).text == text
    strange = {
        "a\u200cb": "a\u27e6U+200C\u27e7b",
        "\u0645\u200c": "\u0645\u27e6U+200C\u27e7",
        "\u200c\u0645": "\u27e6U+200C\u27e7\u0645",
        "a\u200d\u26a0": "a\u27e6U+200D\u27e7\u26a0",
        "\u26a0\u200d": "\u26a0\u27e6U+200D\u27e7",
        "a\ufe0f": "a\u27e6U+FE0F\u27e7",
        "\u2800\ufe0f": "\u27e6U+2800\u27e7\u27e6U+FE0F\u27e7",
        "a\u3000b": "a\u27e6U+3000\u27e7b",
        "soft\u00adhyphen": "soft\u27e6U+00AD\u27e7hyphen",
        "\u200b" * 12: "\u27e6U+200B\u00d712\u27e7",
        "\u27e6x\u27e7": "\u27e6U+27E6\u27e7x\u27e7",
        "e" + "\u0301" * 5: "e" + "\u0301" * 3 + "\u27e6U+0301\u00d72\u27e7",
    }
    assert {text: to_field(text).text for text in strange} == strange


@pytest.mark.parametrize(
    "damaged",
    [
        *("\u27e6U+200C", "\u27e6U+\u27e7", "\u27e6U+200C x", "\u27e6U+110000\u27e7", "\u27e6U+D800\u27e7"),
        *("\u27e6U+\u27e7x", "\u27e6U+200B\u00d7\u27e7", "\u27e6U+200B\u00d70\u27e7"),
        *("\u27e6U+20000C00\u27e7", "\u27e6u+"),
    ],
)
def test_a_damaged_token_is_refused(damaged: str) -> None:
    """An incomplete token is neither guessed nor saved as text."""
    with pytest.raises(FieldError, match="Delete all of it"):
        from_field(f"before {damaged} after")


def test_tokens_can_be_typed_and_cannot_swell() -> None:
    """Lower-case tokens are accepted, a lone bracket is a bracket, and tokens cannot exceed the text's size limit."""
    assert from_field("a\u27e6u+200b\u00d72\u27e7 \u27e6 \u27e6x\u27e7") == "a\u200b\u200b \u27e6 \u27e6x\u27e7"
    with pytest.raises(FieldError, match="more than 65,536 characters"):
        from_field("\u27e6U+200B\u00d750000\u27e7" * 2)


def test_a_field_reports_too_many_tokens() -> None:
    """Runs and brackets count as one token each, and a field reports when its tokens are too many."""
    assert to_field("\u27e6a\u27e6\u200b\u200b\u200c\u27e6").tokens == 5
    assert to_field("a\u200b" * MAX_TOKENS).fits
    assert not to_field("a\u200b" * (MAX_TOKENS + 1)).fits
