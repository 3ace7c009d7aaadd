"""What a text must have so that a rule may find something in it: the needs of all its patterns together.

`needs` and `shapes` in what follows return those of a pattern; by default they are looked up.
"""

import re
from collections.abc import Callable
from typing import Final, Protocol

from antechamber.core.privacy.patterns.literals import Needs, Words
from antechamber.core.privacy.patterns.separators import pattern_of
from antechamber.core.privacy.rule import Rule
from antechamber.core.privacy.search.stored_needs import look_up_needs, look_up_shapes

_DIGITS_ONLY: Final = re.compile(r"0(?:[^0-9A-Za-z\n]?0)*")
_LETTER: Final = re.compile("[A-Za-z]")
NeedsOf = Callable[[str], Needs]


class ShapesOf(Protocol):
    """Returns the shapes of a pattern."""

    def __call__(self, pattern: str, *, bounded: bool) -> Words | None:
        """Return them as `shapes.shapes_needed` does."""
        ...


def context_of(rule: Rule) -> tuple[str, ...]:
    """Return the context words of which a text must have one."""
    return rule.context if rule.without_context == "off" else ()


def needs_of_rule(rule: Rule, needs: NeedsOf = look_up_needs) -> Needs:
    """Return the needs of all patterns of a rule together; digits alone are no literals, but a number of digits."""
    found = _needs_of_pattern(rule, needs)
    if rule.prefilter is not None:
        # Its author knows which words are rare; they may be anywhere in the text.
        found = _combine(needs(rule.prefilter)._replace(reach=None), found)
    if rule.trigger is not None:
        found = _combine(found, needs(rule.trigger))
    if found.literals is None or not any(map(_DIGITS_ONLY.fullmatch, found.literals)):
        return found
    return found._replace(literals=None, digits=max(found.digits, min(map(_count_digits, found.literals))))


def _count_digits(word: str) -> int:
    """Return the greatest number of digits in a row, whatever signs are between them."""
    return max(part.count("0") for part in _LETTER.split(word))


def shapes_of_rule(rule: Rule, shapes: ShapesOf = look_up_shapes) -> Words | None:
    """Return the shapes of which every text with a match of a rule has one."""
    return shapes(pattern_of(rule), bounded=rule.bounds == "token")


def _needs_of_pattern(rule: Rule, needs: NeedsOf) -> Needs:
    """Return the needs of a rule's pattern; with other separators, only its digits are the same."""
    found = needs(rule.pattern)
    if not rule.separators:
        return found
    return Needs(None, (), 0, found.digits, reach=needs(pattern_of(rule)).reach)


def _combine(needs: Needs, others: Needs) -> Needs:
    """Return the needs of a match of two patterns; the literals of the first are preferred."""
    return Needs(
        needs.literals if needs.literals is not None else others.literals,
        needs.exact + others.exact,
        max(needs.run, others.run),
        max(needs.digits, others.digits),
        max(needs.name_run, others.name_run),
        # The literals of the other pattern may be anywhere in the text.
        needs.reach if needs.literals is not None else None,
    )
