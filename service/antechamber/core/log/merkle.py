"""The Merkle tree of RFC 6962 section 2.1 (RFC 9162 section 2.1) with SHA-256: roots, proofs, and their verification.

A node is identified by level and index: it covers the 2^level leaves from index * 2^level on, and exists once all of
them do.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from antechamber.core.errors import LogError

EMPTY_ROOT: Final = hashlib.sha256().digest()
HASH_SIZE: Final = 32
BLOCK_LEVELS: Final = 8
BLOCK: Final = 2**BLOCK_LEVELS
"""Nodes of one stored block; a block's root is a node of the next stored level (c2sp.org/tlog-tiles)."""
MAX_BLOCKS: Final = 64
"""Maximum number of cached blocks; each takes about 50 kB."""


class TreeError(LogError):
    """Raised when a proof or node is requested that the tree does not have.

    Callers ask only for what a checkpoint covers, so then the log has lost a part of what was signed.
    """


class Nodes(Protocol):
    """A source of complete nodes."""

    def __call__(self, level: int, index: int) -> bytes:
        """Return the hash of one complete node."""
        ...


def leaf_hash(data: bytes) -> bytes:
    """Hash one leaf (RFC 6962 section 2.1: the prefix distinguishes a leaf from a node)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two nodes into their parent."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def up(hashes: Sequence[bytes]) -> list[bytes]:
    """Return the complete nodes one level above these."""
    return [node_hash(*pair) for pair in zip(hashes[::2], hashes[1::2], strict=False)]


class Frontier:
    """The complete subtrees of a tree, largest first, which are enough to append leaves and to compute the root.

    `size` is the number of leaves; `hashes` has one hash for each bit that is set in `size`.
    """

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = ()) -> None:
        self.size = size
        self.hashes = list(hashes)

    def append(self, leaf: bytes) -> None:
        """Append the hash of one leaf."""
        carried, bits = leaf, self.size
        while bits & 1:
            carried = node_hash(self.hashes.pop(), carried)
            bits >>= 1
        self.hashes.append(carried)
        self.size += 1

    def root(self) -> bytes:
        """Return the root of all leaves so far."""
        if not self.hashes:
            return EMPTY_ROOT
        root_hash = self.hashes[-1]
        for left in self.hashes[-2::-1]:
            root_hash = node_hash(left, root_hash)
        return root_hash


def frontier_of(size: int, nodes: Nodes) -> Frontier:
    """Return the frontier of a tree whose nodes are known."""
    hashes, start = [], 0
    for level in range(size.bit_length() - 1, -1, -1):
        if size >> level & 1:
            hashes.append(nodes(level, start >> level))
            start += 1 << level
    return Frontier(size, hashes)


def _range_root(start: int, end: int, nodes: Nodes) -> bytes:
    """Return MTH(D[start:end]), where start is a multiple of the next power of two."""
    size = end - start
    level = size.bit_length() - 1
    if size == 1 << level:
        return nodes(level, start >> level)
    middle = start + (1 << level)
    return node_hash(nodes(level, start >> level), _range_root(middle, end, nodes))


def _split(size: int) -> int:
    """Return the largest power of two that is smaller than `size`."""
    return 1 << ((size - 1).bit_length() - 1)


def inclusion_proof(sequence: int, size: int, nodes: Nodes) -> list[bytes]:
    """Return PATH(sequence, D[size]) of RFC 6962 section 2.1.1, lowest node first.

    Raises TreeError if the tree has no such leaf.
    """
    if not 0 <= sequence < size:
        message = f"a tree of {size} leaves has no leaf {sequence}"
        raise TreeError(message)
    path, start, end = [], 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if sequence < middle:
            path.append(_range_root(middle, end, nodes))
            end = middle
        else:
            path.append(_range_root(start, middle, nodes))
            start = middle
    return path[::-1]


def consistency_proof(old: int, size: int, nodes: Nodes) -> list[bytes]:
    """Return PROOF(old, D[size]) of RFC 6962 section 2.1.2; empty if both sizes are equal.

    Raises TreeError if the old tree is empty or larger than the new one.
    """
    if old == 0:
        message = "a consistency proof from size 0 would prove nothing"
        raise TreeError(message)
    if not 0 < old <= size:
        message = f"a tree of {size} leaves never had {old}"
        raise TreeError(message)
    if old == size:
        return []
    path, start, end, whole = [], 0, size, True
    while old < end:
        middle = start + _split(end - start)
        if old <= middle:
            path.append(_range_root(middle, end, nodes))
            end = middle
        else:
            path.append(_range_root(start, middle, nodes))
            start, whole = middle, False
    # The verifier knows the old root itself.
    return ([] if whole else [_range_root(start, end, nodes)]) + path[::-1]


def _lefts(at: int, last: int, length: int) -> list[bool] | None:
    """Return for each of `length` siblings on the path whether it is on the left; None for a wrong length."""
    lefts = []
    for _ in range(length):
        if last == 0:
            return None
        left = at & 1 == 1 or at == last
        while left and at and not at & 1:
            # The last node of a level without a sibling is also the last node of the next level.
            at, last = at >> 1, last >> 1
        lefts.append(left)
        at, last = at >> 1, last >> 1
    return lefts if last == 0 else None


def _are_hashes(*values: bytes) -> bool:
    """Return whether all values have the length of a hash, because equality of other values proves nothing."""
    return all(len(value) == HASH_SIZE for value in values)


def verify_inclusion(leaf: bytes, sequence: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Return whether a leaf's hash has this sequence in the tree with this root (RFC 9162 section 2.1.3.2)."""
    possible = 0 <= sequence < size and _are_hashes(leaf, root, *path)
    lefts = _lefts(sequence, size - 1, len(path)) if possible else None
    if lefts is None:
        return False
    computed = leaf
    for sibling, left in zip(path, lefts, strict=True):
        computed = node_hash(sibling, computed) if left else node_hash(computed, sibling)
    return computed == root


def verify_consistency(old: int, size: int, path: Sequence[bytes], old_root: bytes, root: bytes) -> bool:
    """Return whether the old tree is a prefix of the new one (RFC 9162 section 2.1.4.2); False if it is empty."""
    if not 0 < old <= size or not _are_hashes(old_root, root, *path):
        return False
    if old == size:
        return not path and old_root == root
    at, last = old - 1, size - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    # A complete old tree is a node of the new one, so the path omits its hash.
    known_path = list(path) if old & (old - 1) else [old_root, *path]
    rest = known_path[1:]
    lefts = _lefts(at, last, len(rest))
    if lefts is None or not known_path:
        return False
    before = after = known_path[0]
    for sibling, left in zip(rest, lefts, strict=True):
        before = node_hash(sibling, before) if left else before
        after = node_hash(sibling, after) if left else node_hash(after, sibling)
    return before == old_root and after == root


class Blocks:
    """Nodes of every level, computed from blocks of the stored levels (0, 8, 16, …), with an LRU cache of blocks.

    `load(level, block)` returns the nodes of a stored level from block * 256 on, at most 256.
    """

    def __init__(self, load: Callable[[int, int], Sequence[bytes]], max_blocks: int = MAX_BLOCKS) -> None:
        self._load = load
        self._max_blocks = max_blocks
        self._known: dict[tuple[int, int], list[list[bytes]]] = {}

    def __call__(self, level: int, index: int) -> bytes:
        """Return one complete node.

        Raises TreeError if it is not complete, or does not exist.
        """
        inside = level % BLOCK_LEVELS
        block, position = divmod(index, BLOCK >> inside)
        rows = self._rows(level - inside, block)
        try:
            return rows[inside][position]
        except IndexError:
            message = f"the tree has no complete node {index} at level {level}"
            raise TreeError(message) from None

    def _rows(self, stored: int, block: int) -> list[list[bytes]]:
        """Return a block, level by level, and mark it as the most recently used."""
        rows = self._known.pop((stored, block), None)
        if rows is None:
            rows = [list(self._load(stored, block))]
            while len(rows) < BLOCK_LEVELS:
                rows.append(up(rows[-1]))
            if len(self._known) >= self._max_blocks:
                del self._known[next(iter(self._known))]
        self._known[stored, block] = rows
        return rows
