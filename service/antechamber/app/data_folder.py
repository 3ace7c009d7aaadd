"""Access to the data folder: file modes that protect its secrets, and the lock of the process that serves it."""

import contextlib
import logging
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from antechamber import durable_files
from antechamber.checkpoint_signer import KEY_FILE
from antechamber.resources import folder
from antechamber.secret_key import QUARANTINE_KEY, SECRET
from antechamber.settings import DATABASE, Location, SettingsError

LOCK_FILE: Final = "serve.lock"
"""Locked by the process that serves the folder; contains its process id and address."""
_OWN: Final = re.compile(
    r"metrics|policies|backup\.lock|restore\.unfinished|antechamber\.pgdump|antechamber\.db(-wal|-shm|-journal|-reached)?|(secret|quarantine)\.(key|\d+)|serve\.lock"
    r"|log\.(key|where|next|\d+|draft-\d+|checkpoint(\.lock|\.given-up-[0-9a-f]+)?)"
)
"""Names of all files and folders that Antechamber creates in a data folder, drafts included."""
UNFINISHED: Final = "restore.unfinished"
"""Marks a folder into which a backup is being restored."""
POLICIES: Final = "policies"
"""The folder's own policy, which `serve` uses if no other one is named."""
_BESIDE: Final = (f"{DATABASE}-wal", f"{DATABASE}-reached")
"""Files that exist only beside a database that was used."""
_KEYS: Final = (SECRET, KEY_FILE, QUARANTINE_KEY)
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE: Final = stat.S_IWGRP | stat.S_IWOTH
_log: Final = logging.getLogger(__name__)


def protect(data: Path) -> None:
    """Remove other users' rights to our files in a folder, and to the folder if it contains nothing else.

    The changes are logged in one line, and each key that others could read in a line of its own. A folder that does not
    exist is ignored, as is one with other files, such as a home folder.

    Raises SettingsError if other users could read or replace our files and the modes cannot be changed.
    """
    try:
        names = sorted(entry.name for entry in data.iterdir())
        # After the names: another process that starts with the same empty folder restricts it before it creates a file.
        mode = stat.S_IMODE(data.stat().st_mode)
    except OSError:
        return  # Opening the folder reports the error.
    files = [data / name for name in names if _OWN.fullmatch(name)]
    changed = [text for file in files if (text := _close(file, reachable=bool(mode & _OTHERS)))]
    if mode & _OTHERS and len(files) == len(names) and os.geteuid() in {0, data.stat().st_uid}:
        closed = _close(data)
        # Others could not have read anything in an empty folder, so there is nothing to report.
        changed += [closed] if closed and files else []
    elif mode & _WRITABLE and not mode & stat.S_ISVTX:
        message = (
            f"other users can replace the files in {data} (mode {mode:04o}). Use a folder that holds nothing else and "
            f"belongs to you, or run: chmod go-w {data}"
        )
        raise SettingsError(message)
    if changed:
        _log.warning("other users have no access any more to: %s", ", ".join(changed))


def _close(path: Path, *, reachable: bool = False) -> str | None:
    """Remove other users' rights to a file or folder; return what was changed.

    Raises SettingsError if the mode cannot be changed.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & _OTHERS:
            return None
        path.chmod(mode & ~_OTHERS)
    except FileNotFoundError:
        return None  # Another process of ours removed it meanwhile.
    except OSError as error:
        message = (
            f"other users have access to {path}, and its mode cannot be changed: {error.strerror}. As its owner run: "
            f"chmod go= {path}"
        )
        raise SettingsError(message) from None
    if reachable and path.name in _KEYS:
        _log.warning(
            "%s could be read by other users of this machine until now (mode %04o). %s", path, mode, _risk(path)
        )
    return f"{path} (was {mode:04o})"


def refuse_unfinished(data: Path) -> None:
    """Refuse a folder into which a backup was not restored to the end.

    Raises SettingsError.
    """
    if (data / UNFINISHED).exists():
        message = (
            f"a restore into {data} was not finished, so nothing in it is used; repeat it: antechamber backup restore "
            f"FILE --data {data}"
        )
        raise SettingsError(message)


def refuse_incomplete(data: Path) -> None:
    """Refuse a folder that had a database which is not there: a new one would delete its write-ahead log.

    Raises SettingsError.
    """
    left = [name for name in _BESIDE if (data / name).exists()]
    if left and not (data / DATABASE).exists():
        message = (
            f"{data} has {' and '.join(left)}, but {DATABASE} is missing. Bring it back, or restore a backup into "
            "another folder: antechamber backup restore FILE --data DIR"
        )
        raise SettingsError(message)


def own_policies(data: Path) -> Path | None:
    """Return the folder of a data folder's own policy, if it has one."""
    own = data / POLICIES
    return own if own.is_dir() else None


def policies_in_use(data: Path, named: Path | None) -> Path:
    """Return the policy folder that `serve` would use for a data folder: the named one, its own, or the shipped one."""
    return named or own_policies(data) or folder("policies")


def is_own(name: str) -> bool:
    """Return whether Antechamber creates a file or folder of this name in a data folder."""
    return _OWN.fullmatch(name) is not None


def _risk(path: Path) -> str:
    if path.name == KEY_FILE:
        return "A person who read it can sign a false log; to sign with a new key, run: antechamber log new-key"
    if path.name == QUARANTINE_KEY:
        return "A person who read it and has the database can read the sealed events in it"
    return "A person who read it can guess short private texts from their hashes, and forge forms of signed-in people."


class ServedError(SettingsError):
    """Another process serves the folder; the text names it."""


@contextlib.contextmanager
def alone(location: Location, address: str) -> Iterator[None]:
    """Lock a folder's own database for this process; the kernel releases the lock with any end of the process.

    `address` is shown to another process that tries to serve it. On PostgreSQL several processes may serve one
    location.

    Raises ServedError if another process serves the folder, SettingsError if the folder cannot be used.
    """
    if location.database_url is not None:
        yield
        return
    try:
        location.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = durable_files.open_private(location.data / LOCK_FILE, os.O_RDWR)
    except OSError as error:
        raise _unusable(location.data, error) from None
    try:
        _take(lock, location.data)
        _name_holder(lock, address, location.data)
        yield
    finally:
        os.close(lock)


def _name_holder(lock: int, address: str, data: Path) -> None:
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} at {address}".encode(), 0)
    except OSError as error:
        raise _unusable(data, error) from None


def _unusable(data: Path, error: OSError) -> SettingsError:
    return SettingsError(f"the data folder {data} cannot be used: {durable_files.explain(error, data)}")


def _take(lock: int, data: Path) -> None:
    try:
        taken = durable_files.take_lock(lock)
    except OSError as error:
        message = f"the data folder {data} cannot be locked: {error.strerror}. Use a folder on a local disk."
        raise SettingsError(message) from None
    if not taken:
        holder = os.pread(lock, 500, 0).decode("utf-8", "replace")
        message = (
            f"the data folder {data} is served already{f' by {holder}' if holder.isprintable() and holder else ''}. "
            "Stop that process first, or name another folder with --data."
        )
        raise ServedError(message)
