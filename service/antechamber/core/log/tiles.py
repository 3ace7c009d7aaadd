"""The log as tiles (c2sp.org/tlog-tiles): paths of tiles and entry bundles, widths, and the form of a bundle.

A tile has up to 256 hashes of one stored level; tile level L is level 8 * L of the tree of `core.log.merkle`. The entry
bundle of an index has the leaves whose hashes are in the tile of that index at level 0.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from antechamber.core.errors import AntechamberError
from antechamber.core.log.merkle import BLOCK, BLOCK_LEVELS, HASH_SIZE

ENTRIES: Final = -1
"""The level of entry bundles, whose paths have the word `entries` in its place."""
MAX_LEVEL: Final = 63
MAX_ENTRY: Final = 0xFFFF
"""Bytes of the longest entry that a bundle can hold."""
MAX_BUNDLE: Final = BLOCK * (2 + MAX_ENTRY)
"""Bytes of the largest bundle."""
_PATH: Final = re.compile(r"(0|[1-9][0-9]?|entries)/((?:x[0-9]{3}/){0,6}[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


class TileError(AntechamberError):
    """Raised when a path names no tile, or bytes are no bundle of entries."""


class TilePlace(NamedTuple):
    """Which tile or bundle: its level, its number in the level, and its width, which is 256 for a full one."""

    level: int
    number: int
    width: int = BLOCK

    @property
    def is_full(self) -> bool:
        """Whether the tile can never grow."""
        return self.width == BLOCK

    @property
    def path(self) -> str:
        """The path below `tile/`."""
        groups = [f"{self.number % 1000:03}"]
        rest = self.number // 1000
        while rest:
            groups.append(f"x{rest % 1000:03}")
            rest //= 1000
        level = "entries" if self.level == ENTRIES else str(self.level)
        return f"{level}/{'/'.join(reversed(groups))}" + ("" if self.is_full else f".p/{self.width}")

    @property
    def tree_level(self) -> int:
        """The level of its hashes in the tree; 0 for a bundle."""
        return 0 if self.level == ENTRIES else self.level * BLOCK_LEVELS


def read_place(path: str) -> TilePlace:
    """Parse the path of a tile below `tile/`.

    Raises TileError if it is not exactly the path that the format gives a tile.
    """
    match = _PATH.fullmatch(path)
    if match is not None:
        index = int("".join(group.strip("x") for group in match[2].split("/")))
        level = ENTRIES if match[1] == "entries" else int(match[1])
        place = TilePlace(level, index, int(match[3]) if match[3] else BLOCK)
        if level <= MAX_LEVEL and place.path == path:
            return place
    message = "a tile's path is LEVEL/INDEX or entries/INDEX, as 0/x001/234, and ends with .p/WIDTH if it is partial"
    raise TileError(message)


def width_at(level: int, index: int, size: int) -> int:
    """Return how many hashes a tile has in a tree of `size` leaves; 0 if the tree has no such tile."""
    complete = size >> (max(level, 0) * BLOCK_LEVELS)
    return min(max(complete - index * BLOCK, 0), BLOCK)


def edge(size: int) -> list[TilePlace]:
    """Return the partial tiles of a tree of `size` leaves, lowest level first: at most one for each level."""
    places = []
    level = 0
    while complete := size >> (level * BLOCK_LEVELS):
        if width := complete % BLOCK:
            places.append(TilePlace(level, complete // BLOCK, width))
        level += 1
    return places


def write_bundle(entries: Sequence[bytes]) -> bytes:
    """Return a bundle: each entry after its length, a big-endian 16-bit number.

    Raises TileError if an entry is longer than the format allows.
    """
    if any(len(entry) > MAX_ENTRY for entry in entries):
        message = f"a leaf is longer than the {MAX_ENTRY} bytes that a bundle of entries can hold"
        raise TileError(message)
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def read_bundle(bundle: bytes, width: int) -> list[bytes]:
    """Return the entries of a bundle.

    Raises TileError if it has not exactly `width` whole entries.
    """
    entries = list(_entries(bundle))
    if len(entries) != width:
        message = f"the bundle has {len(entries)} entries, and {width} are due"
        raise TileError(message)
    return entries


def _entries(bundle: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(bundle):
        end = at + 2 + int.from_bytes(bundle[at : at + 2], "big")
        if end > len(bundle) or at + 2 > len(bundle):
            message = "the bundle is cut off inside an entry"
            raise TileError(message)
        yield bundle[at + 2 : end]
        at = end


def read_tile(tile: bytes, width: int) -> list[bytes]:
    """Return the hashes of a tile.

    Raises TileError if it has another width.
    """
    if len(tile) != width * HASH_SIZE:
        message = f"the tile has {len(tile)} bytes, and {width * HASH_SIZE} are due"
        raise TileError(message)
    return [tile[at : at + HASH_SIZE] for at in range(0, len(tile), HASH_SIZE)]
