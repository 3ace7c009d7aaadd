"""Small files that a crash leaves whole: written under another name, synced, then linked or renamed.

A name is on disk only once its folder is synced too. All files have mode 0600, except documents.
"""

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

_DRAFT: Final = re.compile(r"(.+)\.[0-9a-f]{16}\.new")


@contextlib.contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yield an empty draft beside `path`, and link it as `path` at the end; a file that has the name by then stays.

    The caller writes and syncs the draft. If it raises, no file gets the name. Raises OSError.
    """
    draft = _draft(path)
    try:
        yield draft
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()
    sync_folder(path.parent)


def create(path: Path, data: bytes) -> None:
    """Create a file, unless there is one: of several processes the first one wins.

    Raises OSError.
    """
    with drafted(path) as draft:
        _write(draft, data)


def replace(path: Path, data: bytes) -> None:
    """Replace a file, or create it: a crash leaves the old content or the new one.

    Raises OSError; then the old content stays, unless only the sync of the folder failed.
    """
    _replace(path, _draft(path), data)


def rewrite(path: Path, data: bytes) -> None:
    """Replace a document as `replace` does: its mode stays, and a new one has the usual mode of the process.

    A symbolic link stays, and the file that it names is replaced. Raises OSError.
    """
    target = path.resolve()
    draft = _draft(target, 0o666)
    with contextlib.suppress(FileNotFoundError):
        draft.chmod(stat.S_IMODE(target.stat().st_mode))
    _replace(target, draft, data)


def _replace(path: Path, draft: Path, data: bytes) -> None:
    try:
        _write(draft, data)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextlib.contextmanager
def appearing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to write; at the end it is synced and gets its name. If the caller raises, nothing remains.

    Raises FileExistsError if the name is taken, or another OSError.
    """
    _refuse_taken(path)
    draft = _draft(path)
    try:
        with draft.open("wb") as file:
            # Released with any end of the process: a draft without this lock is the rest of one that was killed.
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
            _refuse_taken(path)
            draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _refuse_taken(path: Path) -> None:
    if path.exists():
        message = f"{path} exists already"
        raise FileExistsError(message)


def remove_drafts(folder: Path, wanted: Callable[[str], bool]) -> None:
    """Remove the drafts that killed processes left in a folder, of files whose names are `wanted`.

    Raises OSError.
    """
    for draft in folder.iterdir():
        match = _DRAFT.fullmatch(draft.name)
        if match is None or not wanted(match[1]):
            continue
        with contextlib.suppress(FileNotFoundError), draft.open("rb") as file:
            if take_lock(file):
                draft.unlink()


def take_lock(file: int | IO[Any]) -> bool:
    """Take the exclusive lock of an open file, which ends with the process; return False if it is held elsewhere.

    Raises OSError if the file system has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Have the disk hold the names of a folder's files.

    Raises OSError.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft(path: Path, mode: int = 0o600) -> Path:
    """Create an empty file beside `path` under a name that no other process or thread uses."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    return draft


def _write(draft: Path, data: bytes) -> None:
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
