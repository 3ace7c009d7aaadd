"""Proofs: each breaks on purpose what may break, and counts whether every promise holds; see `scripts/prove --help`."""
