"""Small files that a crash leaves whole: written under another name, synced, then linked or renamed.

A name is on disk only once its folder is synced too. All files have mode 0600, except documents. A file that root makes
belongs to the owner of its folder, who could not read it otherwise; backups and archives stay root's.
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
    draft = _draft(target, mode=0o666)
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
def appearing(path: Path, *, replacing: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write; at the end it is synced and gets its name. If the caller raises, nothing of it remains.

    Raises FileExistsError if the name is taken and its file is not to be replaced, or another OSError.
    """
    if not replacing:
        _refuse_taken(path)
    draft = _draft(path, hand_over=False)
    try:
        with draft.open("wb") as file:
            # Released with any end of the process: a draft without this lock is the rest of one that was killed.
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not replacing:
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


def open_private(path: Path | str, flags: int) -> int:
    """Open a file, or create it with mode 0600; return its descriptor.

    Raises OSError.
    """
    flags |= os.O_CREAT | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | os.O_EXCL, 0o600)
    except FileExistsError:
        if flags & os.O_EXCL:
            raise
        # It keeps its owner: the name may be a link of another user to a file of root's.
        return os.open(path, flags, 0o600)
    _hand_over(descriptor, Path(path).parent)
    return descriptor


def make_folder(path: Path) -> None:
    """Make a folder with mode 0700 in a folder of ours, unless it is there.

    Raises OSError.
    """
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _hand_over(descriptor, path.parent)
    finally:
        os.close(descriptor)


def _hand_over(descriptor: int, model: Path) -> None:
    """Give a file of root's the owner and group of `model`; where root may not do so, it stays root's."""
    if os.geteuid() != 0 or os.fstat(descriptor).st_uid != 0:
        return
    owner = model.stat()
    if owner.st_uid != 0:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, owner.st_uid, owner.st_gid)


def explain(error: OSError, path: Path) -> str:
    """Return a file and what is wrong with it, and for a lack of rights what to do.

    `path` is named if the error names no file, and the folder instead of a file that could not be made.
    """
    place = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(path)
    if not isinstance(error, PermissionError):
        return f"{place}: {error.strerror or error}"
    place = place if os.path.lexists(place) else str(Path(place).parent)
    return f"{place}: {error.strerror}; fix its owner or mode, or run this as the user of the service"


def _draft(path: Path, *, mode: int = 0o600, hand_over: bool = True) -> Path:
    """Create an empty file beside `path` under a name that no other process or thread uses."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        if hand_over:
            _hand_over(descriptor, path if path.exists() else path.parent)
    finally:
        os.close(descriptor)
    return draft


def _write(draft: Path, data: bytes) -> None:
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
