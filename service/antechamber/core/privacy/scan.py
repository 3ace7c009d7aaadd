"""The scan: one pass of all rules over every string, number and name of an event."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, Final

import re2
from msgspec import Struct

from antechamber.core.admission.canonical import escape_pointer
from antechamber.core.privacy.effort import Effort, EffortSpentError
from antechamber.core.privacy.rules import RULES, UNVERIFIED, Rule


class Finding(Struct, frozen=True, order=True):
    """A private value: the pointer and the rule, never the value. The pointer of a name is that of its parent."""

    pointer: str
    rule_id: str


_SEPARATOR: Final = "\n\n"
_ODD_ESCAPE: Final = re.compile(r"\\[^nt\"]")
_UUID: Final = re.compile(
    r"(?<![0-9a-z-])[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9a-z-])", re.IGNORECASE
)
_MOST: Final = 100
_SHORTEST: Final = 6
"""Characters of the shortest private value, `a@b.cd`."""
_MEMORY: Final = 64 << 20
"""Bytes that the automaton of all rules may use; it is built lazily and stays far below."""


@cache
def _matcher() -> tuple[Any, tuple[tuple[Rule, Any], ...]]:
    """Return all rules compiled into one set for a single pass, and each rule with its own compiled pattern."""
    options = re2.Options()
    options.max_mem = _MEMORY
    chosen = re2.Set.SearchSet(options)
    for rule in RULES:
        chosen.Add(rule.pattern)
    chosen.Compile()
    return chosen, tuple((rule, re2.compile(rule.pattern)) for rule in RULES)


def scan(places: dict[str, Any], off: frozenset[str] = frozenset()) -> list[Finding]:
    """Find private values in `places`, a JSON value per pointer; the rules in `off` are skipped.

    The result is sorted, has each (pointer, rule) once and at most 100 of them, which is enough to refuse. If a scan
    needs more verifications than its effort allows, that is a finding itself.
    """
    joined = _SEPARATOR.join(text for value in places.values() for text in _texts(value))
    rules = [(rule, pattern) for rule, pattern in _candidates(joined) if rule.rule_id not in off]
    look = _Look(_confirmed(joined, rules))
    if not look.rules:
        return []
    found = (one for pointer, value in places.items() for one in _findings(value, pointer, look))
    return sorted(islice(_distinct(found), _MOST))


def _distinct(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield each finding once."""
    seen = set()
    for one in findings:
        if one not in seen:
            seen.add(one)
            yield one


def is_clean(texts: Iterable[str]) -> bool:
    """Return quickly whether `scan` would find nothing in canonical JSON texts; False means that a full scan is needed.

    Names without quotation marks and backslashes may be passed beside them unquoted. A canonical text has each string
    between quotation marks; replacing these by the separator, and the usual escapes by their characters, yields the
    text that `scan` searches, with punctuation in between.
    """
    joined = _SEPARATOR.join(texts)
    if "\\" in joined:
        # Without an escaped backslash every backslash begins an escape, and U+0000 never occurs unescaped.
        if _ODD_ESCAPE.search(joined):
            return False
        plain = joined.replace('\\"', "\0").replace('"', _SEPARATOR).replace("\0", '"')
        joined = plain.replace("\\n", "\n").replace("\\t", "\t")
    else:
        joined = joined.replace('"', _SEPARATOR)
    return not _candidates(joined)


def _candidates(text: str) -> list[tuple[Rule, Any]]:
    chosen, rules = _matcher()
    return [rules[index] for index in chosen.Match(text) or ()]


def _confirmed(text: str, rules: list[tuple[Rule, Any]]) -> list[tuple[Rule, Any]]:
    """Return the rules that find something in a text, or all rules if that takes too much effort."""
    effort = Effort()
    try:
        return [(rule, pattern) for rule, pattern in rules if _holds(rule, pattern, text, effort)]
    except EffortSpentError:
        return rules


def _holds(rule: Rule, pattern: Any, text: str, effort: Effort) -> bool:
    """Return whether a rule finds something in a text.

    Raises EffortSpentError if that takes too many verifications.
    """
    if rule.spares_uuids:
        text = _UUID.sub("uuid", text)
    if rule.search is not None:
        return rule.search(text, effort)
    return any(_verified(rule, value, effort) for value in _matches(pattern, text.encode()))


def _verified(rule: Rule, value: str, effort: Effort) -> bool:
    effort.spend()
    return rule.check(value)


def _matches(pattern: Any, text: bytes) -> Iterator[str]:
    """Yield the pattern's matches; the text is bytes, because the engine would encode a string at each step."""
    start = 0
    while (match := pattern.search(text, start)) is not None:
        yield match.group(1).decode()
        start = match.end(1)


class _Look:
    """The rules that find something in an event, and the effort that remains to locate the findings."""

    def __init__(self, rules: list[tuple[Rule, Any]]) -> None:
        self.rules = rules
        self._effort: Effort | None = Effort()

    def rules_in(self, text: str) -> Iterator[str]:
        """Yield the ids of the rules that find something in one string; yield nothing once the effort is spent."""
        if self._effort is None or len(text) < _SHORTEST:
            return
        try:
            for rule, pattern in self.rules:
                if _holds(rule, pattern, text, self._effort):
                    yield rule.rule_id
        except EffortSpentError:
            self._effort = None
            yield UNVERIFIED.rule_id


def _texts(value: Any) -> Iterator[str]:
    """Yield every string, name and number of a value."""
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case int():
            yield str(value)
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for name, member in value.items():
                yield name
                yield from _texts(member)


def _findings(value: Any, pointer: str, look: _Look) -> Iterator[Finding]:
    """Yield the findings in every string, name and number; no pointer contains a name that is private itself."""
    match value:
        case dict():
            for name, member in value.items():
                rules = [Finding(pointer, rule_id) for rule_id in look.rules_in(name)]
                yield from rules
                yield from _findings(member, pointer if rules else f"{pointer}/{escape_pointer(name)}", look)
        case list():
            for index, item in enumerate(value):
                yield from _findings(item, f"{pointer}/{index}", look)
        case _:
            for text in _texts(value):
                yield from (Finding(pointer, rule_id) for rule_id in look.rules_in(text))
