"""Checks and searches that rules name: check digits, formats, addresses and characters."""
