"""Storage engine for several processes on several hosts: one PostgreSQL database."""
