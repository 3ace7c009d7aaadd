"""Drawing the invisible and the deceptive: text split into what may be shown as it is and what is drawn as a token."""

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


_WORD: Final = re.compile(r"\w+")
_ALPHABETS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Scripts whose letters pass for each other's (UTS 39, mixed-script confusables); a word of two of them deceives."""
_COSTUMES: Final = ("MATHEMATICAL ", "FULLWIDTH LATIN ", "CIRCLED LATIN ", "PARENTHESIZED LATIN ", "SQUARED LATIN ")
"""Latin letters in disguise."""


class Piece(Struct, frozen=True):
    """A run of plain text, or one drawn character with its code point and name."""

    text: str
    code: str = ""
    name: str = ""
    letter: bool = False
    """Whether it is a letter that looks like another one, and can be seen."""


def reveal(text: str) -> list[Piece]:
    """Split a text so that every invisible, bidirectional, tag, filler and look-alike character can be drawn."""
    return list(_pieces(text))


def visible(text: str) -> str:
    """Leave out what would have to be drawn: a text field cannot draw it."""
    return "".join(piece.text for piece in reveal(text) if piece.letter or not piece.code)


def _pieces(text: str) -> Iterator[Piece]:
    if text.isascii() and text.isprintable():
        yield from [Piece(text)] if text else []
        return
    plain: list[str] = []
    combining = 0
    posing = look_alikes(text)
    for place, character in enumerate(text):
        combining = combining + 1 if unicodedata.category(character) in {"Mn", "Me"} else 0
        letter = place in posing
        if combining <= _MOST_COMBINING and not letter and not is_hidden(character):
            plain.append(character)
            continue
        if plain:
            yield Piece("".join(plain))
            plain.clear()
        yield Piece(character, f"U+{ord(character):04X}", _name(character), letter)
    if plain:
        yield Piece("".join(plain))


def look_alikes(text: str) -> frozenset[int]:
    """Return the places of letters that pose as others: those of the rarer alphabet of a word that mixes two."""
    if text.isascii():
        return frozenset()
    return frozenset(place for word in _WORD.finditer(text) for place in _posing(word[0], word.start()))


def _posing(word: str, start: int) -> Iterator[int]:
    if word.isascii():
        return
    alphabets = [_alphabet(character) for character in word]
    known = sorted({one for one in alphabets if one}, key=lambda one: (-alphabets.count(one), one != "LATIN"))
    if len(known) > 1:
        yield from (start + place for place, one in enumerate(alphabets) if one and one != known[0])


def _alphabet(character: str) -> str:
    """Return a letter's alphabet where it is one whose letters are mistaken for others, else nothing."""
    if character.isascii():
        return "LATIN" if character.isalpha() else ""
    name = unicodedata.name(character, "")
    if name.startswith(_COSTUMES):
        return "DISGUISED"
    return next((one for one in _ALPHABETS if name.startswith(one + " ")), "")


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
