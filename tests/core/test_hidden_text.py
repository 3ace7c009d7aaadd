"""Making invisible characters visible."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.review.hidden_text import fits, glimpse, is_hidden, reveal, shorten, texts_of

HIDDEN = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"}
FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0"
EVERY_CODE = range(sys.maxunicode + 1)


def _selectors() -> list[str]:
    return [chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))]


def test_every_hidden_category_is_drawn() -> None:
    """Control, format, private, unassigned, surrogate, separator and space characters are shown as tokens."""
    characters = [c for c in map(chr, EVERY_CODE) if unicodedata.category(c) in HIDDEN and c not in "\n\t "]
    shown = [c for c in characters if not is_hidden(c)]
    assert [f"U+{ord(character):04X}" for character in shown] == []


def test_every_filler_and_selector_is_drawn() -> None:
    """Blank letters and variation selectors are shown as tokens."""
    assert [c for c in (*FILLERS, *_selectors()) if not is_hidden(c)] == []


def test_every_tag_character_is_shown_with_the_letter_it_encodes() -> None:
    """A tag character is shown with the letter it encodes."""
    for code in range(0xE0020, 0xE007F):
        piece = reveal(chr(code))[0]
        assert (piece.code, piece.name) == (f"U+{code:04X}", f"TAG {chr(code - 0xE0000)}")


def test_a_text_in_variation_selectors_is_shown_with_the_letters_it_encodes() -> None:
    """Selectors that spell a text, by either numbering, are shown as this text; others by their code points."""
    both = "".join(chr(0xE0100 + ord(sign) - 16) for sign in "obey")
    alone = "".join(chr(0xE0100 + ord(sign)) for sign in "obey")
    for hidden in (both, alone):
        piece = reveal(f"a{hidden}b")[1]
        assert (piece.code, piece.name, piece.text) == ("hidden text: obey", "4 variation selectors", hidden)
    assert reveal("a\ufe00\ufe01\U000e01ef")[1].code == "U+FE00 U+FE01 U+E01EF"


def test_newline_tab_and_space_stay_as_they_are() -> None:
    """Newline, tab and space are left unchanged."""
    assert [piece.code for piece in reveal("a\nb\tc d")] == [""]


def test_visible_characters_are_left_alone() -> None:
    """Letters, numbers, punctuation and symbols of all scripts are unchanged."""
    kept = {"Lu", "Ll", "Lt", "Lo", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"}
    drawn = [c for c in map(chr, EVERY_CODE) if unicodedata.category(c) in kept and c not in FILLERS and is_hidden(c)]
    assert drawn == []


def test_nothing_of_a_text_is_lost() -> None:
    """The joined pieces equal the text."""
    text = "".join(map(chr, EVERY_CODE))
    assert "".join(piece.text for piece in reveal(text)) == text


def test_a_run_of_invisible_characters_is_one_token_with_names_and_count() -> None:
    """A long run of one character is one token; a short mixed run is listed in order, a long one is counted."""
    drawn = {
        "\u200b" * 60_000: "U+200B \u00d7 60,000",
        "\u200b\u200b\u200c\u200b": "U+200B \u00d7 2 U+200C U+200B",
        "\u200b\u200c" * 5000: "10,000 hidden characters: U+200B \u00d7 5,000 U+200C \u00d7 5,000",
        "".join(map(chr, range(0xE000, 0xE010))): "16 hidden characters: "
        + " ".join(f"U+{code:04X}" for code in range(0xE000, 0xE006))
        + " and 10 others",
        "".join(chr(0xE0000 + ord(one)) for one in "Ignore <b>"): "hidden text: Ignore <b>",
    }
    assert {run: [piece.code for piece in reveal(f"a{run}b") if piece.code] for run in drawn} == {
        run: [code] for run, code in drawn.items()
    }
    assert [piece.code for piece in reveal("\U000e0041\U000e007f") if piece.code] == ["U+E0041", "U+E007F"]


def test_a_mixed_run_that_is_only_counted_is_not_shown_whole() -> None:
    """A long mixed run hides its order and is not shown whole; a run of six is."""
    assert fits(["a\u200b\u200c\u200b\u200c\u200b\u200cb"], 1000)
    assert not fits(["a\u200b\u200c\u200b\u200c\u200b\u200c\u200bb"], 1000)


ODD = st.text(st.sampled_from("ab \n\u200b\u202e\ufe0f\U000e0041\u0301\u0430\u4e2d&"), max_size=60)


@given(ODD, st.integers(0, 900))
def test_a_glimpse_is_the_beginning_and_whether_it_is_complete(text: str, most: int) -> None:
    """A preview fits the limit, cuts no token, and is complete only if all text fits and each token is complete."""
    seen = glimpse(text, most)
    shown = "".join(piece.text for piece in seen.pieces)
    assert text.startswith(shown)
    named = all(piece.whole for piece in seen.pieces)
    assert seen.whole == (shown == text and named) == fits([text], most)
    assert sum(60 + len(one.code) if one.code else len(one.text) for one in seen.pieces) <= most
    assert [one for one in seen.pieces if one.code] == [one for one in reveal(text) if one.code][
        : sum(bool(one.code) for one in seen.pieces)
    ]


def test_all_texts_of_a_payload_weigh() -> None:
    """Content, kind, tags and attributes are all on the page, so each counts."""
    payload = {"kind": "fact", "content": "x" * 100}
    tagged = payload | {"tags": ["a", "b\u200b"]}
    noted = payload | {"attributes": {"note": "\u200b" * 5}}
    for one, least in ((payload, 104), (tagged, 104 + 2 + 66), (noted, 104 + 60)):
        assert not fits(texts_of(one), least - 1)
    assert fits(texts_of(payload), 104)
    assert fits(texts_of(tagged), 104 + 2 + 66)


@pytest.mark.parametrize("mark", ["\u0301", "\u20dd"])
def test_a_pile_of_marks_on_one_letter_is_drawn(mark: str) -> None:
    """Marks beyond normal writing are shown as tokens, so they cover no other line."""
    pieces = reveal("e" + mark * 10)
    assert pieces[0].text == "e" + mark * 3
    assert [piece.code for piece in pieces[1:]] == [f"U+{ord(mark):04X} \u00d7 7"]


def test_natural_marks_are_left_alone() -> None:
    """Vietnamese, pointed Hebrew and Devanagari are unchanged."""
    for text in ("tiê\u0301ng", "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd", "\u0928\u092e\u0938\u094d\u0924\u0947"):
        assert [piece.code for piece in reveal(text)] == [""]


@pytest.mark.parametrize("hidden", ["\u2028", "\u2029", "\u0085", "\u00a0", "\u001f", "\u3000"])
def test_shortening_keeps_what_has_to_be_drawn(hidden: str) -> None:
    """A shortened text keeps its invisible characters."""
    assert hidden in shorten(f"before{hidden}after")


def test_a_long_text_is_cut_at_a_word() -> None:
    """A list shows the beginning of a text with an ellipsis."""
    text = shorten("word " * 100)
    assert len(text) <= 162
    assert text.endswith("word …")
    assert shorten("x" * 500) == "x" * 160 + " …"
    assert shorten(" two\n\nlines\t") == "two lines"


def test_letters_that_pose_as_others_are_drawn() -> None:
    """In a word of two alphabets the rarer letters are marked; whole words of another alphabet are not."""
    deceiving = {
        "p\u0430ypal": "U+0430",
        "g\u03bfogle": "U+03BF",
        "\uff41dmin": "U+FF41",
        "\U0001d5baccount": "U+1D5BA",
    }
    for word, code in deceiving.items():
        assert [piece.code for piece in reveal(f"see {word} now") if piece.code] == [code]
        assert [piece.letter for piece in reveal(word) if piece.code] == [True]
    for honest in (
        "\u043c\u0438\u0440",
        "\u03b1\u03b2\u03b3",
        "na\u00efve caf\u00e9",
        "5\u00b5m",
        "\u6771\u4eac Tokyo",
        "r\u00e9sum\u00e9",
    ):
        assert [piece.code for piece in reveal(honest) if piece.code] == []
    assert [piece.code for piece in reveal("\u043f\u0440\u0438vet") if piece.code] == ["U+043F", "U+0440", "U+0438"]
