"""The words in which rules found something, marked in the texts of a proposal, and the list of these rules."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from msgspec import Struct

from antechamber.core.admission.canonical import escape_pointer
from antechamber.core.privacy.rule import Finding
from antechamber.core.review.hidden_text import Piece, pretty, reveal

_SIGNS: Final = tuple(map(chr, range(0xFDD0, 0xFDF0)))
"""Noncharacters (Unicode, section 23.7), one of which holds the places of spans while a value is formatted."""


class MarkedRun(Struct, frozen=True):
    """A run of pieces in which the same rules found something."""

    pieces: list[Piece]
    titles: tuple[str, ...]
    """Titles of the rules; empty for text in which no rule found something."""
    anchors: tuple[str, ...] = ()
    """Ids for links from warnings: one for each rule whose first finding at this pointer begins in this run."""


class Caution(Struct, frozen=True):
    """A rule that found something, and where."""

    title: str
    pointer: str
    count: int
    decoded: tuple[str, ...]
    """The decoders that made it visible."""
    anchor: str
    """The id of the run with its first finding; empty if the pointer names no text."""


class _Span(NamedTuple):
    start: int
    end: int
    title: str
    anchor: str


class WarningMarks(Struct, frozen=True):
    """The findings of a proposal, and the titles of the rules by their ids."""

    findings: list[Finding]
    titles: Mapping[str, str]
    anchored: bool = True
    """Whether runs have anchors; a page with several proposals has none, because an id occurs once on a page."""

    def list_cautions(self) -> list[Caution]:
        """Return each rule once for each place, in the order of the findings."""
        counts = Counter((one.rule_id, one.pointer, one.decoded) for one in self.findings)
        anchors = {(one.rule_id, one.pointer): anchor for one, anchor in reversed(self._anchored())}
        return [
            Caution(self.titles.get(rule_id, rule_id), pointer, count, decoded, anchors[rule_id, pointer])
            for (rule_id, pointer, decoded), count in counts.items()
        ]

    def _anchored(self) -> list[tuple[Finding, str]]:
        """Return each finding with its anchor; only the first of a rule at a pointer has one, if it marks words."""
        seen = set[tuple[str, str]]()
        found = list[tuple[Finding, str]]()
        for number, one in enumerate(self.findings):
            first = one.start < one.end and (one.rule_id, one.pointer) not in seen
            seen.add((one.rule_id, one.pointer))
            found.append((one, f"found-{number}" if first and self.anchored else ""))
        return found

    def mark_text(self, text: str, pointer: str) -> list[MarkedRun]:
        """Split the text at a JSON pointer so that the words of each finding are runs of their own."""
        return _split(text, self._spans(pointer, len(text)))

    def mark_value(self, value: Any, pointer: str) -> list[MarkedRun]:
        """Split a value, as indented JSON, so that the words of each finding in its strings are runs of their own."""
        plain = pretty(value)
        sign = next((sign for sign in _SIGNS if sign not in plain), None)
        if sign is None:
            return _split(plain, [])
        places: list[tuple[str, _Span]] = []
        signed = pretty(self._sign(value, pointer, sign, places))
        return _split(plain, _spans_of(signed, sign, places))

    def _spans(self, pointer: str, size: int) -> list[_Span]:
        return [
            _Span(one.start, min(one.end, size), self.titles.get(one.rule_id, one.rule_id), anchor)
            for one, anchor in self._anchored()
            if one.pointer == pointer and one.start < min(one.end, size)
        ]

    def _sign(self, value: Any, pointer: str, sign: str, places: list[tuple[str, _Span]]) -> Any:
        """Return a value with a sign at both ends of each span; `places` gets the spans in the order of the signs."""
        match value:
            case dict():
                return {
                    name: self._sign(member, f"{pointer}/{escape_pointer(name)}", sign, places)
                    for name, member in value.items()
                }
            case list():
                return [self._sign(item, f"{pointer}/{index}", sign, places) for index, item in enumerate(value)]
            case str():
                ends = [(span.start, "start", span) for span in self._spans(pointer, len(value))]
                ends += [(span.end, "end", span) for _, _, span in ends]
                ends.sort(key=lambda one: one[0])
                places += [(kind, span) for _, kind, span in ends]
                cuts = [0, *(offset for offset, _, _ in ends), len(value)]
                return sign.join(value[start:end] for start, end in pairwise(cuts))
            case _:
                return value


def _spans_of(signed: str, sign: str, places: Iterable[tuple[str, _Span]]) -> list[_Span]:
    """Return the spans in a formatted text, of which `signed` has a sign at both ends of each."""
    found, starts, offset = list[_Span](), dict[int, int](), 0
    for part, (kind, span) in zip(signed.split(sign), places, strict=False):
        offset += len(part)
        if kind == "start":
            starts[id(span)] = offset
        else:
            found.append(span._replace(start=starts[id(span)], end=offset))
    return found


def _split(text: str, spans: list[_Span]) -> list[MarkedRun]:
    """Return the pieces of a text in runs; a token of hidden characters is never divided."""
    runs: list[MarkedRun] = []
    anchors = set[str]()
    for piece, covering in _covered(reveal(text), spans):
        titles = tuple(dict.fromkeys(span.title for span in covering))
        if runs and runs[-1].titles == titles:
            runs[-1].pieces.append(piece)
        else:
            new = tuple(span.anchor for span in covering if span.anchor and span.anchor not in anchors)
            anchors.update(new)
            runs.append(MarkedRun([piece], titles, new))
    return runs


def _covered(pieces: Iterable[Piece], spans: list[_Span]) -> Iterator[tuple[Piece, list[_Span]]]:
    """Yield pieces, plain ones cut at the ends of spans, each with the spans that it overlaps.

    The spans over each stretch between neighboring cuts are found once, because a text may have thousands of pieces.
    """
    cuts = sorted({offset for span in spans for offset in span[:2]})
    between = [[one for one in spans if one.start <= first and last <= one.end] for first, last in pairwise(cuts)]
    covers = [[], *between, []] if cuts else [[]]
    start = 0
    for piece in pieces:
        end = start + len(piece.text)
        here, there = bisect_right(cuts, start), bisect_left(cuts, end)
        if here == there:
            yield piece, covers[here]
        elif piece.code:
            yield piece, [one for one in spans if one.start < end and start < one.end]
        else:
            ends = [start, *cuts[here:there], end]
            for number, (first, last) in enumerate(pairwise(ends), here):
                yield Piece(piece.text[first - start : last - start]), covers[number]
        start = end
