"""Signing the log: checkpoints that never contradict each other, optionally published outside."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.access.sessions import LONGEST, EndedAccess
from antechamber.core.errors import (
    AntechamberError,
    BusyError,
    ClosedError,
    ContradictionError,
    LogError,
    UnusableCheckpointError,
)
from antechamber.core.log.checkpoint_text import Checkpoint, is_signed_by, join_signatures, read_key
from antechamber.core.log.ports import LogRows, Signer
from antechamber.core.log.rows import SignedCheckpoint
from antechamber.core.log.tree import Tree
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Rows, Store
from antechamber.flows.checkpoint_comparison import compare, parse_note, read_newest

SIGN_EVERY: Final = 60_000_000
"""Microseconds after which a changed log is signed, even without a request."""
SIGN_AFTER: Final = 10_000
"""Number of new leaves from which a changed log is signed at the next tick."""
TAKEN_WAIT: Final = 3_600_000_000
"""Microseconds after which leaves about exports alone are signed, too."""
LOCK_TIMEOUT_SECONDS: Final = 2.0
"""Seconds that a thread waits for another thread's signature before its caller receives status 409."""
NOT_COMPARED: Final = "The log has not been compared yet with what was signed last."
_log: Final = logging.getLogger(__name__)


class Checkpoints:
    """Signs checkpoints of the log in a store; `publish` sends each checkpoint to a place outside."""

    def __init__(
        self, store: Store, signer: Signer, clock: Clock, publish: Callable[[str], None] | None = None
    ) -> None:
        self._store = store
        self._signer = signer
        self._clock = clock
        self._publish = publish
        self._gate = threading.Lock()
        self._last: SignedCheckpoint | None = None
        self._pinned: str | None = None
        self._tried_at = 0
        self._held: SignedCheckpoint | None = None
        """The largest checkpoint known to be a prefix of the log."""
        self.alarm: str | None = None
        """Why the log is not signed; None while it is."""
        self.doubt: str | None = NOT_COMPARED
        """Why no write is allowed: the log contradicts the last checkpoint or was not compared yet; else None."""
        self.pin_alarm: str | None = None
        """Why the last checkpoint was not published; None if all were."""

    def enter_key(self) -> None:
        """Store the log's key if the store has none.

        Raises LogError if the store has another key, BusyError or UnavailableError.
        """
        with self._store.read() as tx:
            keys = tx.log.verifier_keys()
        if not keys:
            now = self._clock()
            self._store.write(lambda tx: _enter_key(tx.log, str(self._signer.key), now)).result()
            # Another process may have stored its key first.
            with self._store.read() as tx:
                keys = tx.log.verifier_keys()
        self._check_key(keys)

    def look(self) -> None:
        """Compare the log with the last checkpoint; a contradiction sets the alarm, and its end clears the alarm.

        Raises BusyError or UnavailableError.
        """
        try:
            with self._signer.turn() as kept, self._store.read() as tx:
                _, last = self._hold(tx.log, kept)
                self._witness(kept, last)
        except LogError as error:
            self._raise_alarm(error)

    def _raise_alarm(self, error: LogError) -> None:
        alarm = f"The log is not signed any more. {error}"
        if alarm != self.alarm:
            _log.error("the log was not signed: %s", error)
        self.alarm = alarm
        if isinstance(error, ContradictionError):
            self.doubt = alarm

    def check(self) -> int:
        """Return the minimum size of the log.

        Raises ClosedError while the log contradicts the last checkpoint.
        """
        if self.doubt is not None:
            raise ClosedError(self.doubt)
        return self._held.size if self._held is not None else 0

    def check_inside(self, log: LogRows, size: int) -> None:
        """Check inside a transaction that the log is open and has not become shorter than `size`.

        Raises ClosedError if it is not.
        """
        self.check()
        if log.size() < size:
            self.doubt = f"The log had {size} leaves and has fewer now. It is compared with what was signed last."
            raise ClosedError(self.doubt)

    def tick(self, *, at_once: bool = False) -> None:
        """Sign the log if a checkpoint is due.

        Raises BusyError or UnavailableError.
        """
        if self.doubt is not None:
            self.look()
        with contextlib.suppress(LogError):
            if at_once or self._is_due():
                self._sign(everything=True)

    def _is_due(self) -> bool:
        with self._store.read() as tx:
            size = tx.log.size()
            last = self._last = tx.log.checkpoint()
            changed = last is not None and size != last.size and tx.log.changed_since(last.size)
        if self.doubt is None and self._held is not None and (last != self._held or size < self._held.size):
            # Another process signed the log, or the log was altered.
            self.look()
        now = self._clock()
        if last is None or self.alarm is not None:
            return now - self._tried_at >= SIGN_EVERY
        waits = now - last.signed_at
        # Leaves about exports are signed with the next change, so that an export stays consistent with the last
        # checkpoint.
        return size != last.size and (
            waits >= TAKEN_WAIT or (changed and (waits >= SIGN_EVERY or size - last.size >= SIGN_AFTER))
        )

    def pin(self) -> None:
        """Publish the last checkpoint; a failure sets `pin_alarm`, and the next call retries."""
        last = self._last
        if self._publish is None or last is None or last.note == self._pinned:
            return
        try:
            self._publish(last.note)
        except AntechamberError as error:
            self.pin_alarm = f"The log's last checkpoint could not be pinned: {error}. It is tried again."
        else:
            self._pinned, self.pin_alarm = last.note, None

    def checkpoint(self) -> SignedCheckpoint:
        """Return a checkpoint that covers all changes so far; leaves about exports alone may wait for the next one.

        Raises LogError if the log contradicts an earlier checkpoint, BusyError or UnavailableError.
        """
        return self._sign(everything=False)

    def cover(self, sequence: int) -> SignedCheckpoint:
        """Return the last checkpoint, or a new one if the last does not cover this leaf yet.

        Raises LogError, BusyError or UnavailableError.
        """
        last = self._last
        if last is None:
            with self._store.read() as tx:
                last = tx.log.checkpoint()
        return last if last is not None and sequence < last.size else self._sign(everything=True)

    def _sign(self, *, everything: bool) -> SignedCheckpoint:
        with self._turn():
            self._tried_at = self._clock()
            try:
                with self._signer.turn() as kept:
                    signed = self._sign_in_turn(kept, everything=everything)
            except LogError as error:
                self._raise_alarm(error)
                raise
            self.alarm, self._last, self._held = None, signed, signed
            return signed

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the lock that serializes signing among threads.

        Raises BusyError if another thread holds it for too long.
        """
        if not self._gate.acquire(timeout=LOCK_TIMEOUT_SECONDS):
            message = "the log is being signed"
            raise BusyError(message)
        try:
            yield
        finally:
            self._gate.release()

    def _sign_in_turn(self, kept: str | None, *, everything: bool, missing: bool = False) -> SignedCheckpoint:
        with self._store.read() as tx:
            tree, last = self._hold(tx.log, kept, missing=missing)
            self._witness(kept, last)
            keys = tx.log.verifier_keys()
            retiring = self._check_key(keys)
            if retiring:
                leaf = tx.log.leaf_of(keys[-1])
                size = leaf.sequence + 1 if leaf else tree.size
                everything = True
            else:
                size = tree.size
            known = last is not None and last.note.startswith(f"{self._signer.key.name}\n")
            current = last if last and known else None
            # Readers who know of a new key rely on no signature of the old one alone.
            ours = current is not None and is_signed_by(current.note, self._signer.key)
            if current and ours and (size <= current.size or not (everything or tx.log.changed_since(current.size))):
                signed, root = current, b""
            else:
                signed, root = None, tree.root(size)
        if signed is None:
            signed = self._write(tree, size, root, current)
        if retiring:
            # The old key's last checkpoint ends with the leaf that names the new key, which signs the same one.
            self._signer.refresh(keys[-1])
            return self._sign_in_turn(signed.note, everything=everything)
        return signed

    def _hold(self, log: LogRows, kept: str | None, *, missing: bool = False) -> tuple[Tree, SignedCheckpoint | None]:
        """Compare the log with all known checkpoints; return its tree and the last checkpoint.

        `missing` allows that the folder holds no checkpoint although the log was signed.

        Raises ContradictionError, or LogError if a checkpoint cannot be compared.
        """
        tree, last, held = Tree(log), log.checkpoint(), self._held
        if kept is None and not missing and last is not None and self._signer.alone:
            raise UnusableCheckpointError(self._signer.advice_if_missing)
        compare(
            log, tree, [note for note in (kept, last and last.note, held and held.note) if note], self._signer.verify
        )
        if (lost := self._store.lost()) is not None:
            raise ContradictionError(lost)
        later = held is not None and last is not None and _name(held.note) == _name(last.note) and held.size > last.size
        self._held = held if later else last
        if self.doubt is not None:
            self.alarm = None if self.alarm == self.doubt else self.alarm
            self.doubt = None
        return tree, last

    def _witness(self, kept: str | None, last: SignedCheckpoint | None) -> None:
        """Store a checkpoint that another machine signed, so that this machine can compare the log with it, too."""
        if last is None or self._signer.alone:
            return
        before = parse_note(kept)
        if before is None or before.origin != _name(last.note) or before.size < last.size:
            self._signer.keep(last.note, _name(last.note))

    def _write(self, tree: Tree, size: int, root: bytes, last: SignedCheckpoint | None) -> SignedCheckpoint:
        """Sign and store a checkpoint; one of the size of the last keeps that one's signatures, of a replaced key."""
        note = self._signer.sign(Checkpoint(self._signer.key.name, size, root))
        if last is not None and last.size == size:
            note = join_signatures(note, last.note)
        signed = SignedCheckpoint(size=size, note=note, signed_at=self._clock())
        self._store.write(lambda tx: _keep(tx.log, tree, signed)).result()
        return signed

    def change_key(self) -> str:
        """Sign with a new key from now on and return it; the old key signs the leaf that names the new one.

        If the old key was lost, the key now in its place replaces it.

        Raises LogError, BusyError or UnavailableError; the next attempt completes an interrupted change.
        """
        with self._turn(), self._signer.turn() as kept:
            with self._store.read() as tx:
                keys = tx.log.verifier_keys()
                self._refuse_stranger(keys)
                self._hold(tx.log, kept)
            is_new, now = str(self._signer.key) not in keys, self._clock()
            new = self._signer.key if is_new else self._signer.draft()
            self._store.write(lambda tx: tx.log.add_verifier_key(str(new), now)).result()
            self._last, self.alarm = self._sign_in_turn(kept, everything=True), None
            return str(new)

    def give_up(self) -> tuple[str, EndedAccess]:
        """Start a new log in place of one that cannot be continued; return the new key and the access that was ended.

        The new key's log has another name, and its leaf names the checkpoint that was lost. Revocations after the
        backup are unknown, so all tokens, sign-in links and sessions end in the same transaction.

        Raises LogError, BusyError or UnavailableError; the next attempt completes an interrupted change.
        """
        with self._turn(), self._signer.turn(missing=True) as kept:
            with self._store.read() as tx:
                is_new = str(self._signer.key) not in tx.log.verifier_keys()
                if kept:
                    self._refuse_needless(tx.log, kept)
            new = self._signer.key if is_new else self._signer.draft(other_log=True)
            return self._begin_log(str(new), _abandoned(parse_note(kept)))

    def continue_restored(self, notes: list[str]) -> tuple[str, EndedAccess]:
        """Start a log of another name on a restored backup; return its key and the access that was ended.

        Its first leaf names the last sequence of the backup and, if `notes` has checkpoints of the log that the backup
        was taken from, the largest one. All access ends, because what was revoked after the backup is unknown.

        Raises LogError, BusyError or UnavailableError.
        """
        with self._turn(), self._signer.turn(missing=True) as kept:
            with self._store.read() as tx:
                tree, _ = self._hold(tx.log, None, missing=True)
                newest = read_newest(tx.log, tree, [*notes, *([kept] if kept else [])], self._signer.verify)
            new = self._signer.draft(other_log=True)
            return self._begin_log(str(new), {"backup_sequence": str(tree.size - 1)} | _abandoned(newest))

    def _begin_log(self, new: str, facts: dict[str, str]) -> tuple[str, EndedAccess]:
        """Enter a key whose leaf has these facts, end all access in the same transaction, and sign; only in a turn."""
        now = self._clock()

        def begin(tx: Rows) -> EndedAccess:
            tx.log.add_verifier_key(new, now, **facts)
            return tx.access.end_access(now, now - LONGEST)

        ended = self._store.write(begin).result()
        self._store.accept_loss()
        self._signer.refresh(new)
        self._last, self.alarm = self._sign_in_turn(None, everything=True, missing=True), None
        return new, ended

    def _refuse_stranger(self, keys: list[str]) -> None:
        if self._signer.key.name != read_key(keys[-1]).name:
            message = f"The folder's log.key is of another log, {self._signer.key.name}: restore the right one."
            raise LogError(message)

    def _refuse_needless(self, log: LogRows, kept: str) -> None:
        try:
            self._hold(log, kept)
        except LogError:
            return
        message = "The log begins with what was signed last, so nothing was lost; change the key without --restored."
        raise LogError(message)

    def _check_key(self, keys: list[str]) -> bool:
        """Load a key that was changed meanwhile; return whether ours is the old key, which must sign once more.

        Raises LogError if the folder's key is not the store's.
        """
        own = str(self._signer.key)
        if own == keys[-1]:
            return False
        if self._signer.has_draft(keys[-1]) and own in keys and read_key(keys[-1]).name == self._signer.key.name:
            return True
        self._signer.refresh(keys[-1])
        if keys[-1] != str(self._signer.key):
            message = (
                f"The folder's log.key is {self._signer.key}, and the log is signed by {keys[-1]}: copy the file from "
                "the machine that signs, or restore it."
            )
            raise LogError(message)
        return False

    def contradictions(self, pinned: str | None = None) -> list[str]:
        """Return how the log contradicts the last checkpoint and a pinned one; change nothing."""
        try:
            self.compare(pinned)
        except LogError as error:
            return [str(error)]
        return []

    def compare(self, pinned: str | None = None) -> None:
        """Compare the log with the last checkpoint and a pinned one; change nothing.

        Raises ContradictionError, LogError if they cannot be compared, BusyError or UnavailableError.
        """
        with self._signer.turn() as kept, self._store.read() as tx:
            tree, _ = self._hold(tx.log, kept)
            if pinned is not None:
                compare(tx.log, tree, [pinned], self._signer.verify, pinned=True)
            self._check_key(tx.log.verifier_keys())


def _name(note: str) -> str:
    """Return the name of the log that a checkpoint belongs to."""
    return note.partition("\n")[0]


def _abandoned(gone: Checkpoint | None) -> dict[str, str]:
    return {"abandoned_size": str(gone.size), "abandoned_root": gone.root.hex()} if gone else {}


def _enter_key(log: LogRows, key: str, now: int) -> None:
    if not log.verifier_keys():
        log.add_verifier_key(key, now)


def _keep(log: LogRows, tree: Tree, signed: SignedCheckpoint) -> None:
    for level, (first, hashes) in tree.grown.items():
        log.add_nodes(level, first, hashes)
    log.add_checkpoint(signed)
