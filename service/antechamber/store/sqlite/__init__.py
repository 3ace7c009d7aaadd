"""The embedded engine: one file, one writer, read-only readers."""
