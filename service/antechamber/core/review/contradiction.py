"""Contradictions: texts of nearly the same words that differ in a number, a negation or an opposite word.

Words are compared without regard to case. A number keeps its place in the comparison and loses its value, a negation
becomes a property of the word behind it, and each of two opposites becomes their pair. What is left of both texts has
to be nearly the same; then a contradiction is a word of both texts whose value, negation or side differs.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct
from rapidfuzz.distance import Indel

CONTRADICTS: Final = "contradicts a memory"
_LEAST_ALIKE: Final = 0.75
"""Share of the words of both texts that have to agree (Indel similarity, 0 to 1)."""
_LEAST_WORDS: Final = 3
"""Minimum number of words of each text; shorter ones say too little to contradict."""
_MAX_CHARACTERS: Final = 4000
"""Characters of a text that are compared, as for near duplicates."""
_WORD: Final = re.compile(r"(?P<number>v?\d+(?:[.,:/-]\d+)*)(?P<unit>[^\W\d_]*|%)|[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_NEGATED: Final = re.compile(r"(?P<stem>.+)n['\u2019]t", re.DOTALL)
_NEGATIONS: Final = frozenset({"not", "no", "never", "nor", "neither"})
_STEMS: Final = {"cannot": "can", "without": "with"}
"""Words that hold a negation, and what they say without it."""
_PAIRS: Final = (
    (
        "allow allows allowed permit permits permitted free",
        "forbid forbids forbidden prohibit prohibits prohibited banned",
    ),
    ("enable enables enabled", "disable disables disabled"),
    ("before", "after"),
    ("first", "last"),
    ("minimum min least", "maximum max most"),
    ("start starts started", "stop stops stopped"),
    ("open opens opened", "close closes closed"),
    ("true", "false"),
    ("on", "off"),
    ("required mandatory", "optional"),
    ("public", "private"),
    ("safe", "unsafe"),
    ("up", "down"),
    ("increase increases increased", "decrease decreases decreased"),
    ("above", "below"),
    ("more", "less fewer"),
    ("early earlier", "late later"),
    ("add adds added", "remove removes removed"),
    ("include includes included", "exclude excludes excluded"),
    ("accept accepts accepted", "reject rejects rejected refuse refuses refused"),
    ("same", "different"),
    ("valid", "invalid"),
    ("synchronous sync", "asynchronous async"),
    ("manual manually", "automatic automatically"),
    ("internal", "external"),
    ("input", "output"),
    ("left", "right"),
    ("old", "new"),
    ("always", "rarely"),
    ("all", "none"),
)
"""Words that mean the opposite of each other, in English."""
_SIDES: Final = {
    word: (number, side)
    for number, pair in enumerate(_PAIRS)
    for side, words in enumerate(pair)
    for word in words.split()
}
Cause = Literal["number", "negation", "opposite"]


class Contradiction(Struct, frozen=True, kw_only=True):
    """The first word in which a text contradicts another."""

    cause: Cause
    before: str
    """The word of the other text, as it is written there."""
    after: str
    """The word of this text."""
    start: int
    """Where the word is in this text, in code points."""
    end: int


class _Word(Struct, frozen=True):
    """A word as it is compared, and what the comparison leaves out of it."""

    key: str
    value: str
    """The digits of a number, or the side of an opposite."""
    negated: bool
    start: int
    end: int


def find_contradiction(known: str, text: str) -> Contradiction | None:
    """Return the first contradiction of a text to a known one; None if it has none, or if they are not alike."""
    before, after = list(_words(known[:_MAX_CHARACTERS])), list(_words(text[:_MAX_CHARACTERS]))
    if min(len(before), len(after)) < _LEAST_WORDS:
        return None
    old, new = [word.key for word in before], [word.key for word in after]
    if Indel.normalized_similarity(old, new) < _LEAST_ALIKE:
        return None
    for step in Indel.opcodes(old, new):
        if step.tag != "equal":
            continue
        for one, other in zip(
            before[step.src_start : step.src_end], after[step.dest_start : step.dest_end], strict=True
        ):
            if (one.value, one.negated) != (other.value, other.negated):
                return Contradiction(
                    cause=_cause(one, other),
                    before=known[one.start : one.end],
                    after=text[other.start : other.end],
                    start=other.start,
                    end=other.end,
                )
    return None


def _cause(one: _Word, other: _Word) -> Cause:
    if one.negated != other.negated:
        return "negation"
    return "number" if one.key.startswith("#") else "opposite"


def _words(text: str) -> Iterator[_Word]:
    """Yield the words of a text; a negation widens the span of the word behind it and marks that word."""
    begun: int | None = None
    for match in _WORD.finditer(text):
        start = match.start() if begun is None else begun
        word, negates = _plain(match[0].casefold().replace("\u2019", "'"))
        if negates and not word:
            begun = start
            continue
        if match["number"]:
            yield _Word(
                f"#{match['unit'].casefold()}", match["number"].casefold(), begun is not None, start, match.end()
            )
        elif word in _SIDES:
            pair, side = _SIDES[word]
            yield _Word(f"={pair}", str(side), begun is not None, start, match.end())
        else:
            yield _Word(word, "", begun is not None, start, match.end())
        begun = match.start() if negates else None


def _plain(word: str) -> tuple[str, bool]:
    """Return a word without the negation in it, and whether there is one; the word is empty if it only negates."""
    if word in _NEGATIONS:
        return "", True
    if word in _STEMS:
        return _STEMS[word], True
    match = _NEGATED.fullmatch(word)
    return (match["stem"], True) if match else (word, False)
