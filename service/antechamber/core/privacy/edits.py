"""Edits: what decoders replace in a text."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

MOST_EDITS: Final = 5_000
"""Edits of one view."""
SIGN: Final = "[0-9A-Za-z_+/=.~-]"
"""A sign of tokens."""
LOOSE: Final = frozenset({"listed", "markup", "reversed-token", "rot13-token", "split", "wrapped"})
"""Decoders that join words by chance, or make words of others."""


class Edit(NamedTuple):
    """A part of a text, from `start` up to `end`, that a decoder replaces."""

    start: int
    end: int
    text: str
    decoder: str


def without_overlaps(edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield edits in the order of their offsets; of two that share a character, the one that begins first."""
    place = 0
    for edit in sorted(edits):
        if edit.start >= place:
            yield edit
            place = edit.end
