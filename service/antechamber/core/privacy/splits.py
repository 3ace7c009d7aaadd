"""Splits: neighboring texts of an event joined, because one token may be divided among them."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from antechamber.core.privacy.document import SEPARATOR
from antechamber.core.privacy.views import Spot, View

_FIRST: Final = re.compile("[0-9A-Za-z_+=~-]{1,200}")
_SIGNS: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_+=~-")
_WHOLE: Final = re.compile("[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Digests and UUIDs, which are no halves of a token."""
_DIGIT: Final = re.compile("[0-9]")
_SHORTEST: Final = 16
"""Characters of the shortest token that is searched across texts."""
EDGE: Final = 200
"""Characters at the end of one text and at the beginning of the next in which such a token may be."""
_MOST: Final = 5
"""Number of texts among which a token may be divided."""


class Chains(View):
    """Rows of two to five neighboring texts, each row joined; the ways back lead to the original text."""

    def __init__(self, rows: Sequence[Sequence[tuple[int, str]]]) -> None:
        """Take rows of pieces, each with its offset in the original text."""
        self._starts: list[int] = []
        self._origins: list[int] = []
        place, texts = 0, []
        for row in rows:
            for origin, piece in row:
                self._starts.append(place)
                self._origins.append(origin)
                place += len(piece)
            texts.append("".join(piece for _, piece in row))
            place += len(SEPARATOR)
        super().__init__(SEPARATOR.join(texts))

    def locate(self, start: int, end: int) -> Spot:
        """Return the span of the original text; a span within one text is not split."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1
        begin = self._origins[first] + start - self._starts[first]
        stop = self._origins[last] + end - self._starts[last]
        return Spot(begin, stop, ("split",) if first != last else ())


def is_joint(left: str, right: str) -> bool:
    """Return whether a token may be divided between the end of one text and the beginning of the next."""
    first = _FIRST.match(right)
    last = _FIRST.match(left[: -EDGE - 1 : -1])
    if first is None or last is None:
        return False
    head, tail = first[0], last[0]
    token = tail + head
    return (
        len(token) >= _SHORTEST
        # Most neighbors are words, which a method of strings recognizes sooner than a pattern.
        and not token.isalpha()
        and _DIGIT.search(token) is not None
        and _WHOLE.fullmatch(tail[::-1]) is None
        and _WHOLE.fullmatch(head) is None
    )


def join_texts(texts: Sequence[str]) -> Chains | None:
    """Return the rows of neighboring texts in which a divided token may be; None if there are none.

    The texts are in their order in the event, with a separator between two of them.
    """
    joints = [
        len(left) + len(right) >= _SHORTEST and left[-1:] in _SIGNS and right[:1] in _SIGNS and is_joint(left, right)
        for left, right in pairwise(texts)
    ]
    if True not in joints:
        return None
    origins = [0]
    for text in texts:
        origins.append(origins[-1] + len(text) + len(SEPARATOR))
    rows = []
    for first, joint in enumerate(joints):
        if not joint:
            continue
        cut = max(0, len(texts[first]) - EDGE)
        row = [(origins[first] + cut, texts[first][cut:])]
        for last in range(first + 1, min(first + _MOST, len(texts))):
            if not joints[last - 1]:
                break
            rows.append([*row, (origins[last], texts[last][:EDGE])])
            if len(texts[last]) > EDGE:
                break
            row.append((origins[last], texts[last]))
    return Chains(rows)
