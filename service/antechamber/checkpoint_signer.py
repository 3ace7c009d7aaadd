"""The signer of the log: an Ed25519 key in a file, and the last signed checkpoint in a file outside the database."""

import base64
import contextlib
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from antechamber import durable_files
from antechamber.core.errors import BusyError, LogError, UnusableCheckpointError
from antechamber.core.log.checkpoint_text import (
    ED25519,
    KEY_SIZE,
    Checkpoint,
    NoteError,
    VerifierKey,
    read_text,
    sign_note,
)

KEY_FILE: Final = "log.key"
STATE_FILE: Final = "log.checkpoint"
MARKER_FILE: Final = "log.where"
"""Contains the location of the last signed checkpoint, so that no process signs without it by mistake."""
DRAFT: Final = ".next"
"""File suffix of a key that will be used next."""
LOCK_TIMEOUT_SECONDS: Final = 2.0
"""Seconds that one process waits for another's signature."""
_PAUSE: Final = 0.02
_PREFIX: Final = "PRIVATE+KEY+"
"""Prefix of a signer's key in text form (golang.org/x/mod/sumdb/note)."""


class FileSigner:
    """Implements core.log.ports.Signer with files for the key, the last checkpoint, and the location of the latter."""

    def __init__(
        self, folder: Path, state: Path | None = None, *, name: str | None = None, alone: bool = False
    ) -> None:
        """Read the key of a folder; if there is none and `name` is given, create a key for the log of that name.

        Without `state` the last checkpoint is kept at its previous location, at first in the folder. `alone` means that
        the database belongs to this folder, so that everything was signed here.

        Raises LogError if the key is damaged, or missing although the log was signed before.
        """
        self.alone = alone
        self._path = folder / KEY_FILE
        self._marker = folder / MARKER_FILE
        noted = self._read_marker()
        self._state = (state or noted or folder / STATE_FILE).absolute()
        # A file inside the folder is recorded by name only: a copy of the folder has its own file.
        inside = self._state.parent == folder.absolute()
        self._where = self._state.name if inside else str(self._state)
        if not self._path.exists():
            if name is None:
                message = (
                    f"{self._path} is missing, but the log was signed before. Restore the file from the backup of this "
                    "folder, or copy it from the machine that signs; if it is lost: antechamber log new-key --lost"
                )
                raise LogError(message)
            write_key(self._path, name)
        self.refresh()

    def _read_marker(self) -> Path | None:
        try:
            return self._marker.parent / self._marker.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except OSError as error:
            message = (
                f"Where the last signed checkpoint is kept cannot be read: {durable_files.explain(error, self._marker)}"
            )
            raise LogError(message) from None

    @property
    def key(self) -> VerifierKey:
        """The verifier key that matches this signer."""
        return self._key

    def refresh(self, wanted: str | None = None) -> None:
        """Read the key again; if `wanted` is a drafted key that was not brought into use, bring it into use now."""
        if wanted is not None and self.has_draft(wanted):
            self._path.with_suffix(DRAFT).replace(self._path)
            durable_files.sync_folder(self._path.parent)
        self._key, self._private = read_key_file(self._path)

    def has_draft(self, key: str) -> bool:
        """Return whether this key was drafted and waits to be used."""
        draft = self._path.with_suffix(DRAFT)
        return draft.exists() and str(read_key_file(draft)[0]) == key

    def draft(self, *, other_log: bool = False) -> VerifierKey:
        """Create another key, of the same log or of another one, which `refresh` brings into use."""
        draft = self._path.with_suffix(DRAFT)
        draft.unlink(missing_ok=True)
        return write_key(draft, new_name() if other_log else self._key.name)

    @contextlib.contextmanager
    def turn(self, *, missing: bool = False) -> Iterator[str | None]:
        """Lock out other signing processes of the same folder; yield the last checkpoint from the file.

        Raises LogError if the files cannot be used, or if the last checkpoint is not at its location and `missing` is
        not set; BusyError if another process takes too long.
        """
        try:
            lock_path = self._state.with_name(f"{self._state.name}.lock")
            with open(lock_path, "a", opener=durable_files.open_private) as lock:
                _hold(lock)
                yield self._read_kept(missing=missing)
        except OSError as error:
            raise LogError(self._unusable(error)) from None

    def _unusable(self, error: OSError) -> str:
        folder = self._state.parent
        why = durable_files.explain(error, self._state) if folder.is_dir() else f"there is no folder {folder}"
        return f"The last signed checkpoint cannot be kept: {why}. If it is kept elsewhere, name it: --checkpoint-file"

    def _read_kept(self, *, missing: bool) -> str | None:
        kept = self._state.read_bytes().decode("utf-8", "replace") if self._state.exists() else ""
        if kept:
            self._refuse_foreign(kept)
        elif not missing and self._marker.exists():
            raise UnusableCheckpointError(self.advice_if_missing)
        return kept or None

    def _refuse_foreign(self, kept: str) -> None:
        try:
            read_text(kept)
        except NoteError:
            message = (
                f"{self._state} holds no checkpoint of a log, so the log cannot be compared with what was signed last. "
                "If that is another file, name it with --checkpoint-file; if this one is damaged, put any checkpoint "
                "there that a person kept"
            )
            raise UnusableCheckpointError(message) from None

    @property
    def advice_if_missing(self) -> str:
        """What to do if the last checkpoint is not where it was kept."""
        return (
            f"{self._state} is missing or empty, and it held what was signed last. Bring it back, or put there any "
            "checkpoint that a person kept; if it is in another file, name that file with --checkpoint-file. If it "
            "is lost, auditors have to know: antechamber log new-key --restored"
        )

    def sign(self, checkpoint: Checkpoint) -> str:
        """Sign a checkpoint, which is on disk before it is published; only inside a turn.

        The last checkpoint of another log is renamed and kept as evidence.
        """
        note = sign_note(checkpoint, self._key, self._private.sign)
        self.keep(note, checkpoint.origin)
        return note

    def keep(self, note: str, origin: str) -> None:
        """Store a checkpoint as the last one, also one that another machine signed; only inside a turn."""
        if self._state.exists() and not self._state.read_bytes().startswith(f"{origin}\n".encode()):
            self._state.replace(self._state.with_name(f"{self._state.name}.given-up-{secrets.token_hex(4)}"))
        durable_files.replace(self._state, note.encode())
        if not self._marker.exists() or self._marker.read_text(encoding="utf-8") != self._where:
            durable_files.replace(self._marker, self._where.encode())

    def verify(self, public: bytes, signature: bytes, text: bytes) -> bool:
        """Return whether a signature of a text is valid (RFC 8032)."""
        return verify(public, signature, text)


def _hold(lock: IO[str]) -> None:
    """Take a file's lock.

    Raises BusyError if another process holds it too long.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
    while not durable_files.take_lock(lock):
        if time.monotonic() > deadline:
            message = "another process is signing the log"
            raise BusyError(message)
        time.sleep(_PAUSE)


def new_name() -> str:
    """Return a unique name for a log."""
    return f"antechamber/{secrets.token_hex(4)}"


def verify(public: bytes, signature: bytes, text: bytes) -> bool:
    """Return whether an Ed25519 signature of a text is valid (RFC 8032)."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def read_key_file(path: Path) -> tuple[VerifierKey, Ed25519PrivateKey]:
    """Read a private key.

    Raises LogError.
    """
    try:
        name, key_id, encoded = path.read_text(encoding="utf-8").strip().removeprefix(_PREFIX).split("+", 2)
        raw = base64.b64decode(encoded, validate=True)
        private = Ed25519PrivateKey.from_private_bytes(raw[1:])
        key = VerifierKey(name, private.public_key().public_bytes_raw())
    except FileNotFoundError:
        message = f"{path} is missing. Restore it from the backup of this folder."
        raise LogError(message) from None
    except OSError as error:
        message = f"The key of the log cannot be read: {durable_files.explain(error, path)}"
        raise LogError(message) from None
    except (ValueError, NoteError):
        message = f"{path} is no key of a log. Restore it from the backup of this folder."
        raise LogError(message) from None
    if raw[0] != ED25519 or len(raw) != KEY_SIZE + 1 or key.key_id.hex() != key_id:
        message = f"{path} is damaged. Restore it from the backup of this folder."
        raise LogError(message)
    return key, private


def write_key(path: Path, name: str) -> VerifierKey:
    """Create a key of a log, with mode 0600; if two processes create one, the first wins."""
    private = Ed25519PrivateKey.generate()
    key = VerifierKey(name, private.public_key().public_bytes_raw())
    encoded = base64.b64encode(bytes([ED25519]) + private.private_bytes_raw()).decode()
    durable_files.create(path, f"{_PREFIX}{name}+{key.key_id.hex()}+{encoded}\n".encode())
    return read_key_file(path)[0]
