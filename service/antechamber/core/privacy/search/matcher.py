"""A compiled rule: finds the spans of its values in a text, each with the bounds, checks and context verified."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from antechamber.core.privacy.automata import ANCHORED, Offsets, Spans, compile_pattern, compile_set, search
from antechamber.core.privacy.checks.registry import CHECKS, LOOKS, SEARCHES
from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.edits import LOOSE
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.forms.runs import ENCODINGS
from antechamber.core.privacy.forms.texts import SHORT, Text
from antechamber.core.privacy.patterns.context_words import context_pattern, has_word
from antechamber.core.privacy.patterns.separators import pattern_of
from antechamber.core.privacy.rule import Rule
from antechamber.core.privacy.search.key_blocks import end_of_block
from antechamber.core.privacy.search.prefilter import Areas
from antechamber.core.privacy.values.bounds import (
    COMMON_PLACEHOLDERS,
    entropy_of,
    is_encoded_prose,
    is_masked,
    is_published,
    variety_of,
)


class Span(NamedTuple):
    """The span of a value in a text, and whether a context word is near."""

    start: int
    end: int
    in_context: bool


class Matcher:
    """A rule in its compiled form; its patterns are compiled at their first use, as most texts need few of them.

    A property raises re2.error if its pattern is not valid.
    """

    def __init__(self, rule: Rule) -> None:
        """Prepare a rule.

        Raises KeyError if its check or search is unknown.
        """
        self.rule = rule
        self._check = CHECKS[rule.check] if rule.check is not None else None
        self._search = SEARCHES[rule.search] if rule.search is not None else None
        self._look = LOOKS.get(rule.search or "")

    @property
    def pattern(self) -> str:
        """The rule's pattern as group 1, with its bounds."""
        return bounded_pattern(self.rule)

    @cached_property
    def _compiled(self) -> Any:
        return compile_pattern(self.pattern)

    @cached_property
    def _group(self) -> int:
        # Group 1 is the pattern, so that of the rule's own groups the first is group 2.
        return min(2, int(self._compiled.groups))

    @cached_property
    def _trigger(self) -> Any:
        return compile_pattern(trigger_pattern(self.rule)) if self.rule.trigger is not None else None

    @cached_property
    def _first_look(self) -> Any:
        return self._compiled if self._trigger is None else self._trigger

    @cached_property
    def _quick_look(self) -> Callable[[bytes], list[int]]:
        """The same for short texts."""
        return compile_set(f"(?m){trigger_pattern(self.rule)}")

    @cached_property
    def _not_after(self) -> Any:
        return _ending_with(self.rule.not_after)

    @cached_property
    def _not_named(self) -> Any:
        return _ending_with(self.rule.not_named)

    @cached_property
    def _placeholders(self) -> Any:
        common = COMMON_PLACEHOLDERS if self.rule.kind == "secret" else ()
        patterns = (*common, *self.rule.placeholders)
        return compile_pattern("|".join(f"(?i:{pattern})" for pattern in patterns)) if patterns else None

    @cached_property
    def _context(self) -> Any:
        return context_pattern(self.rule.context) if self.rule.context else None

    def fits(self, decoded: tuple[str, ...]) -> bool:
        """Return whether the rule may find something in a text that decoders made.

        Hidden characters are what a reader does not see in the text itself. Some decoders join words by chance, so that
        only a rule for secrets with a form finds something there. Between two values of an event that form must be the
        rule's own: an idempotency key and the scope after it look like a token with any prefix, or like the key of the
        service that the scope is named after. The same is true of two literals of a list, such as a UUID and a name.
        """
        rule = self.rule
        if rule.kind == "hidden":
            return not decoded
        decoded = after_encodings(decoded)
        if LOOSE.isdisjoint(decoded):
            return True
        has_form = rule.kind == "secret" and self._search is None and not has_groups(rule.pattern)
        by_chance = ("split" in decoded and (rule.general or rule.context)) or ("listed" in decoded and rule.general)
        return has_form and not by_chance

    def find(self, text: Text, effort: Effort, areas: Areas | None = None) -> Iterable[Span]:
        """Return the values in a text, or in some areas of it; those of most texts are none, which one look finds out.

        Raises EffortSpentError if that takes too many verifications.
        """
        data = text.data(in_uuids=self.rule.in_uuids)
        if areas is None:
            areas = ((0, len(data)),)
            if self._look is not None and not self._look(data):
                effort.spend(len(data) >> _PASS)
                return ()
            if len(data) < SHORT:
                return self._spans(text, effort, areas) if self._quick_look(data) else ()
        effort.spend(sum(end - start for start, end in areas) >> _PASS)
        for number, (start, end) in enumerate(areas, 1):
            first = search(self._first_look, data, start, end)
            if first is not None:
                return self._spans(text, effort, ((first[0][0], end), *areas[number:]))
        return ()

    def _spans(self, text: Text, effort: Effort, areas: Areas) -> Iterator[Span]:
        whole = text.text(in_uuids=self.rule.in_uuids)
        found = self._searched(whole, effort) if self._search else self._matched(text, effort, areas)
        for match_start, match_end, start, end in found:
            if _ends_with(self._not_after, whole, match_start) or _ends_with(self._not_named, whole, start):
                continue
            effort.spend(_PLACED)
            near = self._context is None or self._is_near(whole, match_start, match_end)
            if near or self.rule.without_context != "off":
                yield Span(start, end_of_block(whole, start, end) if self.rule.block else end, near)

    def _searched(self, whole: str, effort: Effort) -> Iterator[tuple[int, int, int, int]]:
        assert self._search is not None  # noqa: S101 -- narrows the type
        for start, end in self._search(whole, effort):
            if self._is_value(whole[start:end]):
                yield start, end, start, end

    def _matched(self, text: Text, effort: Effort, areas: Areas) -> Iterator[tuple[int, int, int, int]]:
        data = text.data(in_uuids=self.rule.in_uuids)
        offset = Offsets(data)
        harmless: set[bytes] = set()
        repeated = 0
        for match in self._all_matches(data, effort, areas):
            start, end = match[self._group]
            value = data[start:end]
            if start < 0 or value in harmless:
                repeated += _REPEATED + match[1][1] - match[1][0]
                effort.spend(repeated >> _AGAIN)
                repeated %= 1 << _AGAIN
                continue
            effort.spend(_MATCHED + (end - start >> _LONG))
            effort.spend(_CHECKED + (len(value) >> _LENGTH) if self._check is not None else _JUDGED)
            if not self._is_value(value.decode()):
                harmless.add(value)
                continue
            match_start, match_end = match[1]
            first = offset(match_start)
            span = offset(start), offset(end)
            yield first, offset(match_end), *span

    def _all_matches(self, data: bytes, effort: Effort, areas: Areas) -> Iterator[Spans]:
        for start, end in areas:
            if self._trigger is None:
                yield from self._matches(data, start, end)
            else:
                yield from self._triggered(self._trigger, data, effort, start, end)

    def _matches(self, data: bytes, place: int, last: int) -> Iterator[Spans]:
        """Yield the matches; one that reaches beyond its own string is searched again up to the end of the string."""
        while (match := search(self._compiled, data, place, last)) is not None:
            start, end = match[1]
            border = data.find(_BORDER, start, end)
            if border >= 0:
                match = search(self._compiled, data, place, border + 1) if border > start else None
                if match is not None:
                    yield match
                place = border + len(_BORDER)
            else:
                yield match
                place = end

    def _triggered(self, pattern: Any, data: bytes, effort: Effort, place: int, last: int) -> Iterator[Spans]:
        """Yield the matches that begin with a trigger and end within its own string.

        Raises EffortSpentError if there are too many triggers.
        """
        while (trigger := search(pattern, data, place, last)) is not None:
            effort.spend(_TRIGGER_UNITS)
            start, place = trigger[1]
            border = data.find(_BORDER, start, start + _WINDOW)
            end = border if border >= 0 else min(len(data), start + _WINDOW)
            match = search(self._compiled, data, trigger[0][0], end, anchor=ANCHORED)
            if match is not None:
                place = max(place, match[1][1])
                yield match
            else:
                # Another trigger may begin within this one.
                blank = data.find(b" ", start, place)
                place = blank if blank > start else place

    def _is_value(self, value: str) -> bool:
        """Return whether a value passes the bounds and the check of the rule, and is no placeholder."""
        rule, head = self.rule, value[:_HEAD]
        return (
            (not rule.min_entropy or entropy_of(head) >= rule.min_entropy)
            and (not rule.min_variety or variety_of(head) >= rule.min_variety)
            and not (len(value) <= _HEAD and self._is_harmless(value))
            and (self._check is None or self._check(value))
        )

    def _is_harmless(self, value: str) -> bool:
        """Return whether a value is a placeholder, a published example, or a mask in the place of a secret."""
        if self.rule.kind == "secret" and (is_masked(value) or is_published(value) or is_encoded_prose(value)):
            return True
        return self._placeholders is not None and bool(self._placeholders.fullmatch(value.encode(errors="replace")))

    def _is_near(self, whole: str, start: int, end: int) -> bool:
        distance = self.rule.context_distance
        first = max(whole.rfind(SEPARATOR, max(0, start - distance - len(SEPARATOR)), start), start - distance, 0)
        border = whole.find(SEPARATOR, end, end + distance)
        last = border if border >= 0 else end + distance
        # A word that is cut at an end of this part is none.
        around = f"{_edge(whole[max(first - 1, 0) : first])}{whole[first:last]}{_edge(whole[last : last + 1])}"
        return has_word(self._context, around)


def after_encodings(decoded: tuple[str, ...]) -> tuple[str, ...]:
    """Return the decoders behind the last encoding.

    Pieces that were joined before it belong together: joined wrongly, they would not decode to text.
    """
    return decoded[max((place for place, name in enumerate(decoded, 1) if name in _ENCODINGS), default=0) :]


def _ending_with(pattern: str | None) -> Any:
    return compile_pattern(rf"(?:{pattern})\z") if pattern is not None else None


def _ends_with(pattern: Any, whole: str, end: int) -> bool:
    """Return whether the text before an offset ends with a pattern; None is the end of no text."""
    return pattern is not None and bool(pattern.search(whole[max(0, end - _REACH) : end].encode(errors="replace")))


def _edge(sign: str) -> str:
    """Return a letter if a character may belong to a word in ASCII, else a blank."""
    return "x" if sign.isascii() and sign.isalnum() else " "


_ENCODINGS: Final = ENCODINGS | {"base85", "uuencoded"}
_GROUP: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?P?<")
"""An escape, a class, or the beginning of a group that captures."""
_PASS: Final = 11
"""Binary logarithm of the bytes of a text whose pass by one rule counts as one unit of effort."""
_MATCHED: Final = 3
"""Units of effort of a match …"""
_LONG: Final = 5
"""… and binary logarithm of its bytes that count as one unit in addition."""
_REPEATED: Final = 24
"""Bytes that a match with a value that was seen before counts in addition to its own …"""
_AGAIN: Final = 6
"""… and binary logarithm of the bytes of such matches that count as one unit."""
_HEAD: Final = 2_048
"""Characters of a value that bounds judge; a longer value is no placeholder."""
_JUDGED: Final = 2
"""Units of effort of a value that was not seen before."""
_CHECKED: Final = 6
"""Units of effort of such a value with a check …"""
_LENGTH: Final = 3
"""… and binary logarithm of the bytes of the value that count as one unit in addition."""
_PLACED: Final = 2
"""Units of effort of the look around a value."""
_BORDER: Final = SEPARATOR.encode()
_REACH: Final = 60
"""Code points before a match or a value that `not_after` and `not_named` see."""
_TRIGGER_UNITS: Final = 4
"""Units of effort for one trigger."""
_WINDOW: Final = 600
"""Bytes after a trigger in which a match ends."""


def bounded_pattern(rule: Rule) -> str:
    """Return a rule's pattern as group 1, with its bounds."""
    pattern = pattern_of(rule)
    if rule.bounds == "none":
        return f"({pattern})"
    return rf"(?:\A|[^0-9A-Za-z])({pattern})(?:\z|[^0-9A-Za-z])"


@lru_cache(maxsize=4096)
def has_groups(pattern: str) -> bool:
    """Return whether a pattern has groups that capture; compiling all patterns to find out would take 0.3 s."""
    return any(part.startswith("(") for part in _GROUP.findall(pattern))


def trigger_pattern(rule: Rule) -> str:
    """Return the pattern that decides whether a text is searched: the trigger as group 1, else the bounded pattern."""
    if rule.trigger is None:
        return bounded_pattern(rule)
    return f"({rule.trigger})" if rule.bounds == "none" else rf"(?:\A|[^0-9A-Za-z])({rule.trigger})"
