"""Patterns of rules: what each match needs, and how a pattern is widened to separators and context words."""
