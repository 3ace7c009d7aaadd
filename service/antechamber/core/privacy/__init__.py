"""The room for private data: what counts as private, and where in an event it stands."""

from antechamber.core.privacy.rules import RULES, TITLES, Rule
from antechamber.core.privacy.scan import Finding, is_clean, scan

__all__ = ["RULES", "TITLES", "Finding", "Rule", "is_clean", "scan"]
