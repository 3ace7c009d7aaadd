"""The proofs detect deliberate losses: each of them is sabotaged, and must fail; `scripts/prove alarms` runs this."""

import pytest

from proofs.soak_resources import MAX_FILES
from proving import prove, run

pytestmark = pytest.mark.timeout(600)

ENGINES = pytest.mark.parametrize("engine", ["sqlite", "postgres"])


@ENGINES
def test_the_proof_sees_what_is_lost_and_what_is_doubled(engine: str) -> None:
    """The proof counts rows removed and added behind the service's back, and fails."""
    status, numbers = prove("crash", "--kills", "4", "--sabotage", "--engine", engine)
    assert (numbers["lost"], numbers["doubled"], numbers["decisions_lost"]) == (1, 1, 1)
    assert numbers["too_little"] == []
    assert status == 1


def test_the_proof_notices_a_ledger_that_was_lost() -> None:
    """Without the ledger the same event is sent under another key, and the proof fails."""
    status, numbers = prove("ledger", "--quick", "--sabotage", "--act", "submit")
    assert any("2 keys taken" in line for line in numbers["wrong"])
    assert numbers["too_little"] == []
    assert status == 1


def test_the_proof_sees_an_effect_too_many() -> None:
    """When a call is sent again against its strategy, the proof counts the effects and fails."""
    status, numbers = prove("guard", "--calls", "16", "--tool", "append", "--sabotage")
    assert any("2+ effects" in line for line in numbers["wrong"])
    assert numbers["too_little"] == []
    assert status == 1


def test_the_proof_sees_a_mirror_that_differs() -> None:
    """A memory that is missing in the mirror and a text that remained in its file are counted, and the proof fails."""
    status, numbers = prove("mirror", "--kills", "2", "--sabotage")
    assert (numbers["differences"], numbers["remains"]) == (1, 1)
    assert numbers["too_little"] == []
    assert status == 1


def test_the_proof_sees_an_answer_that_a_backup_lacks() -> None:
    """A key that is taken from the last restored backup is counted as missing, and the proof fails."""
    status, numbers = prove("backup", "--backups", "2", "--sabotage")
    assert (numbers["missing"], numbers["unusable"]) == (1, 0)
    assert numbers["too_little"] == []
    assert status == 1


def test_the_proof_sees_a_process_that_leaks_and_what_is_lost() -> None:
    """A process that keeps memory and files is not flat; what is taken from the tables is counted, and it fails."""
    status, numbers = prove("soak", "--engine", "sqlite", "--minutes", "0.4", "--sabotage")
    assert (numbers["lost"], numbers["doubled"], numbers["decisions_lost"]) == (1, 1, 1)
    (leaking,) = [one for one in numbers["series"] if one["process"] == "host 0"]
    assert not leaking["flat"]
    assert leaking["files"][1] > leaking["files"][0] + MAX_FILES
    assert (numbers["improper"], numbers["unexpected"], numbers["broken"]) == ({}, {}, [])
    assert (numbers["mirror_differs"], numbers["keys_missing"], numbers["refusals_changed"]) == (0, 0, 0)
    assert status == 1


@ENGINES
def test_the_proof_sees_a_history_that_nothing_explains(engine: str) -> None:
    """When answered keys disappear, the proof prints the history and fails."""
    done = run("histories", "--histories", "2", "--sabotage", "--engine", engine)
    assert "No order explains this history:" in done.stderr
    assert done.returncode == 1


def test_all_proofs_go_on_after_one_that_fails_and_the_table_names_it() -> None:
    """A race decided beforehand fails; the next proof still runs and holds, and the table keeps their order."""
    chosen = ("--engine", "sqlite", "--only", "races", "--only", "tamper", "--sabotage", "races")
    done = run("all", "--quick", *chosen)
    table = [line.split()[:3] for line in done.stdout.partition("seconds\n")[2].splitlines()]
    assert table == [["races", "sqlite", "FAILED"], ["tamper", "sqlite", "ok"]]
    assert "1 of 2 proofs failed." in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("proof", "tests"),
    [
        ("repeats", "web/test_changes.py::test_changes_are_in_commit_order_with_their_leaves"),
        ("journeys", "journeys/test_shortcuts.py::test_a_queue_is_worked_off_by_keys_alone"),
        ("alarms", "test_alarms.py::test_the_proof_sees_a_mirror_that_differs"),
    ],
)
def test_tests_that_run_as_a_proof_notice_a_mistake(proof: str, tests: str) -> None:
    """With one they fail and are named."""
    few = ("--rounds", "1", "--workers", "1", "--only", f"tests/{tests}")
    status, numbers = prove(proof, *few, "--sabotage")
    assert (status, numbers["tests"] > 0, numbers["skipped"]) == (1, True, 0)
    assert numbers["failed"]
