"""What a process imports and collects before it works."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from antechamber.permanence import permanent
from support import HANG_SECONDS, running, write_policies

IMPORTED = """
import sys
from pathlib import Path
from antechamber.app.factory import create_app
from antechamber.settings import Settings
create_app(Settings(data=Path(sys.argv[1]), policies=Path(sys.argv[2])))
print(*sorted({"attrs", "phonenumbers", "pydantic", "snowballstemmer", "sqlite_utils"} & sys.modules.keys()))
"""


def test_a_start_imports_nothing_that_only_later_work_or_no_work_needs(tmp_path: Path) -> None:
    """Each of these packages takes 0.02 to 0.2 s; the plugins of the framework would import two of them."""
    policies = write_policies(tmp_path / "policies")
    with running(tmp_path / "data", policies):
        pass
    done = subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, "-c", IMPORTED, tmp_path / "data", policies],
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=True,
    )
    assert done.stdout.split() == []


def test_permanent_objects_are_left_out_of_collections() -> None:
    """Collections pause while they are made, and afterwards look only at what is made later."""
    assert gc.isenabled()
    before = gc.get_freeze_count()
    with permanent():
        assert not gc.isenabled()
        made: list[list[int]] = [[] for _ in range(1_000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > before + len(made)
    assert not any(one is made for one in gc.get_objects())


def test_collections_go_on_after_an_error_while_permanent_objects_are_made() -> None:
    """What was made by then is not kept."""
    before = gc.get_freeze_count()
    with pytest.raises(KeyError), permanent():
        raise KeyError
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, before)
