"""Detector files: reads `detectors/*.toml` of a policy folder; errors name file, rule and key."""

import difflib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
import re2
from msgspec import Struct

from antechamber.core.conversion import convert
from antechamber.core.errors import PolicyError
from antechamber.core.privacy import Gate
from antechamber.core.privacy.automata import compile_pattern
from antechamber.core.privacy.checks.registry import CHECKS, SEARCHES
from antechamber.core.privacy.patterns.separators import pattern_of
from antechamber.core.privacy.rule import ACTIONS, KINDS, UNVERIFIED, Rule
from antechamber.resources import folder

DETECTORS: Final = "detectors"
"""The folder of detector files within a policy folder."""


class DetectorFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of one detector file."""

    rule: list[Rule] = []


_KEYS: Final = tuple("id" if name == "rule_id" else name for name in Rule.__struct_fields__)
_PLACED: Final = re.compile(r"(.*?)(?: - at `\$\.rule\[(\d+)\]\.?(.*?)`)?", re.DOTALL)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(.+)`")
_MISSING: Final = re.compile(r"Object missing required field `(.+)`")
_WANTED: Final = {
    "id": 'a word of a-z, 0-9 and -, which begins with a letter, e.g. "stripe-secret-key"',
    "title": "one line of 1 to 200 characters",
    "kind": "one of " + ", ".join(KINDS),
    "action": "one of " + ", ".join(ACTIONS),
    "pattern": "a pattern in the syntax of RE2",
    "separators": "true or false",
    "prefilter": "a pattern in the syntax of RE2",
    "bounds": '"token" or "none"',
    "trigger": "a pattern in the syntax of RE2",
    "not_after": "a pattern in the syntax of RE2",
    "not_named": "a pattern in the syntax of RE2",
    "context": 'a list of words, e.g. ["iban", "account"]',
    "context_distance": "a whole number from 1 to 1000",
    "without_context": "one of " + ", ".join(ACTIONS),
    "check": "one of " + ", ".join(sorted(CHECKS)),
    "search": "one of " + ", ".join(sorted(SEARCHES)),
    "min_entropy": "bits per character from 0.0 to 8.0",
    "min_variety": "a whole number from 0 to 4",
    "placeholders": 'a list of patterns, e.g. ["your-.*"]',
    "general": "true or false",
    "in_uuids": "true or false",
    "block": "true or false",
    "hit": "a list of texts, or of lists of pieces that are joined",
    "miss": "a list of texts, or of lists of pieces that are joined",
}
"""What to write, by the key of a rule."""


_RESERVED: Final = frozenset({*KINDS, UNVERIFIED, "unreadable", "unverified"})
"""Kinds of rules, and what a scan calls a text that it cannot check or read."""


def read_detectors(policies: Path) -> tuple[Rule, ...]:
    """Return the shipped rules and those of a policy folder, which may define a shipped rule again by its id.

    Raises PolicyError, whose text names file, rule and key.
    """
    shipped = _read_folder(folder("policies") / DETECTORS)
    own = _read_folder(policies / DETECTORS)
    # Compiling every pattern takes 0.3 s of each start; a test compiles those of the shipped files.
    changed = {name: data for name, data in own.items() if shipped.get(name) != data}
    rules = _decode_all(tuple(shipped.items())) | _decode_all(tuple(own.items()))
    for name, data in changed.items():
        check_file(name, data)
    return tuple(rules.values())


def check_examples(policies: Path, gate: Gate) -> None:
    """Try the examples of all rules in a gate of the rules of a policy folder.

    Raises PolicyError, whose text names file, rule and key.
    """
    broken = list(gate.broken_examples())
    if broken:
        files = [*_read_folder(folder("policies") / DETECTORS).items(), *_read_folder(policies / DETECTORS).items()]
        origins = {rule.rule_id: name for name, data in files for rule in _decode(name, data)}
        raise PolicyError("\n".join(f'{origins[rule]}: rule "{rule}": {problem}' for rule, problem in broken))


def list_files(policies: Path) -> list[Path]:
    """Return the detector files of a policy folder, sorted by name."""
    return sorted((policies / DETECTORS).glob("*.toml"))


def _read_folder(place: Path) -> dict[str, bytes]:
    """Return the content of each detector file by its name."""
    found = {}
    for file in sorted(place.glob("*.toml")):
        name = f"{DETECTORS}/{file.name}"
        try:
            found[name] = file.read_bytes()
        except OSError as error:
            message = f"{name}: cannot be read: {error}"
            raise PolicyError(message) from None
    return found


@lru_cache(maxsize=4)
def _decode_all(files: tuple[tuple[str, bytes], ...]) -> dict[str, Rule]:
    """Return the rules of files, given by name and content, by their ids; cached, as they are at each reload."""
    origins: dict[str, str] = {}
    rules: dict[str, Rule] = {}
    for name, data in files:
        for rule in _decode(name, data):
            if rule.rule_id in origins:
                message = f'{name}: rule "{rule.rule_id}": id: {origins[rule.rule_id]} has a rule with this id too'
                raise PolicyError(message)
            origins[rule.rule_id] = name
            rules[rule.rule_id] = rule
    return rules


@lru_cache(maxsize=256)
def _decode(name: str, data: bytes) -> tuple[Rule, ...]:
    """Decode the content of a file; cached, because a reload reads every file again, and few have changed."""
    try:
        document = msgspec.toml.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"{name}: this is no TOML: {error}"
        raise PolicyError(message) from None
    try:
        return tuple(convert(document, DetectorFile).rule)
    except msgspec.ValidationError as error:
        raise PolicyError(_explain(name, str(error), document)) from None


@lru_cache(maxsize=256)
def check_file(name: str, data: bytes) -> None:
    """Check what the types of the rules of a file do not say, such as the syntax of each pattern.

    Raises PolicyError.
    """
    for rule in _decode(name, data):
        for key, problem in _problems(rule):
            message = f'{name}: rule "{rule.rule_id}": {key}: {problem}'
            raise PolicyError(message)


def _explain(name: str, text: str, document: Any) -> str:
    """Return msgspec's message with the file, the rule and what to write."""
    match = _PLACED.fullmatch(text)
    assert match is not None  # noqa: S101 -- the pattern matches every text
    problem, index, key = match.groups()
    if index is None:
        suggestion = "; write [[rule]]" if _UNKNOWN.match(problem) or "$.rule" in text else ""
        return f"{name}: {problem}{suggestion}"
    rule = document["rule"][int(index)]
    label = rule.get("id", index) if isinstance(rule, dict) else index
    key = key.partition("[")[0]
    if unknown := _UNKNOWN.fullmatch(problem):
        near = difflib.get_close_matches(unknown.group(1), _KEYS, n=1)
        instead = f'write "{near[0]}"' if near else "known are " + ", ".join(_KEYS)
        return f'{name}: rule "{label}": unknown key "{unknown.group(1)}"; {instead}'
    if missing := _MISSING.fullmatch(problem):
        key, problem = missing.group(1), "is missing"
    wanted = f"; write {_WANTED[key]}" if key in _WANTED else ""
    return f'{name}: rule "{label}": {key}: {problem}{wanted}'


def _problems(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield the key and what is wrong with it, for everything that the types do not say."""
    if rule.rule_id in _RESERVED:
        yield "id", "the service uses this word itself; write another one"
    if rule.check is not None and rule.check not in CHECKS:
        yield "check", f'"{rule.check}" is no check; write {_WANTED["check"]}'
    if rule.search is not None and rule.search not in SEARCHES:
        yield "search", f'"{rule.search}" is no search; write {_WANTED["search"]}'
    patterns = [(name, getattr(rule, name)) for name in ("pattern", "prefilter", "trigger", "not_after", "not_named")]
    patterns.append(("pattern", pattern_of(rule)))
    patterns += [("placeholders", pattern) for pattern in rule.placeholders]
    for key, pattern in patterns:
        if pattern is not None and (problem := _problem_of(pattern)):
            yield key, problem
    for key, examples in (("hit", rule.hit), ("miss", rule.miss)):
        if not examples:
            yield key, f"is missing; write {_WANTED[key]}"


def _problem_of(pattern: str) -> str | None:
    """Return what is wrong with a pattern; None if RE2 compiles it and it needs at least one character."""
    try:
        compiled = compile_pattern(pattern)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return f"RE2 cannot compile {pattern!r}: {text}"
    return None if compiled.search("") is None else f"{pattern!r} matches the empty text"
