"""Workload tokens: the keys of their issuers, and the check of a token."""
