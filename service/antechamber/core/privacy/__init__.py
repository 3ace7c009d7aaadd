"""The gate: rules for private, hostile and hidden text, and where an event contains it."""

from antechamber.core.privacy.checks.key_formats import password_in
from antechamber.core.privacy.forms.texts import is_uuid
from antechamber.core.privacy.gate import Gate, compile_gate
from antechamber.core.privacy.rule import ACTIONS, KINDS, UNVERIFIED, Action, Finding, Kind, Rule

__all__ = [
    "ACTIONS",
    "KINDS",
    "UNVERIFIED",
    "Action",
    "Finding",
    "Gate",
    "Kind",
    "Rule",
    "compile_gate",
    "is_uuid",
    "password_in",
]
