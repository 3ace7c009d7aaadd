"""Repeated values: the further places of what rules found in an event, so that a mask leaves out none of them.

A rule that needs the word `password` finds a password once, and the event may say it again: in other letters, with
other signs between its digits, as a number or in a name. Of a private key, each line may be a string of its own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from ahocorasick_rs import AhoCorasick, MatchKind
from msgspec.structs import replace

from antechamber.core.privacy import Finding, password_in

MAX_PLACES: Final = 200
"""Maximum number of values that are looked for, and of places that are found."""
_CONTRACT_OBJECTS: Final = frozenset({"/payload", "/source_span"})
"""Objects whose names are those of the contract."""
_SHORTEST: Final = 4
"""Characters of the shortest value that is looked for …"""
_SHORTEST_INSIDE: Final = 6
"""… and of the shortest one that counts in a longer word, or in a name."""
_AROUND: Final = " \t\r\n\"'`.,;:"
"""Signs around a value that are none of it."""
_FEWEST_DIGITS: Final = 8
_GAP: Final = "[^0-9A-Za-z]{0,3}"
"""What may be between the digits of a number."""
_KEY: Final = "private-key"
"""What the ids of the rules for private keys begin with."""
_SIGN: Final = "[0-9A-Za-z+/]"
_MIXED: Final = rf"(?<!{_SIGN})(?={_SIGN}*[a-z])(?={_SIGN}*[A-Z])"
_KEY_RUN: Final = re.compile(
    rf"{_MIXED}(?:{_SIGN}{{20,}}|(?={_SIGN}*[0-9]){_SIGN}{{8,}})={{0,2}}|(?<!{_SIGN}){_SIGN}{{2,}}={{1,2}}(?![\w=])"
    rf"|(?<!{_SIGN})[0-9a-f]{{32,}}|(?<![0-9A-Fa-f:])[0-9a-f]{{2}}(?::[0-9a-f]{{2}}){{14,}}"
)
"""A part of a line of a private key in base64 or hexadecimal."""


def find_repeated(values: Mapping[str, Any], findings: list[Finding], secrets: Iterable[str]) -> list[Finding] | None:
    """Return a finding for each further place of a found value in the values of an event, given by pointer.

    `secrets` are values as they are once decoded. A finding of an object is about one of its names. None means that
    there are too many values or places.
    """
    known = _known(values, findings, secrets)
    if len(known) > MAX_PLACES:
        return None
    if not known:
        return []
    search, found = _Search(list(known)), list[Finding]()
    is_key = any(finding.rule_id.startswith(_KEY) for finding in findings)
    for pointer, value in values.items():
        if pointer in _CONTRACT_OBJECTS:
            continue
        for part, start, end in search.places(value):
            found.append(replace(known[part], pointer=pointer, start=start, end=end))
            if len(found) > MAX_PLACES:
                return None
        if is_key and isinstance(value, str):
            found += (replace(findings[0], pointer=pointer, start=s, end=e) for s, e in _key_runs(value))
    return list(dict.fromkeys(found))


def _known(values: Mapping[str, Any], findings: list[Finding], secrets: Iterable[str]) -> dict[str, Finding]:
    """Return the values to look for, folded, each with its finding."""
    known: dict[str, Finding] = {}
    named = [(_text_of(values.get(finding.pointer), finding), finding) for finding in findings]
    for text, finding in (*named, *((secret, findings[0]) for secret in secrets if findings)):
        password = password_in(text)
        for form in (text, password, unquote(password)):
            bare = form.strip(_AROUND)
            if len(bare) >= _SHORTEST:
                known.setdefault(_fold(bare), finding)
    return known


def _text_of(value: Any, finding: Finding) -> str:
    """Return the text that a finding is about; an empty one if it is about a name or a text as a whole."""
    match value:
        case str() if 0 <= finding.start < finding.end <= len(value):
            return value[finding.start : finding.end]
        case int() | float():
            return str(value)
    return ""


def _fold(text: str) -> str:
    """Return a text without case, of the same length."""
    folded = text.lower()
    return folded if len(folded) == len(text) else text


def _key_runs(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _KEY_RUN.finditer(text))


class _Search:
    """Finds the places of folded values in those of an event; 0 to 0 is all of a number, or an object with a name."""

    def __init__(self, known: list[str]) -> None:
        self._known = known
        self._automaton = AhoCorasick(known, matchkind=MatchKind.LeftmostLongest)
        self._digits = {digits: text for text in known if (digits := _digits_of(text))}
        numbers = [_GAP.join(digits) for digits in self._digits]
        self._numbers = re.compile(rf"(?<![0-9])(?:{'|'.join(numbers)})(?![0-9])") if numbers else None

    def places(self, value: Any) -> Iterator[tuple[str, int, int]]:
        """Yield each known value in a value, with its span."""
        match value:
            case str():
                yield from self._places_in(value)
            case dict():
                names = (part for name in value for part, _, _ in self._places_in(name))
                yield from ((part, 0, 0) for part in names if len(part) >= _SHORTEST_INSIDE)
            case int() | float():
                text = str(value)
                if text in self._known or text in self._digits:
                    yield self._digits.get(text, text), 0, 0

    def _places_in(self, text: str) -> Iterator[tuple[str, int, int]]:
        folded = _fold(text)
        for index, start, end in self._automaton.find_matches_as_indexes(folded):
            part = self._known[index]
            around = folded[start - 1 : start] if start else "", folded[end : end + 1]
            if _may_be_inside(part) or not any(map(str.isalnum, around)):
                yield part, start, end
        for match in self._numbers.finditer(folded) if self._numbers is not None else ():
            digits = "".join(filter(str.isdigit, match[0]))
            yield self._digits[digits], *match.span()


def _may_be_inside(part: str) -> bool:
    """Return whether a value counts inside a longer word; a word and a short number do not."""
    return not part.isascii() or not part.isalnum() or (len(part) >= _SHORTEST_INSIDE and not part.isalpha())


def _digits_of(text: str) -> str:
    """Return the digits of a value that is a number with signs between its digits; an empty text for another one."""
    digits = "".join(sign for sign in text if sign.isascii() and sign.isdigit())
    others = sum(map(str.isalpha, text))
    return digits if len(digits) >= _FEWEST_DIGITS and not others else ""
