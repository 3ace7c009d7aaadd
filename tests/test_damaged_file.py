"""A database file that is damaged: doctor says so, whatever SQLite notices first, and what to do."""

from pathlib import Path

import pytest

from antechamber import app
from antechamber.settings import DATABASE, Location
from support import antechamber, running, write_policies

PAGE = 4096


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The database file of a service that was used and stopped."""
    folder = tmp_path_factory.mktemp("intact")
    with running(folder / "data", write_policies(folder / "policies")) as service:
        service.sign_in()
    return (folder / "data" / DATABASE).read_bytes()


@pytest.mark.parametrize("damage", ["not a database", "first page", "one tenth", "half", "cut off"])
def test_doctor_says_that_the_file_is_damaged(tmp_path: Path, intact: bytes, damage: str) -> None:
    """It names the file and advises to restore a backup; that the store cannot commit is not the point."""
    size = len(intact)
    place = {"not a database": 0, "first page": 100, "one tenth": size // 10, "half": size // 2, "cut off": 0}[damage]
    place -= place % PAGE if place > PAGE else 0
    broken = intact[:place] + b"\x5a" * 8 * PAGE + intact[place + 8 * PAGE :]
    if damage == "cut off":
        broken = intact[: 10 * PAGE]
    location = Location(data=tmp_path / "data")
    app.migrate(location)
    (location.data / DATABASE).write_bytes(broken)
    done = antechamber("doctor", "--data", str(location.data))
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert f"{location.data / DATABASE} is damaged" in said
    assert "restore the newest backup that is good: antechamber backup verify, antechamber backup restore" in said
    assert "cannot commit" not in said
    assert "Traceback" not in said
