"""Text forms of checkpoints and proofs: C2SP signed notes, tlog-checkpoint, tlog-proof. Signing is done elsewhere.

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
"""Signature type in the note's key id and in the verifier key."""
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
"""Return whether a signature is valid: public key, signature, text (Ed25519, RFC 8032)."""


class NoteError(AntechamberError):
    """Raised when a note, a key or a proof is malformed or not valid."""


class VerifierKey(Struct, frozen=True):
    """The key that verifies a log's checkpoints, or a witness's cosignatures; `name` is that of the log or witness."""

    name: str
    public: bytes
    algorithm: int = ED25519
    """The type of its signatures."""

    def __post_init__(self) -> None:
        """Check that the name fits into a signature line and a verifier key.

        Raises NoteError if it does not.
        """
        if not _NAME.fullmatch(self.name):
            message = "the name of a key is not empty, and has neither spaces nor +"
            raise NoteError(message)

    @property
    def key_id(self) -> bytes:
        """The four bytes in front of each of its signatures."""
        return hashlib.sha256(f"{self.name}\n".encode() + bytes([self.algorithm]) + self.public).digest()[:4]

    def __str__(self) -> str:
        """Return the key as a line of text: name, key id, key."""
        return f"{self.name}+{self.key_id.hex()}+{_base64(bytes([self.algorithm]) + self.public)}"


class Checkpoint(Struct, frozen=True):
    """The size and root of a log at one time."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{_base64(self.root)}\n"


class Proof(Struct, frozen=True):
    """The proof that a leaf has this sequence in the tree of a checkpoint."""

    sequence: int
    path: Sequence[bytes]
    note: str
    """The signed checkpoint."""


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _decode_base64(text: str) -> bytes:
    """Decode canonical base64; return empty bytes for any other text."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
    return raw if _base64(raw) == text else b""


def _decode_sized(text: str, size: int, what: str) -> bytes:
    """Decode canonical base64 of an exact size.

    Raises NoteError if it is not.
    """
    raw = _decode_base64(text)
    if len(raw) != size:
        message = f"{what} is not base64 of {size} bytes"
        raise NoteError(message)
    return raw


def read_key(text: str, algorithm: int = ED25519) -> VerifierKey:
    """Parse a verifier key.

    Raises NoteError if the text is not a verifier key of this type of signatures with its own key id.
    """
    match = _KEY.fullmatch(text.strip())
    if match is None:
        message = "a verifier key is a name, eight hex digits and base64, joined by +"
        raise NoteError(message)
    raw = _decode_sized(match[3], KEY_SIZE + 1, "the key")
    key = VerifierKey(match[1], raw[1:], algorithm)
    if raw[0] != algorithm or key.key_id.hex() != match[2]:
        kind = "Ed25519 key" if algorithm == ED25519 else "key of a witness"
        message = f"the verifier key is no {kind}, or its id does not belong to it"
        raise NoteError(message)
    return key


def sign_note(checkpoint: Checkpoint, key: VerifierKey, signature_of: Callable[[bytes], bytes]) -> str:
    """Return a signed checkpoint; `signature_of` signs the text with the private key."""
    signature = signature_of(checkpoint.text.encode())
    return f"{checkpoint.text}\n— {key.name} {_base64(key.key_id + signature)}\n"


def is_signed_by(note: str, key: VerifierKey) -> bool:
    """Return whether a checkpoint has a signature of a key, which is not verified.

    Raises NoteError if it is not a note.
    """
    return bool(find_signatures(note, key, SIGNATURE_SIZE)[1])


def join_signatures(note: str, before: str) -> str:
    """Return a signed checkpoint with the signatures of an earlier note of the same text below its own."""
    return note + before.rpartition("\n\n")[2]


def read_checkpoint(note: str, key: VerifierKey, verify: Verify) -> Checkpoint:
    """Parse and verify a signed checkpoint of the log that the key belongs to.

    Signatures of unknown keys are ignored, as are those with another key id or length under the log's own name. The
    text may have extension lines; the signature covers them.

    Raises NoteError if it is not signed by this key, or is not a checkpoint.
    """
    text, ours = find_signatures(note, key, SIGNATURE_SIZE)
    if not ours:
        message = f"the checkpoint is not signed by {key}"
        raise NoteError(message)
    if not all(verify(key.public, signature, text.encode()) for signature in ours):
        message = "the checkpoint's signature is wrong"
        raise NoteError(message)
    checkpoint = _parse_text(text)
    if checkpoint.origin != key.name:
        message = f"the text is no checkpoint of {key.name}"
        raise NoteError(message)
    return checkpoint


def find_signatures(note: str, key: VerifierKey, size: int) -> tuple[str, list[bytes]]:
    """Return the text of a note and the key's signatures of `size` bytes, which are not verified yet.

    Raises NoteError if it is not a note.
    """
    if len(note) > MAX_NOTE or _CONTROL.search(note):
        message = "a note is plain text of at most a million characters"
        raise NoteError(message)
    text, blank, signatures = note.rpartition("\n\n")
    if not blank or not signatures.endswith("\n"):
        message = "a note is a text, an empty line, and lines that sign it"
        raise NoteError(message)
    lines = signatures.split("\n")[:-1]
    return f"{text}\n", [raw for line in lines if (raw := _signature(line, key, size)) is not None]


def _signature(line: str, key: VerifierKey, size: int) -> bytes | None:
    """Return the signature of one line if it is this key's, else None.

    Raises NoteError if the line is not a signature.
    """
    dash, _, rest = line.partition(" ")
    name, space, text = rest.partition(" ")
    if dash != "—" or not space or not _NAME.fullmatch(name):
        message = "a line below the text is no signature"
        raise NoteError(message)
    raw = _decode_base64(text)
    if len(raw) <= _KEY_ID_SIZE:
        message = "a signature is not base64 of a key id and more"
        raise NoteError(message)
    matches = name == key.name and raw[:_KEY_ID_SIZE] == key.key_id and len(raw) == _KEY_ID_SIZE + size
    return raw[_KEY_ID_SIZE:] if matches else None


def read_text(note: str) -> Checkpoint:
    """Parse a signed checkpoint without verifying its signatures.

    Raises NoteError if the text is not a checkpoint.
    """
    return _parse_text(note.rpartition("\n\n")[0] + "\n")


def _parse_text(text: str) -> Checkpoint:
    """Parse the text of a checkpoint: origin, size, root, and extension lines, which are ignored.

    Raises NoteError if the text is not a checkpoint.
    """
    match text.split("\n"):
        case [origin, size, root, *extensions, ""] if origin and _NUMBER.fullmatch(size) and all(extensions):
            return Checkpoint(origin, int(size), _decode_sized(root, HASH_SIZE, "the root"))
        case _:
            message = "the text is no checkpoint: it has to have an origin, a size and a root, and no empty line"
            raise NoteError(message)


def write_proof(proof: Proof) -> str:
    """Return a proof of inclusion as text, which can be verified without this service."""
    lines = [PROOF_HEAD, f"index {proof.sequence}", *map(_base64, proof.path), "", ""]
    return "\n".join(lines[:-1]) + "\n" + proof.note


def read_proof(text: str) -> Proof:
    """Parse a proof; the caller still has to verify its checkpoint.

    Raises NoteError if the text is not a proof.
    """
    head, blank, note = text.partition("\n\n")
    first, *lines = head.split("\n")
    if lines and lines[0].startswith("extra "):
        del lines[0]
    word, _, digits = lines[0].partition(" ") if lines else ("", "", "")
    if first != PROOF_HEAD or not blank or word != "index" or not _NUMBER.fullmatch(digits):
        message = f"a proof begins with {PROOF_HEAD} and an index"
        raise NoteError(message)
    return Proof(int(digits), [_decode_sized(line, HASH_SIZE, "a hash of the proof") for line in lines[1:]], note)
