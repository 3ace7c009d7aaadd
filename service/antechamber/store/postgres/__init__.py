"""The shared engine: one PostgreSQL, several processes on several hosts."""
