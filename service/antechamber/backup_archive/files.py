"""Archive files: a tar (POSIX ustar) of plain files in the order of its manifest, which comes first.

The reader accepts exactly what the manifest lists, in its order: no link, no folder, no other name, no second member of
a name. It never takes a path from the archive to write to.
"""

import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import msgspec
from blake3 import blake3

from antechamber.backup_archive.encryption import MAGIC, DecryptingReader, EncryptingWriter, read_origin
from antechamber.core.backups.manifest import MAX_MANIFEST, ArchiveMember, BackupError, Manifest, Origin, read_manifest
from antechamber.core.times import parse_time

MANIFEST: Final = "manifest.json"
PIECE: Final = 1 << 20
_BLOCK: Final = 512
_END: Final = 2 * _BLOCK
_NOT_OURS: Final = "this is no backup of Antechamber"
Progress = Callable[[int, int], None]
"""Gets the bytes that are done and their total."""


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object:
        """Write bytes."""


class _Source(Protocol):
    def read(self, size: int, /) -> bytes:
        """Return this many bytes, fewer only at the end."""


def measure(name: str, file: BinaryIO) -> ArchiveMember:
    """Return the member of a manifest for a file, which is read to its end and wound back."""
    hasher, size = blake3(), 0
    while piece := file.read(PIECE):
        hasher.update(piece)
        size += len(piece)
    file.seek(0)
    return ArchiveMember(name=name, size=size, digest=f"blake3:{hasher.hexdigest()}")


def write_archive(
    file: BinaryIO, manifest: Manifest, contents: Sequence[BinaryIO], passphrase: bytes | None, progress: Progress
) -> None:
    """Write an archive; `contents` are the members of the manifest, in its order.

    Raises OSError.
    """
    writer = None if passphrase is None else EncryptingWriter(file, passphrase, manifest.origin)
    sink: _Sink = file if writer is None else writer
    raw = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    modified, done = parse_time(manifest.origin.created_at) // 1_000_000, 0
    sink.write(_header(MANIFEST, len(raw), modified) + raw + _padding(len(raw)))
    for member, content in zip(manifest.members, contents, strict=True):
        sink.write(_header(member.name, member.size, modified))
        while piece := content.read(PIECE):
            sink.write(piece)
            done += len(piece)
            progress(done, manifest.total)
        sink.write(_padding(member.size))
    sink.write(bytes(_END))
    if writer is not None:
        writer.finish()


def _header(name: str, size: int, modified: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, modified, 0o600
    # The GNU form writes sizes from 8 GiB on as a binary number; all others are plain ustar.
    return info.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


class ArchiveReader:
    """Reads an archive from its beginning to its end; `manifest` is there from the start."""

    def __init__(self, file: BinaryIO, passphrase: bytes | None) -> None:
        """Read the manifest.

        Raises BackupError if the file is no archive of this format, or cannot be decrypted.
        """
        self._source = _open(file, passphrase)
        size = self._read_header(MANIFEST)
        if size > MAX_MANIFEST:
            raise BackupError(_NOT_OURS)
        self.manifest: Final = read_manifest(self._read(size))
        self._skip_padding(size)

    def members(self, progress: Progress) -> Iterator[tuple[ArchiveMember, Iterator[bytes]]]:
        """Yield each member with its content, which the caller reads to its end, and check what follows the last one.

        Raises BackupError if a member is not what the manifest says.
        """
        self._done = 0
        for member in self.manifest.members:
            if self._read_header(member.name) != member.size:
                message = f"the archive is damaged: {member.name} has another size than its manifest says"
                raise BackupError(message)
            yield member, self._content(member, progress)
            self._skip_padding(member.size)
        if self._read(_END) != bytes(_END) or self._source.read(1):
            message = "the archive is damaged: it does not end after its last member"
            raise BackupError(message)

    def _content(self, member: ArchiveMember, progress: Progress) -> Iterator[bytes]:
        hasher, left = blake3(), member.size
        while left:
            piece = self._read(min(left, PIECE))
            hasher.update(piece)
            left -= len(piece)
            self._done += len(piece)
            progress(self._done, self.manifest.total)
            yield piece
        if f"blake3:{hasher.hexdigest()}" != member.digest:
            message = f"the archive is damaged: {member.name} has another digest than its manifest says"
            raise BackupError(message)

    def _read_header(self, name: str) -> int:
        """Read the header of a plain file of this name; return the file's size."""
        try:
            info = tarfile.TarInfo.frombuf(self._read(_BLOCK), "utf-8", "strict")
        except (tarfile.HeaderError, UnicodeError, ValueError):
            message = f"{_NOT_OURS}, or it is damaged before {name}"
            raise BackupError(message) from None
        if info.name != name or info.type != tarfile.REGTYPE or info.size < 0:
            message = f"{_NOT_OURS}: {info.name[:100]!a} is where the plain file {name} has to be"
            raise BackupError(message)
        return info.size

    def _skip_padding(self, size: int) -> None:
        self._read(-size % _BLOCK)

    def _read(self, size: int) -> bytes:
        data = self._source.read(size)
        if len(data) != size:
            message = "the archive is cut off; use another copy or backup"
            raise BackupError(message)
        return data


def _open(file: BinaryIO, passphrase: bytes | None) -> _Source:
    if file.read(len(MAGIC)) == MAGIC:
        return DecryptingReader(file, passphrase)
    file.seek(0)
    return file


def origin_of(path: Path) -> Origin | None:
    """Return the origin of an archive, also of an encrypted one; None if the file is no archive that can be read."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return read_origin(file)
            file.seek(0)
            return ArchiveReader(file, None).manifest.origin
    except (BackupError, OSError):
        return None
