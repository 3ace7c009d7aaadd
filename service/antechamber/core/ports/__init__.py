"""Ports: what the flows need of a store, a clock and a source of randomness, by feature."""
