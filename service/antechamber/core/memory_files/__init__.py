"""Memories in files: what an export writes, what an import reads, and what it proposes. Pure."""
