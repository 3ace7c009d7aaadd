"""Restoring a backup into an empty folder, or into an empty folder and an empty database."""

import contextlib
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from antechamber import durable_files
from antechamber.app.data_folder import UNFINISHED, is_own
from antechamber.app.maintenance import bind_secret, clock, open_log
from antechamber.app.unpacking import Unpacked, dumps, opened_archive, opened_copy, unpack
from antechamber.backup_archive.files import Progress
from antechamber.checkpoint_signer import KEY_FILE, read_key_file, verify
from antechamber.core.access.sessions import EndedAccess
from antechamber.core.backups.manifest import KEYS, BackupError, Manifest
from antechamber.core.backups.newer_log import Erasure, NewerLog, read_newer_log
from antechamber.core.ports.store import Store
from antechamber.flows.backup_check import check_copy, erasures_to_repeat
from antechamber.logs import note
from antechamber.secret_key import SECRET_BYTES
from antechamber.settings import DATABASE, Location

_log: Final = logging.getLogger(__name__)
_MAX_KEY: Final = 4096
_SHOWN: Final = 5


class Newer(NamedTuple):
    """What is known about the time after a backup: a checkpoint that was kept elsewhere, and an export of the log."""

    pinned: str | None = None
    export: Path | None = None


class Restored(NamedTuple):
    """A restored location: the key of its new log, the access that ended, and erasures that have to be repeated."""

    manifest: Manifest
    verifier_key: str
    ended: EndedAccess
    erasures: list[Erasure]


def restore_backup(
    path: Path, location: Location, *, passphrase: bytes | None, keys: Path | None, newer: Newer, progress: Progress
) -> Restored:
    """Restore an archive; its log goes on under another name, and all tokens, links and sessions end.

    Until the end the folder is marked, so that no command uses it. After an error nothing remains in it; after a kill
    the same restore can be repeated.

    Raises BackupError if the archive or the place cannot be used, or another AntechamberError.
    """
    location.check()
    with opened_archive(path, passphrase) as reader:
        _check_fit(reader.manifest, location, keys)
        exported = _read_export(newer.export, reader.manifest)
    with _marked(location.data):
        unpacked = unpack(path, location.data, passphrase, progress)
        for name in () if keys is None else KEYS:
            _copy_key(keys, name, location.data)
        _check_keys(location.data)
        with opened_copy(unpacked, location, discard=False) as store:
            restored = _continue(store, unpacked, location, newer.pinned, exported)
        if unpacked.database.name != DATABASE:
            unpacked.database.unlink()
            dumps().finish(location.database_url)
    note(_log, logging.INFO, "restored a backup", made=restored.manifest.origin.created_at, folder=location.data)
    return restored


def _check_fit(manifest: Manifest, location: Location, keys: Path | None) -> None:
    """Refuse what cannot work before anything is written."""
    if manifest.engine == "sqlite" and location.database_url is not None:
        message = (
            "the backup holds a SQLite file: restore it without --database-url, then move it with: antechamber migrate "
            "--move"
        )
        raise BackupError(message)
    if manifest.engine == "postgres" and location.database_url is None:
        message = "the backup holds a PostgreSQL database; name an empty one: --database-url URL"
        raise BackupError(message)
    if not manifest.keys and keys is None:
        message = f"the backup was made without keys; name the folder that holds {', '.join(KEYS)}: --keys FOLDER"
        raise BackupError(message)
    if manifest.keys and keys is not None:
        message = "the backup holds its keys; leave out --keys"
        raise BackupError(message)


def _read_export(file: Path | None, manifest: Manifest) -> NewerLog | None:
    if file is None:
        return None
    try:
        with file.open("rb") as lines:
            return read_newer_log(lines, manifest.log)
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        raise BackupError(message) from None


@contextlib.contextmanager
def _marked(data: Path) -> Iterator[None]:
    """Make an empty folder, marked until the end; remove what is in it after an error.

    Raises BackupError if the folder is not empty, unless that is the rest of a restore that was killed.
    """
    mark = data / UNFINISHED
    made = not data.exists()
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        data.chmod(0o700)
        if not mark.exists() and any(data.iterdir()):
            message = f"{data} is not empty; restore into an empty or a new folder"
            raise BackupError(message)
        lock = durable_files.open_private(mark, os.O_RDWR)
    except OSError as error:
        message = f"the folder {data} cannot be used: {durable_files.explain(error, data)}"
        raise BackupError(message) from None
    try:
        if not durable_files.take_lock(lock):
            message = f"another process restores a backup into {data}"
            raise BackupError(message)
        durable_files.sync_folder(data)
        _empty(data)
        try:
            yield
        except BaseException:
            _empty(data)
            mark.unlink()
            if made:
                data.rmdir()
            raise
        _sync(data)
        mark.unlink()
        durable_files.sync_folder(data)
    finally:
        os.close(lock)


def _empty(data: Path) -> None:
    """Remove what a restore wrote, but not its mark."""
    for entry in data.iterdir():
        if entry.name == UNFINISHED or not (is_own(entry.name) or entry.suffix == ".new"):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _sync(data: Path) -> None:
    """Have the disk hold all names in the folder, and what SQLite wrote last."""
    for folder in [data, *(path for path in data.rglob("*") if path.is_dir())]:
        durable_files.sync_folder(folder)


def _copy_key(source: Path | None, name: str, data: Path) -> None:
    file = (source or data) / name
    try:
        if file.stat().st_size > _MAX_KEY:
            message = f"{file} is no key of Antechamber"
            raise BackupError(message)
        durable_files.create(data / name, file.read_bytes())
    except OSError as error:
        message = f"{durable_files.explain(error, file)}; --keys names the folder with {', '.join(KEYS)}"
        raise BackupError(message) from None


def _check_keys(data: Path) -> None:
    """Check the form of all keys; whether they belong to the database is checked when it is opened.

    Raises BackupError or LogError.
    """
    for name in KEYS:
        if name == KEY_FILE:
            read_key_file(data / name)
        elif (data / name).stat().st_size != SECRET_BYTES:
            message = f"{name} is damaged: it must hold {SECRET_BYTES} bytes"
            raise BackupError(message)


def _continue(
    store: Store, unpacked: Unpacked, location: Location, pinned: str | None, exported: NewerLog | None
) -> Restored:
    """Check the copy, begin its new log, and find the erasures that it does not have."""
    bind_secret(store, location)
    manifest = unpacked.manifest
    with store.read() as tx:
        if findings := check_copy(tx, manifest.log, verify):
            message = f"the backup does not hold what it should: {'; '.join(findings[:_SHOWN])}"
            raise BackupError(message)
        erasures = erasures_to_repeat(tx, exported.erasures) if exported else []
    notes = [one for one in (pinned, exported and exported.checkpoint) if one]
    key, ended = open_log(store, location, clock).continue_restored(notes)
    return Restored(manifest, key, ended, erasures)
