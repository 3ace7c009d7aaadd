"""Files through which the processes of one host see each other's figures.

Each process has a file with its last snapshot and a lock that the kernel releases when the process ends in any way.
The counters of ended processes are added up in one more file, so that sums never fall while a process runs; their
gauges end with them.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from antechamber import durable_files
from antechamber.core.conversion import parse_json
from antechamber.core.metrics.meters import Snapshot, join
from antechamber.core.ports.snapshots import Disk

_Read = TypeVar("_Read", bound=Struct)

FOLDER: Final = "metrics"
"""The folder of these files, in the data folder."""
_ENDED: Final = "ended"
_GATE: Final = "gate"
_MAX_REMEMBERED: Final = 100
"""Ended processes that are remembered, so that a crash between two steps never adds their counters twice."""


class _Ended(Struct, frozen=True):
    """The counters of ended processes."""

    snapshot: Snapshot = Snapshot()
    added: list[str] = []
    """The processes that were added last."""


class SnapshotFiles:
    """Implements core.ports.snapshots.Snapshots in a data folder.

    `process_id` is the name of this process among those that share the folder; without one, no other process can run.
    """

    def __init__(self, data: Path, process_id: str | None) -> None:
        self._data = data
        self._folder = data / FOLDER
        self._own = process_id
        self._lock: int | None = None

    def publish(self, snapshot: Snapshot) -> None:
        """Replace this process's snapshot; the first call begins without old counters if no other process runs.

        Raises OSError.
        """
        if self._own is None:
            return
        if self._lock is None:
            durable_files.make_folder(self._folder)
            with self._gate():
                self._add_ended()
                if not self._names():
                    self._file(_ENDED).unlink(missing_ok=True)
                # Locked inside the gate: to others, a name without a lock is a process that has ended.
                self._lock = _open(self._folder / f"{self._own}.lock")
                durable_files.take_lock(self._lock)
        durable_files.replace(self._file(self._own), msgspec.json.encode(snapshot))

    def others(self) -> list[Snapshot]:
        """Return the snapshots of other processes; none if the files cannot be read now."""
        if self._lock is None:
            return []
        try:
            with self._gate():
                self._add_ended()
                live = [self._read(name, Snapshot) for name in self._names() if name != self._own]
                return [*live, join([self._read(_ENDED, _Ended).snapshot], gauges=False)]
        except OSError:
            return []

    def leave(self) -> None:
        """Release the lock; another process then adds the last snapshot to the ended ones."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def disk(self) -> Disk | None:
        """Return the space on the disk of the data folder."""
        try:
            usage = shutil.disk_usage(self._data)
        except OSError:
            return None
        return Disk(usage.free, usage.total)

    @contextlib.contextmanager
    def _gate(self) -> Iterator[None]:
        """Hold the lock that serializes work on these files among processes."""
        gate = _open(self._folder / _GATE)
        try:
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield
        finally:
            os.close(gate)

    def _add_ended(self) -> None:
        """Add up the counters of processes that have ended, and remove their files."""
        for name in self._names():
            if name == self._own or not self._has_ended(name):
                continue
            ended = self._read(_ENDED, _Ended)
            if name not in ended.added:
                joined = join([ended.snapshot, self._read(name, Snapshot)], gauges=False)
                added = _Ended(joined, [*ended.added, name][-_MAX_REMEMBERED:])
                durable_files.replace(self._file(_ENDED), msgspec.json.encode(added))
            self._file(name).unlink(missing_ok=True)
            (self._folder / f"{name}.lock").unlink(missing_ok=True)

    def _names(self) -> list[str]:
        return sorted(file.stem for file in self._folder.glob("*.lock"))

    def _has_ended(self, name: str) -> bool:
        lock = _open(self._folder / f"{name}.lock")
        try:
            return durable_files.take_lock(lock)
        finally:
            os.close(lock)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _read(self, name: str, kind: type[_Read]) -> _Read:
        """Read a file; a missing or damaged one counts as empty, because it holds nothing but figures."""
        try:
            return parse_json(self._file(name).read_bytes(), kind)
        except (FileNotFoundError, msgspec.MsgspecError):
            return kind()


def _open(path: Path) -> int:
    return durable_files.open_private(path, os.O_RDWR)
