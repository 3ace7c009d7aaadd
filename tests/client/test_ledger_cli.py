"""The ledger's commands, as an operator of agents uses them."""

import json
import subprocess
from pathlib import Path

import httpx
import pytest

from antechamber.client.guarded_call import GuardedCalls
from antechamber.client.ledger import Ledger
from antechamber.core.delivery_rules import DeliveryRuling
from client.test_ledger import lesson
from support import HANG_SECONDS, antechamber, event, free_port

COMMITTED = DeliveryRuling(state="committed", final=True, reason="the tool answered")
UNCERTAIN = DeliveryRuling(state="uncertain", final=False, reason="no answer: \x1b[31mreset")
Ran = subprocess.CompletedProcess[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The ledger of an agent with three uncertain operations and one that was never sent."""
    path = tmp_path / "agent.ledger"
    with Ledger(path) as ledger:
        for content in ("One.", "Two.", "Three."):
            one = ledger.prepare(lesson(content))
            ledger.begin(one)
            ledger.record_answer(one, lambda _: UNCERTAIN)
        ledger.prepare(lesson("Never sent."))
    return path


@pytest.fixture
def agent(live: tuple[str, str]) -> dict[str, str]:
    """The environment that leads an agent to a service."""
    url, token = live
    return {"ANTECHAMBER_URL": url, "ANTECHAMBER_TOKEN": token}


def ledger(path: Path, verb: str, *arguments: str) -> Ran:
    """Run a command on the ledger."""
    return antechamber("ledger", verb, *arguments, "--ledger", str(path))


def test_everything_uncertain_is_settled_from_the_shell(path: Path, agent: dict[str, str]) -> None:
    """A table shows the outcomes, and the exit status shows whether a person is needed."""
    with Ledger(path) as opened:
        first = next(opened.entries()).operation_id
    headers = {"authorization": f"Bearer {agent['ANTECHAMBER_TOKEN']}"}
    other = event("Something else.", idempotency_key=first)
    assert (
        httpx.post(
            f"{agent['ANTECHAMBER_URL']}/v1/submissions", json=other, headers=headers, timeout=HANG_SECONDS
        ).status_code
        == 201
    )
    ran = antechamber("recover", "--ledger", str(path), **agent)
    assert ran.returncode == 1, ran.stderr
    assert "3  committed" in ran.stdout
    assert "1  needs_review" in ran.stdout
    assert "1  need a person: antechamber ledger list --state needs_review" in ran.stdout
    assert ran.stderr == ""
    settled = ledger(path, "settle", first, "--as", "failed", "--reason", "Another process took the key.")
    assert settled.stdout == f"{first} is failed.\n"
    again = antechamber("recover", "--ledger", str(path), "--json", **agent)
    assert again.returncode == 0
    assert json.loads(again.stdout)["ledger"] == {
        "pending": 0,
        "committed": 3,
        "failed": 1,
        "uncertain": 0,
        "needs_review": 0,
    }
    assert antechamber("recover", "--ledger", str(path), **agent).stdout == "Nothing was uncertain.\n"


def test_a_service_that_is_down_leaves_everything_uncertain(path: Path) -> None:
    """When the service is down, operations stay uncertain, with the reason and a failing exit status."""
    down = {"ANTECHAMBER_URL": f"http://127.0.0.1:{free_port()}", "ANTECHAMBER_TOKEN": "antp_" + "A" * 36}
    ran = antechamber("recover", "--ledger", str(path), **down)
    assert ran.returncode == 1
    assert "4  uncertain" in ran.stdout
    assert "4 because of: no connection" in ran.stdout


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({}, "set ANTECHAMBER_TOKEN"),
        ({"ANTECHAMBER_TOKEN": "two words"}, "this is no token"),
        ({"ANTECHAMBER_TOKEN": "x", "ANTECHAMBER_URL": "nowhere"}, "nowhere is no address"),
    ],
)
def test_recovery_names_the_options_that_it_needs(path: Path, environment: dict[str, str], text: str) -> None:
    """Missing settings are reported before anything is sent."""
    ran = antechamber("recover", "--ledger", str(path), **environment)
    assert ran.returncode == 1
    assert text in ran.stderr


def test_a_ledger_can_be_listed_and_shown(path: Path) -> None:
    """The list has one line per operation; a text is shown only on request, without control characters."""
    listed = ledger(path, "list").stdout
    lines = listed.splitlines()
    assert len(lines) == 5
    assert lines[-1] == "4 uncertain"
    assert "worker:release-bot" in lines[0]
    assert "no answer:  [31mreset" in lines[0]
    assert "\x1b" not in listed
    assert "One." not in listed
    operations = [
        json.loads(line) for line in ledger(path, "list", "--json", "--state", "uncertain").stdout.splitlines()
    ]
    assert [one["attempts"] for one in operations] == [1, 1, 1, 0]
    shown = ledger(path, "show", operations[0]["operation_id"]).stdout
    assert '"content": "One."' in shown
    assert "attempt 1 begins" in shown
    assert "\x1b" not in shown
    detail = json.loads(ledger(path, "show", operations[3]["operation_id"], "--json").stdout)
    assert [step["state"] for step in detail["history"]] == ["pending", "uncertain"]
    assert detail["body"]["payload"]["content"] == "Never sent."


def test_an_empty_ledger_and_an_erased_text_are_named(tmp_path: Path) -> None:
    """An empty ledger and an erased text are reported in words."""
    path = tmp_path / "agent.ledger"
    with Ledger(path) as opened:
        assert ledger(path, "list").stdout == "The ledger is empty.\n"
        one = opened.prepare(lesson())
        opened.record_answer(
            one, lambda _: DeliveryRuling(state="failed", final=True, reason="private-detected", erase=True)
        )
    assert "The service found its text private" in ledger(path, "show", one).stdout


def test_an_operation_that_cannot_be_settled_by_hand_is_explained(path: Path, tmp_path: Path) -> None:
    """Settling by hand names the obstacle: no ledger, operation or reason, a wrong state, or a settled operation."""
    missing = ledger(tmp_path / "nowhere", "list")
    assert (missing.returncode, "there is no ledger at" in missing.stderr) == (1, True)
    with Ledger(path) as opened:
        one = next(opened.entries()).operation_id
    for arguments, status, text in (
        (("unknown", "--as", "failed", "--reason", "x"), 1, "has no operation unknown"),
        ((one, "--as", "failed", "--reason", " "), 2, "cannot be blank"),
        ((one, "--as", "pending", "--reason", "x"), 2, "Invalid value for '--as'"),
        ((one, "--as", "failed"), 2, "Missing option '--reason'"),
    ):
        ran = ledger(path, "settle", *arguments)
        assert (ran.returncode, text in ran.stderr) == (status, True)
    assert ledger(path, "settle", one, "--as", "committed", "--reason", "I looked.").returncode == 0
    assert "is committed already" in ledger(path, "settle", one, "--as", "failed", "--reason", "x").stderr


def test_the_new_address_of_a_service_is_recorded(path: Path, agent: dict[str, str]) -> None:
    """A ledger belongs to one service; the command `moved` accepts a new address."""
    assert antechamber("recover", "--ledger", str(path), **agent).returncode == 0
    elsewhere = agent | {"ANTECHAMBER_URL": "http://localhost:1"}
    refused = antechamber("recover", "--ledger", str(path), **elsewhere).stderr
    assert f"is the ledger of the service at {agent['ANTECHAMBER_URL'][7:]}, not of localhost:1" in refused
    assert "is the ledger of the service at localhost:1 from now on" in ledger(path, "moved", "localhost:1").stdout
    assert antechamber("recover", "--ledger", str(path), **elsewhere).stdout == "Nothing was uncertain.\n"


def test_calls_of_other_tools_are_shown_and_left_to_their_guard(tmp_path: Path, agent: dict[str, str]) -> None:
    """Calls of other tools are shown with arguments and results; recovery of submissions reports and skips them."""
    path = tmp_path / "calls.ledger"
    with Ledger(path) as opened:
        calling = GuardedCalls(opened, "tracker", {}, 1)
        one, two = (calling.prepare("append", {"line": line}, None) for line in ("x", "y"))
        opened.begin(one)
        opened.record_answer(one, lambda _: COMMITTED, b'{"content": []}')
        opened.begin(two)
    ran = antechamber("recover", "--ledger", str(path), **agent)
    assert "Nothing was uncertain." in ran.stdout
    assert "1  calls of other tools, which their agent's guard settles" in ran.stdout
    assert "tracker/append" in ledger(path, "list", "--state", "uncertain").stdout
    shown = ledger(path, "show", one).stdout
    assert '"line": "x"' in shown
    assert '"content": []' in shown
    assert json.loads(ledger(path, "show", one, "--json").stdout)["result"] == {"content": []}
