"""Likeness: how much two texts agree, and where they differ, word by word."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

from antechamber.core.review.hidden_text import fits

NEARLY_SAME: Final = 92.0
"""From this likeness on (0 to 100, Indel similarity of the characters) two texts count as near duplicates."""
AKIN: Final = 55.0
"""From this likeness on a text is worth showing beside another."""
_MAX_COMPARED: Final = 4000
"""Characters that are compared; more would take long and change little."""
_AT_ONCE: Final = 16
"""Texts that are compared in one call: other threads wait for its end."""
_MAX_PARTS: Final = 6000
"""Words that are aligned; beyond it lines are, and beyond that nothing."""
_MAX_CHANGES: Final = 1000
"""Runs of a difference; beyond it a coarser one is shown."""
_MAX_SHOWN: Final = 150_000
"""What a difference that is shown weighs at most."""
_CHANGE_WEIGHT: Final = 120
"""Characters of the markup around what came or went."""
_LONG: Final = 4000
"""Characters from which on a difference is shown without most of what agrees."""
_WORDS: Final = re.compile(r"\w+|\s+|(?P<sign>[^\w\s])(?P=sign)*")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_AROUND: Final = 60
"""Characters of agreement shown on either side of a difference."""
_GAPS: Final = re.compile(r"\s+")


class TextRun(Struct, frozen=True):
    """A run of text that stayed, came or went."""

    kind: Literal["same", "added", "removed", "skipped"]
    """`skipped` stands for agreement that is left out; the text is the number of its characters."""
    text: str


class Difference(Struct, frozen=True, kw_only=True):
    """How two texts differ, as a page has room for it."""

    changes: list[TextRun]
    """Everything that came or went, with the agreement around it; empty where it does not fit."""
    fits: bool


class Hunk(Struct, frozen=True, kw_only=True):
    """One place in which two texts differ, with a few words around it."""

    skipped: int
    """Characters since the hunk before, or since the beginning, in which the texts agree."""
    before: list[TextRun]
    """What the first text says there, with what is missing in the second marked as removed."""
    after: list[TextRun]
    """What the second text says there, with what is new marked as added."""


def plain(text: str) -> str:
    """Return what of a text is compared: its beginning, without case and without regard to white space."""
    return _GAPS.sub(" ", text[:_MAX_COMPARED]).strip().casefold()


def most_alike(text: str, others: Sequence[str], least: float, most: int) -> list[tuple[int, float]]:
    """Return positions and likeness of the others that are at least so much like a text, the most alike first."""
    wanted = plain(text)
    found = [
        (first + position, score)
        for first in range(0, len(others), _AT_ONCE)
        for _, score, position in process.extract(
            wanted,
            [plain(other) for other in others[first : first + _AT_ONCE]],
            scorer=fuzz.ratio,
            score_cutoff=least,
            limit=most,
        )
    ]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:most]


class FoldFinder:
    """Texts, newest first, among which near duplicates of others are found quickly."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Begin with some."""
        self._texts = [plain(text) for text in texts]

    def find(self, text: str, least: float) -> int | None:
        """Return the position of the text that is most alike, if it is at least so much alike."""
        wanted, best = plain(text), None
        for first in range(0, len(self._texts), _AT_ONCE):
            some = self._texts[first : first + _AT_ONCE]
            found = process.extractOne(wanted, some, scorer=fuzz.ratio, score_cutoff=least)
            if found is not None and (best is None or found[1] > best[1]):
                best = (first + found[2], found[1])
        return best[0] if best else None

    def add(self, text: str) -> int:
        """Take in one more and return its position."""
        self._texts.append(plain(text))
        return len(self._texts) - 1


def compare(before: str, after: str) -> list[TextRun]:
    """Return what has to be removed from one text and added to it to make the other, as runs in their order."""
    for split in (_WORDS, _LINES):
        old, new = ([part[0] for part in split.finditer(text)] for text in (before, after))
        if max(len(old), len(new)) > _MAX_PARTS:
            continue
        changes = list(_changes(old, new))
        if len(changes) <= _MAX_CHANGES:
            return changes
    return [TextRun("removed", before), TextRun("added", after)]


def differ(before: str, after: str) -> Difference:
    """Return how two texts differ, with long agreement left out of long texts."""
    changes = compare(before, after)
    if sum(len(one.text) for one in changes) > _LONG:
        changes = [cut for one in changes for cut in _shortened(one)]
    shown = _fit(changes)
    return Difference(changes=changes if shown else [], fits=shown)


def _fit(changes: Sequence[TextRun]) -> bool:
    """Tell whether a page has room for runs with their markup."""
    room = _MAX_SHOWN - _CHANGE_WEIGHT * sum(one.kind != "same" for one in changes)
    return room >= 0 and fits((one.text for one in changes), room)


def _shortened(change: TextRun) -> Iterator[TextRun]:
    """Yield a run; of long agreement only a few words at both ends."""
    if change.kind != "same" or len(change.text) <= 3 * _AROUND:
        yield change
        return
    first, last = _beginning(change.text), _ending(change.text)
    yield TextRun("same", first)
    yield TextRun("skipped", f"{len(change.text) - len(first) - len(last):,}")
    yield TextRun("same", last)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[TextRun]:
    """Yield runs; of what went and came in the same place, what went comes first."""
    place = (0, 0)
    for block in Indel.opcodes(old, new).as_matching_blocks():
        if removed := "".join(old[place[0] : block.a]):
            yield TextRun("removed", removed)
        if added := "".join(new[place[1] : block.b]):
            yield TextRun("added", added)
        place = (block.a + block.size, block.b + block.size)
        if block.size:
            yield TextRun("same", "".join(old[block.a : place[0]]))


def hunks(changes: Sequence[TextRun]) -> list[Hunk]:
    """Gather runs into the places in which two texts differ; agreement is cut to a few words around each.

    There are none where what differs is too much for a page.
    """
    if not _fit([one for one in changes if one.kind != "same"]):
        return []
    found: list[Hunk] = []
    skipped, near = 0, list[TextRun]()
    for position, one in enumerate(changes):
        last = position == len(changes) - 1
        if one.kind != "same":
            near.append(one)
        elif not near:
            lead = _ending(one.text)
            skipped += len(one.text) - len(lead)
            near.append(TextRun("same", lead))
        elif last or len(one.text) > 2 * _AROUND:
            near.append(TextRun("same", _beginning(one.text)))
            found += _hunk(skipped, near)
            lead = _ending(one.text)
            skipped, near = max(0, len(one.text) - len(near[-1].text) - len(lead)), [TextRun("same", lead)]
        else:
            near.append(one)
    return found + _hunk(skipped, near)


def _hunk(skipped: int, near: list[TextRun]) -> list[Hunk]:
    if all(one.kind == "same" for one in near):
        return []
    before = [one for one in near if one.kind != "added"]
    return [Hunk(skipped=skipped, before=before, after=[one for one in near if one.kind != "removed"])]


def _beginning(text: str) -> str:
    """Cut a text after a few words."""
    return text if len(text) <= _AROUND else text[:_AROUND].rpartition(" ")[0] or text[:_AROUND]


def _ending(text: str) -> str:
    """Cut a text before its last few words."""
    return text if len(text) <= _AROUND else text[-_AROUND:].partition(" ")[2] or text[-_AROUND:]
