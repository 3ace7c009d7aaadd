"""Likeness: how much two texts agree, and where they differ, word by word."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

NEARLY_SAME: Final = 92.0
"""From this likeness on (0 to 100, Indel similarity of the characters) two texts count as near duplicates."""
AKIN: Final = 55.0
"""From this likeness on a text is worth showing beside another."""
_MOST_COMPARED: Final = 4000
"""Characters that are compared; more would take long and change little."""
_MOST_PARTS: Final = 6000
"""Words that are aligned; beyond it lines are, and beyond that nothing."""
_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_GAPS: Final = re.compile(r"\s+")


class Change(Struct, frozen=True):
    """A run of text that stayed, came or went."""

    kind: Literal["same", "added", "removed"]
    text: str


def plain(text: str) -> str:
    """Return what of a text is compared: its beginning, without case and without regard to white space."""
    return _GAPS.sub(" ", text[:_MOST_COMPARED]).strip().casefold()


def most_alike(text: str, others: Sequence[str], least: float, most: int) -> list[tuple[int, float]]:
    """Return positions and likeness of the others that are at least so much like a text, the most alike first."""
    found = process.extract(
        plain(text), [plain(other) for other in others], scorer=fuzz.ratio, score_cutoff=least, limit=most
    )
    return [(position, score) for _, score, position in found]


class Folder:
    """Texts, newest first, among which near duplicates of others are found quickly."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Begin with some."""
        self._texts = [plain(text) for text in texts]

    def find(self, text: str, least: float) -> int | None:
        """Return the position of the text that is most alike, if it is at least so much alike."""
        found = process.extractOne(plain(text), self._texts, scorer=fuzz.ratio, score_cutoff=least)
        return found[2] if found else None

    def add(self, text: str) -> int:
        """Take in one more and return its position."""
        self._texts.append(plain(text))
        return len(self._texts) - 1


def compare(before: str, after: str) -> list[Change]:
    """Return what has to be removed from one text and added to it to make the other, as runs in their order."""
    for split in (_WORDS, _LINES):
        old, new = split.findall(before), split.findall(after)
        if max(len(old), len(new)) <= _MOST_PARTS:
            return list(_changes(old, new))
    return [Change("removed", before), Change("added", after)]


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[Change]:
    """Yield runs; of what went and came in the same place, what went comes first."""
    place = (0, 0)
    for block in Indel.opcodes(old, new).as_matching_blocks():
        if removed := "".join(old[place[0] : block.a]):
            yield Change("removed", removed)
        if added := "".join(new[place[1] : block.b]):
            yield Change("added", added)
        place = (block.a + block.size, block.b + block.size)
        if block.size:
            yield Change("same", "".join(old[block.a : place[0]]))
