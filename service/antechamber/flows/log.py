"""The log's public side: checkpoints that never contradict each other, proofs, and a pin where somebody wants one."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from antechamber.core.errors import AntechamberError, LogError, NotFoundError
from antechamber.core.log.checkpoint import (
    Checkpoint,
    NoteError,
    Proof,
    VerifierKey,
    read_checkpoint,
    read_key,
    read_text,
    write_proof,
)
from antechamber.core.log.merkle import consistency_proof, inclusion_proof
from antechamber.core.log.ports import Signer
from antechamber.core.log.rows import LeafRow, SignedCheckpoint
from antechamber.core.log.tree import Tree
from antechamber.core.ports import Clock, Rows, Store

SIGN_EVERY: Final = 60_000_000
"""Microseconds after which a leaf is signed even if nobody asks."""
SIGN_AFTER: Final = 10_000
"""Leaves after which the log is signed at once."""
_log: Final = logging.getLogger(__name__)


class Included(Struct, frozen=True, kw_only=True):
    """That a leaf stands in the log, as text that is verified without us."""

    sequence: int
    leaf: str
    proof: str
    """C2SP tlog-proof."""


class Standing(Struct, frozen=True, kw_only=True):
    """How many leaves the log has, and the last checkpoint."""

    size: int
    signed: SignedCheckpoint | None
    alarm: str | None
    """Why it is not signed any more."""


class Consistent(Struct, frozen=True, kw_only=True):
    """That an earlier tree is the beginning of the signed one."""

    size: int
    path: list[bytes]
    checkpoint: SignedCheckpoint


class Log:
    """Signs checkpoints of the log and proves things by them."""

    def __init__(
        self, store: Store, signer: Signer, clock: Clock, publish: Callable[[str], None] | None = None
    ) -> None:
        """Sign what a store holds; `publish` takes each checkpoint to somebody outside."""
        self._store = store
        self._signer = signer
        self._clock = clock
        self._publish = publish
        self._gate = threading.Lock()
        self._last: SignedCheckpoint | None = None
        self._pinned: str | None = None
        self._tried_at = 0
        self.alarm: str | None = None
        """Why the log is not signed; None while it is."""
        self.pin_alarm: str | None = None
        """Why the last checkpoint did not reach whoever keeps a copy; None while all did."""

    def enter_key(self) -> None:
        """Enter the key where the store knows none.

        Raises BusyError or UnavailableError.
        """
        with self._store.read() as rows:
            known = rows.log_keys()
        if not known:
            now = self._clock()
            self._store.write(lambda rows: _enter_key(rows, str(self._signer.key), now)).result()

    def tick(self, *, at_once: bool = False) -> None:
        """Sign where it is time, and bring the last checkpoint to whoever keeps a copy.

        Raises BusyError or UnavailableError.
        """
        try:
            if at_once or self._due():
                self._sign(everything=True)
        except LogError:
            return
        self._pin()

    def _due(self) -> bool:
        with self._store.read() as rows:
            size = rows.log_size()
            last = self._last = rows.checkpoint()
        now = self._clock()
        if last is None or self.alarm is not None:
            return now - self._tried_at >= SIGN_EVERY
        return size - last.size >= SIGN_AFTER or (size != last.size and now - last.signed_at >= SIGN_EVERY)

    def _pin(self) -> None:
        last = self._last
        if self._publish is None or last is None or last.note == self._pinned:
            return
        try:
            self._publish(last.note)
        except AntechamberError as error:
            self.pin_alarm = f"The log's last checkpoint could not be pinned: {error}. It is tried again every second."
        else:
            self._pinned, self.pin_alarm = last.note, None

    def checkpoint(self) -> SignedCheckpoint:
        """Return a checkpoint that covers every change so far; what only auditors took may wait for the next one.

        Raises LogError where the log contradicts what was signed before, BusyError or UnavailableError.
        """
        return self._sign(everything=False)

    def published(self, size: int | None = None) -> SignedCheckpoint:
        """Return the last checkpoint, or the one of a size.

        Raises NotFoundError.
        """
        with self._store.read() as rows:
            found = rows.checkpoint(size)
        if found is None:
            message = "There is no checkpoint of that size."
            raise NotFoundError(message)
        return found

    def standing(self) -> Standing:
        """Say how far the log is signed."""
        with self._store.read() as rows:
            return Standing(size=rows.log_size(), signed=rows.checkpoint(), alarm=self.alarm)

    def verifier_keys(self) -> list[str]:
        """Return the verifier keys, the one in use first."""
        with self._store.read() as rows:
            return rows.log_keys()[::-1]

    def _sign(self, *, everything: bool) -> SignedCheckpoint:
        with self._gate:
            self._tried_at = self._clock()
            try:
                signed = self._signed(everything=everything)
            except LogError as error:
                alarm = f"The log is not signed any more. {error}"
                if alarm != self.alarm:
                    _log.error("the log was not signed: %s", error)
                self.alarm = alarm
                raise
            self.alarm, self._last = None, signed
            return signed

    def _signed(self, *, everything: bool) -> SignedCheckpoint:
        with self._signer.turn() as kept:
            with self._store.read() as rows:
                tree, last = Tree(rows), rows.checkpoint()
                self._check_key(rows.log_keys())
                self._compare(rows, tree, [note for note in (kept, last and last.note) if note])
                known = last is not None and last.note.startswith(f"{self._signer.key.name}\n")
                if last and known and (tree.size == last.size or not (everything or rows.changed_since(last.size))):
                    return last
                root = tree.root(tree.size)
            return self._write(tree, root)

    def _write(self, tree: Tree, root: bytes) -> SignedCheckpoint:
        note = self._signer.sign(Checkpoint(self._signer.key.name, tree.size, root))
        signed = SignedCheckpoint(size=tree.size, note=note, signed_at=self._clock())
        self._store.write(lambda rows: _keep(rows, tree, signed)).result()
        return signed

    def change_key(self, *, restored: bool = False, lost: bool = False) -> str:
        """Sign with a new key from now on, and return it; the old one signs that there is a new one.

        `restored` gives up a log that cannot go on where it ended, `lost` an old key that is not there any more.

        Raises LogError, BusyError or UnavailableError.
        """
        with self._gate, self._signer.turn() as kept:
            old, gone = self._signer.key, Checkpoint("", 0, b"")
            if restored and kept:
                gone = read_text(kept)
                self._signer.give_up()
            elif not lost:
                with self._store.read() as rows:
                    self._check_key(rows.log_keys())
                    self._compare(rows, Tree(rows), [kept] if kept else [])
            new, now = self._signer.draft(other_log=restored), self._clock()
            told = {"abandoned_size": str(gone.size), "abandoned_root": gone.root.hex()} if gone.origin else {}
            self._store.write(lambda rows: rows.add_log_key(str(new), now, **told)).result()
            if not (restored or lost):
                with self._store.read() as rows:
                    tree = Tree(rows)
                    root = tree.root(tree.size)
                self._last = self._write(tree, root)
            self._signer.refresh(str(new))
            _log.warning("the log is signed by %s instead of %s", new, old)
            return str(new)

    def _check_key(self, keys: list[str]) -> None:
        """Take up a key that was changed meanwhile.

        Raises LogError where the folder holds another one than the store.
        """
        if keys[-1] != str(self._signer.key):
            self._signer.refresh(keys[-1])
        if keys[-1] != str(self._signer.key):
            message = (
                f"The folder's log.key is {self._signer.key}, and the log is signed by {keys[-1]}: copy the file from "
                "the machine that signs, or restore it."
            )
            raise LogError(message)

    def _compare(self, rows: Rows, tree: Tree, notes: list[str]) -> None:
        """Compare the log with checkpoints that were signed before.

        Raises LogError where it does not begin with what they say.
        """
        keys = [read_key(key) for key in rows.log_keys()]
        for note in notes:
            before = self._read(note, keys)
            if before is None or before.origin != self._signer.key.name:
                continue
            if before.size > tree.size:
                message = (
                    f"It had {before.size} leaves when it was signed last, and has {tree.size} now: an older backup "
                    "was put in its place, or leaves were taken away. Restore the newest backup; if there is no "
                    "newer one, auditors have to know: antechamber log new-key --restored"
                )
                raise LogError(message)
            if tree.root(before.size) != before.root:
                message = (
                    f"Its first {before.size} leaves are not those that were signed: the database was altered, or a "
                    "backup grew into something else. Find out with: antechamber doctor"
                )
                raise LogError(message)

    def _read(self, note: str, keys: list[VerifierKey]) -> Checkpoint | None:
        """Read a checkpoint by whichever of the log's keys signed it; None for one of a log that was given up.

        Raises LogError for one that is damaged.
        """
        name = note.partition("\n")[0]
        for key in keys:
            try:
                return read_checkpoint(note, key, self._signer.verify)
            except NoteError:
                continue
        if name not in {key.name for key in keys}:
            message = f"The checkpoint that is kept is of another log, {name}: this is not the database that it is of."
            raise LogError(message)
        message = "The checkpoint that is kept is damaged: its signature is wrong."
        raise LogError(message)

    def contradictions(self, pinned: str | None = None) -> list[str]:
        """Compare the log with what was signed last, and with a checkpoint from elsewhere; change nothing."""
        try:
            with self._signer.turn() as kept, self._store.read() as rows:
                self._check_key(rows.log_keys())
                self._compare(rows, Tree(rows), [note for note in (kept, pinned) if note])
        except LogError as error:
            return [str(error)]
        return []

    def included(self, sequence: int) -> Included:
        """Prove that a leaf stands at its place in the log that was signed last.

        Raises NotFoundError, LogError, BusyError or UnavailableError.
        """
        last = self._covering(sequence)
        with self._store.read() as rows:
            leaves = rows.leaf_texts(sequence, 1) if 0 <= sequence < last.size else []
            if not leaves:
                message = f"The log has no leaf {sequence}."
                raise NotFoundError(message)
            path = inclusion_proof(sequence, last.size, Tree(rows, last.size).nodes)
        return Included(sequence=sequence, leaf=leaves[0], proof=write_proof(Proof(sequence, path, last.note)))

    def _covering(self, sequence: int) -> SignedCheckpoint:
        """Return the last checkpoint, or a new one where it does not cover a leaf yet."""
        last = self._last
        return last if last is not None and sequence < last.size else self._sign(everything=True)

    def sequence_of(self, subject: str) -> LeafRow:
        """Return the last leaf about something.

        Raises NotFoundError.
        """
        with self._store.read() as rows:
            found = rows.leaf_of(subject)
        if found is None:
            message = "The log has no leaf about that."
            raise NotFoundError(message)
        return found

    def scope_of(self, subject: str) -> tuple[str, str]:
        """Return scope and id of what a leaf is about; empty where it has none."""
        with self._store.read() as rows:
            scope, scope_id = rows.scope_of(subject)
        return scope or "", scope_id or ""

    def consistent(self, old: int) -> Consistent:
        """Prove that the log as it was is the beginning of the one that was signed last.

        Raises NotFoundError where it never had that size, LogError, BusyError or UnavailableError.
        """
        last = self.checkpoint()
        if not 0 <= old <= last.size:
            message = f"The signed log has {last.size} leaves; ask for a size up to that."
            raise NotFoundError(message)
        with self._store.read() as rows:
            path = consistency_proof(old, last.size, Tree(rows, last.size).nodes)
        return Consistent(size=old, path=path, checkpoint=last)

    def item(self, proposal_id: str) -> list[LeafRow]:
        """Return all leaves about a proposal, in their order."""
        with self._store.read() as rows:
            return rows.leaves_of_item(proposal_id)


def _enter_key(rows: Rows, key: str, now: int) -> None:
    if not rows.log_keys():
        rows.add_log_key(key, now)


def _keep(rows: Rows, tree: Tree, signed: SignedCheckpoint) -> None:
    for level, (first, hashes) in tree.grown.items():
        rows.add_nodes(level, first, hashes)
    rows.add_checkpoint(signed)
