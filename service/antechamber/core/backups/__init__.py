"""Backups: what an archive says about itself, and what a restored log still has to learn from a newer one."""
