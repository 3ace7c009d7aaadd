"""A release: the same bytes from the same commit, and the license of each package that it brings along."""

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest

from lib.licenses import license_of

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("service", "templates", "policies", "tests", "scripts")
BESIDE = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
RELEASE = ROOT / "scripts" / "release"


def build(checkout: Path, target: Path) -> dict[str, str]:
    """Build wheel and source archive; return the digest of each by its name."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1767225600"}
    subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True)  # noqa: S603 -- our own build
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in target.iterdir()}


def test_two_checkouts_build_the_same_bytes(tmp_path: Path) -> None:
    """The place of a checkout and the times of its files do not affect the packages."""
    built = []
    for number in range(2):
        checkout = tmp_path / f"checkout-{number}"
        checkout.mkdir()
        left_out = shutil.ignore_patterns("__pycache__", "node_modules", "build")
        for name in SOURCES:
            shutil.copytree(ROOT / name, checkout / name, ignore=left_out, copy_function=shutil.copyfile)
        for name in BESIDE:
            shutil.copyfile(ROOT / name, checkout / name)
        for path in checkout.rglob("*.py"):
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
        built.append(build(checkout, tmp_path / f"built-{number}"))
    assert len(built[0]) == 2
    assert built[0] == built[1]


def release(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder of its own."""
    return subprocess.run([str(folder / "scripts" / "release"), *words], capture_output=True, text=True, check=False)  # noqa: S603 -- our own program


def test_a_release_is_made_from_a_commit(tmp_path: Path) -> None:
    """With a change that has no commit, nothing is built."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(RELEASE, tmp_path / "scripts" / "release")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)  # noqa: S603, S607 -- an empty repository
    done = release(tmp_path, str(tmp_path / "dist"))
    assert (done.returncode, "There are changes without a commit" in done.stderr) == (1, True)
    assert list((tmp_path / "dist").iterdir()) == []


def test_the_command_explains_itself() -> None:
    """Help names what is written, and an unknown word is refused with it."""
    done = release(ROOT, "--help")
    assert (done.returncode, "SHA256SUMS" in done.stdout) == (0, True)
    done = release(ROOT, "--fast")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, 'scripts/release knows no "--fast".')


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: MIT", "MIT OR Apache-2.0"),
        ("License: BSD\nClassifier: License :: OSI Approved :: MIT License", "BSD"),
        ("License: MIT License\n        \n        Permission is granted", "MIT License"),
        ("Classifier: License :: OSI Approved :: MIT License\nClassifier: Typing :: Typed", "MIT License"),
        ("Classifier: Typing :: Typed", ""),
    ],
)
def test_the_license_of_a_package_is_read_from_its_metadata(tmp_path: Path, lines: str, named: str) -> None:
    """The expression wins over the old field, and that one over the classifiers."""
    place = tmp_path / "some-1.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.4\nName: some\nVersion: 1\n{lines}\n", encoding="utf-8")
    assert license_of(Distribution.at(place)) == named
