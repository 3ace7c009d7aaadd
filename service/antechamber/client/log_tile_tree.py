"""The tree of one checkpoint over tiles that are read when they are needed, each verified from the root down."""

from pathlib import Path
from typing import Final, Protocol

from antechamber.core.errors import AntechamberError
from antechamber.core.log.checkpoint_text import Checkpoint
from antechamber.core.log.merkle import BLOCK, BLOCK_LEVELS, HASH_SIZE, Blocks, frontier_of, up
from antechamber.core.log.tiles import TileError, TilePlace, edge, read_tile, width_at

_CACHED: Final = 64
"""Full tiles that are kept in memory, each of 8 kB."""


class WrongTileError(AntechamberError):
    """Raised when a tile is not part of the tree that was signed; `files` has what came, by path."""

    def __init__(self, text: str, files: dict[str, bytes]) -> None:
        super().__init__(text)
        self.files = files


class ReadsTiles(Protocol):
    """Reads tiles of a log."""

    def tile(self, place: TilePlace) -> bytes | None:
        """Return a tile, or None."""


class TileTree:
    """The tree of a checkpoint; every tile that it returns is part of it.

    `folder` holds tiles of the same log, which are verified again and used if they match.
    """

    def __init__(self, checkpoint: Checkpoint, reader: ReadsTiles, folder: Path) -> None:
        """Read the partial tiles and compare them with the root.

        Raises WrongTileError, or what the reader raises.
        """
        self.size = checkpoint.size
        self._reader = reader
        self._folder = folder
        self._full: dict[tuple[int, int], bytes] = {}
        self.edges: dict[TilePlace, bytes] = {place: self._fetch(place) for place in edge(checkpoint.size)}
        """The partial tiles."""
        if self.root(self.size) != checkpoint.root:
            text = f"The partial tiles of {self.size} leaves do not add up to the root of the checkpoint"
            raise WrongTileError(text, {f"tile/{place.path}": data for place, data in self.edges.items()})

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` leaves."""
        return frontier_of(size, Blocks(self._load)).root()

    def _load(self, level: int, block: int) -> list[bytes]:
        data = self.tile(level // BLOCK_LEVELS, block)
        return read_tile(data, len(data) // HASH_SIZE)

    def tile(self, level: int, index: int) -> bytes:
        """Return a tile of the tree, full or partial.

        Raises WrongTileError, or what the reader raises.
        """
        width = width_at(level, index, self.size)
        if width < BLOCK:
            return self.edges[TilePlace(level, index, width)]
        if (level, index) not in self._full:
            found = self._verified(TilePlace(level, index))
            while len(self._full) >= _CACHED:
                del self._full[next(iter(self._full))]
            self._full[level, index] = found
        return self._full[level, index]

    def _verified(self, place: TilePlace) -> bytes:
        """Return a full tile, from the folder if that has it; the tile above it has the root of its hashes."""
        above = self.tile(place.level + 1, place.number // BLOCK)
        at = place.number % BLOCK * HASH_SIZE
        expected = above[at : at + HASH_SIZE]
        path = self._folder / place.path
        kept = path.read_bytes() if path.exists() else b""
        if len(kept) == BLOCK * HASH_SIZE and _tile_root(kept) == expected:
            return kept
        data = self._fetch(place)
        if _tile_root(data) != expected:
            text = f"tile/{place.path} is not the one that the log signed"
            raise WrongTileError(text, {f"tile/{place.path}": data})
        return data

    def _fetch(self, place: TilePlace) -> bytes:
        """Read a tile from the log; a partial one may be the beginning of a full one."""
        data = self._reader.tile(place)
        if data is None and not place.is_full:
            full = self._reader.tile(place._replace(width=BLOCK))
            data = None if full is None else full[: place.width * HASH_SIZE]
        if data is None:
            text = f"The log does not serve tile/{place.path}, which its checkpoint covers"
            raise WrongTileError(text, {})
        try:
            read_tile(data, place.width)
        except TileError as error:
            text = f"tile/{place.path} is no tile: {error}"
            raise WrongTileError(text, {f"tile/{place.path}": data}) from None
        return data


def _tile_root(tile: bytes) -> bytes:
    hashes = read_tile(tile, BLOCK)
    while len(hashes) > 1:
        hashes = up(hashes)
    return hashes[0]
