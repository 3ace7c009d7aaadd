"""The ports of the log: what flows ask of its rows, and of whoever signs."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from antechamber.core.log.checkpoint import Checkpoint, VerifierKey
from antechamber.core.log.rows import DispositionRow, ExportRow, LeafRow, SignedCheckpoint
from antechamber.core.rows.submissions import SubmissionFilter


class LogRows(Protocol):
    """The log, its tree and its checkpoints."""

    def log_size(self) -> int:
        """Return how many leaves there are."""

    def leaf_texts(self, first: int, number: int) -> list[str]:
        """Return so many leaves from a place on, or as many as there are."""

    def leaf_of(self, subject: str) -> LeafRow | None:
        """Return the last leaf about a submission, a record or whatever else has an id of its own."""

    def leaves_of_item(self, proposal_id: str) -> list[LeafRow]:
        """Return all leaves about a proposal, from its submissions to its memories, in order."""

    def scope_of(self, sequence: int) -> tuple[str | None, str | None]:
        """Return scope and id of what a leaf is about; nothing where it has none."""

    def changed_since(self, size: int) -> bool:
        """Tell whether the log has leaves from a place on that are not of exports."""

    def count_nodes(self, level: int) -> int:
        """Return how many complete nodes of a level are stored."""

    def nodes(self, level: int, first: int, number: int) -> list[bytes]:
        """Return so many stored nodes from one on, or as many as there are."""

    def add_nodes(self, level: int, first: int, hashes: Sequence[bytes]) -> None:
        """Store complete nodes; those that another process stored meanwhile are the same."""

    def log_keys(self) -> list[str]:
        """Return the verifier keys, the one in use last."""

    def add_log_key(self, key: str, now: int, **abandoned: str) -> None:
        """Begin to use a key, and log it."""

    def checkpoint(self, size: int | None = None) -> SignedCheckpoint | None:
        """Return the last checkpoint, or that of a size."""

    def add_checkpoint(self, signed: SignedCheckpoint) -> None:
        """Keep a checkpoint unless it is there."""

    def add_export(self, row: ExportRow, salt: bytes) -> None:
        """Record an export, and log it."""

    def exports(self, number: int) -> list[ExportRow]:
        """Return exports, the latest first."""

    def logged_dispositions(self, chosen: SubmissionFilter, first: int, end: int) -> list[DispositionRow]:
        """Return the answers whose leaves stand from a place on and before another, in their order."""

    def last_owner(self, producer_identity: str) -> str | None:
        """Return who answered for a producer by the last recorded policy that lists it."""

    def recorded_policy(self) -> str | None:
        """Return the digest of the policy that was recorded last."""

    def note_policy(self, digest: str, policy: str, now: int) -> None:
        """Record that a policy comes into force, unless it is the one that was recorded last."""

    def note_direct_write(self, producer_identity: str, hour: int, now: int) -> None:
        """Record that a producer asked for a durable write, once an hour."""

    def erase(self, erasure_id: str, subject: str, reason_code: str, now: int) -> None:
        """Take all text of a decided proposal or settled refused event away, with the salts of its commitments.

        Raises EraseError where there is no such thing, it still waits, is a memory or was erased before.
        """


class Signer(Protocol):
    """Whoever holds the private key, and remembers what was signed in a file outside the database."""

    @property
    def key(self) -> VerifierKey:
        """By which its signatures are recognized."""

    alone: bool
    """Whether all checkpoints of the log were signed here."""

    @property
    def missed(self) -> str:
        """What to do where the last checkpoint is not where it was kept."""

    def turn(self, *, missing: bool = False) -> AbstractContextManager[str | None]:
        """Keep other processes of the same folder from signing; yield the last checkpoint, signed, from the file.

        Raises LogError where it is not where it was kept, and not said to be `missing`; BusyError.
        """

    def sign(self, checkpoint: Checkpoint) -> str:
        """Sign a checkpoint, which is on disk before anybody sees it; only inside a turn."""

    def keep(self, note: str, origin: str) -> None:
        """Keep a checkpoint as the last one, also one that another machine signed; only inside a turn."""

    def verify(self, public: bytes, signature: bytes, text: bytes) -> bool:
        """Say whether a signature of a text is right."""

    def refresh(self, wanted: str | None = None) -> None:
        """Read the key again: somebody put another one in its place, or was about to."""

    def drafted(self, key: str) -> bool:
        """Tell whether this key was made and waits to be used."""

    def draft(self, *, other_log: bool = False) -> VerifierKey:
        """Make another key, of the same log or of another one, which `refresh` brings into use."""
