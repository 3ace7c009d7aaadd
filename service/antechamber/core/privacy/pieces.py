"""Long texts in pieces, so that a text of any length is scanned in bounded memory and bounded time."""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

PIECE: Final = 65_536
"""Bytes of a piece in UTF-8, as many as a submission may have; a shorter text is one piece."""
OVERLAP: Final = 4_096
"""Code points that two pieces share at least, more than a value has."""


class TextPiece(Struct, frozen=True):
    """A part of a text, and where it begins."""

    text: str
    offset: int = 0
    """Code points of the whole text before it."""
    line: int = 1
    """Line of its first character, from 1."""
    column: int = 1
    """Column of its first character, from 1."""

    def find_place(self, start: int) -> tuple[int, int]:
        """Return line and column of an offset in this piece; both count from 1."""
        before = self.text.count("\n", 0, start)
        if not before:
            return self.line, self.column + start
        return self.line + before, start - self.text.rfind("\n", 0, start)


def cut_pieces(chunks: Iterable[str], most: int = PIECE) -> Iterator[TextPiece]:
    """Yield overlapping pieces of `most` bytes of a text that arrives in chunks; an empty text is one empty piece.

    Pieces begin and end at the end of a line where possible, because a cut inside a word could hide or make a value.
    """
    piece = TextPiece("")
    for chunk in chunks:
        piece = TextPiece(piece.text + chunk, piece.offset, piece.line, piece.column)
        while size := _find_size(piece.text, most):
            end = _find_end(piece.text, size)
            yield TextPiece(piece.text[:end], piece.offset, piece.line, piece.column)
            piece = _drop(piece, _find_start(piece.text, end))
    yield piece


def _find_size(text: str, most: int) -> int:
    """Return the code points of the longest piece of a text that is too long for one; 0 if it is not."""
    # No character has more than four bytes.
    if len(text) <= most // 4:
        return 0
    data = text.encode()
    return len(data[:most].decode(errors="ignore")) if len(data) > most else 0


def _find_end(text: str, size: int) -> int:
    """Return where a piece ends: after the last line or word of its second half, else at its full size."""
    for sign in ("\n", " "):
        if (found := text.rfind(sign, size // 2, size)) >= 0:
            return found + 1
    return size


def _find_start(text: str, end: int) -> int:
    """Return where the next piece begins: at the beginning of a line or word before the overlap, else right there."""
    latest = end - OVERLAP
    for sign in ("\n", " "):
        if (found := text.rfind(sign, latest - OVERLAP, latest)) >= 0:
            return found + 1
    return latest


def _drop(piece: TextPiece, count: int) -> TextPiece:
    """Return a piece without its first characters."""
    line, column = piece.find_place(count)
    return TextPiece(piece.text[count:], piece.offset + count, line, column)
