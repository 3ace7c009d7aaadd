"""Making, checking and keeping backups of a data location."""

import contextlib
import errno
import logging
import shutil
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from antechamber import __version__, durable_files
from antechamber.app.data_folder import POLICIES
from antechamber.app.maintenance import clock, open_log, open_store, refuse_doubt
from antechamber.app.unpacking import Unpacked, dumps, opened_copy, unpack
from antechamber.backup_archive import origin_of, write_archive
from antechamber.backup_archive.files import Progress, measure
from antechamber.checkpoint_signer import verify
from antechamber.core.backups.manifest import (
    DATABASES,
    KEYS,
    BackupError,
    Manifest,
    Origin,
    is_policy,
    same_scheme,
    surplus,
)
from antechamber.core.errors import AntechamberError
from antechamber.core.ports.store import Rows, Store
from antechamber.core.times import format_time
from antechamber.flows.backup_check import check_copy, state_of
from antechamber.flows.sessions import list_planted
from antechamber.flows.store_state import LAST_BACKUP
from antechamber.logs import note
from antechamber.secret_key import SECRET, load_quarantine_key, load_secret, secret_check
from antechamber.settings import DATABASE, Location
from antechamber.store.sqlite.copy import copied
from antechamber.store.statements import migrations

LOCK_FILE: Final = "backup.lock"
_log: Final = logging.getLogger(__name__)
_SPARE: Final = 16 << 20
"""Bytes that remain free on a disk."""


class Created(NamedTuple):
    """A backup that is on disk, and the older ones that were removed for it."""

    path: Path
    manifest: Manifest
    size: int
    removed: list[Path]


class Verified(NamedTuple):
    """What is wrong with a backup; `opened` is False if its database could not be opened here."""

    manifest: Manifest
    findings: list[str]
    opened: bool


def create_backup(
    location: Location, target: Path, *, keys: bool, passphrase: bytes | None, keep: int | None, progress: Progress
) -> Created:
    """Copy a location into one archive while it may be served; nothing is there under its name before it is complete.

    Raises BackupError, or another AntechamberError.
    """
    # Report a mistyped folder before a file is made in it.
    open_store(location, create=False).close()
    if target.resolve().is_relative_to(location.data.resolve()):
        message = f"{target} lies in the data folder, and would be lost with it; name a file in another place"
        raise BackupError(message)
    with _alone(location.data):
        store = open_store(location, create=False)
        try:
            if keys:
                open_log(store, location, clock)
                load_quarantine_key(location.data)
            # With --keep, backups of a wrong database would soon have replaced those of the right one.
            refuse_doubt(store, location)
            _refuse_full(location.data, store.size(), "a copy of the database is made there first")
            created_at = clock()
            created = _write(
                location,
                target,
                Origin(created_at=format_time(created_at), instance=_instance(location)),
                keys=keys,
                passphrase=passphrase,
                progress=progress,
            )
            _record(store, created_at)
        finally:
            store.close()
        return created._replace(removed=_remove_surplus(created, keep))


@contextlib.contextmanager
def _alone(data: Path) -> Iterator[None]:
    """Hold the folder's lock of backups.

    Raises BackupError if another process makes a backup of the folder.
    """
    with open(data / LOCK_FILE, "a", opener=durable_files.open_private) as lock:
        if not durable_files.take_lock(lock):
            message = f"another process is making a backup of {data}; try again when it has ended"
            raise BackupError(message)
        yield


def _refuse_full(folder: Path, wanted: int, why: str) -> None:
    free = shutil.disk_usage(folder).free
    if free < wanted + _SPARE:
        message = f"the disk of {folder} has {free >> 20} MiB free and needs {(wanted + _SPARE) >> 20}: {why}"
        raise BackupError(message)


def _instance(location: Location) -> str:
    return secret_check(load_secret(location.data))


def _write(
    location: Location, target: Path, origin: Origin, *, keys: bool, passphrase: bytes | None, progress: Progress
) -> Created:
    with _copied(location, progress) as (tx, copy):
        contents: list[tuple[str, BinaryIO]] = [(DATABASES[_engine(location)], copy)]
        contents += [(name, BytesIO((location.data / name).read_bytes())) for name in KEYS if keys]
        contents += _policies(location.data)
        manifest = Manifest(
            product=__version__,
            engine=_engine(location),
            schema_step=migrations(_engine(location))[-1][0],
            origin=origin,
            log=state_of(tx.log),
            keys=keys,
            members=[measure(name, content) for name, content in contents],
        )
        try:
            durable_files.remove_drafts(target.parent, lambda name: same_scheme(name, target.name))
            with durable_files.appearing(target) as file:
                write_archive(file, manifest, [content for _, content in contents], passphrase, progress)
        except OSError as error:
            raise _cannot_write(target, error) from None
    return Created(target, manifest, target.stat().st_size, [])


def _cannot_write(target: Path, error: OSError) -> BackupError:
    if isinstance(error, FileExistsError):
        return BackupError(f"{target} exists already; a backup never replaces a file, so name another one")
    advice = {
        errno.ENOENT: "make its folder first",
        errno.ENOSPC: "make room there; nothing was left of it, and older backups are as they were",
    }.get(error.errno or 0, "choose another place")
    return BackupError(f"{target} cannot be written: {error.strerror}; {advice}")


def _engine(location: Location) -> Any:
    return "sqlite" if location.database_url is None else "postgres"


def _copied(location: Location, progress: Progress) -> contextlib.AbstractContextManager[tuple[Rows, BinaryIO]]:
    if location.database_url is None:
        return copied(location.data / DATABASE, location.data, progress)
    dumped: contextlib.AbstractContextManager[tuple[Rows, BinaryIO]] = dumps().dumped(
        location.database_url, location.data, progress
    )
    return dumped


def _policies(data: Path) -> list[tuple[str, BinaryIO]]:
    """Return the files of the folder's own policy."""
    files = sorted((data / POLICIES).rglob("*.toml")) if (data / POLICIES).is_dir() else []
    named = [(file.relative_to(data).as_posix(), file) for file in files]
    return [(name, BytesIO(file.read_bytes())) for name, file in named if is_policy(name)]


def _record(store: Store, at: int) -> None:
    """Note in the database when the last backup was made; the backup is complete without it."""
    try:
        store.write(lambda tx: tx.reports.set_meta(LAST_BACKUP, str(at))).result()
    except AntechamberError as error:
        note(_log, logging.WARNING, "the time of the backup was not recorded", error=str(error))


def _remove_surplus(created: Created, keep: int | None) -> list[Path]:
    """Remove older archives of this instance in the folder of the new one, which is complete."""
    if keep is None:
        return []
    folder = created.path.parent
    files = [file for file in folder.iterdir() if file.is_file() and same_scheme(file.name, created.path.name)]
    found = [(file.name, origin) for file in files if (origin := origin_of(file))]
    names = surplus(found, (created.path.name, created.manifest.origin), keep)
    for name in names:
        (folder / name).unlink(missing_ok=True)
    return [folder / name for name in names]


def verify_backup(path: Path, *, passphrase: bytes | None, database_url: str | None, progress: Progress) -> Verified:
    """Check every digest of an archive, then open a temporary copy of its database and run all checks on it.

    A dump of PostgreSQL is opened in the empty database at `database_url`, which is empty again afterwards; without one
    only its table of contents is read.

    Raises BackupError if the archive cannot be read, or another AntechamberError.
    """
    with tempfile.TemporaryDirectory(prefix="antechamber-") as folder:
        unpacked = unpack(path, Path(folder), passphrase, progress)
        manifest = unpacked.manifest
        if manifest.engine == "postgres" and database_url is None:
            dumps().read_contents(unpacked.database)
            return Verified(manifest, [], opened=False)
        with opened_copy(unpacked, Location(data=Path(folder), database_url=database_url), discard=True) as store:
            return Verified(manifest, _findings(store, unpacked), opened=True)


def _findings(store: Store, unpacked: Unpacked) -> list[str]:
    with store.read() as tx:
        findings = check_copy(tx, unpacked.manifest.log, verify)
    secret = unpacked.folder / SECRET
    return findings + (list_planted(store, secret.read_bytes()) if secret.exists() else [])
