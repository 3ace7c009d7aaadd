"""The first run: a folder with a policy from answers or options, which `serve` uses."""

import json
import os
import pty
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from antechamber import app
from antechamber.cli import main
from antechamber.core.errors import PolicyError
from antechamber.core.first_policy import check_owner, check_producer, check_scope, write_producers
from antechamber.policy_files import read_policy
from antechamber.settings import Location
from support import event, running

GIVEN = ("--owner", "ada", "--producer", "worker:release-bot", "--scope", "project:apollo")


def init(*arguments: object, stdin: str = "") -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, ["init", *map(str, arguments)], input=stdin)


def serve(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Path:
    """Return the policy folder that `serve` would use with these arguments."""
    seen: list[Any] = []
    monkeypatch.setattr("antechamber.app.server.serve", lambda settings, _ready: seen.append(settings))
    done = CliRunner().invoke(main, ["serve", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    found: Path = seen[0].policies
    return found


def test_a_folder_made_from_options_is_served_with_its_own_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy admits the named producer to the named scope; --policies still wins."""
    data = tmp_path / "data"
    done = init(data, *GIVEN)
    assert done.exit_code == 0, done.output
    assert f"antechamber token issue worker:release-bot --data {data}" in done.stdout
    assert data.stat().st_mode & 0o777 == 0o700
    assert serve(monkeypatch, "--data", data) == data / "policies"
    assert serve(monkeypatch, "--data", data, "--policies", tmp_path) == tmp_path
    assert serve(monkeypatch, "--data", tmp_path / "other").name == "policies"
    with running(data, data / "policies") as service:
        assert service.submit(event("Run the migration.")).status_code == 201
        assert service.submit(event("Elsewhere.", scope_id="gemini")).status_code == 422
    assert app.examine(Location(data=data)) == []


def test_several_owners_go_with_several_producers(tmp_path: Path) -> None:
    """One owner answers for all producers, or each producer has its own."""
    more = ("--producer", "tool:watcher", "--scope", "session:*")
    done = init(tmp_path / "one", *GIVEN, *more, "--json")
    assert json.loads(done.stdout)["producers"] == ["worker:release-bot", "tool:watcher"]
    assert init(tmp_path / "two", *GIVEN, *more, "--owner", "Zoë O'Neil").exit_code == 0
    owners = {}
    for name in ("one", "two"):
        producers = read_policy(tmp_path / name / "policies").producers
        owners[name] = [producer.owner for producer in producers.values()]
        assert producers["tool:watcher"].submit == ["project:apollo", "session:*"]
    assert owners == {"one": ["ada", "ada"], "two": ["ada", "Zoë O'Neil"]}


@pytest.mark.parametrize("left", [1, 3, 5])
def test_without_a_terminal_nothing_is_asked(tmp_path: Path, left: int) -> None:
    """The missing option is named, and no folder is made."""
    given = (*GIVEN[: left - 1], *GIVEN[left + 1 :])
    done = init(tmp_path / "data", *given, stdin="ada\n")
    assert (done.exit_code, f"{GIVEN[left - 1]} is missing" in done.stderr) == (1, True)
    assert not (tmp_path / "data").exists()


def test_on_a_terminal_a_wrong_answer_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several values are separated by blanks or commas; an answer that is not valid is explained."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, encoding="utf-8") as terminal, os.fdopen(ours, "wb", buffering=0) as keyboard:
        keyboard.write(b"\nada lovelace\n\nbot\nworker:a, tool:b\nplanet:x\nproject:x session:*\n")
        monkeypatch.setattr("sys.stdin", terminal)
        main.main(["init", str(tmp_path / "data")], standalone_mode=False)
    producers = read_policy(tmp_path / "data" / "policies").producers
    assert [(one.identity, one.owner) for one in producers.values()] == [
        ("worker:a", "ada lovelace"),
        ("tool:b", "ada lovelace"),
    ]


def test_only_an_empty_folder_is_taken(tmp_path: Path) -> None:
    """A folder with any file is refused, also one made before; the rest of a killed attempt is not."""
    data = tmp_path / "data"
    (data / "policies").mkdir(parents=True)
    (data / "policies" / "producers.toml.0123456789abcdef.new").write_text("half")
    assert init(data, *GIVEN).exit_code == 0
    for folder in (data, tmp_path):
        done = init(folder, *GIVEN)
        assert (done.exit_code, "is not empty" in done.stderr) == (1, True)
    (tmp_path / "file").write_text("x")
    done = init(tmp_path / "file" / "data", *GIVEN)
    assert (done.exit_code, "cannot be used" in done.stderr) == (1, True)


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "x" * 129])
def test_an_owner_is_a_short_line(text: str) -> None:
    """Control characters and empty names are refused."""
    with pytest.raises(PolicyError, match="is no owner"):
        check_owner(text)


@pytest.mark.parametrize("text", ["", "bot", "robot:x", "worker:", "worker:a b", 'worker:x"\n[[producer]]'])
def test_a_producer_has_kind_and_name(text: str) -> None:
    """The message lists the kinds."""
    with pytest.raises(PolicyError, match="worker, tool, repo, service"):
        check_producer(text)


@pytest.mark.parametrize("text", ["", "apollo", "planet:x", "project:", "project:a b", "project:**"])
def test_a_scope_has_kind_and_id(text: str) -> None:
    """The message lists the kinds; the id `*` means all."""
    with pytest.raises(PolicyError, match="agent_team"):
        check_scope(text)
    assert check_scope(" session:* ") == "session:*"


@pytest.mark.parametrize(
    ("owners", "producers", "scopes", "says"),
    [
        ([], ["worker:a"], ["project:x"], "at least one"),
        (["ada"], [], ["project:x"], "at least one"),
        (["ada"], ["worker:a"], [], "at least one"),
        (["ada", "bob"], ["worker:a"], ["project:x"], "one for each: 1 producers, 2 owners"),
        (["ada"], ["worker:a", "worker:a"], ["project:x"], "named twice"),
    ],
)
def test_a_policy_that_would_be_incomplete_is_refused(
    owners: list[str], producers: list[str], scopes: list[str], says: str
) -> None:
    """Each text says what to name."""
    with pytest.raises(PolicyError, match=says):
        write_producers(owners, producers, scopes)
