"""Corroboration: how many persons and sources report nearly the same as a proposal.

A second report of the same event is evidence. A report in other words, or of another source, is not the same event, but
it supports the claim as far as its owner and its source are others.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct


class NearReport(Struct, frozen=True, kw_only=True):
    """A waiting proposal or a memory with nearly the same text as a proposal."""

    kind: Literal["proposal", "memory"]
    id: str
    """Its proposal id or memory id."""
    producer_identity: str
    owner: str
    """Who owned the producer when the event was submitted."""
    source: str
    """URI of its source."""
    received_at: int


class Corroboration(Struct, frozen=True, kw_only=True):
    """Distinct owners and sources of a claim, that of the proposal included."""

    owners: int
    sources: int
    reports: list[NearReport]
    """Reports of other owners or sources, the latest first."""


def corroborate(owner: str, source: str, evidence: Iterable[str], reports: Iterable[NearReport]) -> Corroboration:
    """Count who reports a claim.

    `owner` and `source` are the proposal's; `evidence` holds the owners of further submissions of the same event.
    """
    others = [one for one in reports if one.owner != owner or one.source != source]
    return Corroboration(
        owners=len({owner, *evidence, *(one.owner for one in others)}),
        sources=len({source, *(one.source for one in others)}),
        reports=sorted(others, key=lambda one: (-one.received_at, one.id)),
    )
