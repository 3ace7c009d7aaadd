"""Encryption of an archive: scrypt (RFC 7914) and AES-256-GCM in chunks, authenticated to the last byte.

    file   = "ANTEBAK1" length(4, big-endian) header chunk*
    header = JSON {"created_at", "instance", "salt"}; the additional data of every chunk, with what precedes it
    chunk  = AES-256-GCM of at most 1 MiB under nonce = number of the chunk (11 bytes, big-endian) || 1 if last, else 0

The last chunk is marked in its nonce, so that a file without its end, or with more behind it, is refused (the STREAM
construction of Hoang, Reyhanitabar, Rogaway and Vizár, CRYPTO 2015). Each archive has a salt, and so a key, of its own.
"""

import os
from typing import BinaryIO, Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from antechamber.core.backups.manifest import BackupError, Origin
from antechamber.core.conversion import parse_json

MAGIC: Final = b"ANTEBAK1"
CHUNK: Final = 1 << 20
_TAG: Final = 16
_MAX_HEADER: Final = 4096
_COST: Final = {"n": 1 << 17, "r": 8, "p": 1}
"""128 MiB and about half a second for each guess; fixed by the format, so that no header can ask for more."""
_NOT_OURS: Final = "this is no backup of Antechamber, or its beginning is damaged"


class _Header(Origin, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The readable beginning of an encrypted archive; `salt` is hexadecimal."""

    salt: str


class EncryptingWriter:
    """Writes encrypted bytes to a file; `finish` ends it."""

    def __init__(self, file: BinaryIO, passphrase: bytes, origin: Origin) -> None:
        header = _Header(created_at=origin.created_at, instance=origin.instance, salt=os.urandom(16).hex())
        raw = msgspec.json.encode(header)
        self._bound = MAGIC + len(raw).to_bytes(4, "big") + raw
        self._cipher = _cipher(passphrase, header)
        self._file = file
        self._number = 0
        self._waiting = bytearray()
        file.write(self._bound)

    def write(self, data: bytes) -> None:
        """Encrypt bytes; the last chunk waits for `finish`."""
        self._waiting += data
        while len(self._waiting) > CHUNK:
            self._put(bytes(self._waiting[:CHUNK]), last=False)
            del self._waiting[:CHUNK]

    def finish(self) -> None:
        """Write the last chunk."""
        self._put(bytes(self._waiting), last=True)

    def _put(self, data: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._number, last=last), data, self._bound))
        self._number += 1


class DecryptingReader:
    """Reads what EncryptingWriter wrote; `file` is behind the magic number."""

    def __init__(self, file: BinaryIO, passphrase: bytes | None) -> None:
        """Read the header.

        Raises BackupError if it is damaged, or there is no passphrase.
        """
        header, self._bound = _read_header(file)
        if passphrase is None:
            message = "the archive is encrypted; name the file with its passphrase: --passphrase-file FILE"
            raise BackupError(message)
        self._cipher = _cipher(passphrase, header)
        self._file = file
        self._number = 0
        self._ahead = file.read(CHUNK + _TAG)
        self._open = b""
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return this many bytes, fewer only at the end.

        Raises BackupError if the file was altered or cut off, or the passphrase is another one.
        """
        while len(self._open) < size and not self._ended:
            self._open += self._next()
        data, self._open = self._open[:size], self._open[size:]
        return data

    def _next(self) -> bytes:
        chunk, self._ahead = self._ahead, self._file.read(CHUNK + _TAG)
        self._ended = not self._ahead
        try:
            data = self._cipher.decrypt(_nonce(self._number, last=self._ended), chunk, self._bound)
        except InvalidTag:
            message = (
                "the archive cannot be decrypted: the passphrase is another one, or the file was altered"
                if self._number == 0
                else f"the archive is damaged or cut off after {self._number} MiB; use another copy or backup"
            )
            raise BackupError(message) from None
        self._number += 1
        return data


def read_origin(file: BinaryIO) -> Origin:
    """Return what an encrypted archive says without its passphrase; `file` is behind the magic number.

    Raises BackupError.
    """
    return _read_header(file)[0]


def _read_header(file: BinaryIO) -> tuple[_Header, bytes]:
    length = file.read(4)
    size = int.from_bytes(length, "big")
    raw = file.read(size) if size <= _MAX_HEADER else b""
    try:
        return parse_json(raw, _Header), MAGIC + length + raw
    except msgspec.MsgspecError:
        raise BackupError(_NOT_OURS) from None


def _cipher(passphrase: bytes, header: _Header) -> AESGCM:
    try:
        salt = bytes.fromhex(header.salt)
    except ValueError:
        raise BackupError(_NOT_OURS) from None
    return AESGCM(Scrypt(salt=salt, length=32, **_COST).derive(passphrase))


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])
