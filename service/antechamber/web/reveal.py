"""Drawing the invisible: text split into what may be shown as it is and what has to be drawn as a token."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

_DRAWN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_TAGS: Final = range(0xE0020, 0xE007F)
_TAG_OFFSET: Final = 0xE0000
_GAPS: Final = re.compile("[ \t\n]+")
_MOST_COMBINING: Final = 3
"""Marks on one letter that natural writing needs; more are drawn apart."""


class Piece(Struct, frozen=True):
    """A run of plain text, or one drawn character with its code point and name."""

    text: str
    code: str = ""
    name: str = ""


def reveal(text: str) -> list[Piece]:
    """Split a text so that every invisible, bidirectional, tag and filler character can be drawn."""
    return list(_pieces(text))


def visible(text: str) -> str:
    """Leave out what would have to be drawn: a text field cannot draw it."""
    return "".join(piece.text for piece in reveal(text) if not piece.code)


def _pieces(text: str) -> Iterator[Piece]:
    plain: list[str] = []
    combining = 0
    for character in text:
        combining = combining + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        if combining <= _MOST_COMBINING and not is_hidden(character):
            plain.append(character)
            continue
        if plain:
            yield Piece("".join(plain))
            plain.clear()
        yield Piece(character, f"U+{ord(character):04X}", _name(character))
    if plain:
        yield Piece("".join(plain))


def is_hidden(character: str) -> bool:
    """Tell a character that a reader cannot see, or that moves what can be seen."""
    if character in "\n\t ":
        return False
    category, code = unicodedata.category(character), ord(character)
    return (
        category in _DRAWN_CATEGORIES
        or category == "Zs"
        or character in _FILLERS
        or any(code in selectors for selectors in _SELECTORS)
    )


def _name(character: str) -> str:
    if ord(character) in _TAGS:
        return f"TAG {chr(ord(character) - _TAG_OFFSET)}"
    return unicodedata.name(character, "UNNAMED")


def shorten(text: str, most: int = 160) -> str:
    """Cut a text for a list, at a word if one is near."""
    text = _GAPS.sub(" ", text).strip(" ")
    if len(text) <= most:
        return text
    cut = text[:most].rpartition(" ")[0]
    return (cut if len(cut) > most // 2 else text[:most]) + " …"
