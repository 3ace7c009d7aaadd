"""What the patterns of the shipped rules need, stored: to read a pattern takes far longer than to look its needs up.

`scripts/store_needs` writes the file. A pattern that is not in it, such as one of a deployment's own rules, is read.
"""

from functools import lru_cache
from importlib.resources import files
from typing import Final

import msgspec
from blake3 import blake3

from antechamber.core.conversion import parse_json
from antechamber.core.privacy.patterns.literals import Needs, Words, needs_of
from antechamber.core.privacy.search.shapes import shapes_needed

FILE: Final = "stored_needs.json"


class StoredNeeds(msgspec.Struct, frozen=True):
    """The needs and shapes of patterns, by the keys of the patterns."""

    needs: dict[str, Needs]
    shapes: dict[str, Words | None]


def key_of(pattern: str, *, bounded: bool = False) -> str:
    """Return the key of a pattern."""
    return blake3(f"{bounded:d}{pattern}".encode()).hexdigest(length=16)


@lru_cache(maxsize=1)
def shipped_needs() -> StoredNeeds:
    """Return the needs that are part of this package."""
    return parse_json(files(__package__).joinpath(FILE).read_bytes(), StoredNeeds)


@lru_cache(maxsize=4096)
def look_up_needs(pattern: str) -> Needs:
    """Return what every match of a pattern in the syntax of RE2 contains; see `literals.needs_of`."""
    return shipped_needs().needs.get(key_of(pattern)) or needs_of(pattern)


@lru_cache(maxsize=4096)
def look_up_shapes(pattern: str, *, bounded: bool) -> Words | None:
    """Return shapes of which every text with a match has one; see `shapes.shapes_needed`."""
    shapes, key = shipped_needs().shapes, key_of(pattern, bounded=bounded)
    return shapes[key] if key in shapes else shapes_needed(pattern, bounded=bounded)
