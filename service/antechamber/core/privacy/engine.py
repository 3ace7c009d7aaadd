"""The engine: all rules compiled together, and the search of one event's texts for their values."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from antechamber.core.privacy.document import SEPARATOR, EventText
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.layout import without_layout
from antechamber.core.privacy.matcher import Matcher
from antechamber.core.privacy.prefilter import Prefilter
from antechamber.core.privacy.rule import Rule
from antechamber.core.privacy.splits import join_texts
from antechamber.core.privacy.texts import Text
from antechamber.core.privacy.views import View, all_views

_MOST: Final = 100
"""Maximum number of values that are reported for one rule, which is enough to refuse."""
_STEP: Final = 7
"""Binary logarithm of the characters of a view that count as one step."""
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


class Engine:
    """Compiled rules, independent of any policy's actions."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        """Prepare the rules.

        Raises KeyError if a check or search is unknown.
        """
        self.rules = rules
        self.matchers = [Matcher(rule) for rule in rules]
        self._prefilters: dict[frozenset[int], Prefilter] = {}
        self._warm: set[frozenset[int]] = set()

    def prefilter(self, wanted: frozenset[int]) -> Prefilter:
        """Return the prefilter of some rules; the same rules share it."""
        found = self._prefilters.get(wanted)
        if found is None:
            found = Prefilter({index: self.rules[index] for index in sorted(wanted)})
            self._prefilters[wanted] = found
        return found

    def warm_up(self, wanted: frozenset[int]) -> None:
        """Build the automata of some rules, and search an ordinary text once, so that they have their first states."""
        if wanted not in self._warm:
            list(Search(self, self.prefilter(wanted)).look(EventText({"": _ORDINARY})))
            self._warm.add(wanted)

    def is_clear(self, event: EventText, prefilter: Prefilter) -> bool:
        """Return whether no rule of a prefilter finds something in an event."""
        joined = join_texts(event.values)
        text = event.text if joined is None else SEPARATOR.join((event.text, joined.text))
        search = Search(self, prefilter)
        try:
            return not any(search.finds(view.read, prefilter) for view, prefilter in search.views(text))
        except EffortSpentError:
            return False


class Search:
    """One search of an event, with its effort and the spans that each rule found."""

    def __init__(self, engine: Engine, prefilter: Prefilter) -> None:
        self._engine = engine
        self._prefilter = prefilter
        self.effort = Effort()
        self._prose_effort = Effort()
        self._size = 0
        self._found: dict[int, list[tuple[int, int]]] = {}

    @property
    def steps(self) -> int:
        """What the search cost so far: units of effort, and one for each 128 characters."""
        return self.effort.spent + (self._size >> _STEP)

    def look(self, text: EventText) -> Iterator[Sighting]:
        """Yield what the wanted rules find in an event; at the end of the effort, a sighting of the rule -1."""
        try:
            for view, prefilter in self.views(text.text):
                yield from self._look_at(view, text, prefilter)
            joined = join_texts(text.values)
            if joined is not None:
                yield from self._look_at(joined, text, self._prefilter)
        except EffortSpentError:
            yield Sighting(-1, text.longest_part(), 0, 0, in_context=True)

    def views(self, text: str) -> Iterator[tuple[View, Prefilter]]:
        """Yield the views of a text, each with the prefilter of the rules that search it.

        Raises EffortSpentError.
        """
        prose = self._prefilter.of_prose
        for view in all_views(text, self.effort):
            yield view, self._prefilter
            if prose is not None and view.is_readable:
                plain = without_layout(view)
                if plain is not None:
                    yield plain, prose

    def finds(self, text: Text, prefilter: Prefilter | None = None) -> bool:
        """Return whether one of the rules, or of those of another prefilter, finds something in a text."""
        matchers = self._engine.matchers
        for index, areas in (prefilter or self._prefilter).candidates(text, self.effort):
            for _ in matchers[index].find(text, self.effort, areas):
                return True
        return False

    def _look_at(self, view: View, event: EventText, prefilter: Prefilter) -> Iterator[Sighting]:
        """Yield what the rules find in one view and in no earlier one."""
        self._size += len(view.text)
        read = view.read
        effort = self.effort if prefilter is self._prefilter else self._prose_effort
        for index, areas in prefilter.candidates(read, effort):
            matcher = self._engine.matchers[index]
            for span in islice(matcher.find(read, effort, areas), _MOST):
                spot = view.locate(span.start, span.end)
                if matcher.fits(spot.decoded):
                    for part, start, end in self._split(index, spot.start, spot.end, event, spot.decoded):
                        yield Sighting(index, part, start, end, span.in_context, spot.decoded)

    def _split(
        self, index: int, start: int, end: int, event: EventText, decoded: tuple[str, ...]
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the parts of a span that are new: one, or one in each text that it covers if texts were joined."""
        spans = self._found.setdefault(index, [])
        if any(first < end and start < last for first, last in spans):
            return
        first_part, last_part = event.find_part(start), event.find_part(end - 1)
        if first_part != last_part and "split" not in decoded:
            return
        spans.append((start, end))
        for part in range(first_part, last_part + 1):
            yield part, max(start, event.start(part)), min(end, event.end(part))


@lru_cache(maxsize=16)
def compile_rules(rules: tuple[Rule, ...]) -> Engine:
    """Return the engine of some rules; policies with the same rules share it."""
    return Engine(rules)
