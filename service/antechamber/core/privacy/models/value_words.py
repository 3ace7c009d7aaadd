"""The words, values and signs of a sentence, and the features with which a model judges whether a value is a secret.

A value is what is neither a word nor a sign, such as `Tr0mbone!Lake`, `config-2` or `4471`. Its features are the kinds
of its characters, and the words around it, each with its place.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

from antechamber.core.privacy.automata import Offsets, search
from antechamber.core.privacy.document import SEPARATOR

UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
"""Scripts without blanks between words; each of their signs counts as a word."""
_LETTER: Final = "A-Za-z\u00c0-\u024f\u0386-\u04ff"
_EDGE: Final = rf"0-9{_LETTER}#$%&+/=@\\^_|~\u00a7-"
"""What a value begins and ends with; other signs there belong to the sentence."""
_INNER: Final = rf"!()*,.:;<>?\[\]{{}}{_EDGE}"
_IN_NAME: Final = f"0-9{_LETTER}_-"
_NAME: Final = rf"-{{0,2}}[{_LETTER}_](?:[{_IN_NAME}]{{0,40}}(?=:(?!//))|[.{_IN_NAME}]{{0,40}}(?==|->))"
_LINK: Final = r"(?<=[\w.-])(?:=>|->|[=:])(?!//)"
_RUN_OF_SIGNS: Final = rf"[{_EDGE}](?:[{_INNER}]{{0,160}}[{_EDGE}])?"
WORD_OR_VALUE: Final = re.compile(f"{_NAME}|{_LINK}|{_RUN_OF_SIGNS}")
"""A name before its value, the sign between them, or a word or value; not the signs of scripts without blanks."""
TOKEN: Final = re.compile(rf"{WORD_OR_VALUE.pattern}|[{UNSPACED}]|\n|\S")
"""The same, a sign of a script without blanks, a line break, or another sign."""
SHORTEST: Final = 4
LONGEST: Final = 100
LONGEST_KEPT: Final = 7
"""Letters of the longest word whose weights a model keeps in memory; a longer one may be a password itself."""
_BEFORE: Final = 12
"""Words and signs before a value that its features have, …"""
_BEHIND: Final = 5
"""… and behind it; …"""
_NEAREST: Final = 2
"""… of these on each side the place counts."""
_PLACES_BEFORE: Final = ("<0", "<1"), "<<0", "<<1"
_PLACES_BEHIND: Final = (">0", ">1"), ">>0", ">>1"
"""The places of words: of the nearest ones, of those in the same sentence, and of those in another one."""
_STEMS: Final = (4, 6)
"""Characters of the beginnings that words with the same stem share."""
_STOPS: Final = frozenset(".;!?\n\u3002\uff01\uff1b\uff1f")
_OPENING: Final = frozenset("\"'`*\u00b4\u201c\u2018\u201e\u201a\u00ab\u00bb\u2039\u300c\u300e")
_CLOSING: Final = frozenset("\"'`*\u00b4\u201d\u2019\u201c\u2018\u00bb\u00ab\u203a\u300d\u300f")
"""Marks around a value: quotation marks, and those of Markdown for code and bold letters."""
_LONGEST_SHAPE: Final = 10
_HEXADECIMAL: Final = re.compile("[0-9a-f]{7,}|[0-9A-F]{7,}")
_YEAR: Final = re.compile("(?:19|20)[0-9]{2}")
_PASSWORD_SIGN: Final = re.compile("[!?#$%&*+^~]")
_RUN: Final = re.compile(r"(.)\1+", re.DOTALL)
_KINDS: Final = "aA0x"
_LETTERS_AND_DIGITS: Final = frozenset(_KINDS)
_CLASSES: Final = str.maketrans(
    {code: "aA0"[(sign := chr(code)).isupper() + 2 * sign.isdigit()] for code in range(128) if chr(code).isalnum()}
)
"""Maps small letters, capitals and digits in ASCII to one of each."""


_STRIDE: Final = 40
"""Bytes from one cue to where the next one is searched: not each of them is needed."""
_LONGEST_CODE: Final = 10
"""Digits of the longest number that may be a code."""


def is_value(token: str) -> bool:
    """Return whether a token is neither a word, nor a sign, nor a number that is too short or too long for a code."""
    if token.isdigit():
        return SHORTEST <= len(token) <= _LONGEST_CODE
    return SHORTEST <= len(token) <= LONGEST and not token.isalpha()


def _key_of(token: str) -> str:
    """Return what a model knows of a token: a word without case, a sign, or the kind of a value."""
    if token.isdigit():
        return f"<{min(len(token), 8)}>"
    if len(token) == 1 or token.isalpha():
        return token.lower()
    return f"<{kinds_in(classes_of(token))}>"


def kinds_in(classes: str) -> str:
    """Return which kinds the classes of a value have: small letters, capitals, digits, other letters, signs."""
    kinds = set(classes)
    return "".join([kind for kind in _KINDS if kind in kinds]) + "!" * (not kinds <= _LETTERS_AND_DIGITS)


def classes_of(value: str) -> str:
    """Return the class of each character of a value; a sign is its own class."""
    classes = value.translate(_CLASSES)
    return classes if value.isascii() else "".join(map(_class_of, classes))


def _class_of(sign: str) -> str:
    if sign.isascii() or not sign.isalpha():
        return sign
    return "a" if sign.islower() else "A" if sign.isupper() else "x"


def features_of_classes(classes: str) -> Iterator[str]:
    """Yield the features that a value has by the classes of its characters."""
    size, kinds = len(classes), kinds_in(classes)
    shape = _RUN.sub(r"\1", classes)
    yield f"shape {shape[:_LONGEST_SHAPE]}"
    yield f"end {shape[-3:]}"
    yield f"kinds {kinds}"
    yield f"size {size if size < 12 else size // 4 * 4 if size < 40 else 40}"  # noqa: PLR2004 -- finer for short values
    yield f"kinds {kinds} {min(size // 3, 8)}"
    yield f"changes {len(shape) * 8 // size}"
    if _PASSWORD_SIGN.search(classes):
        yield "sign"


def features_of_characters(value: str) -> Iterator[str]:
    """Yield the features that depend on the characters of a value themselves."""
    if _HEXADECIMAL.fullmatch(value):
        yield f"hexadecimal {min(len(value) // 8, 8)}"
    if _YEAR.search(value):
        yield "year"


def forms_of_word(key: str) -> Iterator[str]:
    """Yield a word, and the beginnings that it shares with words of the same stem."""
    yield key
    if len(key) > _STEMS[0] and key.isalpha():
        yield from (f"{key[:size]}*" for size in _STEMS if len(key) > size)


def parts_near(cue: Any, text: str, ahead: int, after: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text, without overlaps, that begin at most `ahead` characters before a cue.

    They end `after` characters behind its beginning. `cue` is a compiled pattern of RE2.
    """
    data = text.encode(errors="replace")
    offset, place, start, end = Offsets(data), 0, 0, 0
    while (found := search(cue, data, place, len(data))) is not None:
        place = max(found[0][1], found[0][0] + _STRIDE)
        at = offset(found[0][0])
        if at - ahead > end:
            if end:
                yield max(0, start), end
            start = at - ahead
        end = at + after
    if end:
        yield max(0, start), end


def reach_of(text: str, start: int, end: int, before: int, behind: int) -> tuple[int, int]:
    """Return the part of a text around a span that is read, within its own text of an event, by characters."""
    first = max(0, start - before)
    border = text.find(SEPARATOR, end, end + behind)
    return max(first, text.rfind(SEPARATOR, first, start)), border if border >= 0 else end + behind


class Around(NamedTuple):
    """What a model knows of the words and signs around a value."""

    before: list[str]
    """From the nearest to the farthest."""
    behind: list[str]

    @classmethod
    def read(cls, text: str, start: int, end: int, reach: tuple[int, int]) -> "Around":
        """Return what is around a span of a text; `reach` is the part of the text that is read."""
        before = TOKEN.findall(text, reach[0], start)[-_BEFORE:]
        behind = TOKEN.findall(text, end, reach[1])[:_BEHIND]
        return cls([*map(_key_of, reversed(before))], [*map(_key_of, behind)])

    def without_marks(self) -> "Around":
        """Return what is around a value and the marks in which a text may set it, such as quotation marks."""
        number = 0
        for left, right in zip(self.before, self.behind, strict=False):
            if left not in _OPENING or right not in _CLOSING:
                break
            number += 1
        return Around(self.before[number:], self.behind[number:]) if number else self

    def count_words(self) -> int:
        """Return the number of words; signs of scripts without blanks are words too."""
        return sum(map(str.isalpha, self.before)) + sum(map(str.isalpha, self.behind))

    def placed(self) -> Iterator[tuple[str, str]]:
        """Yield each word and sign with its place: side, sentence, and distance of the nearest."""
        for (near, same, other), keys in ((_PLACES_BEFORE, self.before), (_PLACES_BEHIND, self.behind)):
            sentence = same
            for distance, key in enumerate(keys):
                if distance and key in _STOPS:
                    sentence = other
                if distance < _NEAREST:
                    yield near[distance], key
                yield sentence, key

    def pairs(self, kinds: str) -> Iterator[str]:
        """Yield the features of neighboring words; signs of scripts without blanks are words in pairs only."""
        before, behind = self.before, self.behind
        for distance, (one, other) in enumerate(pairwise(before)):
            if distance <= _NEAREST:
                yield f"<{distance} {other} {one}"
            if one >= "\u3000" <= other:
                yield f"<< {other} {one}"
        for distance, (one, other) in enumerate(pairwise(behind)):
            if distance < _NEAREST:
                yield f">{distance} {one} {other}"
            if one >= "\u3000" <= other:
                yield f">> {one} {other}"
        left, right = before[0] if before else "", behind[0] if behind else ""
        yield f"<> {left} {right}"
        yield f"{kinds}< {left}"
        yield f"{kinds}> {right}"
