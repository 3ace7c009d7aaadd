"""Broken beginnings: tokens whose first characters, which all tokens of a service have, are divided themselves.

In `gh` and `p_…`, in two cells, variables or strings, neither piece shows that it belongs to a token. So the beginning
of each random run is compared with the ends of what tokens begin with, and the rest of that is looked for around.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from antechamber.core.privacy.forms.splits import Row
from antechamber.core.privacy.patterns.literals import fold_text
from antechamber.core.privacy.values.bounds import changes_often, longest_run_of


class Halves(NamedTuple):
    """The halves into which the beginnings of tokens may be divided, folded as the prefilter does."""

    firsts: Mapping[str, tuple[str, ...]]
    """The first halves by the second."""
    wholes: frozenset[str]
    """The beginnings themselves."""
    longest: int
    """Characters of the longest second half."""


_SHORTEST_HALF: Final = 2
"""Characters of the shortest first half; a single letter is everywhere."""
_IS_RUN: Final = bytes(97 if chr(code).isalnum() or code in b"_.-" else 32 for code in range(128)) + b" " * 128
"""Maps the characters of tokens to `a` and others to a blank."""
_LONG: Final = b"a" * 16
_MIXED: Final = re.compile("[0-9][A-Za-z]|[A-Za-z][0-9]|[a-z][A-Z]")
_HEX: Final = re.compile("(?=.*[0-9].*[0-9])[0-9a-f]{20,}")
_PIECE: Final = re.compile(r"(?<![0-9A-Za-z_-])[A-Za-z][0-9A-Za-z_.-]*")
_MORE_BEGINNINGS: Final = frozenset({"xoxa-", "xoxb-", "xoxp-", "xoxs-"})
"""Beginnings of which the prefilter knows a part only."""
_WINDOW: Final = 120
"""Characters before and behind a run in which the first half is."""
_MOST_RUNS: Final = 24
"""Runs of a text that are compared."""


@lru_cache(maxsize=4)
def halves_of(beginnings: frozenset[str]) -> Halves:
    """Return the halves into which the beginnings of tokens (folded) may be divided."""
    wholes = beginnings | _MORE_BEGINNINGS if beginnings else beginnings
    firsts: dict[str, tuple[str, ...]] = {}
    for beginning in sorted(wholes):
        for place in range(_SHORTEST_HALF, len(beginning)):
            second = beginning[place:]
            firsts[second] = (*firsts.get(second, ()), beginning[:place])
    return Halves(firsts, wholes, max(map(len, firsts), default=0))


def rows_of_broken(text: str, runs: Iterable[tuple[int, str]], halves: Halves) -> list[Row]:
    """Return rows of the two pieces of tokens whose beginnings are divided; `runs` are the random runs of a text."""
    rows: list[Row] = []
    for start, run in runs:
        head = fold_text(run[: halves.longest])
        sizes = [size for size in range(1, len(head) + 1) if head[:size] in halves.firsts]
        firsts = {first for size in sizes if _is_random(run[size:]) for first in halves.firsts[head[:size]]}
        if firsts:
            rows += [((place, first), (start, run)) for place, first in _around(text, start, start + len(run), firsts)]
    return rows


def random_runs(text: str) -> list[tuple[int, str]]:
    """Return the first long runs of letters, digits and signs of tokens that are no words, each with its offset."""
    # One byte for each character, so that offsets are the same.
    signs = text.encode("ascii", "replace").translate(_IS_RUN)
    runs: list[tuple[int, str]] = []
    place = signs.find(_LONG)
    while place >= 0 and len(runs) < _MOST_RUNS:
        end = signs.find(b" ", place) % (len(signs) + 1)
        run = text[place:end].rstrip(".")
        if _MIXED.search(run):
            runs.append((place, run))
        place = signs.find(_LONG, end)
    return runs


def _is_random(rest: str) -> bool:
    """Return whether what is behind the beginning of a token is random, and no name."""
    longest = longest_run_of(rest)
    return bool(longest) and (changes_often(longest) or _HEX.fullmatch(longest) is not None)


def _around(text: str, first: int, last: int, firsts: Container[str]) -> Iterator[tuple[int, str]]:
    """Yield the pieces around a run that are one of some first halves, each with its offset."""
    for start, end in ((max(0, first - _WINDOW), first), (last, last + _WINDOW)):
        for piece in _PIECE.finditer(text, start, end):
            if fold_text(piece[0]) in firsts:
                yield piece.start(), piece[0]
