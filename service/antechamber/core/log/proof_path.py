"""The steps of an inclusion proof, for people: which hash joins the leaf's on which side, up to the root."""

from collections.abc import Sequence

from msgspec import Struct

from antechamber.core.log.merkle import node_hash


class ProofStep(Struct, frozen=True, kw_only=True):
    """One step towards the root: a hash of the proof, joined with the hash that was reached before."""

    beside: str
    """The proof's hash, in hex."""
    first: int
    """The first and the last leaf below it."""
    last: int
    left: bool
    """Whether it is the left one of the two."""
    joined: str
    """The hash of both, in hex."""


def trace_path(sequence: int, size: int, leaf: bytes, path: Sequence[bytes]) -> list[ProofStep]:
    """Return the steps from the hash of a leaf to the root of a tree of `size` leaves; `path` is its inclusion proof.

    The hash of the last step, or of the leaf if there is none, is the root.
    """
    ranges, start, end = [], 0, size
    while end - start > 1:
        # RFC 6962 section 2.1: the left part is the largest power of two below the size.
        middle = start + (1 << (end - start - 1).bit_length() - 1)
        if sequence < middle:
            ranges.append((middle, end - 1, False))
            end = middle
        else:
            ranges.append((start, middle - 1, True))
            start = middle
    steps, value = [], leaf
    for sibling, (first, last, left) in zip(path, reversed(ranges), strict=True):
        value = node_hash(sibling, value) if left else node_hash(value, sibling)
        steps.append(ProofStep(beside=sibling.hex(), first=first, last=last, left=left, joined=value.hex()))
    return steps
