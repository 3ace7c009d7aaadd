"""A file for the last signed checkpoint that cannot be used: the text says what is wrong with it."""

import shutil
from pathlib import Path

import pytest

from antechamber import app
from antechamber.core.errors import ContradictionError, LogError, UnusableCheckpointError
from antechamber.settings import Location


@pytest.fixture
def signed(tmp_path: Path) -> Location:
    """A data folder whose log was signed."""
    location = Location(data=tmp_path / "data")
    app.migrate(location)
    with app.opened_log(location) as opened:
        opened.checkpoints.checkpoint()
    return location


def refusal(location: Location, file: Path) -> LogError:
    """Return the error of a verb that lets someone in, with the checkpoint in this file."""
    elsewhere = Location(data=location.data, checkpoint_file=file)
    with pytest.raises(LogError) as caught, app.opened_access(elsewhere, grants=True):
        pass
    (finding,) = app.examine(elsewhere)
    assert str(caught.value).endswith(finding)
    return caught.value


def test_a_missing_folder_is_named(signed: Location, tmp_path: Path) -> None:
    """Nothing is written, and nothing is known of a contradiction."""
    error = refusal(signed, tmp_path / "nowhere" / "checkpoint")
    assert f"there is no folder {tmp_path / 'nowhere'}" in str(error)
    assert "cannot be compared" in str(error)
    assert "contradicts" not in str(error)
    assert not isinstance(error, ContradictionError)


@pytest.mark.parametrize("content", [b"garbage\n", b"\xff\xfe", b"\n\n"])
def test_a_file_that_holds_something_else_is_named(signed: Location, tmp_path: Path, content: bytes) -> None:
    """The log stays closed, because it cannot be compared; the text asks for the right file."""
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    error = refusal(signed, file)
    assert f"{file} holds no checkpoint of a log" in str(error)
    assert "--checkpoint-file" in str(error)
    assert "contradicts" not in str(error)
    assert isinstance(error, UnusableCheckpointError)
    assert file.read_bytes() == content


def test_a_missing_checkpoint_is_no_contradiction(signed: Location, tmp_path: Path) -> None:
    """A file that is not there yet is missing although the log was signed; that stays a reason to stop."""
    error = refusal(signed, tmp_path / "checkpoint")
    assert "is missing or empty" in str(error)
    assert "contradicts" not in str(error)


def test_an_older_log_contradicts_the_checkpoint(signed: Location, tmp_path: Path) -> None:
    """A checkpoint of a larger log is a contradiction, as before."""
    old = tmp_path / "old"
    shutil.copytree(signed.data, old)
    with app.opened_log(signed) as opened:
        opened.checkpoints.change_key()
    shutil.copy(signed.data / "log.checkpoint", old)
    older = app.opened_access(Location(data=old), grants=True)
    with pytest.raises(ContradictionError, match="contradicts what was signed last"), older:
        pass
