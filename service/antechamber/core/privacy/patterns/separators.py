"""Separators: a pattern of digits and letters that also matches where people group the characters of a number.

Issuers print a number in groups, people group it otherwise, and programs leave the signs out. The check digits decide,
so that the pattern may accept each way of writing it.
"""

import re
from typing import Final

from antechamber.core.privacy.rule import Rule

_PART: Final = re.compile(
    r"(?P<group>\(\?:|[()|])|(?P<atom>\[(?:\\.|[^\]\\])+\]|\\?.)(?P<count>\{[0-9]+(?:,[0-9]+)?\}|\?)?", re.DOTALL
)
_SEPARATOR: Final = re.compile(r"\[[ ./-]+\]|[ ./-]|\\[./-]")
_ANY: Final = "[ ./-]?"
_SIGNS: Final = (" ?", "-?", r"\.?")
"""What may be between any two characters; a number has the same sign everywhere."""


def accept_separators(pattern: str) -> str:
    """Return a pattern that matches what `pattern` does, and the same with other separators or more of them.

    `pattern` is a sequence of characters and classes, each once, optional or a number of times, and of groups without
    names. Its own separators become optional and may be any sign; between other characters, all are blanks, hyphens or
    dots. Letters in a row, such as the code of a country, stay together.
    """
    return "|".join(dict.fromkeys((pattern, *(_separate(pattern, sign) for sign in _SIGNS))))


def pattern_of(rule: Rule) -> str:
    """Return the pattern of a rule, with the separators that it accepts."""
    return accept_separators(rule.pattern) if rule.separators else rule.pattern


def _separate(pattern: str, separator: str) -> str:
    parts: list[str] = []
    last = ""
    for part in _PART.finditer(pattern):
        atom, count = part["atom"], part["count"] or ""
        if atom is None:
            parts.append(part[0])
        elif _SEPARATOR.fullmatch(atom):
            parts.append(_ANY)
            atom = None
        else:
            if last and not (last.isalpha() and atom.isalpha()):
                parts.append(separator)
            parts.append(_repeat(atom, count, separator))
        last = atom or ""
    return "".join(parts)


def _repeat(atom: str, count: str, separator: str) -> str:
    """Return an atom with its repetitions, between which separators may be."""
    if not count.startswith("{"):
        return atom + count
    least, _, most = count[1:-1].partition(",")
    again = f"{int(least) - 1},{int(most) - 1}" if most else f"{int(least) - 1}"
    return f"{atom}(?:{separator}{atom}){{{again}}}"
