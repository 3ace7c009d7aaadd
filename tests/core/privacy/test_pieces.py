"""Long texts in pieces: nothing is lost, cuts are between lines and words, places are those of the whole text."""

from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.privacy.pieces import OVERLAP, PIECE, TextPiece, cut_pieces

LINES = "".join(f"line {number} of a long text\n" for number in range(20_000))


def test_a_short_text_is_one_piece() -> None:
    """A text up to the size of a piece is not cut, and an empty text is scanned too."""
    assert list(cut_pieces(["short ", "text"])) == [TextPiece("short text")]
    assert list(cut_pieces([])) == [TextPiece("")]


def test_pieces_cover_a_text_with_overlap() -> None:
    """Each piece is a part of the text at its offset, and overlaps the one before it."""
    pieces = list(cut_pieces(LINES[place : place + 1000] for place in range(0, len(LINES), 1000)))
    assert len(pieces) > 5
    assert all(piece.text == LINES[piece.offset : piece.offset + len(piece.text)] for piece in pieces)
    ends = [piece.offset + len(piece.text) for piece in pieces]
    assert ends[-1] == len(LINES)
    assert all(end - piece.offset >= OVERLAP for end, piece in zip(ends, pieces[1:], strict=False))
    assert PIECE - 100 < max(len(piece.text) for piece in pieces) <= PIECE


def test_the_size_of_a_piece_is_in_bytes() -> None:
    """A piece of any script has at most as many bytes as a submission."""
    for character in "é字🔑":
        text = character * PIECE
        pieces = list(cut_pieces([text]))
        assert all(piece.text == text[piece.offset : piece.offset + len(piece.text)] for piece in pieces)
        assert PIECE - 4 < len(pieces[0].text.encode()) <= PIECE
        assert pieces[-1].offset + len(pieces[-1].text) == len(text)


def test_cuts_are_at_the_ends_of_lines() -> None:
    """A text of lines is cut only between them."""
    pieces = list(cut_pieces([LINES]))
    assert all(piece.text.startswith("line ") and piece.text.endswith("\n") for piece in pieces)


def test_a_text_of_one_line_is_cut_between_words() -> None:
    """Without ends of lines, the cuts are between words."""
    words = LINES.replace("\n", " ")
    pieces = list(cut_pieces([words]))
    assert all(piece.offset == 0 or words[piece.offset - 1] == " " for piece in pieces)
    assert all(piece.text.endswith(" ") for piece in pieces)


def test_a_text_without_words_is_cut_all_the_same() -> None:
    """A single run of letters is cut at the size of a piece."""
    pieces = list(cut_pieces(["x" * (3 * PIECE)]))
    assert [piece.offset for piece in pieces] == [number * (PIECE - OVERLAP) for number in range(4)]
    assert {piece.line for piece in pieces} == {1}
    assert [piece.column for piece in pieces] == [piece.offset + 1 for piece in pieces]


@given(st.integers(0, len(LINES) - 1))
def test_places_are_those_of_the_whole_text(offset: int) -> None:
    """Line and column of a character do not depend on the pieces."""
    before = LINES[:offset]
    place = (before.count("\n") + 1, offset - before.rfind("\n"))
    for piece in cut_pieces([LINES]):
        if piece.offset <= offset < piece.offset + len(piece.text):
            assert piece.find_place(offset - piece.offset) == place
