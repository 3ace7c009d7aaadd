"""Split text into runs shown as they are and tokens drawn for invisible or deceptive characters."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.core.privacy.checks.hidden_characters import find_needed
from antechamber.core.privacy.forms.selectors import spell_selectors

_DRAWN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_FILLERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_TAGS: Final = range(0xE0020, 0xE007F)
_TAG_OFFSET: Final = 0xE0000
_GAPS: Final = re.compile("[ \t\n]+")
_LETTER: Final = "l"
_PLAIN: Final = "p"
_DRAWN: Final = re.compile(r"t+|(?:[hv]|(?<=[mv]{3})m)+|l")
"""Characters that are drawn as tokens, in the letters of `kinds`.

Natural writing puts up to three marks on a letter; further marks are drawn separately.
"""
_TOKEN_WEIGHT: Final = 60
"""Characters of the markup around a token."""
_MAX_LISTED: Final = 6
"""Maximum number of code points that the token of a mixed run names."""


_WORD: Final = re.compile(r"\w+")
_ALPHABETS: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Scripts with letters that look alike (UTS 39, mixed-script confusables); a word that mixes two of them deceives."""
_STYLED_LATIN: Final = ("MATHEMATICAL ", "FULLWIDTH LATIN ", "CIRCLED LATIN ", "PARENTHESIZED LATIN ", "SQUARED LATIN ")
"""Name prefixes of styled Latin letters, which pose as plain ones."""


class Piece(Struct, frozen=True):
    """A run of plain text, or one token that is drawn in place of a run of characters."""

    text: str
    code: str = ""
    """The text of the token; empty for plain text."""
    name: str = ""
    letter: bool = False
    """Whether it is a visible letter that looks like another one."""
    whole: bool = True
    """Whether the token names each character in order; the token of a long mixed run only counts them."""


class Glimpse(Struct, frozen=True):
    """The beginning of a text that fits on a page; `whole` is whether nothing is left out."""

    pieces: list[Piece]
    whole: bool


def reveal(text: str) -> list[Piece]:
    """Split a text so that every invisible, bidirectional, tag, filler and look-alike character can be drawn.

    Characters that the text needs are plain text: those inside an emoji (UTS 51), joiners in scripts that join letters
    (UAX 31), soft hyphens in words, no-break spaces, and a wide space next to a wide letter. A run of adjacent
    invisible characters of any length is one piece.
    """
    return list(_pieces(text))


def find_hidden(text: str) -> tuple[int, int] | None:
    """Return the span of the first run that is drawn as a token, in code points; None if there is none."""
    start = 0
    for piece in _pieces(text):
        if piece.code:
            return start, start + len(piece.text)
        start += len(piece.text)
    return None


def glimpse(text: str, limit: int) -> Glimpse:
    """Split the beginning of a text with a weight of at most `limit`; see `fits` for weights."""
    pieces: list[Piece] = []
    for piece in _pieces(text):
        limit -= _weight(piece)
        if limit < 0:
            return Glimpse([*pieces, Piece(piece.text[:limit])] if not piece.code else pieces, whole=False)
        pieces.append(piece)
    return Glimpse(pieces, whole=all(piece.whole for piece in pieces))


def fits(texts: Iterable[str], limit: int) -> bool:
    """Return whether texts together weigh at most `limit` and no token of them leaves out part of its run.

    A weight is roughly the number of characters on a page: a token weighs as much as its markup.
    """
    for text in texts:
        for piece in _pieces(text):
            limit -= _weight(piece)
            if limit < 0 or not piece.whole:
                return False
    return True


def texts_of(payload: dict[str, Any]) -> list[str]:
    """Return all texts of a payload, as a page shows them."""
    attributes = payload.get("attributes")
    texts = [payload["content"], payload["kind"], *payload.get("tags", [])]
    return [*texts, pretty(attributes)] if attributes else texts


def pretty(value: Any) -> str:
    """Return a value as indented JSON, as pages show it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _weight(piece: Piece) -> int:
    return _TOKEN_WEIGHT + len(piece.code) if piece.code else len(piece.text)


def _pieces(text: str) -> Iterator[Piece]:
    end = 0
    letters = _replace(kinds(text), look_alikes(text), _LETTER)
    for match in _DRAWN.finditer(_replace(letters, find_needed(text), _PLAIN)):
        if match.start() > end:
            yield Piece(text[end : match.start()])
        end = match.end()
        yield _token(text[match.start() : end], letter=match[0] == _LETTER)
    if end < len(text):
        yield Piece(text[end:])


def kinds(text: str) -> str:
    """Return one letter for each character of a text, which names its kind.

    `t` is a tag, `v` an invisible mark, `h` any other hidden character, `m` a combining mark, `p` any other character.
    """
    return text.translate({ord(character): _kind(character) for character in set(text)})


@lru_cache(maxsize=8192)
def _kind(character: str) -> str:
    combines = unicodedata.category(character) in {"Mn", "Me"}
    if ord(character) in _TAGS:
        return "t"
    if is_hidden(character):
        return "v" if combines else "h"
    return "m" if combines else "p"


def _replace(text: str, indexes: Collection[int], letter: str) -> str:
    if not indexes:
        return text
    letters = list(text)
    for index in indexes:
        letters[index] = letter
    return "".join(letters)


def _token(run: str, *, letter: bool) -> Piece:
    """Return the token of a run: its code points with repeat counts, or the text that tags or selectors spell."""
    if len(run) == 1:
        return _lone(run, letter=letter)
    counts = Counter(run)
    if len(counts) == 1:
        return Piece(run, _times(run[0], len(run)), _name(run[0]))
    if ord(run[0]) in _TAGS:
        spelled = "".join(chr(ord(character) - _TAG_OFFSET) for character in run)
        return Piece(run, f"hidden text: {spelled}", f"{len(run):,} tag characters")
    if all(any(ord(character) in block for block in _SELECTORS) for character in counts):
        hidden = spell_selectors(run)
        if hidden is not None:
            return Piece(run, f"hidden text: {hidden}", f"{len(run):,} variation selectors")
    segments = [(character, sum(1 for _ in same)) for character, same in groupby(run)]
    listed = segments if len(segments) <= _MAX_LISTED else counts.most_common(_MAX_LISTED)
    code = " ".join(_times(character, count) for character, count in listed)
    whole = len(segments) <= _MAX_LISTED
    if not whole:
        others = len(counts) - len(listed)
        code = f"{len(run):,} hidden characters: {code}" + (f" and {others:,} others" if others else "")
    return Piece(run, code, ", ".join(dict.fromkeys(_name(character) for character, _ in listed)), whole=whole)


@lru_cache(maxsize=8192)
def _lone(character: str, *, letter: bool) -> Piece:
    return Piece(character, _times(character, 1), _name(character), letter)


def _times(character: str, count: int) -> str:
    code = f"U+{ord(character):04X}"
    return code if count == 1 else f"{code} \u00d7 {count:,}"


def look_alikes(text: str) -> frozenset[int]:
    """Return the indexes of look-alike letters: in a word that mixes alphabets, those of the rarer ones."""
    if text.isascii():
        return frozenset()
    return frozenset(index for word in _WORD.finditer(text) for index in _posing(word[0], word.start()))


def _posing(word: str, start: int) -> Iterator[int]:
    if word.isascii():
        return
    alphabets = [_alphabet(character) for character in word]
    scripts = sorted(
        {script for script in alphabets if script}, key=lambda script: (-alphabets.count(script), script != "LATIN")
    )
    if len(scripts) > 1:
        yield from (start + index for index, script in enumerate(alphabets) if script and script != scripts[0])


@lru_cache(maxsize=8192)
def _alphabet(character: str) -> str:
    """Return a letter's alphabet if its letters can be mistaken for those of another one, else an empty string."""
    if character.isascii():
        return "LATIN" if character.isalpha() else ""
    name = unicodedata.name(character, "")
    if name.startswith(_STYLED_LATIN):
        return "DISGUISED"
    return next((alphabet for alphabet in _ALPHABETS if name.startswith(alphabet + " ")), "")


def is_hidden(character: str) -> bool:
    """Return whether a character is invisible to a reader or moves visible ones."""
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


def shorten(text: str, limit: int = 160) -> str:
    """Cut a text for a list, at a word boundary if one is near."""
    text = _GAPS.sub(" ", text).strip(" ")
    if len(text) <= limit:
        return text
    cut = text[:limit].rpartition(" ")[0]
    return (cut if len(cut) > limit // 2 else text[:limit]) + " …"
