"""Signing the log: checkpoints that never contradict each other, and a pin where somebody wants one."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.errors import AntechamberError, BusyError, LogError
from antechamber.core.log.checkpoint import (
    Checkpoint,
    NoteError,
    VerifierKey,
    read_checkpoint,
    read_key,
    read_text,
)
from antechamber.core.log.ports import Signer
from antechamber.core.log.rows import SignedCheckpoint
from antechamber.core.log.tree import Tree
from antechamber.core.ports import Clock, Rows, Store

SIGN_EVERY: Final = 60_000_000
"""Microseconds after which a leaf is signed even if nobody asks."""
SIGN_AFTER: Final = 10_000
"""Leaves after which the log is signed at once."""
TAKEN_WAIT: Final = 3_600_000_000
"""Microseconds after which what only auditors took is signed, too."""
PATIENCE: Final = 2.0
"""Seconds that a thread waits for another one's signature before its caller hears 409."""
_log: Final = logging.getLogger(__name__)


class Signing:
    """Signs checkpoints of the log."""

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

        Raises LogError where it knows another one, BusyError or UnavailableError.
        """
        with self._store.read() as rows:
            known = rows.log_keys()
        if not known:
            now = self._clock()
            self._store.write(lambda rows: _enter_key(rows, str(self._signer.key), now)).result()
            # Another process may have been first.
            with self._store.read() as rows:
                known = rows.log_keys()
        self._check_key(known)

    def look(self) -> None:
        """Compare the log with what was signed last, before anybody relies on it; a contradiction raises the alarm.

        Raises BusyError or UnavailableError.
        """
        for found in self.contradictions():
            self._raise_alarm(found)

    def _raise_alarm(self, found: str) -> None:
        alarm = f"The log is not signed any more. {found}"
        if alarm != self.alarm:
            _log.error("the log was not signed: %s", found)
        self.alarm = alarm

    def tick(self, *, at_once: bool = False) -> None:
        """Sign where it is time.

        Raises BusyError or UnavailableError.
        """
        with contextlib.suppress(LogError):
            if at_once or self._due():
                self._sign(everything=True)

    def _due(self) -> bool:
        with self._store.read() as rows:
            size = rows.log_size()
            last = self._last = rows.checkpoint()
            changed = last is not None and size != last.size and rows.changed_since(last.size)
        now = self._clock()
        if last is None or self.alarm is not None:
            return now - self._tried_at >= SIGN_EVERY
        waits = now - last.signed_at
        # What auditors took is signed with the next change: until then checkpoint and export go on fitting together.
        return size != last.size and (
            waits >= TAKEN_WAIT or (changed and (waits >= SIGN_EVERY or size - last.size >= SIGN_AFTER))
        )

    def pin(self) -> None:
        """Bring the last checkpoint to whoever keeps a copy; a failure is an alarm, and tried again."""
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
        """Return a checkpoint that covers every change so far; what only auditors took may wait for the next one.

        Raises LogError where the log contradicts what was signed before, BusyError or UnavailableError.
        """
        return self._sign(everything=False)

    def _sign(self, *, everything: bool) -> SignedCheckpoint:
        with self._turn():
            self._tried_at = self._clock()
            try:
                with self._signer.turn() as kept:
                    signed = self._signed(kept, everything=everything)
            except LogError as error:
                self._raise_alarm(str(error))
                raise
            self.alarm, self._last = None, signed
            return signed

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Take turns with other threads.

        Raises BusyError where one of them takes long.
        """
        if not self._gate.acquire(timeout=PATIENCE):
            message = "the log is being signed"
            raise BusyError(message)
        try:
            yield
        finally:
            self._gate.release()

    def _signed(self, kept: str | None, *, everything: bool) -> SignedCheckpoint:
        with self._store.read() as rows:
            tree, last = Tree(rows), rows.checkpoint()
            keys = rows.log_keys()
            retiring = self._check_key(keys)
            self._compare(rows, tree, [note for note in (kept, last and last.note) if note])
            if retiring:
                leaf = rows.leaf_of(keys[-1])
                size = leaf.sequence + 1 if leaf else tree.size
                everything = True
            else:
                size = tree.size
            known = last is not None and last.note.startswith(f"{self._signer.key.name}\n")
            current = last if last and known else None
            if current and (size <= current.size or not (everything or rows.changed_since(current.size))):
                signed, root = current, b""
            else:
                signed, root = None, tree.root(size)
        if signed is None:
            signed = self._write(tree, size, root)
        if retiring:
            # What the old key signed last ends with the leaf that names the new one.
            self._signer.refresh(keys[-1])
            return self._signed(signed.note, everything=everything)
        return signed

    def _write(self, tree: Tree, size: int, root: bytes) -> SignedCheckpoint:
        note = self._signer.sign(Checkpoint(self._signer.key.name, size, root))
        signed = SignedCheckpoint(size=size, note=note, signed_at=self._clock())
        self._store.write(lambda rows: _keep(rows, tree, signed)).result()
        return signed

    def change_key(self, *, restored: bool = False) -> str:
        """Sign with a new key from now on, and return it; the old one signs that there is a new one.

        `restored` gives up a log that cannot go on where it ended: the new key's log has another name, and its leaf
        names the checkpoint that was lost. A key that was lost is replaced by the one that is in its place now.

        Raises LogError, BusyError or UnavailableError; what was begun then is finished by the next attempt.
        """
        with self._turn(), self._signer.turn(missing=restored) as kept:
            with self._store.read() as rows:
                keys = rows.log_keys()
                made = str(self._signer.key) not in keys
                if not restored:
                    self._refuse_stranger(keys)
                    self._compare(rows, Tree(rows), [kept] if kept else [])
                elif kept:
                    self._refuse_needless(rows, kept)
            gone = _said(kept) if restored else None
            new = self._signer.key if made else self._signer.draft(other_log=restored)
            told = {"abandoned_size": str(gone.size), "abandoned_root": gone.root.hex()} if gone else {}
            now = self._clock()
            self._store.write(lambda rows: rows.add_log_key(str(new), now, **told)).result()
            if restored:
                self._signer.refresh(str(new))
            self._last = self._signed(None if restored else kept, everything=True)
            self.alarm = None
            return str(new)

    def _refuse_stranger(self, keys: list[str]) -> None:
        if self._signer.key.name != read_key(keys[-1]).name:
            message = f"The folder's log.key is of another log, {self._signer.key.name}: restore the right one."
            raise LogError(message)

    def _refuse_needless(self, rows: Rows, kept: str) -> None:
        try:
            self._compare(rows, Tree(rows), [kept])
        except LogError:
            return
        message = "The log begins with what was signed last, so nothing was lost; change the key without --restored."
        raise LogError(message)

    def _check_key(self, keys: list[str]) -> bool:
        """Take up a key that was changed meanwhile; tell whether ours is the old one, which has to sign once more.

        Raises LogError where the folder holds another one than the store.
        """
        own = str(self._signer.key)
        if own == keys[-1]:
            return False
        if self._signer.drafted(keys[-1]) and own in keys and read_key(keys[-1]).name == self._signer.key.name:
            return True
        self._signer.refresh(keys[-1])
        if keys[-1] != str(self._signer.key):
            message = (
                f"The folder's log.key is {self._signer.key}, and the log is signed by {keys[-1]}: copy the file from "
                "the machine that signs, or restore it."
            )
            raise LogError(message)
        return False

    def _compare(self, rows: Rows, tree: Tree, notes: list[str], *, pinned: bool = False) -> None:
        """Compare the log with checkpoints that were signed before; one that was given up counts only where `pinned`.

        Raises LogError where it does not begin with what they say.
        """
        keys = [read_key(key) for key in rows.log_keys()]
        for note in notes:
            before = self._read(note, keys, "The pinned checkpoint" if pinned else "The checkpoint that is kept")
            if before.origin != self._signer.key.name and not pinned:
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
                    f"Its first {before.size} leaves are not those that were signed: the database was altered, or an "
                    "older backup was restored and grew into something else. Restore the newest backup; if there is no "
                    "newer one, auditors have to know: antechamber log new-key --restored"
                )
                raise LogError(message)

    def _read(self, note: str, keys: list[VerifierKey], what: str) -> Checkpoint:
        """Read a checkpoint by whichever of the log's keys signed it.

        Raises LogError for one that is damaged, or of another log.
        """
        for key in keys:
            try:
                return read_checkpoint(note, key, self._signer.verify)
            except NoteError:
                continue
        said = _said(note)
        if said is not None and said.origin not in {key.name for key in keys}:
            message = f"{what} is of another log, {said.origin[:80]!a}: they do not belong together."
            raise LogError(message)
        message = f"{what} is damaged: it is no signed note, or its signature is wrong."
        raise LogError(message)

    def contradictions(self, pinned: str | None = None) -> list[str]:
        """Compare the log with what was signed last, and with a checkpoint from elsewhere; change nothing."""
        try:
            with self._signer.turn() as kept, self._store.read() as rows:
                self._check_key(rows.log_keys())
                tree, last = Tree(rows), rows.checkpoint()
                self._compare(rows, tree, [note for note in (kept, last and last.note) if note])
                self._compare(rows, tree, [pinned] if pinned is not None else [], pinned=True)
        except LogError as error:
            return [str(error)]
        return []


def _said(kept: str | None) -> Checkpoint | None:
    """Return what a checkpoint says, if anything can be read of it."""
    try:
        return read_text(kept or "")
    except NoteError:
        return None


def _enter_key(rows: Rows, key: str, now: int) -> None:
    if not rows.log_keys():
        rows.add_log_key(key, now)


def _keep(rows: Rows, tree: Tree, signed: SignedCheckpoint) -> None:
    for level, (first, hashes) in tree.grown.items():
        rows.add_nodes(level, first, hashes)
    rows.add_checkpoint(signed)
