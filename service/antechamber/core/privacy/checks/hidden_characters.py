"""Hidden characters that no script and no emoji needs: they hide text from a reader or reorder it.

`review/hidden_text.py` draws every hidden character that a text does not need. This module finds the suspicious ones:
default-ignorable code points, controls and bidirectional controls (Unicode 16, DerivedCoreProperties), except where
text needs them: emoji sequences (UTS 51), joiners in scripts that join letters (UAX 31, section 2.3), variation
sequences, soft hyphens in words, no-break and typographic spaces, U+3000 next to CJK.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final

from antechamber.core.privacy.effort import Effort

_CONTROLS: Final = "\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufff0-\ufffb"
_BIDI: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS: Final = "\U000e0000-\U000e007e\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
"""Without the tag that ends a sequence, which says nothing."""
_LAST_TAG: Final = re.compile("\U000e007f")
_FILLERS: Final = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_ZERO_WIDTH: Final = "\xad\u200b-\u200d\u2060-\u2065\u206a-\u206f\ufeff"
_SPACES: Final = "\u1680\u2000\u2001\u2004-\u2006\u2008\u205f\u3000"
"""Spaces without a common use."""
_USUAL: Final = re.compile("[\xa0\u2002\u2003\u2007\u2009\u200a\u202f]|\r(?=\n)")
"""No-break, en, em, figure, thin and hair spaces, and line ends, which are text."""
_SUSPICIOUS: Final = re.compile(f"[{_CONTROLS}{_BIDI}{_SELECTORS}{_TAGS}{_FILLERS}{_ZERO_WIDTH}{_SPACES}]+")
_PICTURE: Final = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001faff]"
)
"""The blocks of Extended_Pictographic (UTS 51)."""
_ELEMENT: Final = f"{_PICTURE}(?:[\ufe0e\ufe0f]|[\U0001f3fb-\U0001f3ff])?"
# The first alternative is the flag of a region.
_EMOJI: Final = re.compile(
    "\U0001f3f4[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}\U000e007f"
    f"|{_ELEMENT}(?:\u200d{_ELEMENT})*|[0-9#*][\ufe0e\ufe0f]\u20e3?"
)
_MOST_ELEMENTS: Final = 10
"""Joined elements of the longest emoji that is in use."""
_JOINING: Final = (
    range(0x600, 0x900), range(0x1800, 0x18B0), range(0xFB50, 0xFE00), range(0xFE70, 0xFEFF), range(0x1E900, 0x1E960)
)  # fmt: skip
"""Arabic, Syriac, N'Ko, Mongolian, Adlam: scripts whose letters join (UAX 31, rule A1)."""
_ARABIC: Final = (range(0x620, 0x700),)
_VIRAMA: Final = 9
"""The canonical combining class of what ends a consonant without a vowel, in any script (UAX 31, rules A2 and B)."""
_INDIC: Final = (range(0x900, 0xE00), range(0xF00, 0x10A0), range(0x1780, 0x1800), range(0xA8E0, 0xA900))
"""Scripts with a virama (UAX 31, rules A2 and B)."""
_UNSPACED: Final = (range(0xE00, 0xF00), range(0x1000, 0x10A0), range(0x1780, 0x1800))
"""Thai, Lao, Myanmar, Khmer: U+200B separates their words (UAX 14)."""
_EAST_ASIAN: Final = (
    range(0x2E80, 0x3000), range(0x3001, 0xA4D0), range(0xAC00, 0xD7B0), range(0xF900, 0xFB00), range(0xFF00, 0xFFF0),
    range(0x20000, 0x33480),
)  # fmt: skip
_BRAILLE: Final = (range(0x2801, 0x2900),)
_JAMO: Final = (range(0x1100, 0x1200),)
_NEAR: Final = 24
"""Characters around a mark of direction in which a letter from right to left explains it."""


def find_hidden(text: str, effort: Effort, wanted: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of suspicious hidden characters, each of the kind of its first character, if it is `wanted`.

    Raises EffortSpentError if there are too many runs.
    """
    for run in _SUSPICIOUS.finditer(text):
        effort.spend()
        start, end = _strip(text, *run.span(), partial(_in_emoji, text))
        if start < end and kind_of(text[start]) in wanted:
            yield start, end


def find_needed(text: str) -> set[int]:
    """Return the indexes of the hidden characters that a text needs, so that they count as text; in linear time."""
    needed = {match.start() for match in _USUAL.finditer(text)}
    inner = {place for match in _EMOJI.finditer(text) for place in range(match.start() + 1, match.end())}
    for run in _SUSPICIOUS.finditer(text):
        start, _ = _strip(text, *run.span(), inner.__contains__)
        needed.update(range(run.start(), start))
    return needed | {match.start() for match in _LAST_TAG.finditer(text) if match.start() - 1 in needed}


def _strip(text: str, start: int, end: int, in_emoji: Callable[[int], bool]) -> tuple[int, int]:
    """Return the part of a run that begins and ends with a character that the text does not need there."""
    if end - start == 1:
        return (end, end) if _is_needed(text, start, end, in_emoji) else (start, end)
    while start < end and _is_needed(text, start, end, in_emoji):
        start += 1
    return start, end


@lru_cache(maxsize=8192)
def kind_of(character: str) -> str:
    """Return `tag`, `selector`, `direction` or `other`."""
    return next((kind for kind, characters in _KINDS if characters.match(character)), "other")


_KINDS: Final = (
    ("tag", re.compile(f"[{_TAGS}]")),
    ("selector", re.compile(f"[{_SELECTORS}]")),
    ("direction", re.compile(f"[{_BIDI}]")),
)


def _is_needed(text: str, place: int, end: int, in_emoji: Callable[[int], bool]) -> bool:
    """Return whether the text needs the hidden character at an index, of a run that ends at `end`."""
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    code = ord(text[place])
    if (end - place == 1 and _is_variation(text[place], before)) or in_emoji(place):
        return True
    if code in _JOINERS:
        return _is_joined(before, after, code)
    if end - place > 1 and not _is_in(after, _EAST_ASIAN):
        return False
    return _is_needed_alone(text, place, before, after)


def _is_joined(before: str, after: str, code: int) -> bool:
    """Return whether the text needs a joiner between two characters."""
    if _is_in(before, _INDIC) or (before and unicodedata.combining(before) == _VIRAMA):
        return True
    if _is_in(before, _JOINING):
        return code == _ZWJ or _is_in(after, _JOINING)
    # Persian writes its suffixes behind Latin words with a joiner too.
    return code != _ZWJ and before.isalpha() and before.isascii() and _is_in(after, _ARABIC)


def _is_needed_alone(text: str, place: int, before: str, after: str) -> bool:
    """Return whether the text needs a hidden character that is neither a joiner nor part of an emoji."""
    match text[place]:
        case "\xad":
            needed = before.isalpha() and after.isalpha()
        case "\u3000":
            needed = _is_in(before, _EAST_ASIAN) or _is_in(after, _EAST_ASIAN) or before in {"\n", ""}
        case "\u200b":
            needed = _is_in(before, _UNSPACED) and _is_in(after, _UNSPACED)
        case "\ufeff":
            needed = place == 0
        case "\u2800":
            needed = _is_in(before, _BRAILLE) or _is_in(after, _BRAILLE)
        case "\u115f" | "\u1160":
            needed = _is_in(before, _JAMO) or _is_in(after, _JAMO)
        case "\u200e" | "\u200f" | "\u061c":
            around = text[max(0, place - _NEAR) : place + _NEAR]
            needed = any(unicodedata.bidirectional(sign) in {"R", "AL"} and sign.isalpha() for sign in around)
        case character:
            needed = _is_variation(character, before)
    return needed


def _is_variation(character: str, before: str) -> bool:
    """Return whether a selector follows a character that has variants (Unicode, section 23.4)."""
    if "\u180b" <= character <= "\u180f":
        return "\u1820" <= before <= "\u18af"
    if kind_of(character) != "selector" or not before:
        return False
    return _is_in(before, _EAST_ASIAN) or unicodedata.category(before) in {"Sm", "So", "Sk"}


def _in_emoji(text: str, place: int) -> bool:
    """Return whether the hidden character at an index belongs to an emoji sequence around it."""
    start = place
    while start > 0 and place - start < 4 * _MOST_ELEMENTS and _EMOJI_SIGN.match(text, start - 1):
        start -= 1
    return any(match.start() < place < match.end() for match in _EMOJI.finditer(text, start, place + 8))


_EMOJI_SIGN: Final = re.compile(
    f"{_PICTURE}|[0-9#*\u200d\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\U000e0030-\U000e0039\U000e0061-\U000e007a]"
)
_ZWJ: Final = 0x200D
_JOINERS: Final = frozenset({0x200C, _ZWJ})


def _is_in(character: str, ranges: tuple[range, ...]) -> bool:
    return character != "" and any(ord(character) in one for one in ranges)


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {
    "hidden-tags": partial(find_hidden, wanted=frozenset({"tag"})),
    "hidden-selectors": partial(find_hidden, wanted=frozenset({"selector"})),
    "hidden-directions": partial(find_hidden, wanted=frozenset({"direction"})),
    "hidden-others": partial(find_hidden, wanted=frozenset({"other"})),
}
