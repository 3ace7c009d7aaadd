"""The log for auditors: published checkpoints, and proofs based on them."""

from msgspec import Struct

from antechamber.core.counted import counted
from antechamber.core.errors import NotFoundError
from antechamber.core.log.checkpoint_text import Proof, write_proof
from antechamber.core.log.merkle import consistency_proof, inclusion_proof, leaf_hash
from antechamber.core.log.proof_path import ProofStep, trace_path
from antechamber.core.log.rows import LeafRow, SignedCheckpoint
from antechamber.core.log.tree import Tree
from antechamber.core.ports.store import Store
from antechamber.flows.checkpoint_signing import Checkpoints


class Included(Struct, frozen=True, kw_only=True):
    """The proof that the log includes a leaf, as text that can be verified without this service."""

    sequence: int
    leaf: str
    proof: str
    """C2SP tlog-proof."""


class LeafProof(Struct, frozen=True, kw_only=True):
    """A leaf with the steps of its proof, for people."""

    sequence: int
    leaf: str
    leaf_hash: str
    """In hex, as the root."""
    steps: list[ProofStep]
    root: str
    signed: SignedCheckpoint


class LogStatus(Struct, frozen=True, kw_only=True):
    """The size of the log and its last checkpoint."""

    size: int
    signed: SignedCheckpoint | None
    alarm: str | None
    """Why the log is not signed any more; None while it is."""


class Consistent(Struct, frozen=True, kw_only=True):
    """The proof that an earlier tree is a prefix of the signed one."""

    size: int
    path: list[bytes]
    checkpoint: SignedCheckpoint


class LogProofs:
    """Forms proofs over a store's log, based on the checkpoints that `checkpoints` signs."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints

    def published_checkpoint(self, size: int | None = None) -> SignedCheckpoint:
        """Return the last checkpoint, or the one of a size.

        Raises NotFoundError if there is none.
        """
        with self._store.read() as tx:
            checkpoint = tx.log.checkpoint(size)
        if checkpoint is None:
            message = "There is no checkpoint of that size."
            raise NotFoundError(message)
        return checkpoint

    def status(self) -> LogStatus:
        """Return the size of the log, its last checkpoint and its alarm."""
        with self._store.read() as tx:
            return LogStatus(size=tx.log.size(), signed=tx.log.checkpoint(), alarm=self._checkpoints.alarm)

    def verifier_keys(self) -> list[str]:
        """Return the verifier keys, the current one first."""
        with self._store.read() as tx:
            return tx.log.verifier_keys()[::-1]

    def prove_inclusion(self, sequence: int) -> Included:
        """Prove that the last signed log includes a leaf.

        Raises NotFoundError if there is no such leaf, LogError, BusyError or UnavailableError.
        """
        last = self._checkpoints.cover(sequence)
        with self._store.read() as tx:
            leaves = tx.log.leaf_texts(sequence, 1) if 0 <= sequence < last.size else []
            if not leaves:
                message = f"The log has no leaf {sequence}."
                raise NotFoundError(message)
            path = inclusion_proof(sequence, last.size, Tree(tx.log, last.size).nodes)
        return Included(sequence=sequence, leaf=leaves[0], proof=write_proof(Proof(sequence, path, last.note)))

    def explain_inclusion(self, sequence: int) -> LeafProof:
        """Return the steps that prove that the last published checkpoint covers a leaf; signs nothing.

        Raises NotFoundError if there is no such leaf, or if no checkpoint covers it yet.
        """
        with self._store.read() as tx:
            signed = tx.log.checkpoint()
            leaves = tx.log.leaf_texts(sequence, 1) if signed is not None and 0 <= sequence < signed.size else []
            if signed is None or not leaves:
                message = f"No checkpoint covers a leaf {sequence}."
                raise NotFoundError(message)
            path = inclusion_proof(sequence, signed.size, Tree(tx.log, signed.size).nodes)
        value = leaf_hash(leaves[0].encode())
        steps = trace_path(sequence, signed.size, value, path)
        return LeafProof(
            sequence=sequence,
            leaf=leaves[0],
            leaf_hash=value.hex(),
            steps=steps,
            root=steps[-1].joined if steps else value.hex(),
            signed=signed,
        )

    def sequence_of(self, subject: str) -> LeafRow:
        """Return the last leaf about a subject.

        Raises NotFoundError if there is none.
        """
        with self._store.read() as tx:
            leaf = tx.log.leaf_of(subject)
        if leaf is None:
            message = "The log has no leaf about that."
            raise NotFoundError(message)
        return leaf

    def scope_of(self, sequence: int) -> tuple[str, str]:
        """Return the scope and scope id of a leaf's subject; both are empty if it has none."""
        with self._store.read() as tx:
            scope, scope_id = tx.log.scope_of(sequence)
        return scope or "", scope_id or ""

    def prove_consistency(self, old: int) -> Consistent:
        """Prove that the log of an earlier size is a prefix of the last signed one.

        Raises NotFoundError if the log never had that size, LogError, BusyError or UnavailableError.
        """
        last = self._checkpoints.checkpoint()
        if not 0 < old <= last.size:
            message = f"The signed log has {counted(last.size, 'leaf', 'leaves')}; ask for a size from 1 up to that."
            raise NotFoundError(message)
        with self._store.read() as tx:
            path = consistency_proof(old, last.size, Tree(tx.log, last.size).nodes)
        return Consistent(size=old, path=path, checkpoint=last)

    def item(self, proposal_id: str) -> list[LeafRow]:
        """Return all leaves about a proposal, in order of their sequence."""
        with self._store.read() as tx:
            return tx.log.leaves_of_item(proposal_id)
