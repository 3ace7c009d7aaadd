"""Views: the forms of a text in which a value may be visible, each with the way back to the original offsets."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate, compress, islice
from typing import Final, NamedTuple

from antechamber.core.privacy.decoders import find_compositions, find_escapes
from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.edits import LOOSE, MOST_EDITS, Edit, without_overlaps
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.folding import fold, fold_sign, is_plain
from antechamber.core.privacy.joined_literals import add_joined_literals
from antechamber.core.privacy.joints import find_joints, without_words
from antechamber.core.privacy.named_encodings import TURNED, find_named, span_in_line
from antechamber.core.privacy.runs import ENCODINGS, find_runs
from antechamber.core.privacy.spaced_values import find_spaced
from antechamber.core.privacy.splits import Row, rows_of_groups
from antechamber.core.privacy.tables import find_cells, has_numbered_column
from antechamber.core.privacy.texts import (
    CODED,
    DECODABLE,
    ESCAPED,
    FOLD,
    GROUPED,
    LITERALS,
    NAMED,
    NUMBER,
    PAIRS,
    QUOTED,
    RUN,
    SPACED,
    TABLE,
    WRAPPED,
    Text,
)

MAX_LEVELS: Final = 3
"""Decoded levels; a text with more of them cannot be verified."""
_GROWTH: Final = 4
"""Maximum length of all views together, as a multiple of that of the text …"""
_ALLOWANCE: Final = 24_576
"""… with this number of characters in addition."""
_SHORT: Final = 2_000
"""Characters of a text that is always searched as a whole."""
_NEAR: Final = 160
"""Characters around an edit that are searched with it."""
_FOLDS: Final = 3
"""Binary logarithm of the number of foldable parts that count as one unit of effort; an edit is half a unit."""
_FOLDED: Final = 8
"""Binary logarithm of the characters of a text that count as one unit when it is folded."""
_MOST_FOLDABLE: Final = 256
"""Parts of a long text that are folded, or different signs of them, from which it is folded as a whole."""


class Spot(NamedTuple):
    """A span of the original text, and the decoders that made it visible, the outermost first."""

    start: int
    end: int
    decoded: tuple[str, ...]


class View:
    """A form of a text; `parent` is the view of which the edits made it."""

    def __init__(
        self,
        text: str,
        parent: "View | None" = None,
        edits: Iterable[Edit] = (),
        level: int = 0,
        *,
        is_folded: bool = False,
    ) -> None:
        self.text = text
        self.level = level
        """Number of decoders that were applied."""
        self.is_folded = is_folded
        """Whether folding would change nothing: a fold has none of the characters that are folded."""
        self._read: Text | None = None
        self._parent = parent
        self._edits = edits
        self._index: tuple[list[int], list[int], list[Edit]] | None = None

    @property
    def read(self) -> Text:
        """The text in the forms that rules read."""
        if self._read is None:
            self._read = Text(self.text)
        return self._read

    @property
    def is_readable(self) -> bool:
        """Whether a reader sees this text: it is the original, or that with its look-alikes folded."""
        return self._parent is None

    @cached_property
    def is_turned(self) -> bool:
        """Whether lines were read backwards or in ROT13 to make this text; most of them are neither."""
        if self._parent is None or self._has_only(TURNED):
            return self._parent is not None
        return self.level == self._parent.level and self._parent.is_turned

    @property
    def is_joined_by_chance(self) -> bool:
        """Whether all that this text has and its parent has not may be words that were joined by chance."""
        names = set() if self.is_readable else {edit.decoder for edit in self._edits if edit.decoder}
        return bool(names) and names <= LOOSE

    @property
    def may_be_turned(self) -> bool:
        """Whether lines may be backwards or in ROT13: those that a reader sees, or those of an encoded text."""
        return self.is_readable or self._has_only(ENCODINGS)

    def _has_only(self, decoders: frozenset[str]) -> bool:
        """Return whether all edits that made this text are of some decoders."""
        names = {edit.decoder for edit in self._edits if edit.decoder} if self.level else set()
        return bool(names) and names <= decoders

    def may_begin(self, start: int) -> bool:  # noqa: ARG002 -- rows of pieces are particular
        """Return whether a value may begin at an offset."""
        return True

    def locate(self, start: int, end: int) -> Spot:
        """Return the span of the original text that a span of this view comes from."""
        if self._parent is None:
            return Spot(start, end, ())
        starts, ends, edits = self._indexed()
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        inside = first >= 0 and start < ends[first]
        if inside and first == last and end <= ends[last] and edits[first].decoder in TURNED:
            begin, stop = span_in_line(edits[first], start - starts[first], end - starts[first])
            above = self._parent.locate(begin, stop)
            return Spot(above.start, above.end, (*above.decoded, edits[first].decoder))
        begin = edits[first].start if inside else start - (ends[first] - edits[first].end if first >= 0 else 0)
        if last >= 0 and end - 1 < ends[last]:
            stop = edits[last].end
        else:
            stop = end - (ends[last] - edits[last].end if last >= 0 else 0)
        names = dict.fromkeys(edit.decoder for edit in edits[first if inside else first + 1 : last + 1] if edit.decoder)
        above = self._parent.locate(begin, stop)
        return Spot(above.start, above.end, (*above.decoded, *names))

    def _indexed(self) -> tuple[list[int], list[int], list[Edit]]:
        """Return start and end of each edit in this view, and the edits."""
        if self._index is None:
            starts, ends, edits, moved = [], [], list(self._edits), 0
            for edit in edits:
                starts.append(edit.start + moved)
                ends.append(starts[-1] + len(edit.text))
                moved += len(edit.text) - (edit.end - edit.start)
            self._index = starts, ends, edits
        return self._index


class Folded(View):
    """A text with its look-alikes folded, sign by sign; few signs become more or fewer than one."""

    def __init__(self, parent: View) -> None:
        """Fold the text of a view."""
        super().__init__(fold(parent.text), parent, level=parent.level, is_folded=True)
        self._original = parent

    @property
    def is_readable(self) -> bool:
        """A reader takes look-alikes for what they resemble."""
        return True

    @cached_property
    def _moving(self) -> tuple[list[int], list[int], list[int]]:
        """The signs that become more or fewer than one: where each begins and ends here, and its original offset."""
        text = self._original.text
        sizes = {sign: len(fold_sign(sign)) for sign in set(text)}
        moving = {sign: size for sign, size in sizes.items() if size != 1}
        places = [*compress(range(len(text)), map(moving.__contains__, text))] if moving else []
        lengths = [*map(moving.__getitem__, map(text.__getitem__, places))]
        moved = accumulate((length - 1 for length in lengths), initial=0)
        starts = [place + by for place, by in zip(places, moved, strict=False)]
        return starts, [start + length for start, length in zip(starts, lengths, strict=True)], places

    def locate(self, start: int, end: int) -> Spot:
        """Return the span of the original text that a span of this view comes from."""
        begin, stop = self._origin_of(start), self._origin_of(end - 1) + 1
        names = ("folded",) if self._original.text[begin:stop] != self.text[start:end] else ()
        above = self._original.locate(begin, stop)
        return Spot(above.start, above.end, (*above.decoded, *names))

    def _origin_of(self, offset: int) -> int:
        """Return the original offset of a character."""
        starts, ends, places = self._moving
        last = bisect_right(starts, offset) - 1
        if last < 0:
            return offset
        return places[last] if offset < ends[last] else places[last] + 1 + offset - ends[last]


class Chains(View):
    """Rows of pieces of a text, each row joined, because one token may be divided among the pieces."""

    def __init__(self, rows: Iterable[Row], parent: View | None = None, *, whole: bool = False) -> None:
        """Take rows of pieces, each with its offset in the parent; without one that is the original text.

        A value may begin everywhere in a row, or, if rows are `whole`, only at its beginning.
        """
        self._starts: list[int] = []
        self._origins: list[int] = []
        self._lasts: list[int] = []
        self._heads: set[int] | None = set() if whole else None
        place = 0
        texts: list[str] = []
        for row in rows:
            if self._heads is not None:
                self._heads.add(place)
            origins, pieces = zip(*row, strict=True)
            self._starts += accumulate(map(len, pieces[:-1]), initial=place)
            self._origins += origins
            self._lasts += [origin + len(piece) - 1 for origin, piece in row]
            texts.append("".join(pieces))
            place += len(texts[-1]) + len(SEPARATOR)
        super().__init__(SEPARATOR.join(texts), parent, level=parent.level if parent else 0)

    @property
    def is_joined_by_chance(self) -> bool:
        """Whether the parent shows all that is in one piece."""
        return self._parent is not None

    def may_begin(self, start: int) -> bool:
        """Return whether a value may begin at an offset."""
        return self._heads is None or start in self._heads

    def locate(self, start: int, end: int) -> Spot:
        """Return the span of the original text, from the first to the last piece; within one piece it is not split."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1
        edges = self._origin_of(first, start), self._origin_of(last, end - 1)
        names = ("split",) if first != last else ()
        begin, stop = min(edges), max(edges) + 1
        if self._parent is None:
            return Spot(begin, stop, names)
        above = self._parent.locate(begin, stop)
        return Spot(above.start, above.end, (*above.decoded, *names))

    def _origin_of(self, piece: int, place: int) -> int:
        """Return the offset of a character of a piece in the parent; what separates rows is the end of a piece."""
        return min(self._origins[piece] + place - self._starts[piece], self._lasts[piece])


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with its edits."""
    parts, place = [], 0
    for edit in edits:
        parts += [text[place : edit.start], edit.text]
        place = edit.end
    parts.append(text[place:])
    return "".join(parts)


def all_views(root: View, effort: Effort) -> Iterator[View]:
    """Yield a view and every other form of its text in which a value may be visible.

    Raises EffortSpentError if the forms are too many, too long or too deep, or take too many edits.
    """
    waiting, seen = [root], {root.text}
    left = _GROWTH * len(root.text) + _ALLOWANCE
    while waiting:
        view = waiting.pop(0)
        yield view
        for child in _derived(view, effort):
            if child.text in seen:
                continue
            left -= len(child.text)
            if left < 0 or child.level > MAX_LEVELS:
                raise EffortSpentError
            seen.add(child.text)
            waiting.append(child)


def _derived(view: View, effort: Effort) -> Iterator[View]:
    """Yield the forms that one step makes of a view; what is read backwards has escapes and joints by chance only."""
    if view.read.traits & (DECODABLE | NUMBER):
        if not view.is_turned:
            yield from _cleaned(view, effort)
        yield from _decoded(view, effort)


def _cleaned(view: View, effort: Effort) -> Iterator[View]:
    """Yield the forms of a view without look-alikes and without what interrupts values.

    A cheap look decides for each step whether it is possible.
    """
    text, traits = view.text, view.read.traits
    if traits & FOLD:
        yield from _edited(view, find_compositions(text), view.level, effort)
        if not view.is_folded and not is_plain(view.read.data(in_uuids=True)):
            near = _near_folds(view, effort)
            yield Folded(near)
    if traits & TABLE or (traits & NUMBER and has_numbered_column(view.read.data(in_uuids=True))):
        yield from _edited(view, find_cells(text, effort), view.level, effort, is_folded=view.is_folded)
    if traits & (QUOTED | WRAPPED | SPACED | LITERALS):
        yield from _edited(view, _find_interruptions(text, traits), view.level, effort, is_folded=view.is_folded)
    yield from _joined(view, effort) if traits & GROUPED else ()


def _find_interruptions(text: str, traits: int) -> Iterable[Edit]:
    """Yield what interrupts the values of a text with some traits."""
    edits: Iterable[Edit] = find_joints(text, quoted=bool(traits & QUOTED))
    if traits & LITERALS:
        edits = add_joined_literals(text, edits)
    if traits & SPACED:
        edits = without_overlaps([*edits, *find_spaced(text)])
    return without_words(text, edits)


def _decoded(view: View, effort: Effort) -> Iterator[View]:
    """Yield the forms of a view with its encoded parts decoded."""
    text, traits = view.text, view.read.traits
    if traits & ESCAPED and not view.is_turned:
        yield from _edited(view, find_escapes(text), view.level + 1, effort)
    for edits in find_named(text, effort, lines=view.may_be_turned) if traits & NAMED else ():
        yield from _edited(view, edits, view.level + 1, effort)
    if traits & (RUN | PAIRS | CODED | GROUPED):
        dumps = bool(traits & (PAIRS | GROUPED))
        runs = find_runs(text, effort, pairs=bool(traits & PAIRS), codes=bool(traits & CODED), dumps=dumps)
        yield from _edited(view, runs, view.level + 1, effort)


def _joined(view: View, effort: Effort) -> Iterator[View]:
    """Yield the view of what is in groups of equal length."""
    rows = rows_of_groups(view.text, view.read.data(in_uuids=True))
    effort.spend(len(rows))
    if rows:
        yield Chains(rows, view)


def _edited(
    view: View, edits: Iterable[Edit], level: int, effort: Effort, *, is_folded: bool = False
) -> Iterator[View]:
    """Yield the view that edits make, without the parts of a long text that are far from all of them."""
    listed = list(islice(edits, MOST_EDITS + 1))
    if len(listed) > MOST_EDITS:
        raise EffortSpentError
    effort.spend(len(listed) >> 1)
    if listed:
        gaps = _find_gaps(view.text, [(edit.start, edit.end) for edit in listed])
        kept = sorted((*listed, *gaps)) if gaps else listed
        yield View(apply(view.text, kept), view, kept, level, is_folded=is_folded)


def _near_folds(view: View, effort: Effort) -> View:
    """Return a view without the parts of a long text that are far from all that is folded."""
    effort.spend(len(view.text) >> _FOLDED)
    if len(view.text) < _SHORT:
        return view
    # A dash has another form, and an arrow has none; a text may have thousands of either, but few different ones.
    signs = [sign for sign in set(view.text) if fold_sign(sign) != sign]
    if len(signs) >= _MOST_FOLDABLE:
        return view
    foldable = re.compile(f"[{re.escape(''.join(signs))}]+")
    spans = [match.span() for match in islice(foldable.finditer(view.text), _MOST_FOLDABLE)]
    if len(spans) == _MOST_FOLDABLE:
        # This number of parts leaves little text that is far from all of them.
        return view
    effort.spend(len(spans) >> _FOLDS)
    gaps = _find_gaps(view.text, spans)
    return View(apply(view.text, gaps), view, gaps, view.level) if gaps else view


def _find_gaps(text: str, spans: Iterable[tuple[int, int]]) -> list[Edit]:
    """Return edits that replace what is far from all spans (ascending) by a separator; none for a short text."""
    if len(text) < _SHORT:
        return []
    gaps, place = [], 0
    for start, end in (*spans, (len(text) + _NEAR, 0)):
        first = max(start - _NEAR, 0)
        # A window begins after a blank, so that no number or token begins in its middle.
        first = text.rfind(" ", max(first - _NEAR, place), first) + 1 or first
        if first > place:
            gaps.append(Edit(place, min(first, len(text)), SEPARATOR, ""))
        blank = text.find(" ", end + _NEAR, end + 2 * _NEAR)
        place = max(place, blank if blank >= 0 else end + _NEAR)
    return gaps
