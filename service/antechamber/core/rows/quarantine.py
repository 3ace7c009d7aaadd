"""Rows of quarantined events."""

from typing import Any

from msgspec import Struct

from antechamber.core.contract import Scope, Visibility
from antechamber.core.privacy import Finding


class QuarantineRow(Struct, frozen=True, kw_only=True):
    """One quarantined event, with the original that it conflicts with."""

    id: int
    quarantine_id: str
    kind: str
    state: str
    keyed: bool
    source_event_hash: str | None
    producer_identity: str
    idempotency_key: str | None
    submission_scope: Scope | None
    scope_id: str | None
    visibility: Visibility | None
    supersedes: str | None
    derived_from: list[str] | None
    payload: dict[str, Any] | None
    source_span: dict[str, Any] | None
    findings: list[Finding]
    owner: str
    """The producer's owner when the event was quarantined."""
    received_at: int
    proposal_id: str | None
    original_payload: dict[str, Any] | None
    original_span: dict[str, Any] | None
    original_scope: Scope | None
    original_scope_id: str | None
    original_visibility: Visibility | None
    original_supersedes: str | None
    original_derived_from: list[str] | None
    original_disposition: str
    original_received_at: int
    original_owner: str | None
    """The producer's owner when it submitted the original."""
    version: int
    """The number of decisions on it."""
    sealed_until: int | None
    """When its encrypted text expires, in microseconds since 1970 UTC; None if it has none, or no longer."""
    unsealed_at: int | None
    """When its encrypted text ended."""
    opened_as: str | None
    """The proposal that it became when a curator opened it."""
