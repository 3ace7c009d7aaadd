"""Broken beginnings: tokens whose first characters, which all tokens of a service have, are divided themselves.

In `gh` and `p_…`, in two cells, variables or strings, neither piece shows that it belongs to a token. So the beginning
of each random run is compared with the ends of what tokens begin with, and the rest of that is looked for around.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from antechamber.core.privacy.literals import fold_text
from antechamber.core.privacy.splits import Row
from antechamber.core.privacy.values import changes_often, longest_run_of

Halves = Mapping[str, frozenset[str]]
"""The first halves of beginnings, by the second; both are folded as the prefilter does."""
_SHORTEST_HALF: Final = 2
"""Characters of the shortest first half; a single letter is everywhere."""
_RUN: Final = re.compile(r"(?<![0-9A-Za-z_+-])[.-]?[0-9A-Za-z_][0-9A-Za-z_+/.-]{15,}")
_MIXED: Final = re.compile("[0-9][A-Za-z]|[A-Za-z][0-9]|[a-z][A-Z]")
_HEX: Final = re.compile("(?=.*[0-9].*[0-9])[0-9a-f]{20,}")
_PIECE: Final = re.compile(r"(?<![0-9A-Za-z_-])[A-Za-z][0-9A-Za-z_.-]*")
_MORE_BEGINNINGS: Final = ("xoxa-", "xoxb-", "xoxp-", "xoxs-")
"""Beginnings of which the prefilter knows a part only."""
_WINDOW: Final = 120
"""Characters before and behind a run in which the first half is."""
_MOST_RUNS: Final = 24
"""Runs of a text that are compared."""


def halves_of(beginnings: Iterable[str]) -> Halves:
    """Return the halves into which the beginnings of tokens (folded) may be divided."""
    halves: dict[str, set[str]] = {}
    for beginning in {*beginnings, *_MORE_BEGINNINGS}:
        for place in range(_SHORTEST_HALF, len(beginning)):
            halves.setdefault(beginning[place:], set()).add(beginning[:place])
    return {second: frozenset(firsts) for second, firsts in halves.items()}


def rows_of_broken(text: str, halves: Halves) -> list[Row]:
    """Return rows of the two pieces of tokens whose beginnings are divided."""
    longest = max(map(len, halves), default=0)
    rows: list[Row] = []
    runs = [match for match in _RUN.finditer(text) if _MIXED.search(match[0])][:_MOST_RUNS]
    for run in runs:
        head = fold_text(run[0][:longest])
        sizes = [size for size in range(1, len(head) + 1) if head[:size] in halves]
        firsts = frozenset[str]().union(*(halves[head[:size]] for size in sizes if _is_random(run[0][size:])))
        if firsts:
            rows += [((place, first), (run.start(), run[0])) for place, first in _around(text, run, firsts)]
    return rows


def _is_random(rest: str) -> bool:
    """Return whether what is behind the beginning of a token is random, and no name."""
    longest = longest_run_of(rest)
    return bool(longest) and (changes_often(longest) or _HEX.fullmatch(longest) is not None)


def _around(text: str, run: re.Match[str], firsts: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield the pieces around a run that are one of some first halves, each with its offset."""
    for start, end in ((max(0, run.start() - _WINDOW), run.start()), (run.end(), run.end() + _WINDOW)):
        for piece in _PIECE.finditer(text, start, end):
            if fold_text(piece[0]) in firsts:
                yield piece.start(), piece[0]
