"""What proofs and benchmarks share, and what runs behind the other commands of this folder."""
