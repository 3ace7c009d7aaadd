"""The store's interface for admissions."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from antechamber.core.admission.disposition import Candidate, SealWrite
from antechamber.core.admission.group_facts import GroupFacts
from antechamber.core.contract import Channel

ReplayKey = tuple[str, int, Channel]
"""Submission id, hour since 1970, channel."""


class AdmissionRows(Protocol):
    """What an admission reads and writes, all inside one transaction."""

    def give_up_promotion(self) -> None:
        """Give up the right to admit memories: the rest of this work admits an event, as a decision wants it."""

    def open_batch(self, candidates: Sequence[Candidate]) -> GroupFacts:
        """Return everything that the judgements of a group depend on."""

    def record(self, facts: GroupFacts) -> None:
        """Write the submissions, proposals, evidence and quarantined events of a group's entries."""

    def seal(self, entry: SealWrite) -> None:
        """Bind an unused key to a receipt without an event."""

    def known_key(self, producer_identity: str, key: str) -> tuple[str, str] | None:
        """Return the id and receipt of the submission under a key."""

    def count_replays(self, attempts: Mapping[ReplayKey, int]) -> None:
        """Add counted replays to their submissions and to the producers' hours."""
