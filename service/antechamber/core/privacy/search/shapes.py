"""Shapes: where a text has letters, digits and other signs; many patterns without literals need a rare one.

A text has two forms: in the fine one, `a` is a letter, `0` a digit and a blank anything else; in the coarse one, `x` is
a letter or digit and a point anything else. Each sign is one code point.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from math import log2
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any, Final

from antechamber.core.privacy.forms.texts import MIXED, NAME, NUMBER, SHORTEST_NAME, SHORTEST_NUMBER
from antechamber.core.privacy.patterns.literals import Reader, Words
from antechamber.core.privacy.patterns.pattern_tree import parse_pattern

_ASCII: Final = range(128)
_LETTERS: Final = frozenset(code for code in _ASCII if chr(code).isalpha())
_DIGITS: Final = frozenset(code for code in _ASCII if chr(code).isdigit())
_OTHERS: Final = frozenset(_ASCII) - _LETTERS - _DIGITS
_CONTINUED: Final = bytes(range(0x80, 0xC0))
"""The bytes of a character in UTF-8 after its first one."""
_RARITY: Final = {"a": 0.4, "0": 3.0, " ": 1.5, "x": 0.35, ".": 2.0}
"""About how many bits each sign adds to the rarity of a shape."""
_RUN: Final = 4.0
"""Most bits that a run of another sign than a digit takes."""
_RARE: Final = 6.5
"""Bits from which a shape is rare enough."""
_LONGEST: Final = 48
"""Characters of a shape at most."""
_ROW: Final = b"0" * _LONGEST
_LONG_ROW: Final = re.compile(_ROW + b"0+")
_CUT: Final = b"\n"
"""What is between two parts of a form; it is in no form."""
_FEW: Final = 3
"""Binary logarithm of the characters per digit from which a text has many."""
_BLANK: Final = (ops.LITERAL, 32)


def _table(letter: str, digit: str, other: str) -> bytes:
    """Return the table that maps each byte to its sign."""
    signs = (letter if code in _LETTERS else digit if code in _DIGITS else other for code in range(256))
    return "".join(signs).encode()


_FINE: Final = _table("a", "0", " ")
_COARSE: Final = _table("x", "x", ".")
COARSE_SIGNS: Final = frozenset("x.")
"""The signs of a shape in the coarse form."""


def fine_shape(data: bytes) -> bytes:
    """Return the fine form of a text (UTF-8), with a sign before its beginning and behind its end."""
    shape = b" %b " % data.translate(_FINE, _CONTINUED)
    # Each digit of a long row has a shape of its own, but none of them is longer than this.
    return _LONG_ROW.sub(_ROW, shape) if _ROW in shape else shape


def coarse_shape(data: bytes) -> bytes:
    """Return the coarse form of a text (UTF-8), with a sign before its beginning and behind its end."""
    return b".%b." % data.translate(_COARSE, _CONTINUED)


def longest_word_of(shapes: Iterable[str]) -> int:
    """Return the most letters in a row that a fine shape has."""
    return max((len(word) for shape in shapes for word in re.findall("a+", shape)), default=0)


def without_repeats(shape: bytes, letters: int) -> bytes:
    """Return the fine form of a text with each part once; parts are what is between words of more than some letters.

    No shape reaches across such a word. In a text with many digits, which repeats itself, shapes match tens of
    thousands of times.
    """
    if shape.count(b"0") < len(shape) >> _FEW:
        return shape
    end = b"a" * letters
    return _CUT.join({*re.sub(b"a{%d,}" % (letters + 1), end + _CUT + end, shape).split(_CUT)})


def count_reached(data: bytes, runs: Sequence[bytes]) -> int:
    """Return how many of the runs, the shortest first, a text has."""
    first, last = 0, len(runs)
    while first < last:
        middle = (first + last) // 2
        if runs[middle] in data:
            first = middle + 1
        else:
            last = middle
    return first


def shapes_needed(pattern: str, *, bounded: bool) -> Words | None:
    """Return shapes of which every text with a match has one; None if none of them is rare.

    A match of a `bounded` pattern has neither a letter nor a digit before or behind it.
    """
    tree = parse_pattern(pattern)
    if not tree:
        return None
    # Each alternative of a pattern has the shapes that are rarest for it.
    rows = tree[0][1][1] if len(tree) == 1 and tree[0][0] is ops.BRANCH else [tree]
    found: set[str] = set()
    for row in rows:
        words = _shapes_of([_BLANK, *row, _BLANK] if bounded else [_begin(row[0]), *row[1:]]) if len(row) else None
        # More shapes are less rare, so the other alternatives cannot change that.
        if words is None or _rarity_of(words) < _RARE:
            return None
        found |= words
    return frozenset(found) if _rarity_of(frozenset(found)) >= _RARE else None


def traits_of(shape: str) -> int:
    """Return the traits of every text that has a shape."""
    traits = 0
    if "a00" in shape or "00a" in shape:
        traits |= MIXED
    if "x" * SHORTEST_NAME in shape:
        traits |= NAME
    if any(part.count("0") >= SHORTEST_NUMBER for part in shape.split("a")):
        traits |= NUMBER
    return traits


def _shapes_of(sequence: Sequence[Any]) -> Words | None:
    """Return the rarest shapes of which every match of a sequence has one."""
    groups = [words for signs in ("a0 ", "xx.") for words in _ShapeReader(*signs).groups(sequence)]
    return max(groups, key=_rarity_of, default=None)


def _begin(item: Any) -> Any:
    """Return the first item of a pattern; the beginning of a line or text follows a sign that is no letter or digit."""
    op, value = item
    if op is ops.AT and value in {ops.AT_BEGINNING, ops.AT_BEGINNING_STRING}:
        return _BLANK
    if op is ops.BRANCH:
        return op, (value[0], [[_begin(row[0]), *row[1:]] if len(row) else row for row in value[1]])
    if op is ops.SUBPATTERN and len(value[-1]):
        inner = value[-1]
        return op, (*value[:-1], [_begin(inner[0]), *inner[1:]])
    return item


def _rarity_of(words: Words) -> float:
    """Return about how many bits it takes that a text has one of some shapes."""
    return -log2(sum(2 ** -sum(_bits_of(sign, len(list(run))) for sign, run in groupby(word)) for word in words))


def _bits_of(sign: str, size: int) -> float:
    """Return about how many bits a run of a sign takes; words and hashes, which are long, are common."""
    return size * _RARITY[sign] if sign == "0" else min(size * _RARITY[sign], _RUN)


class _ShapeReader(Reader):
    """Reads the shapes of a parsed pattern."""

    longest = _LONGEST
    most = 200

    def __init__(self, letter: str, digit: str, other: str) -> None:
        super().__init__(str)
        self._signs = ((_LETTERS, letter), (_DIGITS, digit), (_OTHERS, other))
        self._other = other

    def _word(self, letters: str) -> Words:
        return frozenset({self._sign(ord(letters[0])) * len(letters)})

    def _letter(self, code: int) -> Words:
        return frozenset(self._sign(code))

    def _sign(self, code: int) -> str:
        return next((sign for codes, sign in self._signs if code in codes), self._other)

    def _class(self, members: Sequence[Any]) -> Words:
        """Return the signs of a class; every sign if a part of it is unknown."""
        everything = frozenset(sign for _, sign in self._signs)
        codes: set[int] = set()
        for op, value in members:
            if op is ops.LITERAL:
                codes.add(value)
            elif op is ops.RANGE:
                codes.update(range(value[0], min(value[1], 128) + 1))
                codes.add(value[1])
            elif op is ops.CATEGORY and value is ops.CATEGORY_DIGIT:
                codes |= _DIGITS
            elif op is ops.CATEGORY and value is ops.CATEGORY_SPACE:
                codes.add(32)
            elif op is not ops.NEGATE:
                return everything
        if members[0][0] is not ops.NEGATE:
            return frozenset(map(self._sign, codes))
        # A sign beyond ASCII is always one of the others.
        return frozenset(sign for known, sign in self._signs if not known <= codes) | {self._other}
