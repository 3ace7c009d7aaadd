"""Proofs: each injects faults and counts broken guarantees; see `scripts/prove --help`."""
