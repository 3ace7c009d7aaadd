"""Text similarity: how similar two texts are, and where they differ, word by word."""

import re
from collections.abc import Sequence
from typing import Final

from rapidfuzz import fuzz, process

NEARLY_SAME: Final = 92.0
"""Similarity (0 to 100, Indel similarity of the characters) from which two texts count as near duplicates."""


AKIN: Final = 55.0
"""Similarity from which a text is shown beside another."""


_MAX_COMPARED: Final = 4000
"""Maximum number of characters that are compared; more would take long and change little."""


_AT_ONCE: Final = 16
"""Texts that are compared in one call, which holds the GIL, so that other threads wait for its end."""


_GAPS: Final = re.compile(r"\s+")


def plain(text: str) -> str:
    """Return the part of a text that is compared: its beginning, with case folded and white space collapsed."""
    return _GAPS.sub(" ", text[:_MAX_COMPARED]).strip().casefold()


def most_alike(text: str, others: Sequence[str], least: float, limit: int) -> list[tuple[int, float]]:
    """Return index and similarity of the others that are at least `least` similar to a text, the most similar first."""
    wanted = plain(text)
    matches = [
        (first + position, score)
        for first in range(0, len(others), _AT_ONCE)
        for _, score, position in process.extract(
            wanted,
            [plain(other) for other in others[first : first + _AT_ONCE]],
            scorer=fuzz.ratio,
            score_cutoff=least,
            limit=limit,
        )
    ]
    return sorted(matches, key=lambda match: (-match[1], match[0]))[:limit]


class FoldFinder:
    """Texts, newest first, in which near duplicates of other texts are found quickly."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [plain(text) for text in texts]

    def find(self, text: str, least: float) -> int | None:
        """Return the index of the most similar text, if its similarity is at least `least`."""
        wanted, best = plain(text), None
        for first in range(0, len(self._texts), _AT_ONCE):
            some = self._texts[first : first + _AT_ONCE]
            match = process.extractOne(wanted, some, scorer=fuzz.ratio, score_cutoff=least)
            if match is not None and (best is None or match[1] > best[1]):
                best = (first + match[2], match[1])
        return best[0] if best else None

    def add(self, text: str) -> int:
        """Add one text and return its index."""
        self._texts.append(plain(text))
        return len(self._texts) - 1
