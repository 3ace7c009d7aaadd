"""What a text must have so that a rule may find something in it: the needs of all its patterns together."""

from antechamber.core.privacy.literals import Needs, Words
from antechamber.core.privacy.rule import Rule
from antechamber.core.privacy.separators import pattern_of
from antechamber.core.privacy.stored_needs import look_up_needs, look_up_shapes


def needs_shapes(rule: Rule) -> bool:
    """Return whether a rule is looked for by shapes, because it has neither literals nor context words."""
    return needs_of_rule(rule).literals is None and not context_of(rule)


def context_of(rule: Rule) -> tuple[str, ...]:
    """Return the context words of which a text must have one."""
    return rule.context if rule.without_context == "off" else ()


def needs_of_rule(rule: Rule) -> Needs:
    """Return the needs of all patterns of a rule together."""
    needs = _needs_of_pattern(rule)
    if rule.prefilter is not None:
        # Its author knows which words are rare; they may be anywhere in the text.
        needs = _combine(look_up_needs(rule.prefilter)._replace(reach=None), needs)
    return needs if rule.trigger is None else _combine(needs, look_up_needs(rule.trigger))


def shapes_of_rule(rule: Rule) -> Words | None:
    """Return the shapes of which every text with a match has one."""
    return look_up_shapes(pattern_of(rule), bounded=rule.bounds == "token")


def _needs_of_pattern(rule: Rule) -> Needs:
    """Return the needs of a rule's pattern; with other separators, only its digits are the same."""
    needs = look_up_needs(rule.pattern)
    if not rule.separators:
        return needs
    return Needs(None, (), 0, needs.digits, reach=look_up_needs(pattern_of(rule)).reach)


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
