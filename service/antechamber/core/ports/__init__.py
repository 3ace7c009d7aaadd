"""Ports: the interfaces that the flows need from a store, a clock and a source of randomness, by feature."""
