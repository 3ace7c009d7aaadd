"""Privacy rules: which values count as private, and where an event contains them."""

from antechamber.core.privacy.rules import RULES, TITLES, Rule
from antechamber.core.privacy.scan import Finding, is_clean, scan

__all__ = ["RULES", "TITLES", "Finding", "Rule", "is_clean", "scan"]
