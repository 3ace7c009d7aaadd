"""Turned runs: tokens that are written backwards or with each letter moved by thirteen places (ROT13)."""

from collections.abc import Container, Iterable
from typing import Final

from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.patterns.literals import fold_text

_LENGTHS: Final = range(3, 12)
"""Characters of the beginnings that are looked for."""
_SMALL: Final = "abcdefghijklmnopqrstuvwxyz"
_MOVED: Final = _SMALL[13:] + _SMALL[:13]
ROT13: Final = str.maketrans(_SMALL + _SMALL.upper(), _MOVED + _MOVED.upper())


def find_turned(runs: Iterable[tuple[int, str]], beginnings: Container[str]) -> list[Edit]:
    """Return those random runs that begin, once they are turned, as tokens do (folded as the prefilter does)."""
    edits = []
    for start, run in runs:
        for turned, decoder in ((run[::-1], "reversed-token"), (run.translate(ROT13), "rot13-token")):
            head = fold_text(turned[: _LENGTHS.stop])
            if any(head[:size] in beginnings for size in _LENGTHS):
                edits.append(Edit(start, start + len(run), turned, decoder))
                break
    return edits
