"""The wheel contains everything a user needs, and runs without the checkout."""

import gzip
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked, freshly built wheel."""
    location = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(location)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # noqa: S603 -- our own build
    (wheel,) = location.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(location / "site")
    return location / "site"


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "policies/producers.toml",
        "policies/tests.toml",
        "policies/README.md",
        "templates/desk.html",
        "templates/assets/antechamber.css",
        "templates/assets/shortcuts.js",
        "templates/README.md",
        "client/README.md",
        "core/log/README.md",
        "store/sql/admission.sql",
        "store/schema/sqlite/0001_tables.sql",
        "verify_export.py",
    ],
)
def test_the_wheel_holds_what_the_service_reads(installed: Path, name: str) -> None:
    """Templates, policies, SQL, the type marker and the documents for users are in the package."""
    assert (installed / "antechamber" / name).is_file()


def test_what_a_page_loads_stays_small() -> None:
    """Compressed, the scripts have at most 22 kB and the style sheet 10 kB, and pages load nothing else."""
    assets = ROOT / "templates" / "assets"
    sizes = {file.suffix: 0 for file in assets.iterdir()}
    for file in assets.iterdir():
        sizes[file.suffix] += len(gzip.compress(file.read_bytes()))
    assert set(sizes) == {".css", ".js", ".svg"}
    assert sizes[".js"] <= 22_000
    assert sizes[".css"] <= 10_000


def test_the_installed_package_runs_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    """The installed package contains the shipped policy."""
    code = "import antechamber.resources as r; print(r.folder('policies')); from antechamber.cli import main; main()"
    done = subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, "-c", code, "policy", "check"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(installed) in done.stdout
    assert "Tests that hold" in done.stdout
