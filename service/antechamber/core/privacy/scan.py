"""The scan: one pass of all rules over every string, number and name of an event."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final

import re2
from msgspec import Struct

from antechamber.core.canonical import escape_pointer
from antechamber.core.privacy.rules import RULES, Rule


class Finding(Struct, frozen=True, order=True):
    """A private value was seen: by which rule and where, never the value. A name's pointer is that of its parent."""

    pointer: str
    rule_id: str


_SEPARATOR: Final = "\n\n"
_ODD_ESCAPE: Final = re.compile(r"\\[^nt\"]")
_UUID: Final = re.compile(
    r"(?<![0-9a-z-])[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?![0-9a-z-])", re.IGNORECASE
)
_MOST: Final = 100
_MEMORY: Final = 64 << 20
"""Bytes that the automaton of all rules may take; it is built lazily and stays far below."""


@cache
def _matcher() -> tuple[Any, tuple[tuple[Rule, Any], ...]]:
    """Compile all rules into one set that runs in a single pass, and each one alone for its checks."""
    options = re2.Options()
    options.max_mem = _MEMORY
    chosen = re2.Set.SearchSet(options)
    for rule in RULES:
        chosen.Add(rule.pattern)
    chosen.Compile()
    return chosen, tuple((rule, re2.compile(rule.pattern)) for rule in RULES)


def scan(places: dict[str, Any], off: frozenset[str] = frozenset()) -> list[Finding]:
    """Find private values in `places`, a JSON value per pointer; the rules in `off` stay silent.

    The result is sorted and holds each (pointer, rule) once, the first hundred of them: that is enough to refuse.
    """
    if not _candidates(_SEPARATOR.join(text for value in places.values() for text in _texts(value))):
        return []
    return sorted({finding for pointer, value in places.items() for finding in _findings(value, pointer, off)})[:_MOST]


def is_clean(texts: Iterable[str]) -> bool:
    """Tell quickly that `scan` would find nothing in what canonical JSON texts hold; False means: look closer.

    Names without quotation marks and backslashes may stand beside them as they are. A canonical text
    holds every string between quotation marks; taking those for the separators, and the usual escapes back, makes it
    the very text that `scan` looks through, with punctuation between.
    """
    joined = _SEPARATOR.join(texts)
    if "\\" in joined:
        # Without an escaped backslash every backslash begins an escape, and U+0000 is never written as it is.
        if _ODD_ESCAPE.search(joined):
            return False
        plain = joined.replace('\\"', "\0").replace('"', _SEPARATOR).replace("\0", '"')
        joined = plain.replace("\\n", "\n").replace("\\t", "\t")
    else:
        joined = joined.replace('"', _SEPARATOR)
    return not _candidates(joined)


def _candidates(text: str) -> list[int]:
    chosen, _ = _matcher()
    return list(chosen.Match(text) or ())


def _rules_in(text: str, off: frozenset[str]) -> Iterator[str]:
    _, rules = _matcher()
    for index in _candidates(text):
        rule, pattern = rules[index]
        looked_at = _UUID.sub("uuid", text) if rule.spares_uuids else text
        if rule.rule_id not in off and any(
            rule.check(value) for value in _matches(pattern, looked_at.encode(), overlap=rule.overlap)
        ):
            yield rule.rule_id


def _matches(pattern: Any, text: bytes, *, overlap: bool) -> Iterator[str]:
    """Yield what the pattern finds; with `overlap` also what begins inside a match that its check refused.

    Bytes, because the engine would encode a string anew at each step.
    """
    start = 0
    while (match := pattern.search(text, start)) is not None:
        yield match.group(1).decode()
        start = match.start(1) + 1 if overlap else match.end(1)


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


def _findings(value: Any, pointer: str, off: frozenset[str]) -> Iterator[Finding]:
    """Look at every string, name and number; no pointer leads through a name that is private itself."""
    match value:
        case dict():
            for name, member in value.items():
                rules = [Finding(pointer, rule_id) for rule_id in _rules_in(name, off)]
                yield from rules
                yield from _findings(member, pointer if rules else f"{pointer}/{escape_pointer(name)}", off)
        case list():
            for index, item in enumerate(value):
                yield from _findings(item, f"{pointer}/{index}", off)
        case _:
            for text in _texts(value):
                yield from (Finding(pointer, rule_id) for rule_id in _rules_in(text, off))
