"""The wheel contains everything a user needs, and runs without the checkout."""

import gzip
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import get_args

import pytest

from antechamber.core.contract import Disposition
from antechamber.web.help_chapters import CHAPTERS

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
        "templates/assets/times.js",
        "templates/README.md",
        "client/README.md",
        "core/log/README.md",
        "store/sql/admission.sql",
        "store/schema/sqlite/0001_tables.sql",
        "verify_export.py",
        "documents/README.md",
        "documents/service/README.md",
        "documents/service/DECISIONS.md",
        "documents/scripts/README.md",
        "documents/tests/README.md",
        "templates/assets/pictures/desk-light.webp",
        "templates/assets/pictures/desk-dark.webp",
    ],
)
def test_the_wheel_holds_what_the_service_reads(installed: Path, name: str) -> None:
    """Templates, policies, SQL, the type marker and the documents for users are in the package."""
    assert (installed / "antechamber" / name).is_file()


def test_what_a_page_loads_stays_small() -> None:
    """Compressed, the scripts have at most 22 kB and the style sheet 10 kB.

    Pages load nothing else, except that the overview of the help shows one of two pictures of at most 120 kB.
    """
    assets = ROOT / "templates" / "assets"
    files = [file for file in assets.iterdir() if file.is_file()]
    sizes = {file.suffix: 0 for file in files}
    for file in files:
        sizes[file.suffix] += len(gzip.compress(file.read_bytes()))
    assert [folder.name for folder in assets.iterdir() if folder.is_dir()] == ["pictures"]
    pictures = {file.name: file.stat().st_size for file in (assets / "pictures").iterdir()}
    assert set(pictures) == {"desk-light.webp", "desk-dark.webp"}
    assert max(pictures.values()) <= 120_000
    assert set(sizes) == {".css", ".js", ".svg"}
    assert sizes[".js"] <= 22_000
    assert sizes[".css"] <= 10_000


HELP = """
from pathlib import Path
from typing import get_args
from litestar.testing import TestClient
from antechamber.app.factory import create_app
from antechamber.resources import document, folder
from antechamber.settings import Settings
from antechamber.core.contract import Disposition
from antechamber.web.help_chapters import CHAPTERS

settings = Settings(data=Path("data"), policies=folder("policies"))
with TestClient(create_app(settings), base_url="http://127.0.0.1:8080") as client:
    token = client.app.state.access.tokens.issue("auditing", "auditor", [], None)[1]
    for chapter in CHAPTERS:
        answer = client.get(chapter.address, headers={"authorization": f"Bearer {token}"})
        print(document(chapter.file), answer.status_code)
    print(client.get("/assets/pictures/desk-light.webp").headers["content-type"])
"""
"""Prints the file and the status of each chapter, and the type of the picture on the overview."""


def test_the_help_of_the_installed_package_needs_no_checkout(installed: Path, tmp_path: Path) -> None:
    """The service of the unpacked wheel answers every chapter from a file of the wheel."""
    done = subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, "-c", HELP],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    *chapters, picture = done.stdout.splitlines()
    answered = dict(line.rsplit(" ", 1) for line in chapters)
    assert len(answered) == len(CHAPTERS)
    assert [path for path in answered if not Path(path).is_relative_to(installed)] == []
    assert set(answered.values()) == {"200"}
    assert picture == "image/webp"


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


def test_the_installed_package_shows_itself_in_a_demo(installed: Path, tmp_path: Path) -> None:
    """The demo needs no checkout, imports nothing from its working folder, and leaves nothing behind."""
    (tmp_path / "click.py").write_text("raise SystemExit('this is a file of the user')")
    code = "from antechamber.cli import main; main()"
    done = subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, "-P", "-c", code, "demo", "--once", "--port", "0"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = set(re.findall(r" ((?:accepted|rejected)-\S+)", done.stdout))
    assert shown == set(get_args(Disposition))
    assert "/login?link=antl_" in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == [tmp_path / "click.py"]
