"""The steps of an inclusion proof, as people see them."""

import pytest

from antechamber.core.log.merkle import Frontier, inclusion_proof, leaf_hash, up
from antechamber.core.log.proof_path import trace_path


def hashes_of(size: int) -> list[bytes]:
    """Return the hashes of this many leaves."""
    return [leaf_hash(str(number).encode()) for number in range(size)]


def node(leaves: list[bytes], level: int, index: int) -> bytes:
    """Return a complete node of the tree over the leaves."""
    hashes = leaves[index << level : (index + 1) << level]
    while len(hashes) > 1:
        hashes = up(hashes)
    return hashes[0]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 11, 64, 100])
def test_the_steps_lead_to_the_root_and_cover_every_other_leaf_once(size: int) -> None:
    """Of every leaf of every tree the last hash is the root, and the hashes of the proof cover all other leaves."""
    leaves, tree = hashes_of(size), Frontier()
    for value in leaves:
        tree.append(value)
    for sequence in range(size):
        path = inclusion_proof(sequence, size, lambda level, index: node(leaves, level, index))
        steps = trace_path(sequence, size, leaves[sequence], path)
        assert (steps[-1].joined if steps else leaves[0].hex()) == tree.root().hex()
        covered = [leaf for step in steps for leaf in range(step.first, step.last + 1)]
        assert sorted([*covered, sequence]) == list(range(size))
        assert all(step.left == (step.last < sequence) for step in steps)
