"""A view: a form of a text in which a value may be visible, with the way back to the original offsets."""

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, compress
from typing import NamedTuple

from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.edits import LOOSE, Edit
from antechamber.core.privacy.forms.folding import fold, fold_sign
from antechamber.core.privacy.forms.named_encodings import TURNED, span_in_line
from antechamber.core.privacy.forms.runs import ENCODINGS
from antechamber.core.privacy.forms.splits import Row
from antechamber.core.privacy.forms.texts import Text


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
        begin, stop, names = self._above(start, end)
        above = self._parent.locate(begin, stop)
        return Spot(above.start, above.end, (*above.decoded, *names))

    def _above(self, start: int, end: int) -> tuple[int, int, tuple[str, ...]]:
        """Return the span of the parent that a span of this view comes from, and the decoders between the two."""
        starts, ends, edits = self._indexed()
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        inside = first >= 0 and start < ends[first]
        if inside and first == last and end <= ends[last] and edits[first].decoder in TURNED:
            begin, stop = span_in_line(edits[first], start - starts[first], end - starts[first])
            return begin, stop, (edits[first].decoder,)
        begin = edits[first].start if inside else start - (ends[first] - edits[first].end if first >= 0 else 0)
        if last >= 0 and end - 1 < ends[last]:
            stop = edits[last].end
        else:
            stop = end - (ends[last] - edits[last].end if last >= 0 else 0)
        names = dict.fromkeys(edit.decoder for edit in edits[first if inside else first + 1 : last + 1] if edit.decoder)
        return begin, stop, tuple(names)

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

    def _above(self, start: int, end: int) -> tuple[int, int, tuple[str, ...]]:
        begin, stop = self._origin_of(start), self._origin_of(end - 1) + 1
        return begin, stop, ("folded",) if self._original.text[begin:stop] != self.text[start:end] else ()

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
        begin, stop, names = self._above(start, end)
        above = self._parent.locate(begin, stop) if self._parent is not None else Spot(begin, stop, ())
        return Spot(above.start, above.end, (*above.decoded, *names))

    def _above(self, start: int, end: int) -> tuple[int, int, tuple[str, ...]]:
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1
        edges = self._origin_of(first, start), self._origin_of(last, end - 1)
        return min(edges), max(edges) + 1, ("split",) if first != last else ()

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
