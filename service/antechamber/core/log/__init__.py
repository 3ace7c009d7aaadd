"""Pure rules of the transparency log: the Merkle tree, its proofs, its leaves and signed checkpoints."""
