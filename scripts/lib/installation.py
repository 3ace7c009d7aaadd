"""The wheel of this checkout, installed into an environment that has neither the checkout nor any other package."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_LOCKS: Final = ("run", "postgres")
_BUILD: Final = frozenset({"hatchling", "editables", "pathspec", "trove-classifiers"})
"""Packages of the locks that build the wheel; an installed service does not need them."""


def build_wheel(folder: Path) -> Path:
    """Build the wheel into a folder and return its path."""
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Make an environment with the wheel and return the path of its program.

    The packages of the locks are copied from this environment, which `scripts/setup` made from the same locks, so that
    no network is needed. pip then checks that nothing is missing of what the wheel asks for. Raises RuntimeError with
    the output of the step that failed.
    """
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    python = folder / "bin" / "python"
    (place,) = folder.glob("lib/python*/site-packages")
    for name in locked():
        _copy(name, place)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    _run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)])
    _run([*pip, "check"])
    return folder / "bin" / "antechamber"


def locked() -> list[str]:
    """Return the names of the packages that the service and its extra for PostgreSQL need."""
    texts = [(ROOT / "scripts" / "locks" / f"{lock}.txt").read_text(encoding="utf-8") for lock in _LOCKS]
    return sorted({name for text in texts for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)} - _BUILD)


def _copy(name: str, place: Path) -> None:
    """Copy the files of an installed package, but no program; some are only for other systems."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return
    for file in found.files or []:
        source = Path(str(found.locate_file(file)))
        if ".." not in file.parts and source.is_file():
            target = place / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603 -- our own program
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
