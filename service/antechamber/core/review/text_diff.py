"""The difference between two texts, by words or lines, and what of it a page shows."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct
from rapidfuzz.distance import Indel

from antechamber.core.review.hidden_text import fits

_MAX_PARTS: Final = 6000
"""Maximum number of words that are aligned; longer texts are aligned by lines, and still longer ones not at all."""


_MAX_CHANGES: Final = 1000
"""Maximum number of runs of a difference; beyond it a coarser difference is shown."""


_MAX_SHOWN: Final = 150_000
"""Maximum weight of a difference that is shown."""


_CHANGE_WEIGHT: Final = 120
"""Characters of the markup around an added or removed run."""


_LONG: Final = 4000
"""Characters above which a difference is shown without most of the unchanged text."""


_WORDS: Final = re.compile(r"\w+|\s+|(?P<sign>[^\w\s])(?P=sign)*")


_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")


_AROUND: Final = 60
"""Characters of unchanged text shown on either side of a difference."""


class TextRun(Struct, frozen=True):
    """A run of text that is unchanged, added or removed."""

    kind: Literal["same", "added", "removed", "skipped"]
    """`skipped` represents unchanged text that is left out; the text is then the number of its characters."""
    text: str


class Difference(Struct, frozen=True, kw_only=True):
    """How two texts differ, if that fits on a page."""

    changes: list[TextRun]
    """Everything added or removed, with the unchanged text around it; empty if it does not fit."""
    fits: bool


class Hunk(Struct, frozen=True, kw_only=True):
    """One place in which two texts differ, with a few words around it."""

    skipped: int
    """Characters of unchanged text since the hunk before, or since the beginning."""
    before: list[TextRun]
    """The first text there, with what is missing in the second marked as removed."""
    after: list[TextRun]
    """The second text there, with what is new marked as added."""


def compare(before: str, after: str) -> list[TextRun]:
    """Return the runs, in order, that turn one text into the other."""
    for split in (_WORDS, _LINES):
        old, new = ([part[0] for part in split.finditer(text)] for text in (before, after))
        if max(len(old), len(new)) > _MAX_PARTS:
            continue
        changes = list(_changes(old, new))
        if len(changes) <= _MAX_CHANGES:
            return changes
    return [TextRun("removed", before), TextRun("added", after)]


def differ(before: str, after: str) -> Difference:
    """Return how two texts differ; in long texts, long unchanged runs are left out."""
    changes = compare(before, after)
    if sum(len(change.text) for change in changes) > _LONG:
        changes = [cut for change in changes for cut in _shorten(change)]
    shown = _fit(changes)
    return Difference(changes=changes if shown else [], fits=shown)


def _fit(changes: Sequence[TextRun]) -> bool:
    """Return whether runs with their markup fit on a page."""
    room = _MAX_SHOWN - _CHANGE_WEIGHT * sum(change.kind != "same" for change in changes)
    return room >= 0 and fits((change.text for change in changes), room)


def _shorten(change: TextRun) -> Iterator[TextRun]:
    """Yield a run; of a long unchanged one, yield only a few words at both ends."""
    if change.kind != "same" or len(change.text) <= 3 * _AROUND:
        yield change
        return
    first, last = _cut_end(change.text), _cut_beginning(change.text)
    yield TextRun("same", first)
    yield TextRun("skipped", f"{len(change.text) - len(first) - len(last):,}")
    yield TextRun("same", last)


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[TextRun]:
    """Yield runs; where text was replaced, the removed run comes before the added one."""
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
    """Group runs into the places in which two texts differ; unchanged text is cut to a few words around each.

    The list is empty if the differing text is too long for a page.
    """
    if not _fit([change for change in changes if change.kind != "same"]):
        return []
    hunks_found: list[Hunk] = []
    skipped, near = 0, list[TextRun]()
    for position, change in enumerate(changes):
        last = position == len(changes) - 1
        if change.kind != "same":
            near.append(change)
        elif not near:
            lead = _cut_beginning(change.text)
            skipped += len(change.text) - len(lead)
            near.append(TextRun("same", lead))
        elif last or len(change.text) > 2 * _AROUND:
            near.append(TextRun("same", _cut_end(change.text)))
            hunks_found += _hunk(skipped, near)
            lead = _cut_beginning(change.text)
            skipped, near = max(0, len(change.text) - len(near[-1].text) - len(lead)), [TextRun("same", lead)]
        else:
            near.append(change)
    return hunks_found + _hunk(skipped, near)


def _hunk(skipped: int, near: list[TextRun]) -> list[Hunk]:
    if all(change.kind == "same" for change in near):
        return []
    before = [change for change in near if change.kind != "added"]
    return [Hunk(skipped=skipped, before=before, after=[change for change in near if change.kind != "removed"])]


def _cut_end(text: str) -> str:
    """Cut a text after a few words."""
    return text if len(text) <= _AROUND else text[:_AROUND].rpartition(" ")[0] or text[:_AROUND]


def _cut_beginning(text: str) -> str:
    """Cut a text before its last few words."""
    return text if len(text) <= _AROUND else text[-_AROUND:].partition(" ")[2] or text[-_AROUND:]
