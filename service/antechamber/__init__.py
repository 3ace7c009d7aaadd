"""Antechamber: the proposal-and-review service between worker agents and durable memory."""

__version__ = "0.1.0"
