"""Cosignatures of witnesses: their keys, what they sign, and the messages that ask for one.

Sources: c2sp.org/tlog-cosignature (the Ed25519 form, cosignature/v1) and c2sp.org/tlog-witness (add-checkpoint).
"""

import base64
import re
from collections.abc import Sequence
from typing import Final

from antechamber.core.log.checkpoint_text import (
    SIGNATURE_SIZE,
    NoteError,
    VerifierKey,
    Verify,
    find_signatures,
    read_key,
)

COSIGNATURE: Final = 4
"""Type of a cosignature in the key id and in the verifier key."""
_TIME_SIZE: Final = 8
_SIZE: Final = re.compile(rb"(0|[1-9][0-9]{0,18})\n?")


def read_witness_key(text: str) -> VerifierKey:
    """Parse the verifier key of a witness.

    Raises NoteError if the text is not one with its own key id.
    """
    return read_key(text, COSIGNATURE)


def cosigned_text(time: int, text: str) -> bytes:
    """Return what a witness signs: a header, the time (seconds since 1970 UTC), and the text of the checkpoint."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


def read_cosignature(note: str, key: VerifierKey, verify: Verify) -> int | None:
    """Return when a witness cosigned a checkpoint last, in seconds since 1970 UTC; None if it did not.

    Raises NoteError if one of its cosignatures is wrong, or the text is not a note.
    """
    text, found = find_signatures(note, key, _TIME_SIZE + SIGNATURE_SIZE)
    times = [int.from_bytes(raw[:_TIME_SIZE], "big") for raw in found]
    for time, raw in zip(times, found, strict=True):
        if time >> 63 or not verify(key.public, raw[_TIME_SIZE:], cosigned_text(time, text)):
            message = f"the cosignature of {key.name} is wrong"
            raise NoteError(message)
    return max(times, default=None)


def write_request(old: int, path: Sequence[bytes], note: str) -> bytes:
    """Return the body that asks for a cosignature of a checkpoint.

    `old` is the size that the witness cosigned last, and `path` proves that this log begins with that one.
    """
    lines = [f"old {old}", *(base64.b64encode(one).decode() for one in path)]
    return ("\n".join(lines) + f"\n\n{note}").encode()


def read_size(body: bytes) -> int | None:
    """Return the size that a witness cosigned last, from its answer to another one; None if it is not a number."""
    match = _SIZE.fullmatch(body)
    return int(match[1]) if match else None


def read_lines(body: bytes, note: str, key: VerifierKey, verify: Verify) -> str:
    """Return the cosignatures of one witness in its answer, as lines that follow the checkpoint's own signatures.

    Raises NoteError if it has none, or a wrong one.
    """
    try:
        lines = body.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        message = "the answer is no UTF-8 text"
        raise NoteError(message) from None
    ours = "".join(line for line in lines if line.startswith(f"— {key.name} "))
    if read_cosignature(note + ours, key, verify) is None:
        message = f"the answer has no cosignature of {key.name}"
        raise NoteError(message)
    return ours
