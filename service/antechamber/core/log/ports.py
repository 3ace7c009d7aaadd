"""The interfaces of the log that the flows need: its rows, and its signer."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from antechamber.core.log.checkpoint_text import Checkpoint, VerifierKey
from antechamber.core.log.rows import DispositionRow, ExportRow, LeafRow, SignedCheckpoint
from antechamber.core.rows.submissions import SubmissionFilter


class LogRows(Protocol):
    """The log, its tree and its checkpoints."""

    def size(self) -> int:
        """Return the number of leaves."""

    def leaf_texts(self, first: int, number: int) -> list[str]:
        """Return up to `number` leaves from sequence `first` on."""

    def leaf_of(self, subject: str) -> LeafRow | None:
        """Return the last leaf about a subject, such as the id of a submission or a record."""

    def leaves_of_item(self, proposal_id: str) -> list[LeafRow]:
        """Return all leaves about a proposal, from its submissions to its memories, in order."""

    def scope_of(self, sequence: int) -> tuple[str | None, str | None]:
        """Return scope and scope id of a leaf's subject; both are None if it has none."""

    def changed_since(self, size: int) -> bool:
        """Return whether any leaf from sequence `size` on is not about an export."""

    def count_nodes(self, level: int) -> int:
        """Return how many complete nodes of a level are stored."""

    def nodes(self, level: int, first: int, number: int) -> list[bytes]:
        """Return up to `number` stored nodes of a level from index `first` on."""

    def add_nodes(self, level: int, first: int, hashes: Sequence[bytes]) -> None:
        """Store complete nodes; nodes that another process stored meanwhile are identical and skipped."""

    def verifier_keys(self) -> list[str]:
        """Return the verifier keys, the current one last."""

    def add_verifier_key(self, key: str, now: int, **abandoned: str) -> None:
        """Store the key that signs from now on, and append its leaf."""

    def checkpoint(self, size: int | None = None) -> SignedCheckpoint | None:
        """Return the last checkpoint, or the one of a size."""

    def add_checkpoint(self, signed: SignedCheckpoint) -> None:
        """Store a checkpoint unless it is stored already."""

    def add_export(self, row: ExportRow, salt: bytes) -> None:
        """Store an export, and append its leaf."""

    def exports(self, number: int) -> list[ExportRow]:
        """Return exports, newest first."""

    def dispositions(self, chosen: SubmissionFilter, first: int, end: int) -> list[DispositionRow]:
        """Return the answers whose leaves have sequences from `first` to `end` (excluded), in order."""

    def last_owner(self, producer_identity: str) -> str | None:
        """Return a producer's owner in the last recorded policy that lists it."""

    def recorded_policy(self) -> str | None:
        """Return the digest of the policy that was recorded last."""

    def note_policy(self, digest: str, policy: str, now: int) -> None:
        """Store that a policy comes into force, unless it is the one that was recorded last."""

    def note_direct_write(self, producer_identity: str, hour: int, now: int) -> None:
        """Store that a producer asked for a durable write, once an hour."""

    def erase(self, erasure_id: str, subject: str, reason_code: str, now: int) -> None:
        """Delete all text of a decided proposal or settled quarantined event, with the salts of its commitments.

        Raises EraseError if it does not exist, still waits, is a memory or was erased before.
        """


class Signer(Protocol):
    """Holds the private key, and stores the last checkpoint in a file outside the database."""

    @property
    def key(self) -> VerifierKey:
        """The verifier key that matches this signer."""

    alone: bool
    """Whether all checkpoints of the log were signed by this signer."""

    @property
    def advice_if_missing(self) -> str:
        """The message for operators if the file of the last checkpoint is missing."""

    def turn(self, *, missing: bool = False) -> AbstractContextManager[str | None]:
        """Lock the folder against signing by other processes; yield the last signed checkpoint from the file.

        Raises LogError if the file is missing and `missing` is False; BusyError if another process holds the lock.
        """

    def sign(self, checkpoint: Checkpoint) -> str:
        """Return a signed checkpoint, which is on disk before it is returned; call this only inside a turn."""

    def keep(self, note: str, origin: str) -> None:
        """Store a checkpoint as the last one, also one that another machine signed; call this only inside a turn."""

    def verify(self, public: bytes, signature: bytes, text: bytes) -> bool:
        """Return whether a signature of a text is valid."""

    def refresh(self, wanted: str | None = None) -> None:
        """Load the key again, because it was replaced; a draft that is `wanted` is put in its place first."""

    def has_draft(self, key: str) -> bool:
        """Return whether this key is a draft that is not in use yet."""

    def draft(self, *, other_log: bool = False) -> VerifierKey:
        """Create another key, of the same log or of another one; `refresh` brings it into use."""
