"""What a text says backwards, in ROT13, base85, Ascii85, Z85 or uuencode is read where it names the encoding."""

import base64
import binascii
from codecs import encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.forms.named_encodings import find_named
from antechamber.core.privacy.forms.view import View
from antechamber.core.privacy.forms.views import all_views
from support import GATE

PASSWORD = "Heron_" + "Maple42x"
LINE = f"db_password={PASSWORD}"


def uuencoded(text: str) -> str:
    """Return a text as `uuencode` writes it."""
    data = text.encode()
    lines = "".join(binascii.b2a_uu(data[at : at + 45]).decode() for at in range(0, len(data), 45))
    return f"begin 644 note.txt\n{lines}`\nend\n"


def z85(text: str) -> str:
    """Return a text in Z85, padded with blanks (ZeroMQ RFC 32)."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    data = text.encode()
    data += b" " * (-len(data) % 4)
    rows = [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
    return "".join(digits[row // 85**place % 85] for row in rows for place in (4, 3, 2, 1, 0))


@pytest.mark.parametrize(
    ("text", "decoder"),
    [
        (f"echo '{LINE[::-1]}' | rev", "reversed"),
        (f"read it backwards: {LINE[::-1]}", "reversed"),
        (f"the exporter wrote {LINE[::-1]} to the log", "reversed"),
        (f"{encode(LINE, 'rot13')} (rot13)", "rot13"),
        (f"the exporter wrote {encode(LINE, 'rot13')} to the log", "rot13"),
        (f'base64.b85decode("{base64.b85encode(LINE.encode()).decode()}")', "base85"),
        (f'b85decode(r"""{base64.b85encode(LINE.encode()).decode()}""")', "base85"),
        (f"ascii85: {base64.a85encode(LINE.encode(), adobe=True).decode()}", "base85"),
        (f"z85 text: {z85(LINE)}", "base85"),
        (f"attached:\n{uuencoded(LINE)}bye", "uuencoded"),
        (f"uudecode: {binascii.b2a_uu(LINE.replace(' ', '').encode(), backtick=True).decode().strip()}", "uuencoded"),
    ],
)
def test_a_password_is_found_in_an_encoding_that_the_text_names(text: str, decoder: str) -> None:
    """All rules judge what is decoded, and the finding names the decoder."""
    found = GATE.find_private({"": text})
    assert {name for one in found for name in one.decoded} == {decoder}
    assert all(one.start >= 0 and one.end > one.start for one in found)


@pytest.mark.parametrize(
    ("line", "password"), [(LINE[::-1], PASSWORD[::-1]), (encode(LINE, "rot13"), encode(PASSWORD, "rot13"))]
)
def test_a_finding_in_a_turned_line_marks_its_own_characters(line: str, password: str) -> None:
    """A turned line has as many characters as before, so that each has its place."""
    text = f"in rot13 or reversed:\nthe first line\nhere: {line} and more"
    assert password in {text[one.start : one.end] for one in GATE.find_private({"": text})}


@pytest.mark.parametrize(
    "text",
    [
        "the flag keeps it backwards-compatible and reverses nothing",
        "the list is reversed, then sorted",
        "move the cursor backward or forward.",
        "see revision 12 of the document",
        "a token, a secret and a password have rules of their own",
    ],
)
def test_other_texts_name_no_encoding(text: str) -> None:
    """What programs and versions are called is no name of an encoding."""
    assert list(find_named(text, Effort(), lines=True)) == []


@pytest.mark.parametrize(
    "text",
    [
        "base85: not-an-encoded-word-of-it, <~ x ~>, 'also not encoded'",
        "begin 644 note.txt\n~~~~\nend\n",
        "base85 has an implementation of its own",
        "begin 644 note.txt\nM\nend\n",
        "begin 644 note.txt\n!ABCDEFGHIJK\nend\n",
        "begin 644 note.txt\n#____\nend\n",
        "uudecode: +________________ and ABCDEFGHIJKLMN",
    ],
)
def test_what_decodes_to_no_text_is_left_alone(text: str) -> None:
    """Words and broken lines are no encoded text."""
    assert [edit for edits in find_named(text, Effort(), lines=True) for edit in edits] == []


def test_lines_are_turned_only_where_that_is_asked_for() -> None:
    """Of a form whose lines were turned already, only runs are decoded."""
    assert list(find_named(f"rot13 {LINE}", Effort(), lines=False)) == []
    assert list(find_named(f"attached:\n{uuencoded(LINE)}bye, rot13", Effort(), lines=False))


def test_what_is_read_backwards_is_not_turned_again() -> None:
    """The number of forms stays small, although each of them may name the encoding."""
    text = "reversed: nothing here\n" * 40
    levels = [view.level for view in all_views(View(text), Effort())]
    assert max(levels) == 1


def test_an_encoded_text_may_be_turned_inside() -> None:
    """ROT13 in base64 is read."""
    inner = base64.b64encode(encode(LINE, "rot13").encode()).decode()
    found = GATE.find_private({"": f"keep for later: {inner}"})
    assert {one.decoded for one in found} == {("base64", "rot13")}


def test_only_lines_near_the_name_are_turned() -> None:
    """In a long document a single word does not double the text."""
    text = f"read it backwards: xyz\n{'word ' * 400}\n{LINE[::-1].replace('drowssap', 'x')}"
    edits = [edit for found in find_named(text, Effort(), lines=True) for edit in found]
    assert edits
    assert all(edit.start < 1_000 for edit in edits)


@given(st.text("abc XYZ=_0189", min_size=8, max_size=60))
def test_lines_keep_their_length(line: str) -> None:
    """Offsets in a turned line are those of the original."""
    for edits in find_named(f"rot13 {line}", Effort(), lines=True):
        assert all(len(edit.text) == edit.end - edit.start for edit in edits)


@pytest.mark.parametrize("unit", ["<~", "<~a~>", "'\"", "b85 a", "a85", "begin 644 a\nM", "backwards: a\n", "rot13 "])
def test_the_search_is_linear(unit: str) -> None:
    """A million characters take a second; a quadratic search takes an hour, so that the limit of each test ends it."""
    list(find_named(unit * (1_000_000 // len(unit)), Effort(10**9), lines=True))
