"""A data folder of a service user: what root does beside the service, and files that the user may not read."""

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from antechamber import durable_files
from antechamber.resources import folder
from support import HANG_SECONDS

USER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
AS_USER = f"""
import os
from antechamber.cli import audit, backups, main, people, service
from antechamber.policy_files import read_policy
from antechamber.resources import folder
if os.geteuid() == 0:
    # All is imported, also what a migration and a policy need: the user may not be able to read the Python's files.
    import sqlite_utils
    read_policy(folder("policies"))
    os.setgroups([])
    os.setgid({USER})
    os.setuid({USER})
main()
"""


@cache
def _package() -> tempfile.TemporaryDirectory[str]:
    """A copy of the package that each user may read; the checkout may be in a folder of this user alone."""
    parent = tempfile.TemporaryDirectory()
    copy = Path(parent.name) / "antechamber"
    shutil.copytree(Path(durable_files.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(folder("policies"), copy / "policies")
    # The user cannot store what a process compiles.
    compileall.compile_dir(copy, quiet=1)
    for path in (copy.parent, *copy.parent.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return parent


@cache
def _first_data() -> tempfile.TemporaryDirectory[str]:
    """A folder with the data folder with which each test begins, of the service user; without root, of this user."""
    parent = _open_folder()
    folder = Path(parent.name) / "data"
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(folder, USER, USER)
    assert run_as_user("migrate", data=folder).returncode == 0
    assert run_as_user("log", "checkpoint", data=folder).returncode == 0
    return parent


def _open_folder() -> tempfile.TemporaryDirectory[str]:
    """Create a folder that every user may enter."""
    made = tempfile.TemporaryDirectory()
    Path(made.name).chmod(0o755)
    return made


@pytest.fixture
def data() -> Iterator[Path]:
    """A data folder of the service user, below a folder that every user may enter."""
    with _open_folder() as parent:
        made = shutil.copytree(Path(_first_data().name) / "data", Path(parent) / "data")
        for path in (made, *made.rglob("*")) if os.geteuid() == 0 else ():
            os.chown(path, USER, USER)
        yield made


def run_as_user(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    """Run a verb on a data folder as the service user."""
    return _run("-c", AS_USER, *arguments, data=data)


def run_as_root(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    """Run a verb on a data folder as the user of the tests."""
    return _run("-m", "antechamber.cli", *arguments, data=data)


def _run(*arguments: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, *arguments, "--data", data],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
        cwd=data.parent,
        env=os.environ | {"PYTHONPATH": _package().name},
    )


def owners(folder: Path) -> set[tuple[int, int]]:
    """Return users and groups of a folder and all that is in it."""
    found = [folder, *folder.rglob("*")]
    return {(path.lstat().st_uid, path.lstat().st_gid) for path in found}


@as_root
def test_files_that_root_makes_belong_to_the_service(data: Path) -> None:
    """After verbs of root each file is the service user's, who goes on signing with the new key."""
    for verb in (["log", "checkpoint"], ["log", "new-key"], ["token", "issue", "worker:a"], ["migrate"]):
        assert run_as_root(*verb, data=data).returncode == 0
    backup = data.parent / "backup"
    assert run_as_root("backup", "create", str(backup), data=data).returncode == 0
    assert owners(data) == {(USER, USER)}
    assert backup.stat().st_uid == 0
    assert run_as_user("token", "issue", "worker:b", data=data).returncode == 0
    assert run_as_user("doctor", data=data).stdout.startswith("Healthy")


@as_root
def test_a_new_folder_is_filled_for_its_owner(data: Path) -> None:
    """Root restores a backup, and makes a first database, in an empty folder of the service user."""
    backup = data.parent / "backup"
    (data / "policies" / "detectors").mkdir(parents=True)
    (data / "policies" / "producers.toml").write_text("")
    (data / "policies" / "detectors" / "own.toml").write_text("")
    assert run_as_root("backup", "create", str(backup), data=data).returncode == 0
    for verb in (["backup", "restore", str(backup)], ["migrate"]):
        folder = data.parent / f"from {verb[0]}"
        folder.mkdir(mode=0o700)
        os.chown(folder, USER, USER)
        assert run_as_root(*verb, data=folder).returncode == 0
        assert owners(folder) == {(USER, USER)}
        assert run_as_user("doctor", data=folder).stdout.startswith("Healthy")


@as_root
def test_a_link_of_the_service_user_gives_it_no_file_of_root(tmp_path: Path) -> None:
    """A name that is there keeps its owner: it may be a link to a file or a folder of root's."""
    folder, secret = tmp_path / "data", tmp_path / "secret"
    folder.mkdir()
    os.chown(folder, USER, USER)
    secret.write_text("root's")
    (tmp_path / "inner").mkdir()
    (folder / "lock").symlink_to(secret)
    (folder / "metrics").symlink_to(tmp_path / "inner")
    os.close(durable_files.open_private(folder / "lock", os.O_RDWR))
    durable_files.make_folder(folder / "metrics")
    durable_files.replace(folder / "lock", b"new")
    assert (secret.stat().st_uid, (tmp_path / "inner").stat().st_uid, secret.read_text()) == (0, 0, "root's")


def unreadable(path: Path) -> None:
    """Take a file from the service user."""
    if os.geteuid() == 0:
        os.chown(path, 0, 0)
    path.chmod(0o000)


@pytest.mark.parametrize(
    "name", ["log.key", "log.where", "log.checkpoint", "log.checkpoint.lock", "secret.key", "antechamber.db"]
)
def test_a_file_that_the_service_may_not_read_is_named(data: Path, name: str) -> None:
    """The text names the file and what to mend, does not advise a restore, and knows of no contradiction."""
    unreadable(data / name)
    for verb in (["log", "checkpoint"], ["doctor"]):
        done = run_as_user(*verb, data=data)
        said = done.stdout + done.stderr
        assert done.returncode == 1
        assert f"{data / name}: Permission denied; fix its owner or mode" in said
        assert not [word for word in ("Traceback", "estore", "contradicts") if word in said]


def test_a_key_of_sealed_events_that_the_service_may_not_read_is_named(data: Path) -> None:
    """A backup says so instead of ending with a traceback."""
    unreadable(data / "quarantine.key")
    done = run_as_user("backup", "create", str(data.parent / "backup"), data=data)
    assert f"{data / 'quarantine.key'}: Permission denied; fix its owner or mode" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_in_which_the_service_may_not_write_is_named(data: Path) -> None:
    """A file that cannot be made has no owner to mend, so the folder is named."""
    kept = data.parent / "kept"
    kept.mkdir(mode=0o555)
    for verb in (["log", "checkpoint"], ["token", "issue", "worker:a"]):
        done = run_as_user(*verb, "--checkpoint-file", str(kept / "checkpoint"), data=data)
        assert f"cannot be kept: {kept}: Permission denied; fix its owner or mode" in done.stderr
        assert "contradicts" not in done.stderr
    data.chmod(0o500)
    done = run_as_user("log", "checkpoint", data=data)
    assert f"{data}: Permission denied; fix its owner or mode" in done.stderr
