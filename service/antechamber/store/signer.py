"""Who signs the log: an Ed25519 key in a file, and beside it what was signed last, in a file outside the database."""

import base64
import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from antechamber.core.errors import LogError
from antechamber.core.log.checkpoint import ED25519, KEY_SIZE, Checkpoint, VerifierKey, sign

KEY_FILE: Final = "log.key"
STATE_FILE: Final = "log.checkpoint"
DRAFT: Final = ".next"
"""Ending of a key that is about to be used."""
_PREFIX: Final = "PRIVATE+KEY+"
"""How a signer's key begins that is written as text (golang.org/x/mod/sumdb/note)."""


class FileSigner:
    """Implements core.log.ports.Signer over two files."""

    def __init__(self, folder: Path, state: Path | None = None, *, begun: bool = False) -> None:
        """Read the key of a folder, made at first use; `begun` tells that the log was signed before.

        Raises LogError where the key is damaged, or missing though there are signatures.
        """
        self._path = folder / KEY_FILE
        self._state = state or folder / STATE_FILE
        if not self._path.exists():
            if begun:
                message = (
                    f"{self._path} is missing, but the log was signed before. Restore the file from the backup of this "
                    "folder, or copy it from the machine that signs; if it is lost: antechamber log new-key --lost"
                )
                raise LogError(message)
            write_key(self._path, new_name())
        self.refresh()

    @property
    def key(self) -> VerifierKey:
        """By which its signatures are recognized."""
        return self._key

    def refresh(self, wanted: str | None = None) -> None:
        """Read the key again; one that was made to be `wanted`, and never put in its place, is put there now."""
        draft = self._path.with_suffix(DRAFT)
        if wanted is not None and draft.exists() and str(read_key_file(draft)[0]) == wanted:
            draft.replace(self._path)
            _sync(self._path.parent)
        self._key, self._private = read_key_file(self._path)

    def draft(self, *, other_log: bool = False) -> VerifierKey:
        """Make another key, of the same log or of another one, which `refresh` brings into use."""
        draft = self._path.with_suffix(DRAFT)
        draft.unlink(missing_ok=True)
        return write_key(draft, new_name() if other_log else self._key.name)

    def give_up(self) -> None:
        """Put the last checkpoint aside, as evidence: what it says was lost."""
        aside = self._state.with_name(f"{self._state.name}.given-up-{secrets.token_hex(4)}")
        self._state.replace(aside)
        _sync(aside.parent)

    @contextlib.contextmanager
    def turn(self) -> Iterator[str | None]:
        """Keep other processes of the same folder from signing; yield the last checkpoint from the file.

        Raises LogError where the files cannot be used.
        """
        try:
            with self._state.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield self._state.read_text(encoding="utf-8") if self._state.exists() else None
        except (OSError, UnicodeDecodeError) as error:
            message = f"what was signed last cannot be kept in {self._state}: {error}"
            raise LogError(message) from None

    def sign(self, checkpoint: Checkpoint) -> str:
        """Sign a checkpoint, which is on disk before anybody sees it; only inside a turn."""
        note = sign(checkpoint, self._key, self._private.sign)
        write_durably(self._state, note.encode(), 0o644)
        return note

    def verify(self, public: bytes, signature: bytes, text: bytes) -> bool:
        """Say whether a signature of a text is right (RFC 8032)."""
        return verify(public, signature, text)


def new_name() -> str:
    """Name a log as nobody else does."""
    return f"antechamber/{secrets.token_hex(4)}"


def verify(public: bytes, signature: bytes, text: bytes) -> bool:
    """Say whether an Ed25519 signature of a text is right (RFC 8032)."""
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
    except (OSError, ValueError) as error:
        message = f"{path} is no key of a log: {error}. Restore it from the backup of this folder."
        raise LogError(message) from None
    key = VerifierKey(name, private.public_key().public_bytes_raw())
    if raw[0] != ED25519 or len(raw) != KEY_SIZE + 1 or key.key_id.hex() != key_id:
        message = f"{path} is damaged. Restore it from the backup of this folder."
        raise LogError(message)
    return key, private


def write_key(path: Path, name: str) -> VerifierKey:
    """Make a key of a log, with mode 0600; of two processes that make one, the first wins."""
    private = Ed25519PrivateKey.generate()
    key = VerifierKey(name, private.public_key().public_bytes_raw())
    encoded = base64.b64encode(bytes([ED25519]) + private.private_bytes_raw()).decode()
    draft = path.with_suffix(f".{os.getpid()}")
    write_durably(draft, f"{_PREFIX}{name}+{key.key_id.hex()}+{encoded}\n".encode(), 0o600)
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
    _sync(path.parent)
    return read_key_file(path)[0]


def write_durably(path: Path, data: bytes, mode: int) -> None:
    """Put a whole file in the place of another: a crash leaves the old one or the new one."""
    draft = path.with_suffix(f".draft-{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
