"""The transparency log, pure: the tree, its proofs, what a leaf holds, and signed checkpoints."""
