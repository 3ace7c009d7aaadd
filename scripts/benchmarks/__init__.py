"""Benchmarks of Antechamber and its alternatives; see `scripts/bench --help`."""
