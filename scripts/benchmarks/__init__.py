"""Measurements of Antechamber beside what a user can pick instead; see `scripts/bench --help`."""
