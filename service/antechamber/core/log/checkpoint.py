"""Checkpoints and proofs as text: C2SP signed notes, tlog-checkpoint, tlog-proof. Signing itself is done elsewhere.

Sources: c2sp.org/signed-note@v1.0.0, c2sp.org/tlog-checkpoint@v1.0.0, c2sp.org/tlog-proof@v1.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from antechamber.core.errors import AntechamberError
from antechamber.core.log.merkle import HASH_SIZE

ED25519: Final = 1
"""Signature type of the note's key id and of the verifier key."""
KEY_SIZE: Final = 32
SIGNATURE_SIZE: Final = 64
_KEY_ID_SIZE: Final = 4
MAX_NOTE: Final = 1_000_000
PROOF_HEAD: Final = "c2sp.org/tlog-proof@v1"
_NAME: Final = re.compile(r"[^\s+]+")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_KEY: Final = re.compile(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
Verify = Callable[[bytes, bytes, bytes], bool]
"""Says whether a signature of a text is right: public key, signature, text (Ed25519, RFC 8032)."""


class NoteError(AntechamberError):
    """A note, a key or a proof that is not what it should be."""


class VerifierKey(Struct, frozen=True):
    """By which a log's checkpoints are recognized."""

    name: str
    public: bytes

    def __post_init__(self) -> None:
        """Refuse a name that a signature line or a verifier key cannot hold.

        Raises NoteError.
        """
        if not _NAME.fullmatch(self.name):
            message = "the name of a key is not empty, and has neither spaces nor +"
            raise NoteError(message)

    @property
    def key_id(self) -> bytes:
        """The four bytes that stand before each of its signatures."""
        return hashlib.sha256(f"{self.name}\n".encode() + bytes([ED25519]) + self.public).digest()[:4]

    def __str__(self) -> str:
        """Write it as a line of text: name, key id, key."""
        return f"{self.name}+{self.key_id.hex()}+{_base64(bytes([ED25519]) + self.public)}"


class Checkpoint(Struct, frozen=True):
    """What a log says of itself at one size."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"


class Proof(Struct, frozen=True):
    """That a leaf stands at an index of the tree of a checkpoint."""

    index: int
    path: Sequence[bytes]
    note: str
    """The signed checkpoint."""


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _decoded(text: str) -> bytes:
    """Decode base64 in its one canonical form; anything else is empty."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return raw if _base64(raw) == text else b""


def _raw(text: str, size: int, what: str) -> bytes:
    """Decode base64 of an exact size, in its one canonical form."""
    raw = _decoded(text)
    if len(raw) != size:
        message = f"{what} is not base64 of {size} bytes"
        raise NoteError(message)
    return raw


def read_key(text: str) -> VerifierKey:
    """Read a verifier key.

    Raises NoteError.
    """
    match = _KEY.fullmatch(text.strip())
    if match is None:
        message = "a verifier key is a name, eight hex digits and base64, joined by +"
        raise NoteError(message)
    raw = _raw(match[3], KEY_SIZE + 1, "the key")
    key = VerifierKey(match[1], raw[1:])
    if raw[0] != ED25519 or key.key_id.hex() != match[2]:
        message = "the verifier key is no Ed25519 key, or its id does not belong to it"
        raise NoteError(message)
    return key


def sign(checkpoint: Checkpoint, key: VerifierKey, signature_of: Callable[[bytes], bytes]) -> str:
    """Write a signed checkpoint; `signature_of` signs the text with the key's private half."""
    signature = signature_of(checkpoint.text.encode())
    return f"{checkpoint.text}\n— {key.name} {_base64(key.key_id + signature)}\n"


def read_checkpoint(note: str, key: VerifierKey, verify: Verify) -> Checkpoint:
    """Read a signed checkpoint of the log that the key belongs to.

    Signatures of unknown keys are ignored, as are those with another key id or length under the log's own name. The
    text may have extension lines; the signature covers them.

    Raises NoteError where it is not signed by this key, or is no checkpoint.
    """
    if len(note) > MAX_NOTE or _CONTROL.search(note):
        message = "a note is plain text of at most a million characters"
        raise NoteError(message)
    text, blank, signatures = note.rpartition("\n\n")
    text += "\n"
    if not blank or not signatures.endswith("\n"):
        message = "a note is a text, an empty line, and lines that sign it"
        raise NoteError(message)
    ours = [raw for line in signatures.split("\n")[:-1] if (raw := _signature(line, key)) is not None]
    if not ours:
        message = f"the checkpoint is not signed by {key}"
        raise NoteError(message)
    if not all(verify(key.public, signature, text.encode()) for signature in ours):
        message = "the checkpoint's signature is wrong"
        raise NoteError(message)
    found = _of_text(text)
    if found.origin != key.name:
        message = f"the text is no checkpoint of {key.name}"
        raise NoteError(message)
    return found


def _signature(line: str, key: VerifierKey) -> bytes | None:
    """Return the signature of one line where it is this key's."""
    dash, _, rest = line.partition(" ")
    name, space, text = rest.partition(" ")
    if dash != "—" or not space or not _NAME.fullmatch(name):
        message = "a line below the text is no signature"
        raise NoteError(message)
    raw = _decoded(text)
    if len(raw) <= _KEY_ID_SIZE:
        message = "a signature is not base64 of a key id and more"
        raise NoteError(message)
    known = name == key.name and raw[:_KEY_ID_SIZE] == key.key_id and len(raw) == _KEY_ID_SIZE + SIGNATURE_SIZE
    return raw[_KEY_ID_SIZE:] if known else None


def read_text(note: str) -> Checkpoint:
    """Read what a signed checkpoint says, whichever key signed it.

    Raises NoteError.
    """
    return _of_text(note.rpartition("\n\n")[0] + "\n")


def _of_text(text: str) -> Checkpoint:
    """Read the text of a checkpoint: origin, size, root, and extension lines, whose meaning is not known here."""
    match text.split("\n"):
        case [origin, size, root, *extensions, ""] if origin and _NUMBER.fullmatch(size) and all(extensions):
            return Checkpoint(origin, int(size), _raw(root, HASH_SIZE, "the root"))
        case _:
            message = "the text is no checkpoint: it has to have an origin, a size and a root, and no empty line"
            raise NoteError(message)


def write_proof(proof: Proof) -> str:
    """Write a proof of inclusion that can be checked without us."""
    lines = [PROOF_HEAD, f"index {proof.index}", *map(_base64, proof.path), "", ""]
    return "\n".join(lines[:-1]) + "\n" + proof.note


def read_proof(text: str) -> Proof:
    """Read a proof; its checkpoint is still to be verified.

    Raises NoteError.
    """
    head, blank, note = text.partition("\n\n")
    first, *lines = head.split("\n")
    if lines and lines[0].startswith("extra "):
        del lines[0]
    word, _, number = lines[0].partition(" ") if lines else ("", "", "")
    if first != PROOF_HEAD or not blank or word != "index" or not _NUMBER.fullmatch(number):
        message = f"a proof begins with {PROOF_HEAD} and an index"
        raise NoteError(message)
    return Proof(int(number), [_raw(line, HASH_SIZE, "a hash of the proof") for line in lines[1:]], note)
