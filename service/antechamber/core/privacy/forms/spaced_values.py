"""Values whose characters have a blank, a line break or the same sign between any two of them."""

import re
from collections.abc import Iterator
from typing import Final

from antechamber.core.privacy.automata import compile_set
from antechamber.core.privacy.edits import SIGN, Edit

_SPACES: Final = re.compile(
    rf"(?<![^\s\"'`(\[:=])(?P<spaced>{SIGN}[ \t]{{1,2}}(?:[!-~][ \t]{{1,2}}){{6,}}{SIGN})(?![^\s\"'`)\].,;])"
)
_MAY_BE_SPACED: Final = compile_set(
    rf"(?:\A|[\x00-\x20\"'`(\[:=]|[^\x00-\x7f]){SIGN}[ \t]{{1,2}}(?:[!-~][ \t]{{1,2}}){{6}}[!-~]"
)
"""What every text has in which characters are spaced; RE2 reads a text in a tenth of the time."""
_GAP: Final = r"[ \t]{0,3}[/._|\u00b7\u2022,-][ \t]{0,3}|\r?\n"
_GAPS: Final = re.compile(rf"(?<![0-9A-Za-z])[!-~](?P<gap>{_GAP})[!-~ ](?:(?P=gap)[!-~ ]){{8,}}+(?![0-9A-Za-z])")
GAPPED: Final = r"[0-9A-Za-z](?:(?:[/._-][!-~]){6}|(?: {0,2}[|\x{b7}\x{2022},/] {0,2}[!-~]){6}|(?:\r?\n[!-~ ]){6})"
"""What every text has in which the same sign is between characters, in the syntax of RE2."""
_MAY_BE_GAPPED: Final = compile_set(GAPPED)
_LEAST_LETTERS: Final = 4
"""Letters of such a value at least; numbers with signs between them are lists, dates and versions."""
_BLANKS: Final = re.compile("[ \t]+")
_BLANK: Final = re.compile("[ \t]([ \t]?)")


def find_spaced(text: str) -> Iterator[Edit]:
    """Yield rows of single characters with blanks or the same sign between them, each as it reads without these."""
    data = text.encode(errors="replace")
    gapped = list(_find_gapped(text)) if _MAY_BE_GAPPED(data) else []
    yield from gapped
    if _MAY_BE_SPACED(data):
        for match in _SPACES.finditer(text):
            # A sign with blanks around it is no character of a value.
            if not any(match.start() < edit.end and edit.start < match.end() for edit in gapped):
                yield Edit(match.start(), match.end(), _unspaced(match[0]), "spaced")


def _find_gapped(text: str) -> Iterator[Edit]:
    for match in _GAPS.finditer(text):
        joined = match[0][:: len(match["gap"]) + 1]
        if sum(map(str.isalpha, joined)) >= _LEAST_LETTERS:
            yield Edit(match.start(), match.end(), joined, "spaced")


def _unspaced(text: str) -> str:
    """Return characters without the blanks between them; two blanks divide words of letters, if others have one."""
    joined = _BLANKS.sub("", text)
    is_words = joined.isalpha() and len(text) < 3 * len(joined) - 2
    return _BLANK.sub(r"\1", text) if is_words else joined
