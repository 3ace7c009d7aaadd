"""`scripts/setup`: what it installs, what it leaves unchanged, and its messages."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "scripts" / "locks"
PIP = """#!/bin/sh
# In the place of the interpreter of .venv: writes down what pip is asked for, and the packages of a part of a lock.
[ "$2" = pip ] || exit 0
for last; do :; done
names=
[ ! -f "$last" ] || names=$(sed -n 's/==.*/ /p' "$last" | tr -d '\\n')
echo "$* $names" >> asked
[ ! -e fails ]
"""
USED = "-m pip install --quiet --disable-pip-version-check"
PACKAGES = {
    lock.name: {line.partition("==")[0] for line in lock.read_text().splitlines() if not line.startswith(" ")}
    for lock in LOCKS.iterdir()
}
"""The packages of each lock."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with an empty .venv, whose files are older than any new file."""
    shutil.copytree(LOCKS, tmp_path / "scripts" / "locks")
    shutil.copy(ROOT / "scripts" / "setup", tmp_path / "scripts" / "setup")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    interpreter = tmp_path / ".venv" / "bin" / "python"
    interpreter.write_text(PIP)
    interpreter.chmod(0o755)
    for file in (tmp_path / "pyproject.toml", *(tmp_path / "scripts" / "locks").iterdir()):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    return tmp_path


def setup(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script from another folder."""
    command = [str(checkout / "scripts" / "setup"), *words]
    environment = os.environ | {"PYTHON": sys.executable}
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)  # noqa: S603 -- our own program


def asked(checkout: Path) -> list[str]:
    """Return the locks that pip installed since the last call, and whether antechamber was installed.

    Of a lock, pip comes first, and no package is installed twice.
    """
    file = checkout / "asked"
    lines = file.read_text().splitlines() if file.exists() else []
    file.unlink(missing_ok=True)
    found: list[str] = []
    parts: list[str] = []
    for line in lines:
        options, part, names = line.removeprefix(USED).partition(f" {PARTS}")
        parts += names.split()[1:]
        lock = [name for name, packages in PACKAGES.items() if sorted(packages) == sorted(parts)]
        if lock:
            found.append(f"{lock[0]}{options.partition(LOCKED)[2]}")
            assert "pip" in parts[:1] or "pip" not in parts
            parts = []
        elif not part:
            found.append(options.strip())
    return found + parts


PARTS = "-r .venv/halves/"
LOCKED = "--no-deps --require-hashes --no-compile"
ITSELF = "--no-deps --no-build-isolation -e ."
BESIDE = "mcp1.txt --target .venv/mcp1"
"""Version 1 of the MCP SDK, which the tests run besides version 2."""


@pytest.mark.parametrize(
    ("words", "locks"),
    [
        ([], ["run.txt"]),
        (["run"], ["run.txt"]),
        (["mcp"], ["run.txt", "mcp.txt"]),
        (["run", "mcp", "postgres"], ["run.txt", "mcp.txt", "postgres.txt"]),
        (["oidc"], ["run.txt", "oidc.txt"]),
        (["tracing"], ["run.txt", "tracing.txt"]),
        (["dev"], ["dev.txt", BESIDE]),
        (["dev", "mcp"], ["dev.txt", BESIDE]),
    ],
)
def test_it_installs_what_is_asked_for_once(checkout: Path, words: list[str], locks: list[str]) -> None:
    """The first run prints its actions; the second does and prints nothing."""
    first = setup(checkout, *words)
    assert (first.returncode, first.stderr) == (0, "")
    assert asked(checkout) == [*locks, ITSELF]
    lines = first.stdout.splitlines()
    assert [lock for lock in locks if lock != BESIDE and f"packages of scripts/locks/{lock}" not in first.stdout] == []
    assert lines[-2:] == ["Installing antechamber itself …", "Ready: .venv/bin/antechamber"]
    again = setup(checkout, *words)
    assert (again.returncode, again.stdout, again.stderr, asked(checkout)) == (0, "", "", [])


def test_an_extra_is_added_to_what_is_there(checkout: Path) -> None:
    """Nothing is installed twice, and the test requirements include every extra."""
    setup(checkout)
    assert asked(checkout) == ["run.txt", ITSELF]
    setup(checkout, "mcp")
    assert asked(checkout) == ["mcp.txt", ITSELF]
    setup(checkout, "dev")
    assert asked(checkout) == ["dev.txt", BESIDE, ITSELF]
    for stamp in ("run", "mcp"):
        (checkout / ".venv" / f"{stamp}.stamp").unlink()
    assert setup(checkout, "run", "mcp", "postgres").stdout == ""
    assert asked(checkout) == []


def test_a_lock_that_changed_is_installed_again(checkout: Path) -> None:
    """Only a lock newer than its installation is installed again."""
    setup(checkout, "mcp", "postgres")
    asked(checkout)
    os.utime(checkout / "scripts" / "locks" / "mcp.txt", (4_000_000_000, 4_000_000_000))
    setup(checkout, "mcp", "postgres")
    assert asked(checkout) == ["mcp.txt", ITSELF]


def test_an_installation_that_fails_is_tried_again(checkout: Path) -> None:
    """A failed installation ends with the installer's status and is repeated next time."""
    (checkout / "fails").touch()
    assert setup(checkout).returncode == 1
    (checkout / "fails").unlink()
    asked(checkout)
    assert setup(checkout).returncode == 0
    assert asked(checkout) == ["run.txt", ITSELF]


def test_it_explains_itself(checkout: Path) -> None:
    """--help lists every argument; an unknown one is an error before anything is done."""
    for option in ("--help", "-h"):
        shown = setup(checkout, option)
        assert shown.returncode == 0
        assert [word for word in ("run", "mcp", "oidc", "postgres", "dev", "PYTHON") if word not in shown.stdout] == []
    wrong = setup(checkout, "mcp", "postgre")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert 'knows no "postgre"' in wrong.stderr
    assert "Usage:" in wrong.stderr
    assert asked(checkout) == []


def test_what_is_installed_beside_each_other_has_the_same_versions() -> None:
    """Each lock has the same package versions as the largest one."""

    def pins(name: str) -> set[str]:
        lines = (LOCKS / f"{name}.txt").read_text().splitlines()
        return {line.partition(" ")[0] for line in lines if "==" in line.partition(" ")[0]}

    everything = pins("dev")
    for name in ("run", "mcp", "oidc", "postgres"):
        assert pins(name) <= everything
    for name in ("mcp", "oidc", "postgres"):
        assert pins(name) - pins("run")
