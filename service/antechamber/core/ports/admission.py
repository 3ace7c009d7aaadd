"""What admission needs of a store."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from antechamber.core.admission.batch import AdmissionBatch
from antechamber.core.admission.disposition import AssignedIds, Candidate
from antechamber.core.contract import Channel

ReplayKey = tuple[str, int, Channel]
"""Id of a submission, hour since 1970, channel."""


class AdmissionRows(Protocol):
    """What an admission looks up and writes, all inside one transaction."""

    def open_batch(self, candidates: Sequence[Candidate]) -> AdmissionBatch:
        """Return all that decides the judgements of a group."""

    def record(self, book: AdmissionBatch) -> None:
        """Write the submissions, proposals, evidence and quarantine that a group's entries ask for."""

    def seal(
        self, producer_identity: str, key: str, named: AssignedIds, receipt: bytes, policy_digest: str, now: int
    ) -> None:
        """Bind a free key to a receipt without event."""

    def known_key(self, producer_identity: str, key: str) -> tuple[str, str] | None:
        """Return id and receipt of the submission under a key."""

    def count_replays(self, attempts: Mapping[ReplayKey, int]) -> None:
        """Add counted replays to their submissions and to the producers' hours."""
