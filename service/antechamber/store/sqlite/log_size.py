"""Records the size that the log of a SQLite file reached, in a small file beside the database.

SQLite keeps the newest changes in the write-ahead log (`-wal`). A copy without that file opens as an older database,
and nothing in it shows this. The size recorded here does. It is written after each commit and before the answers, and
not synced: it survives a crash of the process, and after a power cut it may be too small but never too large.
"""

import contextlib
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from antechamber import durable_files

SUFFIX: Final = "-reached"
_log: Final = logging.getLogger(__name__)
_FORM: Final = re.compile(rb"(\d{20}) (whole|short)\n")

REPLACED: Final = (
    "another file was put in the place of the database, so nothing more is stored until the service is started again"
)
"""Data written to a deleted or replaced file is lost when the process ends."""


class LogSizeFile:
    """The size that a log reached, and whether the end of the log is missing.

    Create it before `database` is opened, because it checks whether a write-ahead log exists.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._identity: tuple[int, int] | None = None
        self._path = database.with_name(database.name + SUFFIX)
        wal = database.with_name(f"{database.name}-wal")
        # SQLite deletes the file only after everything in it is in the database.
        self._without_wal = not wal.exists() or wal.stat().st_size == 0
        self._file: int | None = None
        self._short = False

    def compare(self, measure: Callable[[], int]) -> None:
        """Record a missing end if the database was opened without its write-ahead log and has fewer leaves.

        `measure` returns the size of the log. It is called last: another process may append at the same time.
        """
        self._identity = self._identify()
        reached, self._short = self._read()
        if self._without_wal and not self._short and reached > measure():
            self._short = True
            self._write(reached, sync=True)

    def note(self, size: int, added: int) -> None:
        """Record the log's size after a commit; if its end is missing, the number of missing leaves is kept."""
        reached, self._short = self._read() if self._short else (size, False)
        self._write(reached + added if self._short else size)

    def missing(self, measure: Callable[[], int]) -> int:
        """Return how many leaves are missing at the end of the log; `measure` returns its size."""
        reached, self._short = self._read()
        return max(reached - measure(), 0) if self._short else 0

    def replaced(self) -> str | None:
        """Return an error text if the database file was replaced since it was opened; None otherwise."""
        if self._identify() == self._identity:
            return None
        _log.critical(REPLACED)
        return REPLACED

    def _identify(self) -> tuple[int, int] | None:
        """Return device and inode, which distinguish files of the same name; None if there is no file."""
        try:
            status = os.stat(self._database)  # noqa: PTH116 -- once per transaction: half as long as Path.stat
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def describe_missing(self, measure: Callable[[], int]) -> str | None:
        """Return a text about the missing leaves and what to do; None if nothing is missing."""
        missing = self.missing(measure)
        if not missing:
            return None
        name = self._database.name
        return (
            f"Its last {missing} leaves are missing, with the changes that they record: {name} was opened without "
            f"{name}-wal, which held them, or is an older file. Stop the service and copy all files of the folder "
            f"again; if {name}-wal is gone, restore the newest backup; if there is none, auditors have to know: "
            "antechamber log new-key --restored"
        )

    def accept(self, size: int) -> None:
        """Continue from this size: the missing leaves are given up."""
        self._short = False
        self._write(size, sync=True)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _read(self) -> tuple[int, bool]:
        """Return size and state; 0 and False if the file cannot be read."""
        try:
            match = _FORM.fullmatch(self._path.read_bytes())
        except OSError:
            match = None
        return (int(match[1]), match[2] == b"short") if match else (0, False)

    def _write(self, size: int, *, sync: bool = False) -> None:
        """Write in place; if the disk refuses, the recorded size is too small, and the commit remains valid."""
        with contextlib.suppress(OSError):
            if self._file is None:
                self._file = durable_files.open_private(self._path, os.O_WRONLY)
            os.pwrite(self._file, b"%020d %s\n" % (size, b"short" if self._short else b"whole"), 0)
            if sync:
                os.fsync(self._file)
