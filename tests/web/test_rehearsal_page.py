"""The page on which operators rehearse a change of the policy: its form, its progress, its report and its errors."""

import re
import tempfile
from pathlib import Path

import httpx
import pytest

from antechamber.app import rehearsal_process, rehearsal_runs
from antechamber.core.ports.rehearsals import RehearsalError, RehearsalState
from support import Desk, Service, event, until, without_indents

STRICT = b'[defaults]\nkinds = ["fact"]\n'


@pytest.fixture
def own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, so that a test sees what is left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def send(desk: Desk, files: dict[str, bytes], number: str = "1000", path: str = "") -> httpx.Response:
    """Send the form."""
    found = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/policy/rehearsal").text)
    assert found
    parts = [("files", (name, data)) for name, data in files.items()]
    fields = {"csrf": found[1], "number": number}
    return desk.browser.post(f"/policy/rehearsal{path}", data=fields, files=parts or None, follow_redirects=False)


def over(service: Service) -> RehearsalState:
    """Wait for the end of the rehearsal."""
    rehearsals = service.state.operations.rehearsals
    found: RehearsalState = until(lambda: (state := rehearsals.state()) and state.is_over and state, "it has ended")
    return found


def test_a_change_is_shown_with_its_producer_scope_and_number(service: Service, own_temporary: Path) -> None:
    """The report names what would change and examples, and no text; nothing of the files stays on the disk."""
    proposal = service.submit(event("A procedure about deploys.")).json()
    desk = service.sign_in("olga", "operator")
    answer = send(desk, {"scopes.toml": STRICT})
    assert (answer.status_code, answer.headers["location"]) == (303, "/policy/rehearsal")
    assert over(service).error == ""
    page = without_indents(desk.browser.get("/policy/rehearsal").text)
    assert "1 of 1 replayed submission would change." in page
    assert "kind-unsupported" in page
    assert "worker:release-bot" in page
    assert proposal["submission_id"] in page
    assert "about deploys" not in page
    until(lambda: not list(own_temporary.iterdir()), "its folder is removed")


def test_files_that_change_nothing_are_reported_so(service: Service) -> None:
    """The report says how many submissions were replayed, and what could not be."""
    service.submit(event("A procedure about deploys."))
    service.submit(event("A private thing.", visibility="private"))
    desk = service.sign_in("olga", "operator")
    send(desk, {"tests.toml": b""})
    over(service)
    page = without_indents(desk.browser.get("/policy/rehearsal").text)
    assert "No change in 1 replayed submission." in page
    assert "private, kept without their text" in page


def test_a_policy_that_is_not_valid_has_no_result(service: Service) -> None:
    """The message names file and key, as the command does."""
    desk = service.sign_in("olga", "operator")
    send(desk, {"scopes.toml": b"[limts]\n"})
    over(service)
    page = desk.browser.get("/policy/rehearsal").text
    assert "No result." in page
    assert "limts" in page


@pytest.mark.parametrize(
    ("files", "number", "said"),
    [
        ({}, "1000", "Choose the policy files"),
        ({"../secret.key": b""}, "1000", "There is no policy file ../secret.key"),
        ({"own.toml": b""}, "1000", "There is no policy file own.toml"),
        ({"scopes.toml": b""}, "1", "Choose how many submissions"),
    ],
)
def test_a_form_that_is_refused_says_why(service: Service, files: dict[str, bytes], number: str, said: str) -> None:
    """Nothing is started by it."""
    desk = service.sign_in("olga", "operator")
    answer = send(desk, files, number)
    assert answer.status_code == 400
    assert said in answer.text
    assert service.state.operations.rehearsals.state() is None


def test_one_rehearsal_runs_at_a_time_and_can_be_stopped(
    service: Service, own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it runs the page shows progress and loads itself again; a stop leaves nothing behind."""
    waiting = own_temporary / "program.py"
    waiting.write_text('import sys, time\nprint(\'{"done": 5, "total": 10}\', flush=True)\ntime.sleep(600)\n')
    monkeypatch.setattr(rehearsal_runs, "PROGRAM", (str(waiting),))
    desk = service.sign_in("olga", "operator")
    assert send(desk, {"scopes.toml": STRICT}).status_code == 303
    rehearsals = service.state.operations.rehearsals
    until(lambda: rehearsals.state().done == 5, "it is half done")
    shown = desk.browser.get("/policy/rehearsal")
    assert "5 of 10 submissions replayed." in shown.text
    assert shown.headers["refresh"] == "2"
    with pytest.raises(RehearsalError, match="runs already"):
        rehearsals.start({"scopes.toml": STRICT}, 1000)
    assert send(desk, {}, path="/stop").status_code == 303
    assert "it was stopped" in over(service).error
    assert "refresh" not in desk.browser.get("/policy/rehearsal").headers
    until(lambda: list(own_temporary.iterdir()) == [waiting], "its folder is removed")
    rehearsals.stop()


def test_a_process_that_fails_is_reported(
    service: Service, own_temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unexpected end is an error, and the next rehearsal can begin; one that cannot begin says so."""
    failing = own_temporary / "program.py"
    failing.write_text("raise SystemExit(3)\n")
    rehearsals = service.state.operations.rehearsals
    monkeypatch.setattr(rehearsal_runs, "PROGRAM", (str(failing),))
    rehearsals.start({"scopes.toml": STRICT}, 1000)
    assert "its process failed" in over(service).error
    monkeypatch.setattr(rehearsals, "_policies", own_temporary / "missing")
    with pytest.raises(RehearsalError, match="could not begin"):
        rehearsals.start({"scopes.toml": STRICT}, 1000)
    assert rehearsals.state() is None


def test_only_operators_rehearse(service: Service) -> None:
    """A curator's form with a valid token of its own is refused."""
    curator = service.sign_in()
    found = re.search(r'name="csrf" value="([^"]+)"', curator.browser.get("/review").text)
    assert found
    for path in ("/policy/rehearsal", "/policy/rehearsal/stop"):
        assert curator.post(path, {"csrf": found[1]}).status_code == 403


def test_progress_is_written_at_each_percent(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Not at each submission, of which there may be many."""
    for done in range(1, 1001):
        rehearsal_process._show_progress(done, 1000)
    lines = capfdbinary.readouterr().out.splitlines()
    assert len(lines) <= 101
    assert lines[-1] == b'{"done":1000,"total":1000}'
