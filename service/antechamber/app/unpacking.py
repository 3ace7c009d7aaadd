"""Unpacking an archive into a folder, and opening the database that it holds."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from antechamber import durable_files
from antechamber.backup_archive import ArchiveReader
from antechamber.backup_archive.files import Progress
from antechamber.core.backups.manifest import DATABASES, BackupError, Manifest
from antechamber.core.ports.store import Store
from antechamber.resources import how_to_install
from antechamber.settings import DATABASE, Location, SettingsError
from antechamber.store.sqlite.store import SqliteStore


class Unpacked(NamedTuple):
    """The files of an archive in a folder."""

    folder: Path
    manifest: Manifest

    @property
    def database(self) -> Path:
        """The file with the database, or with its dump."""
        return self.folder / DATABASES[self.manifest.engine]


def dumps() -> Any:
    """Import the module that makes and loads dumps of PostgreSQL, an optional extra.

    Raises SettingsError if its driver is not installed.
    """
    try:
        from antechamber.store.postgres import dump  # noqa: PLC0415 -- an optional extra
    except ImportError:
        message = f"a backup of PostgreSQL needs its driver. {how_to_install('postgres')}"
        raise SettingsError(message) from None
    return dump


@contextlib.contextmanager
def opened_archive(path: Path, passphrase: bytes | None) -> Iterator[ArchiveReader]:
    """Open an archive and read its manifest.

    Raises BackupError.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise BackupError(message) from None
    with file:
        yield ArchiveReader(file, passphrase)


def unpack(path: Path, folder: Path, passphrase: bytes | None, progress: Progress) -> Unpacked:
    """Write the members of an archive to a folder, each under a name of ours, and sync them.

    Raises BackupError if the archive is damaged, there is no room, or a file cannot be written.
    """
    try:
        with opened_archive(path, passphrase) as reader:
            manifest, free = reader.manifest, shutil.disk_usage(folder).free
            if free < manifest.total:
                message = f"the disk of {folder} has {free >> 20} MiB free, and the backup holds {manifest.total >> 20}"
                raise BackupError(message)
            for member, pieces in reader.members(progress):
                # The manifest's names were compared with those that an archive may have.
                _put(folder, Path(member.name), pieces)
    except OSError as error:
        message = f"{path} cannot be unpacked into {folder}: {durable_files.explain(error, path)}"
        raise BackupError(message) from None
    return Unpacked(folder, manifest)


def _put(folder: Path, name: Path, pieces: Iterator[bytes]) -> None:
    for parent in reversed(name.parents[:-1]):
        durable_files.make_folder(folder / parent)
    with os.fdopen(durable_files.open_private(folder / name, os.O_WRONLY | os.O_EXCL), "wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def opened_copy(unpacked: Unpacked, location: Location, *, discard: bool) -> Iterator[Store]:
    """Open the unpacked database with the schema of this version; a dump is first loaded into the location's database.

    With `discard`, or after an error, the loaded database is removed.

    Raises StoreError, or another AntechamberError.
    """
    if unpacked.manifest.engine == "sqlite":
        file = unpacked.folder / DATABASE
        with contextlib.closing(SqliteStore(file, exclusive_checkpoints=False, upgrade=True)) as opened:
            yield opened
        return
    url, module = location.database_url, dumps()
    from antechamber.store.postgres.store import PostgresStore, migrate  # noqa: PLC0415 -- an optional extra

    if url is None:
        message = "the backup holds a PostgreSQL database; name an empty one: --database-url URL"
        raise BackupError(message)
    location.check()
    module.load(url, unpacked.database)
    keep = False
    try:
        migrate(url)
        with contextlib.closing(PostgresStore(url, restoring=True)) as store:
            yield store
        keep = not discard
    finally:
        if not keep:
            module.discard(url)
