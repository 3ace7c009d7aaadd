"""Patterns in the syntax of RE2 as trees, which say what a match consists of."""

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

WORD: Final = "WORD"
"""The operation of letters in a row, in ASCII, as one string; there are two or more."""
LONGEST_WORD: Final = 16
"""Letters of a word; more are several words."""
_FLAGS: Final = re.compile(r"\(\?[imsU]+\)")
_CODE_POINT: Final = re.compile(r"\\x\{([0-9A-Fa-f]+)\}")
_PROPERTY: Final = re.compile(r"\\([pP])(?:\{\^?\w+\}|.)")
_LETTERS: Final = {code: chr(code) for code in range(128) if chr(code).isalpha()}


@lru_cache(maxsize=4)
def parse_pattern(pattern: str) -> list[Any] | None:
    """Return the items of a pattern, as the parser of `re` yields them, but with words; None if it cannot be parsed.

    Sequences in the items are lists. The tree is shared, and must not be changed.
    """
    plain = _CODE_POINT.sub(lambda match: re.escape(chr(int(match[1], 16))), _FLAGS.sub("", pattern))
    plain = _PROPERTY.sub(lambda match: "\\w" if match[1] == "p" else "\\W", plain).replace("\\z", "\\Z")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _with_words(parser.parse(plain).data)
    except re.error:
        return None


def _with_words(items: Iterable[tuple[Any, Any]]) -> list[Any]:
    """Return the items of a sequence and of those in it, with letters in a row as one word."""
    found: list[Any] = []
    letters = ""
    for op, value in items:
        if op is ops.LITERAL and value in _LETTERS and len(letters) < LONGEST_WORD:
            letters += _LETTERS[value]
            continue
        found += _word(letters)
        letters = ""
        if op is ops.LITERAL and value in _LETTERS:
            letters = _LETTERS[value]
        elif op is ops.SUBPATTERN:
            found.append((op, (*value[:-1], _with_words(value[-1].data))))
        elif op is ops.BRANCH:
            found.append((op, (value[0], [_with_words(branch.data) for branch in value[1]])))
        elif op is ops.MAX_REPEAT or op is ops.MIN_REPEAT:
            found.append((op, (*value[:-1], _with_words(value[-1].data))))
        else:
            found.append((op, value))
    return found + _word(letters)


def _word(letters: str) -> list[Any]:
    """Return letters in a row as items: none, a literal, or a word."""
    return [(WORD, letters)] if len(letters) > 1 else [(ops.LITERAL, ord(letter)) for letter in letters]
