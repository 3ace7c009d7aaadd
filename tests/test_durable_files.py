"""Durable files: a crash or a failure at any step leaves the old file, the new one or none, and never a part."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antechamber import durable_files

Write = Callable[[Path, bytes], None]
WRITES = [durable_files.create, durable_files.replace, durable_files.rewrite]


class Disk:
    """Records what is synced, linked and renamed, and fails at one step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: int | None = None) -> None:
        """Watch the calls of the operating system from now on."""
        self.steps: list[str] = []
        self.synced: list[int] = []
        self._failing = failing
        for name in ("fsync", "link", "replace"):
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **options: Any) -> Any:
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(values[0]).st_mode)
            self.synced += values[:1] if name == "fsync" else ()
            self.steps.append("fsync of the folder" if folder else name)
            if len(self.steps) - 1 == self._failing:
                raise OSError(5, "Input/output error")
            return real(*values, **options)

        return call


@pytest.mark.parametrize(("write", "named"), [(durable_files.create, "link"), (durable_files.replace, "replace")])
def test_content_is_synced_before_its_name_and_the_name_at_the_end(
    write: Write, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are on disk before the file has its name, and the folder is synced last."""
    disk = Disk(monkeypatch)
    write(tmp_path / "a", b"new")
    assert disk.steps == ["fsync", named, "fsync of the folder"]
    assert (tmp_path / "a").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_first_file_of_a_name_stays(tmp_path: Path) -> None:
    """Creating a file that exists changes nothing; replacing it does."""
    durable_files.create(tmp_path / "a", b"first")
    durable_files.create(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    durable_files.replace(tmp_path / "a", b"third")
    assert (tmp_path / "a").read_bytes() == b"third"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("failing", range(2))
def test_a_failure_before_the_name_changes_nothing(
    write: Write, failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a sync or the naming fails, the old file stays, no draft is left, and the error is raised."""
    old = [] if write is durable_files.create else ["a"]
    for name in old:
        (tmp_path / name).write_bytes(b"old")
    Disk(monkeypatch, failing)
    with pytest.raises(OSError, match="Input/output error"):
        write(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == old
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"] * len(old)


@pytest.mark.parametrize("write", WRITES)
def test_a_folder_that_cannot_be_synced_is_an_error(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the folder's sync fails, the caller learns that the file may be lost, and the folder is closed."""
    disk = Disk(monkeypatch, 2)
    with pytest.raises(OSError, match="Input/output error"):
        write(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(disk.synced[-1])


def test_an_error_of_the_writer_leaves_no_file(tmp_path: Path) -> None:
    """A draft whose content cannot be written gets no name and is removed."""
    with pytest.raises(ZeroDivisionError), durable_files.drafted(tmp_path / "a") as draft:
        draft.write_bytes(bytes(1 // 0))
    assert list(tmp_path.iterdir()) == []


def test_threads_that_create_one_file_agree(tmp_path: Path) -> None:
    """Of many threads exactly one creates the file, and all read its bytes."""
    read: list[bytes] = []

    def create(number: int) -> None:
        durable_files.create(tmp_path / "a", bytes([number]) * 1000)
        read.append((tmp_path / "a").read_bytes())

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(read) == 8
    assert len(set(read)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
