"""The Merkle tree: the reference roots of RFC 6962, proofs by definition, and invalid proofs that must fail."""

import hashlib
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.log.merkle import (
    BLOCK,
    EMPTY_ROOT,
    Blocks,
    Frontier,
    TreeError,
    consistency_proof,
    frontier_of,
    inclusion_proof,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)

LEAVES = [
    bytes.fromhex(text)
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
"""The reference leaves that implementations of RFC 6962 share, and the roots of the first 1 to 8."""
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


def hashes(number: int) -> list[bytes]:
    """Return the hashes of this many leaves."""
    return [leaf_hash(str(index).encode()) for index in range(number)]


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the Merkle tree hash (MTH) as defined in RFC 6962."""
    if not leaves:
        return EMPTY_ROOT
    if len(leaves) == 1:
        return leaves[0]
    middle = 1 << ((len(leaves) - 1).bit_length() - 1)
    return node_hash(root_of(leaves[:middle]), root_of(leaves[middle:]))


def nodes_of(leaves: Sequence[bytes]) -> Blocks:
    """Return the nodes of a tree, stored as the log stores them."""

    def load(level: int, block: int) -> list[bytes]:
        span = 1 << level
        first = block * BLOCK
        ends = range((first + 1) * span, min((first + BLOCK) * span, len(leaves)) + 1, span)
        return [root_of(leaves[end - span : end]) for end in ends]

    return Blocks(load)


def test_the_reference_tree_has_its_roots() -> None:
    """The root is right after each added leaf."""
    tree = Frontier()
    assert tree.root() == EMPTY_ROOT == hashlib.sha256(b"").digest()
    for leaf, root in zip(LEAVES, ROOTS, strict=True):
        tree.append(leaf_hash(leaf))
        assert tree.root().hex() == root


def test_every_proof_of_small_trees_holds_and_proves_nothing_else() -> None:
    """Every leaf of every tree of up to 40 leaves, and every pair of sizes, has a valid proof."""
    leaves = hashes(40)
    for size in range(1, len(leaves) + 1):
        nodes, root = nodes_of(leaves[:size]), root_of(leaves[:size])
        assert frontier_of(size, nodes).root() == root
        for index in range(size):
            path = inclusion_proof(index, size, nodes)
            assert len(path) <= size.bit_length()
            assert verify_inclusion(leaves[index], index, size, path, root)
            for other in {index - 1, index + 1, index ^ 2, size}:
                assert not verify_inclusion(leaves[index], other, size, path, root)
        for old in range(1, size + 1):
            path = consistency_proof(old, size, nodes)
            assert verify_consistency(old, size, path, root_of(leaves[:old]), root)


def wrong_paths(path: Sequence[bytes], old_root: bytes, root: bytes) -> Iterator[list[bytes]]:
    """Yield invalid proofs of the kinds in published test vectors."""
    for index, one in enumerate(path):
        for bit in (0, 4, 255):
            changed = bytearray(one)
            changed[bit // 8] ^= 1 << bit % 8
            yield [*path[:index], bytes(changed), *path[index + 1 :]]
    yield [*path, b""]
    yield [*path, root]
    yield [*path, old_root]
    yield [b"", *path]
    yield [root, *path]
    yield [old_root, *path]
    if path:
        yield []
        yield list(path[:-1])
        yield list(path[1:])
        yield [path[0], *path]


@given(size=st.integers(1, 300), data=st.data())
def test_nothing_but_the_proof_proves_inclusion(size: int, data: st.DataObject) -> None:
    """Changed bits, lengths, indices, sizes, roots or leaves make the proof fail."""
    leaves = hashes(size)
    index = data.draw(st.integers(0, size - 1))
    root, leaf = root_of(leaves), leaves[index]
    path = inclusion_proof(index, size, nodes_of(leaves))
    assert verify_inclusion(leaf, index, size, path, root)
    for wrong in wrong_paths(path, leaf, root):
        assert not verify_inclusion(leaf, index, size, wrong, root)
    assert not verify_inclusion(leaf_hash(b"another"), index, size, path, root)
    assert not verify_inclusion(leaf, index, size, path, hashlib.sha256(root).digest())
    assert not verify_inclusion(leaf, -1, size, path, root)
    assert not verify_inclusion(leaf, index, index, path, root)
    for other in (size * 2 + 1, index * 2, index + size):
        if other != index:
            assert not verify_inclusion(leaf, other, size, path, root)
    for sizes in (size * 4, size * 4 + 1):
        assert not verify_inclusion(leaf, index, sizes, path, root)


@given(size=st.integers(2, 300), data=st.data())
def test_nothing_but_the_proof_proves_consistency(size: int, data: st.DataObject) -> None:
    """Changed consistency proofs fail; the checkpoints bind the sizes."""
    leaves = hashes(size)
    old = data.draw(st.integers(1, size - 1))
    old_root, root = root_of(leaves[:old]), root_of(leaves)
    path = consistency_proof(old, size, nodes_of(leaves))
    assert verify_consistency(old, size, path, old_root, root)
    for wrong in wrong_paths(path, old_root, root):
        assert not verify_consistency(old, size, wrong, old_root, root)
    assert not verify_consistency(old, size, path, root, old_root)
    assert not verify_consistency(size, old, path, root, old_root)
    for bad in (b"\0" * 32, EMPTY_ROOT):
        assert not verify_consistency(old, size, path, bad, root)
        assert not verify_consistency(old, size, path, old_root, bad)
    for sizes in ((old, size * 4), (0, size), (-1, size), (size, size)):
        assert not verify_consistency(*sizes, path, old_root, root)


def test_a_tree_is_consistent_with_itself() -> None:
    """An empty proof verifies a tree against itself, and no other proof does."""
    root = bytes.fromhex(ROOTS[3])
    assert verify_consistency(4, 4, [], root, root)
    assert not verify_consistency(4, 4, [root], root, root)
    assert not verify_consistency(4, 4, [], root, EMPTY_ROOT)
    assert not verify_consistency(3, 4, [], root, root)


def test_a_consistency_proof_from_an_empty_tree_is_an_error() -> None:
    """A consistency proof from an empty tree would prove nothing about a leaf, so it is neither made nor verified."""
    root = bytes.fromhex(ROOTS[3])
    for size in (0, 4):
        with pytest.raises(TreeError, match="size 0"):
            consistency_proof(0, size, nodes_of(hashes(size)))
    for path, old_root, size, new_root in (
        ([], EMPTY_ROOT, 4, root),
        ([], EMPTY_ROOT, 0, EMPTY_ROOT),
        ([root], EMPTY_ROOT, 4, root),
        ([], root, 4, root),
        ([], b"", 0, b""),
    ):
        assert not verify_consistency(0, size, path, old_root, new_root)


@pytest.mark.parametrize("wrong", [b"", bytes(31), bytes(33), bytes(64)])
def test_a_hash_of_another_length_never_verifies(wrong: bytes) -> None:
    """A hash of another length fails as leaf, root, both or path element; equal values prove nothing."""
    leaf = leaf_hash(b"leaf")
    node = node_hash(leaf, wrong)
    assert not verify_inclusion(wrong, 0, 1, [], wrong)
    assert not verify_inclusion(leaf, 0, 1, [], wrong)
    assert not verify_inclusion(wrong, 0, 1, [], leaf)
    assert not verify_inclusion(leaf, 0, 2, [wrong], node)
    assert not verify_inclusion(wrong, 1, 2, [leaf], node)
    assert not verify_consistency(1, 1, [], wrong, wrong)
    assert not verify_consistency(1, 2, [wrong], leaf, node)
    assert not verify_consistency(1, 2, [leaf], wrong, node_hash(wrong, leaf))
    assert not verify_consistency(2, 2, [], wrong, wrong)


@pytest.mark.parametrize("size", [255, 256, 257, 511, 513, 65_536 + 300])
def test_proofs_reach_over_stored_blocks(size: int) -> None:
    """Proofs span stored blocks of 256 nodes; a block's root is a node of the next stored level."""
    leaves = [index.to_bytes(32) for index in range(size)]
    levels = [leaves]
    while len(levels[-1]) >= BLOCK:
        below = levels[-1]
        levels.append([root_of(below[at : at + BLOCK]) for at in range(0, len(below) - BLOCK + 1, BLOCK)])

    def load(level: int, block: int) -> list[bytes]:
        return levels[level // 8][block * BLOCK : (block + 1) * BLOCK]

    nodes = Blocks(load)
    tree = Frontier()
    for leaf in leaves:
        tree.append(leaf)
    assert frontier_of(size, nodes).hashes == tree.hashes
    root = tree.root()
    for index in {0, 1, 254, size // 2, size - 1}:
        assert verify_inclusion(leaves[index], index, size, inclusion_proof(index, size, nodes), root)
    for old in {1, 254, size // 2, size - 1}:
        early = frontier_of(old, nodes).root()
        assert verify_consistency(old, size, consistency_proof(old, size, nodes), early, root)


def test_what_a_tree_does_not_have_is_refused() -> None:
    """A leaf past the end, a larger tree or an incomplete node raises an error."""
    nodes = nodes_of(hashes(5))
    for index in (-1, 5):
        with pytest.raises(TreeError, match="has no leaf"):
            inclusion_proof(index, 5, nodes)
    for old in (6, -1):
        with pytest.raises(TreeError, match=f"never had {old}"):
            consistency_proof(old, 5, nodes)
    with pytest.raises(TreeError, match="no complete node 1 at level 2"):
        nodes(2, 1)


def test_only_the_blocks_used_last_are_kept() -> None:
    """The cache keeps only recently used blocks and loads dropped ones again, however large the tree."""
    leaves = hashes(4 * BLOCK)
    loaded: list[int] = []

    def load(level: int, block: int) -> Sequence[bytes]:
        assert level == 0
        loaded.append(block)
        return leaves[block * BLOCK : (block + 1) * BLOCK]

    nodes = Blocks(load, max_blocks=2)
    for block in (0, 1, 0, 2, 0, 1):
        assert nodes(0, block * BLOCK + 7) == leaves[block * BLOCK + 7]
    assert loaded == [0, 1, 2, 1]
    assert len(nodes._known) == 2
