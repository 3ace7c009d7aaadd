"""Upkeep of memories: who reads them, and which come up for review."""
