"""Corroboration: how many persons and sources report nearly the same as a proposal.

A second report of the same event is evidence. A report in other words, or of another source, is not the same event, but
it supports the claim as far as its owner and its source are others. A report of nearly the same words that says
something else (another number, a negation, an opposite) does not support it.
"""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.review.contradiction import find_contradiction


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
    content: str
    contradicts: bool = False
    """Whether it contradicts the proposal's text; then it does not count."""


class Corroboration(Struct, frozen=True, kw_only=True):
    """Distinct owners and sources of a claim, that of the proposal included, without reports that contradict it."""

    owners: int
    sources: int
    reports: list[NearReport]
    """Reports of other owners or sources, the latest first."""


def corroborate(
    content: str, owner: str, source: str, evidence: Iterable[str], reports: Iterable[NearReport]
) -> Corroboration:
    """Count who reports a claim.

    `content`, `owner` and `source` are the proposal's; `evidence` holds the owners of further submissions of the same
    event.
    """
    others = [
        replace(one, contradicts=find_contradiction(one.content, content) is not None)
        for one in reports
        if one.owner != owner or one.source != source
    ]
    agreeing = [one for one in others if not one.contradicts]
    return Corroboration(
        owners=len({owner, *evidence, *(one.owner for one in agreeing)}),
        sources=len({source, *(one.source for one in agreeing)}),
        reports=sorted(others, key=lambda one: (-one.received_at, one.id)),
    )
