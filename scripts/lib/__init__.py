"""Code shared by proofs and benchmarks, and the programs behind the other commands of this folder."""
