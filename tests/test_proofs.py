"""The proofs of the scripts folder, in their quick form, held to their closing numbers."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


def prove(script: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Run a proof as a process of its own; return its status and its closing numbers."""
    command = [sys.executable, str(SCRIPTS / script), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)  # noqa: S603 -- our own program
    assert done.stdout, done.stderr
    numbers: dict[str, Any] = msgspec.json.decode(done.stdout)
    return done.returncode, numbers


@pytest.mark.timeout(300)
def test_kills_of_processes_and_backends_lose_and_double_nothing() -> None:
    """Twelve kills under load, four of each kind: all that was acknowledged is found again, once."""
    status, numbers = prove("prove_kills.py", "--quick")
    assert set(numbers["kills"].values()) == {4}
    wrong = {name: numbers[name] for name in ("lost", "doubled", "refused", "unanswered", "tracebacks")}
    assert wrong == dict.fromkeys(wrong, 0), numbers
    assert numbers["acknowledged"] > 100
    assert numbers["answers"]["no answer"] > 0
    assert status == 0


@pytest.mark.timeout(300)
def test_the_proof_of_kills_sees_a_lost_submission_and_a_doubled_proposal() -> None:
    """One row taken away and one put in beside the service: the proof counts both and fails."""
    status, numbers = prove("prove_kills.py", "--kills", "3", "--sabotage")
    assert (numbers["lost"], numbers["doubled"]) == (1, 1)
    assert status == 1
