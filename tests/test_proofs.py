"""The proofs of the scripts folder, in their quick form, held to their closing numbers."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytestmark = pytest.mark.usefixtures("at_own_speed")

WRONG = (
    "lost",
    "doubled",
    "refused",
    "unanswered",
    "broken_files",
    "decisions_lost",
    "decisions_doubled",
    "decisions_refused",
    "decisions_unanswered",
    "memories_wrong",
)
SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


def prove(proof: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Run a proof as a process of its own; return its status and its closing numbers."""
    command = [sys.executable, "-m", "proofs", proof, "--json", *options]
    there = os.environ | {"PYTHONPATH": str(SCRIPTS)}
    done = subprocess.run(command, env=there, capture_output=True, text=True, timeout=240, check=False)  # noqa: S603 -- our own program
    assert done.stdout, done.stderr
    numbers: dict[str, Any] = msgspec.json.decode(done.stdout)
    return done.returncode, numbers


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_no_kill_loses_or_doubles_a_submission_or_a_decision(engine: str) -> None:
    """Fifty kills of the service, or twelve of processes and backends: all that was acknowledged is there, once."""
    status, numbers = prove("crash", "--quick", "--engine", engine)
    kinds = {
        "sqlite": {"kill -9 of a process"},
        "postgres": {"kill -9 of a process", "kill -9 of a backend", "pg_terminate_backend"},
    }
    assert set(numbers["kills"]) == kinds[engine]
    assert sum(numbers["kills"].values()) == {"sqlite": 50, "postgres": 12}[engine]
    wrong = {name: numbers[name] for name in (*WRONG, "tracebacks")}
    assert wrong == dict.fromkeys(wrong, 0), numbers
    assert numbers["acknowledged"] > 100
    assert numbers["decisions"] > 10
    assert numbers["memories"] > 5
    assert numbers["answers"]["no answer"] > 0
    assert status == 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_the_proof_sees_what_is_lost_and_what_is_doubled(engine: str) -> None:
    """Rows taken away and put in beside the service: the proof counts each and fails."""
    status, numbers = prove("crash", "--kills", "4", "--sabotage", "--engine", engine)
    assert (numbers["lost"], numbers["doubled"], numbers["decisions_lost"]) == (1, 1, 1)
    assert status == 1


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_one_order_of_events_explains_whatever_agents_and_curators_saw(engine: str) -> None:
    """A hundred and twenty small fights with hang-ups and kills; on PostgreSQL through two processes."""
    status, numbers = prove("histories", "--quick", "--engine", engine)
    assert (numbers["histories"], numbers["unexplained"], numbers["kills"]) == (120, 0, 6)
    for seen in (
        "submit: accepted",
        "submit: joined",
        "submit: again",
        "submit: conflict",
        "submit: sealed",
        "submit: no answer",
        "seal: bound",
        "read: absent",
        "read: found",
        "decide: made",
        "decide: refused",
    ):
        assert numbers[seen] > 10, (seen, numbers)
    assert status == 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_of_two_curators_at_once_exactly_one_decides(engine: str) -> None:
    """Fifty races for the same proposal; on PostgreSQL at two processes."""
    status, numbers = prove("races", "--races", "50", "--engine", engine)
    assert (numbers["races"], numbers["made"], numbers["wrong"]) == (50, 50, 0)
    assert numbers["answers"] == {"303/409": 50}
    assert status == 0


@pytest.mark.timeout(300)
def test_whatever_is_killed_the_ledger_knows_the_truth_afterwards() -> None:
    """Agents and the service, at statements, requests, writes and syncs: each operation landed once or never."""
    status, numbers = prove("ledger", "--quick")
    assert numbers["wrong"] == []
    assert numbers["errors_logged"] == 0
    assert set(numbers["points"]) == {
        "agent, statements and requests",
        "agent, system calls",
        "service, statements",
        "service, system calls",
    }
    assert numbers["killed"] > 30
    assert numbers["states"]["committed"] > 20
    assert numbers["states"]["failed"] > 5
    assert status == 0


@pytest.mark.timeout(300)
def test_the_proof_notices_a_ledger_that_was_lost() -> None:
    """Without it the same event goes out under another key."""
    status, numbers = prove("ledger", "--quick", "--sabotage", "--act", "submit")
    assert any("2 keys taken" in line for line in numbers["wrong"])
    assert status == 1


@pytest.mark.timeout(300)
def test_each_strategy_keeps_its_promise_over_calls_that_are_cut_off() -> None:
    """Real servers over both transports; effects are counted where they happen."""
    status, numbers = prove("guard", "--quick")
    assert numbers["wrong"] == []
    assert set(numbers["interrupted"]) == {
        f"{tool}, {way}" for tool in ("charge", "post", "put", "append") for way in ("stdio", "http")
    }
    assert all(sum(counts.values()) >= 6 for counts in numbers["interrupted"].values())
    assert status == 0


@pytest.mark.timeout(300)
def test_the_proof_sees_an_effect_too_many() -> None:
    """What must not be sent again is: the proof counts the effects and fails."""
    status, numbers = prove("guard", "--calls", "16", "--tool", "append", "--sabotage")
    assert any("2+ effects" in line for line in numbers["wrong"])
    assert status == 1
