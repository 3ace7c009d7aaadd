"""Searches for values that only a password looks like, near a word for a password or a login.

A sentence may name a password without any link to its value: "the door to the lab has a password, remember, and after
Friday it will be … then". Such a value is two words with a sign between them and a number, a word with a dollar sign
and a number, or generated. Documents have other words with signs near passwords: cells of a sheet, inner classes,
formats, powers, names of files with an ampersand. Each value costs a constant number of steps.
"""

# ruff: noqa: RUF001 -- the signs of other scripts are searched for

import re
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.privacy.automata import compile_set, search
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.passwords import is_generated, is_spoken_password
from antechamber.core.privacy.spoken_words import CUE

Search = Callable[[str, Effort], Iterator[tuple[int, int]]]

_REACH: Final = 120
"""Characters before and behind a value in which the word has to be."""
_JUDGED: Final = 4
"""Effort of one value with the kinds of characters of a password …"""
_LOOKED: Final = 8
"""… and of the look for a word near it."""
_VALUE: Final = re.compile(
    r"(?<![^\s\"'`“„«「『(\[:：,，。、])[A-Za-z0-9][A-Za-z0-9@#%^&*+~?._-]{0,30}[!$^][A-Za-z0-9!$%^&@#*+~?._-]{1,32}+"
    r"(?![\w/\\=(\[{<>|])"
)
_SIGNS: Final = "!$%^&@#*+~?._-"
_CHOSEN: Final = re.compile(
    r"[A-Z]?[a-z]{2,}(?:[A-Z][a-z]+)*"
    r"(?:[!^][A-Z][a-z]{2,}[0-9]{2,4}|![0-9]{2,4}[A-Z][a-z]+|[$][0-9]{2,4}(?:[A-Z][a-z]+)?)"
)
"""What persons choose: `Word!Word12`, `Word^Word12`, `Word!12Word`, `Word$12` or `Word$12Word`."""
_LEAST: Final = 8
_LEAST_OF_KIND: Final = 2
_WORD: Final = re.compile("[A-Za-z]{4}")
"""Letters that no generator puts in a row often; names in code have them."""
_KINDS: Final = (str.islower, str.isupper, str.isdecimal)
_PART: Final = re.compile("\0|\n[ \t]*\n")
"""What divides the members of an event, and paragraphs."""
_WORD_GROUPS: Final = (1, 3)


def find_nearby_passwords(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of values that only a password looks like, near a word for one.

    Raises EffortSpentError if a text has too many values that could be one.
    """
    known: dict[str, bool] = {}
    for match in _VALUE.finditer(text):
        value = match[0].rstrip(_SIGNS)
        if value not in known:
            known[value] = _is_unmistakable(value, effort)
        if known[value] and _has_word(text, match.start(), match.start() + len(value), effort):
            yield match.start(), match.start() + len(value)


def _is_unmistakable(value: str, effort: Effort) -> bool:
    """Return whether a value is what persons choose or programs generate as a password, and nothing else."""
    if len(value) < _LEAST or not (_CHOSEN.fullmatch(value) or _may_be_generated(value)):
        return False
    effort.spend(_JUDGED)
    return is_spoken_password(value)


def _may_be_generated(value: str) -> bool:
    """Return whether a value has some characters of each kind, in disorder and without a word; powers have no `!`."""
    return (
        ("!" in value or "$" in value)
        and all(sum(map(kind, value)) >= _LEAST_OF_KIND for kind in _KINDS)
        and _WORD.search(value) is None
        and is_generated(value)
    )


def _has_word(text: str, start: int, end: int, effort: Effort) -> bool:
    """Return whether a word for a password or a login is near, in the same member and paragraph."""
    effort.spend(_LOOKED)
    before = _PART.split(text[max(0, start - _REACH) : start])[-1]
    after = _PART.split(text[end : end + _REACH])[0]
    for part in (before, after):
        data = part.encode(errors="replace")
        place = 0
        while (cue := search(CUE, data, place, len(data))) is not None:
            if any(cue[group][0] >= 0 for group in _WORD_GROUPS):
                return True
            place = cue[0][1]
    return False


_SIGN: Final = compile_set("[0-9A-Za-z@#%^&*+~?._-][!$^][!-~]")


def may_have_password(data: bytes) -> bool:
    """Return quickly whether a text (UTF-8) may have such a value."""
    return bool(_SIGN(data))


LOOKS: Final[dict[str, Callable[[bytes], bool]]] = {"nearby-passwords": may_have_password}
SEARCHES: Final[dict[str, Search]] = {"nearby-passwords": find_nearby_passwords}
