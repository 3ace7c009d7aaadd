"""The Merkle tree over stored leaves: leaves, and complete nodes of every eighth level."""

from antechamber.core.log.merkle import BLOCK, BLOCK_LEVELS, Blocks, Frontier, frontier_of, leaf_hash, up
from antechamber.core.log.ports import LogRows

Grown = dict[int, tuple[int, list[bytes]]]
"""By level: the index of the first new complete node, and all new nodes from it on."""


class Tree:
    """The Merkle tree of the log in one snapshot.

    Without `size` it covers all leaves and computes the complete nodes that are not stored yet. With `size` it covers
    the first `size` leaves, whose nodes are all stored.
    """

    def __init__(self, log: LogRows, size: int | None = None) -> None:
        self.size = log.size() if size is None else size
        stored = _Stored(log)
        self.grown = stored.grown
        # The nodes know what loads them, and that does not know the tree: hashes in a cycle of references would stay
        # until the next collection, which only containers bring about.
        self.nodes = Blocks(stored.load)
        if size is None:
            stored.grow(self.size)

    def frontier(self, size: int) -> Frontier:
        """Return the frontier of the first `size` leaves."""
        return frontier_of(size, self.nodes)

    def root(self, size: int) -> bytes:
        """Return the root of the first `size` leaves."""
        return self.frontier(size).root()


class _Stored:
    """The nodes of the stored levels, and those that are not stored yet."""

    def __init__(self, log: LogRows) -> None:
        self._log = log
        self.grown: Grown = {}

    def load(self, level: int, block: int) -> list[bytes]:
        """Return the complete nodes of a block of a stored level."""
        first = block * BLOCK
        if level == 0:
            return [leaf_hash(leaf.encode()) for leaf in self._log.leaf_texts(first, BLOCK)]
        start, fresh = self.grown.get(level, (0, []))
        stored = self._log.nodes(level, first, BLOCK)
        return stored + fresh[max(first + len(stored) - start, 0) : max(first + BLOCK - start, 0)]

    def grow(self, size: int) -> None:
        """Compute the complete nodes of each stored level from those of the level below."""
        level = BLOCK_LEVELS
        while (wanted := size >> level) > (stored := self._log.count_nodes(level)):
            self.grown[level] = (stored, [self._block_root(level, block) for block in range(stored, wanted)])
            level += BLOCK_LEVELS

    def _block_root(self, level: int, block: int) -> bytes:
        hashes = self.load(level - BLOCK_LEVELS, block)
        while len(hashes) > 1:
            hashes = up(hashes)
        return hashes[0]
