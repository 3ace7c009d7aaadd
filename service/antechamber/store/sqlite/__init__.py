"""Embedded storage engine: one SQLite file, one writer, read-only readers."""
