"""The engine: all rules compiled together, and the search of one event's texts for their values."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from antechamber.core.privacy.automata import Offsets
from antechamber.core.privacy.document import SEPARATOR, EventText
from antechamber.core.privacy.edits import LOOSE
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.forms.folding import plain_punctuation
from antechamber.core.privacy.forms.layout import without_layout
from antechamber.core.privacy.forms.spelled_prose import spelled_out
from antechamber.core.privacy.forms.splits import Row, rows_of_texts, rows_of_token
from antechamber.core.privacy.forms.texts import NAME, Text
from antechamber.core.privacy.forms.turned_runs import find_turned
from antechamber.core.privacy.forms.view import Chains, Spot, View, apply
from antechamber.core.privacy.forms.views import all_views
from antechamber.core.privacy.rule import Rule
from antechamber.core.privacy.search.broken_beginnings import random_runs, rows_of_broken
from antechamber.core.privacy.search.matcher import Matcher, Span, after_encodings
from antechamber.core.privacy.search.prefilter import Prefilter

_MOST: Final = 100
"""Maximum number of values that are reported for one rule, which is enough to refuse."""
_STEP: Final = 4
"""Binary logarithm of the characters of a view that count as one step, …"""
_UNIT: Final = 8
"""… and steps of a unit of effort: a step is about 2 microseconds of all that a scan does."""
_MOST_BEGUN: Final = 8
"""Beginnings of tokens behind which other pieces of them are searched."""
_SHORTEST_SPLIT: Final = 20
"""Characters of the shortest token that counts in pieces; shorter ones arise by chance."""
_LONGEST_ROWS: Final = 2_000
"""Characters of all rows of a view; those of one token have about a thousand."""
_ORDINARY: Final = (
    "Run the migration of orders-2 before the deploy; see https://example.com/a?b=1 (§3, 10:30).\n"
    "able about above absent absorb abstract absurd abuse access accident account accuse"
)
"""An ordinary text, and words of seed phrases in a row, whose lists are then read."""


class Sighting(NamedTuple):
    """A value that a rule found: the rule's index, the span in the event's text, and how it became visible."""

    rule: int
    """Index of the rule; -1 if a budget was spent."""
    part: int
    start: int
    end: int
    in_context: bool
    decoded: tuple[str, ...] = ()
    value: str = ""
    """The value as the view has it in which it became visible."""


class QuickLook(NamedTuple):
    """Whether rules find nothing in an event, and the cost of the look."""

    is_clear: bool
    steps: int
    """Units of about 2 microseconds."""


class Engine:
    """Compiled rules, independent of any policy's actions."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        """Prepare the rules.

        Raises KeyError if a check or search is unknown.
        """
        self.rules = rules
        self.matchers = [Matcher(rule) for rule in rules]
        self._prefilters: dict[frozenset[int], Prefilter] = {}
        self._of_joined: dict[Prefilter, Prefilter] = {}
        self._with_form = frozenset(index for index, one in enumerate(self.matchers) if one.fits(("wrapped",)))
        self._warm: set[frozenset[int]] = set()

    def prefilter(self, wanted: frozenset[int]) -> Prefilter:
        """Return the prefilter of some rules; the same rules share it."""
        found = self._prefilters.get(wanted)
        if found is None:
            forms = [index for index in wanted if self.matchers[index].fits(("split",))]
            found = Prefilter({index: self.rules[index] for index in sorted(wanted)}, forms)
            self._prefilters[wanted] = found
        return found

    def of_joined(self, prefilter: Prefilter) -> Prefilter:
        """Return the prefilter of those rules of another one that judge words which were joined by chance."""
        found = self._of_joined.get(prefilter)
        if found is None:
            found = self._of_joined[prefilter] = self.prefilter(frozenset(prefilter.rules) & self._with_form)
        return found

    def warm_up(self, wanted: frozenset[int]) -> None:
        """Build the automata of some rules, and search an ordinary text once, so that they have their first states."""
        if wanted not in self._warm:
            for rules in (wanted, wanted & self._with_form):
                list(Search(self, self.prefilter(rules)).look(EventText({"": _ORDINARY})))
            self._warm.add(wanted)

    def is_clear(self, event: EventText, prefilter: Prefilter) -> QuickLook:
        """Return whether no rule of a prefilter finds something in an event, and what it cost to find that out."""
        rows = rows_of_texts(event.values)
        text = SEPARATOR.join((event.text, Chains(rows).text)) if rows else event.text
        search = Search(self, prefilter)
        try:
            found = any(search.finds(view.read, prefilter) for view, prefilter in search.views(text))
        except EffortSpentError:
            found = True
        return QuickLook(not found, search.steps)


class Search:
    """One search of an event, with its effort and the spans that each rule found."""

    def __init__(self, engine: Engine, prefilter: Prefilter) -> None:
        self._engine = engine
        self._prefilter = prefilter
        self._of_joined = engine.of_joined(prefilter)
        self.effort = Effort()
        self._prose_effort = Effort()
        self._size = 0
        self._found: dict[int, list[tuple[int, int]]] = {}
        self._beyond: list[tuple[int, int]] = []
        """Rules with the offset of the first value that was not reported."""

    @property
    def steps(self) -> int:
        """What the search cost so far."""
        return (self.effort.spent + self._prose_effort.spent) * _UNIT + (self._size >> _STEP)

    def look(self, text: EventText) -> Iterator[Sighting]:
        """Yield what the wanted rules find in an event; at the end of the effort, a sighting of the rule -1."""
        try:
            for view, prefilter in self.views(text.text):
                yield from self._look_at(view, text, prefilter)
            rows = rows_of_texts(text.values)
            for view in all_views(Chains(rows), self.effort) if rows else ():
                yield from self._look_at(view, text, self._prefilter)
        except EffortSpentError:
            yield Sighting(-1, text.longest_part(), 0, 0, in_context=True)

    def beyond(self, event: EventText) -> Iterator[Sighting]:
        """Yield the texts that may have values which were not reported, each as a whole, for each rule."""
        for index, offset in self._beyond:
            for part in range(event.find_part(offset), event.size):
                yield Sighting(index, part, event.start(part), event.end(part), in_context=True)

    def views(self, text: str) -> Iterator[tuple[View, Prefilter]]:
        """Yield the views of a text, each with the prefilter of the rules that search it.

        Raises EffortSpentError.
        """
        prose = self._prefilter.of_prose
        # Only what a text says to its reader depends on its dashes; without that they need no view of their own.
        root = View(text if prose is not None else plain_punctuation(text))
        chains: list[View] = []
        for view in all_views(root, self.effort):
            yield view, self._of_joined if view.is_joined_by_chance else self._prefilter
            chains += self._guesses(view)
            if prose is not None and view.is_readable:
                for plain in filter(None, (without_layout(view), spelled_out(view))):
                    yield plain, prose
        # A value that another view shows in one is named by that view.
        for view in chains:
            yield view, self._of_joined

    def _guesses(self, view: View) -> Iterator[View]:
        """Yield the rows of a view in which a divided token may be, and the view with runs that may be turned."""
        runs = random_runs(view.text) if view.read.traits & NAME else []
        if not runs and not view.read.begun:
            return
        halves = self._prefilter.halves
        rows = [*rows_of_broken(view.text, runs, halves), *self._begun_rows(view)]
        if rows:
            yield Chains(rows, view, whole=True)
        turned = find_turned(runs, halves.wholes)
        if turned:
            yield View(apply(view.text, turned), view, turned, view.level + 1)

    def _begun_rows(self, view: View) -> list[Row]:
        """Return the rows of the tokens that begin in a view, of which only the first ones are read."""
        read = view.read
        rows: list[Row] = []
        if read.begun:
            point, size = Offsets(read.data(in_uuids=True)), 0
            begun = sorted(set(read.begun))
            # Only these offsets are converted: beginnings overlap, and each step back is counted from the beginning.
            for place, span in enumerate(begun[:_MOST_BEGUN]):
                following = next((other for other, _ in begun[place + 1 :] if other > span[0]), None)
                start, end = map(point, span)
                stop = len(view.text) if following is None else point(following)
                for row in rows_of_token(view.text, start, end, stop):
                    size += sum(len(piece) for _, piece in row)
                    if size > _LONGEST_ROWS:
                        return rows
                    rows.append(row)
        return rows

    def finds(self, text: Text, prefilter: Prefilter | None = None) -> bool:
        """Return whether one of the rules, or of those of another prefilter, finds something in a text."""
        matchers = self._engine.matchers
        self._size += text.length
        for index, areas in (prefilter or self._prefilter).candidates(text, self.effort):
            for _ in matchers[index].find(text, self.effort, areas):
                return True
        return False

    def _look_at(self, view: View, event: EventText, prefilter: Prefilter) -> Iterator[Sighting]:
        """Yield what the rules find in one view and in no earlier one."""
        self._size += len(view.text)
        read = view.read
        effort = self._prose_effort if prefilter is self._prefilter.of_prose else self.effort
        for index, areas in prefilter.candidates(read, effort):
            matcher = self._engine.matchers[index]
            for number, span in enumerate(matcher.find(read, effort, areas)):
                if number == _MOST:
                    self._beyond.append((index, view.locate(span.start, span.end).start))
                    break
                if view.may_begin(span.start):
                    yield from self._sightings(index, view, span, event)

    def _sightings(self, index: int, view: View, span: Span, event: EventText) -> Iterator[Sighting]:
        """Yield what a span of a view is, by a rule that is given by index, if no earlier view has it."""
        spot = view.locate(span.start, span.end)
        in_pieces = "split" in after_encodings(spot.decoded)
        if not self._engine.matchers[index].fits(spot.decoded) or (
            in_pieces and span.end - span.start < _SHORTEST_SPLIT
        ):
            return
        if self._is_new(index, spot):
            value = view.text[span.start : span.end]
            for part, start, end in _parts_of(spot, event):
                yield Sighting(index, part, start, end, span.in_context, spot.decoded, value)

    def _is_new(self, index: int, spot: Spot) -> bool:
        """Return whether a rule, given by index, did not find a span before, and note it.

        A private value that goes beyond an earlier one is new: its encoded rest belongs to it. What may have been
        joined by chance adds nothing to it. An empty span is that of the name of a column, which a view has before each
        cell.
        """
        spans = self._found.setdefault(index, [])
        overlapping = [span for span in spans if span[0] < spot.end and spot.start < span[1]]
        may_extend = LOOSE.isdisjoint(spot.decoded) and self._engine.rules[index].kind in {"secret", "personal"}
        if spot.start == spot.end or any(
            not may_extend or (first <= spot.start and spot.end <= last) for first, last in overlapping
        ):
            return False
        spans.append((spot.start, spot.end))
        return True


def _parts_of(spot: Spot, event: EventText) -> Iterator[tuple[int, int, int]]:
    """Yield the parts of a span: one, or one in each text that it covers if texts were joined."""
    first, last = event.find_part(spot.start), event.find_part(spot.end - 1)
    if first == last or "split" in spot.decoded:
        for part in range(first, last + 1):
            yield part, max(spot.start, event.start(part)), min(spot.end, event.end(part))


@lru_cache(maxsize=16)
def compile_rules(rules: tuple[Rule, ...]) -> Engine:
    """Return the engine of some rules; policies with the same rules share it."""
    return Engine(rules)
