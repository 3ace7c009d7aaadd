"""Retention on both engines: texts go only after they are in an archive with proofs; late retries get their answers."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antechamber import app, durable_files
from antechamber.app import retaining
from antechamber.app.data_folder import alone
from antechamber.cli import main
from antechamber.flows.retention import archive as archive_flow
from antechamber.flows.retention import runs
from antechamber.flows.retention.old_pages import empty_old_pages
from antechamber.settings import Location
from proofs import tamper
from support import Desk, Service, database, dump, event, leaf_texts, running, where, write_policies

DAY = 86_400_000_000
SCOPES = """
[defaults]
keep_rejected_days = 30
keep_withdrawn_days = 7
keep_ended_days = 60

[scope.session]
keep_rejected_days = 0

[limits]
keep_hourly_counts_days = 90
"""
CANARIES = {name: f"quoll{name}marsh" for name in ("rejected", "withdrawn", "ended", "conflict", "note", "reason")}


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy with a window for each kind of text, and none for sessions."""
    return write_policies(tmp_path / "policies", scopes=SCOPES)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The command runs a hundred days later."""
    now = retaining.clock
    monkeypatch.setattr(retaining, "clock", lambda: now() + 100 * DAY)
    return iter(())


def run(service: Service, verb: str, *arguments: object) -> Result:
    """Run a command of retention in this process."""
    options = ["--policies", service.settings.policies, *where(service.location)]
    return CliRunner().invoke(main, ["retention", verb, *map(str, arguments), *map(str, options)])


def made(service: Service, archive: Path, *arguments: object) -> dict[str, Any]:
    """Run retention, and return its result."""
    done = run(service, "run", "--archive", archive, "--json", *arguments)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def settle(desk: Desk, quarantine_id: str, kind: str) -> None:
    """Decide on a quarantined event."""
    page = desk.browser.get(f"/quarantine/{quarantine_id}").text
    form = dict(re.findall(r'name="(csrf|version|decision_key)" value="([^"]*)"', page))
    answer = desk.post(f"/quarantine/{quarantine_id}/{kind}", form | {"reason_text": CANARIES["reason"]})
    assert answer.status_code in {200, 303}, answer.text


def fill(service: Service) -> dict[str, dict[str, Any]]:
    """Make a text of each kind; return the bodies by kind."""
    desk = service.sign_in()
    bodies = {
        name: event(f"The {CANARIES[name]} is wet.", idempotency_key=f"key-of-{name}")
        for name in ("rejected", "withdrawn", "ended")
    }
    bodies["rejected"] = event(
        f"The {CANARIES['rejected']} is wet.",
        idempotency_key="key-of-rejected",
        supersedes="m-0",
        derived_from=["m-1", "m-2"],
    )
    ids = {name: service.submit(body).json()["proposal_id"] for name, body in bodies.items()}
    assert desk.write(ids["rejected"], "note", f"Is {CANARIES['note']} known?").status_code == 303
    bodies["conflict"] = event(f"The {CANARIES['conflict']} is dry.", idempotency_key="key-of-rejected")
    refused = service.submit(bodies["conflict"]).json()
    settle(desk, refused["quarantine_id"], "keep")
    assert service.submit(bodies["withdrawn"] | {"visibility": "private"}).status_code == 422
    for name in ("rejected", "withdrawn"):
        answer = desk.decide(ids[name], "reject", reason_code="wrong", reason_text=CANARIES["reason"])
        assert answer.status_code == 303
    assert desk.decide(ids["ended"], "approve").status_code == 303
    assert desk.decide(ids["ended"], "retract", reason_code="outdated").status_code == 303
    kept = {
        "in a session": event("A session's text.", submission_scope="session", scope_id="s-1"),
        "waiting": event("A waiting text."),
        "active": event("An active memory."),
    }
    others = {name: service.submit(body).json()["proposal_id"] for name, body in kept.items()}
    assert desk.decide(others["in a session"], "reject", reason_code="wrong").status_code == 303
    assert desk.decide(others["active"], "approve").status_code == 303
    return bodies


def answers(service: Service, bodies: dict[str, dict[str, Any]]) -> dict[str, bytes]:
    """Return the bytes of the answers to late retries."""
    return {name: service.submit(body).content for name, body in bodies.items()}


def found(text: str) -> list[str]:
    """Return the kinds whose canary is in a text."""
    return [name for name, canary in CANARIES.items() if canary in text]


def verdicts(service: Service, archive: Path, size: int, folder: Path) -> list[str | None]:
    """Return what both verifiers find wrong with an archive."""
    with app.opened_log(service.location) as opened:
        note = opened.proofs.published_checkpoint(size).note
        [key] = opened.proofs.verifier_keys()
    folder.mkdir(exist_ok=True)
    case = tamper.Case(archive.read_bytes().splitlines(keepends=True), note, key, None, records=True)
    files = tamper.write(folder, 0, case)
    return [tamper.by_python(files), *tamper.by_node(folder, [files])]


@pytest.mark.usefixtures("later")
def test_a_run_removes_what_the_archive_holds_and_late_retries_get_their_answers(
    service: Service, tmp_path: Path
) -> None:
    """The plan says what the run removes; both verifiers prove the archive, and the doctor finds no fault."""
    bodies = fill(service)
    before, archive = answers(service, bodies), tmp_path / "archive.jsonl"
    planned = json.loads(run(service, "plan", "--json").stdout)
    assert {(row["submission_scope"], row["kind"], row["items"]) for row in planned} == {
        ("project", kind, 1) for kind in ("rejected", "conflict", "withdrawn", "ended")
    }
    assert all(row["bytes"] > 50 for row in planned)
    assert set(found(dump(service.location))) == CANARIES.keys()
    done = made(service, archive)
    assert (done["removed"], done["resumed"], done["run"]["items"]) == (4, False, 4)
    assert found(dump(service.location)) == []
    assert set(found(archive.read_text())) == CANARIES.keys()
    assert archive.stat().st_mode & 0o777 == 0o600
    assert verdicts(service, archive, done["run"]["size"], tmp_path / "cases") == [None, None]
    assert app.examine(service.location) == []
    assert answers(service, bodies) == before
    assert service.submit(event("Another text.", idempotency_key="key-of-rejected")).status_code == 422
    again = service.submit(event(bodies["ended"]["payload"]["content"])).json()
    assert (again["disposition"], again["reasons"][0]["code"]) == ("accepted-as-duplicate", "already-decided")
    assert json.loads(run(service, "plan", "--json").stdout) == []


@pytest.mark.usefixtures("later")
def test_the_log_says_what_was_archived_and_removed(service: Service, tmp_path: Path) -> None:
    """The leaf of the run has the digest of the archive, and precedes those of its removals, which name it."""
    fill(service)
    done = made(service, tmp_path / "archive.jsonl")["run"]
    with database(service.location) as raw:
        leaves = [json.loads(leaf) for leaf in leaf_texts(raw)]
    [begun] = [number for number, leaf in enumerate(leaves) if leaf["action"] == "retention"]
    archived = {"archive": done["archive"], "items": "4", "size": str(done["size"])}
    assert leaves[begun]["subject"] == {"retention_id": done["retention_id"], **archived}
    removals = [leaf for leaf in leaves[begun:] if leaf["action"] == "erase"]
    assert [leaf["subject"]["retention_id"] for leaf in removals] == [done["retention_id"]] * 4
    assert {leaf["reason_code"] for leaf in removals} == {"retention"}


@pytest.mark.usefixtures("later")
def test_a_changed_archive_is_found_and_removes_nothing(service: Service, tmp_path: Path) -> None:
    """Both verifiers find a changed claim-bearing or textual record; a run does not go on with such a file."""
    fill(service)
    archive = tmp_path / "archive.jsonl"
    size = made(service, archive)["run"]["size"]
    archive.write_text(archive.read_text().replace(CANARIES["note"], "quoll-of-others"))
    python, node = verdicts(service, archive, size, tmp_path / "cases")
    assert python is not None
    assert node is not None
    refused = run(service, "run", "--archive", archive)
    assert refused.exit_code == 1
    assert "no archive of this data, or was changed; name a new file" in refused.stderr


class KilledError(BaseException):
    """Ends a command as a kill does: no handler of errors catches it."""


def break_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, calls: int = 1, *, after: bool = False) -> None:
    """Kill the command before (or after) a call of a function."""
    original, left = getattr(owner, name), [calls]

    def broken(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and not after:
            raise KilledError
        result = original(*arguments, **options)
        if left[0] == 0:
            raise KilledError
        return result

    monkeypatch.setattr(owner, name, broken)


FAULTS: dict[str, tuple[Any, str, int, bool]] = {
    "before the log is signed": (runs.Retention, "prepare", 1, False),
    "while the archive is written": (archive_flow, "canonical", 2, False),
    "before the run is recorded": (runs.Retention, "begin", 1, False),
    "after the run is recorded": (runs.Retention, "begin", 1, True),
    "before the archive has its name": (durable_files, "_refuse_taken", 2, False),
    "after the archive has its name": (retaining, "note", 1, False),
    "before the first removal": (runs.Retention, "remove", 1, False),
    "between removals": (runs, "uuid7", 3, False),
    "after the last removal": (runs.Retention, "remove", 1, True),
    "before counts are added up": (runs.Retention, "sum_counts", 1, False),
}


@pytest.mark.usefixtures("later")
def test_a_killed_run_is_repeated_with_the_same_command(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a run is killed, no text is gone that is not in the archive, and the same command finishes the work."""
    desk = service.sign_in()
    monkeypatch.setattr(runs, "BATCH", 1)
    monkeypatch.setattr(runs, "PAGE", 1)
    for number, (owner, name, calls, after) in enumerate(FAULTS.values()):
        texts = {f"quoll{number}x{one}marsh" for one in range(2)}
        bodies = {text: event(f"The {text} is wet.") for text in texts}
        for body in bodies.values():
            proposal = service.submit(body).json()["proposal_id"]
            assert desk.decide(proposal, "reject", reason_code="wrong").status_code == 303
        before, archive = answers(service, bodies), tmp_path / f"{number}.jsonl"
        with monkeypatch.context() as patch:
            break_at(patch, owner, name, calls, after=after)
            with pytest.raises(KilledError):
                app.run_retention(service.location, service.settings.policies, archive, 10, lambda _done, _all: None)
        kept = {text for text in texts if text in dump(service.location)}
        assert kept | {text for text in texts if archive.exists() and text in archive.read_text()} == texts
        assert made(service, archive)["run"]["items"] == 2
        assert [text for text in texts if text in dump(service.location)] == []
        assert [text for text in texts if text not in archive.read_text()] == []
        assert [file.name for file in tmp_path.iterdir() if ".new" in file.name] == []
        assert answers(service, bodies) == before
    assert app.examine(service.location) == []


def test_a_process_that_is_killed_between_removals_is_repeated(service: Service, tmp_path: Path) -> None:
    """A real SIGKILL after the first removal leaves the archive whole; the same command removes the rest."""
    desk = service.sign_in()
    texts = {f"quoll{one}marsh" for one in range(3)}
    for text in texts:
        proposal = service.submit(event(f"The {text} is wet.")).json()["proposal_id"]
        assert desk.decide(proposal, "reject", reason_code="wrong").status_code == 303
    archive = tmp_path / "archive.jsonl"
    program = (
        "import os, signal\n"
        "from antechamber.app import retaining\n"
        "from antechamber.cli import main\n"
        "from antechamber.flows.retention import runs\n"
        f"now, runs.BATCH = retaining.clock, 1\n"
        f"retaining.clock = lambda: now() + {100 * DAY}\n"
        "def kill(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "from antechamber.cli import retention\n"
        "retention._progress = lambda: kill if os.environ.get('KILLED') else (lambda *_: None)\n"
        "main()\n"
    )
    options = ["--policies", str(service.settings.policies), *where(service.location)]
    command = [sys.executable, "-c", program, "retention", "run", "--archive", str(archive), "--json", *options]
    killed = subprocess.run(command, env=os.environ | {"KILLED": "1"}, capture_output=True, check=False)  # noqa: S603 -- our own program
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert len([text for text in texts if text in dump(service.location)]) == 2
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 -- our own program
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["removed"], result["resumed"], result["run"]["items"]) == (2, True, 3)
    assert [text for text in texts if text in dump(service.location)] == []
    assert [text for text in texts if text not in archive.read_text()] == []
    assert app.examine(service.location) == []


@pytest.mark.usefixtures("later")
def test_what_changed_since_the_archive_is_kept(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proposal that waits again, or was decided again after the archive was written, keeps its text."""
    desk = service.sign_in()
    ids = [service.submit(event(f"The quoll{one}marsh is wet.")).json()["proposal_id"] for one in range(3)]
    for one in ids:
        assert desk.decide(one, "reject", reason_code="wrong").status_code == 303
    begin = runs.Retention.begin

    def reopen(self: Any, run: Any) -> None:
        begin(self, run)
        for one in ids[:2]:
            assert desk.decide(one, "undo").status_code == 303
        assert desk.decide(ids[0], "reject", reason_code="wrong").status_code == 303

    monkeypatch.setattr(runs.Retention, "begin", reopen)
    done = made(service, tmp_path / "archive.jsonl")
    assert (done["run"]["items"], done["removed"]) == (3, 1)
    left = dump(service.location)
    assert ["quoll0marsh" in left, "quoll1marsh" in left, "quoll2marsh" in left] == [True, True, False]
    assert app.examine(service.location) == []


@pytest.mark.usefixtures("later")
def test_a_removed_memory_does_not_come_back(service: Service, tmp_path: Path) -> None:
    """Undoing the decision that superseded it leaves a memory without text ended."""
    desk = service.sign_in()
    old = service.submit(event("The old quoll marsh.")).json()["proposal_id"]
    assert desk.decide(old, "approve").status_code == 303
    [memory] = service.recall()
    new = service.submit(event("The new quoll marsh.")).json()["proposal_id"]
    assert desk.decide(new, "supersede", target=memory["memory_id"]).status_code == 303
    assert [item["content"] for item in service.recall()] == ["The new quoll marsh."]
    assert made(service, tmp_path / "archive.jsonl")["removed"] == 1
    assert desk.decide(new, "undo").status_code == 303
    assert service.recall() == []
    assert app.examine(service.location) == []


@pytest.mark.usefixtures("later")
def test_old_counts_are_summed(service: Service, tmp_path: Path) -> None:
    """Counts older than the policy keeps them by hour are added up; their sums stay, so that the doctor agrees."""
    body = event()
    for _ in range(3):
        service.submit(body)
    service.state.admission.flush()
    with database(service.location) as raw:
        before = raw.execute("SELECT sum(number), (SELECT sum(attempts) FROM replays) FROM tally").fetchone()
    assert made(service, tmp_path / "archive.jsonl")["summed"] is True
    with database(service.location) as raw:
        after = raw.execute("SELECT sum(number), (SELECT sum(attempts) FROM replays) FROM tally").fetchone()
        hours = raw.execute("SELECT hour FROM tally UNION SELECT hour FROM replays").fetchall()
    assert (after, hours) == (before, [(0,)])
    assert app.examine(service.location) == []
    assert made(service, tmp_path / "archive.jsonl")["summed"] is False
    assert not (tmp_path / "archive.jsonl").exists()


def test_nothing_is_removed_without_windows_or_a_place_for_the_archive(service: Service, tmp_path: Path) -> None:
    """Young texts stay; an archive in the data folder, in no folder or over a file of others is refused."""
    fill(service)
    assert run(service, "plan").stdout == "Nothing would be removed.\n"
    done = run(service, "run", "--archive", tmp_path / "archive.jsonl")
    assert (done.exit_code, done.stdout) == (0, "No text is older than the policy keeps it.\n")
    (tmp_path / "notes").write_text("of others")
    for place, remedy in {
        service.data / "a.jsonl": "is in the data folder",
        tmp_path / "none" / "a.jsonl": "make it first",
        tmp_path / "notes": "is no archive of this data",
    }.items():
        refused = run(service, "run", "--archive", place)
        assert refused.exit_code == 1
        assert remedy in refused.stderr
    assert (tmp_path / "notes").read_text() == "of others"
    assert set(found(dump(service.location))) == CANARIES.keys()


@pytest.mark.usefixtures("later")
def test_people_read_plan_and_result_in_words(service: Service, tmp_path: Path) -> None:
    """The plan is a table; the result names archive, size of the log and numbers, also where a run goes on."""
    fill(service)
    planned = run(service, "plan").stdout.splitlines()
    assert planned[0].split() == ["scope", "kind", "items", "bytes", "oldest"]
    assert [line.split()[:3] for line in planned[1:]] == [
        ["project", kind, "1"] for kind in ("rejected", "conflict", "withdrawn", "ended")
    ]
    archive = tmp_path / "archive.jsonl"
    done = run(service, "run", "--archive", archive)
    assert done.exit_code == 0, done.output
    assert re.search(
        rf"Wrote {archive}: 4 items, proven by the checkpoint of size \d+\.\nRemoved 4 texts\.", done.stdout
    )
    again = run(service, "run", "--archive", archive)
    assert again.stdout.startswith(f"Went on with {archive}: 4 items")
    assert "Removed 0 texts." in again.stdout


def files_with(folder: Path, texts: list[str]) -> list[tuple[str, str]]:
    """Return which file of a folder holds which text."""
    return [
        (file.name, text)
        for file in folder.rglob("*")
        if file.is_file()
        for text in texts
        if text.encode() in file.read_bytes()
    ]


@pytest.mark.usefixtures("later")
def test_no_removed_text_stays_in_the_files(tmp_path: Path, policies: Path) -> None:
    """Beside a running service its write-ahead log is emptied within a minute, and the index keeps no word."""
    location = Location(data=tmp_path / "data")
    with running(location, policies) as service:
        fill(service)
        service.wait_until_sorted()
        assert {text for _, text in files_with(location.data, list(CANARIES.values()))} == set(CANARIES.values())
        assert made(service, tmp_path / "archive.jsonl")["removed"] == 4
        empty_old_pages(service.state.checkpoints._store)
        assert files_with(location.data, list(CANARIES.values())) == []
        empty_old_pages(service.state.checkpoints._store)
    assert files_with(location.data, list(CANARIES.values())) == []


@pytest.mark.usefixtures("later")
def test_a_crash_before_the_log_was_emptied_leaves_nothing_after_the_next_start(
    tmp_path: Path,
    policies: Path,
) -> None:
    """The next service empties the write-ahead log of the one that was killed."""
    location = Location(data=tmp_path / "data")
    with running(location, policies) as service, alone(location, "a service"):
        fill(service)
        assert made(service, tmp_path / "archive.jsonl")["removed"] == 4
        shutil.copytree(location.data, tmp_path / "copy")
        assert files_with(tmp_path / "copy", list(CANARIES.values())) != []
    with running(tmp_path / "copy", policies):
        assert files_with(tmp_path / "copy", list(CANARIES.values())) == []
