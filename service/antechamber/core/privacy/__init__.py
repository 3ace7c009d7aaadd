"""The gate: rules for private, hostile and hidden text, and where an event contains it."""

from antechamber.core.privacy.gate import Gate
from antechamber.core.privacy.matcher import is_uuid
from antechamber.core.privacy.rule import ACTIONS, KINDS, UNVERIFIED, Action, Finding, Kind, Rule

__all__ = ["ACTIONS", "KINDS", "UNVERIFIED", "Action", "Finding", "Gate", "Kind", "Rule", "is_uuid"]
