"""Backups on both engines: made while the service runs, checked, restored into an empty place."""

import fcntl
import io
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from antechamber import app
from antechamber.app.data_folder import UNFINISHED
from antechamber.backup_archive import encryption
from antechamber.checkpoint_signer import verify
from antechamber.cli import main
from antechamber.cli.backups import _progress
from antechamber.core.log.checkpoint_text import read_text
from antechamber.flows.backup_check import check_copy, state_of
from antechamber.settings import DATABASE, Location, SettingsError
from archives import archive
from lib.processes import postgres_programs
from support import Databases, Service, database, event, leaf_texts, locked, running, where

TEXT = "Run the migration before the deploy."


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of PostgreSQL, of the version of the server; keys from passphrases at a low cost."""
    monkeypatch.setenv("PATH", postgres_programs())
    monkeypatch.setitem(encryption._COST, "n", 1 << 10)


@pytest.fixture
def new(service: Service, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Location]:
    """An empty place on the engine of the service."""
    if service.location.database_url is None:
        yield Location(data=tmp_path / "new")
        return
    databases: Databases = request.getfixturevalue("postgres")
    url = databases.empty()
    yield Location(data=tmp_path / "new", database_url=url)
    databases.drop(url)


def run(*arguments: object) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(main, ["backup", *map(str, arguments)])


def make(service: Service, file: Path, *options: object) -> dict[str, Any]:
    """Make a backup of a running service."""
    done = run("create", file, "--json", *options, *where(service.location))
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def restore(file: Path, new: Location, *options: object) -> dict[str, Any]:
    """Restore a backup."""
    done = run("restore", file, "--json", *options, *where(new))
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(*arguments: object) -> str:
    """Run a command that has to fail, and return its message."""
    done = run(*arguments)
    assert done.exit_code == 1, done.output
    assert done.stderr.startswith("Error: ")
    return done.stderr


def leaves(location: Location) -> list[dict[str, Any]]:
    """Return all leaves of a location's log."""
    with database(location) as raw:
        return [json.loads(leaf) for leaf in leaf_texts(raw)]


def test_a_restored_backup_has_every_answer_and_a_log_of_its_own(
    service: Service, new: Location, policies: Path, tmp_path: Path
) -> None:
    """Answers replay, memories are read, the log names the end of the backup, and no old token or session works."""
    body = event(TEXT)
    first = service.submit(body).json()
    desk = service.sign_in()
    assert desk.decide(first["proposal_id"], "approve").status_code == 303
    tokens = service._tokens
    made = make(service, tmp_path / "b.tar")
    service.submit(event("After the backup."))
    verified = run("verify", tmp_path / "b.tar")
    assert verified.exit_code == 0, verified.output
    found = restore(tmp_path / "b.tar", new)
    assert app.examine(new) == []
    (begun,) = [leaf for leaf in leaves(new) if leaf["reason_code"] == "restored"]
    assert begun["subject"] == {"verifier_key": found["verifier_key"], "backup_sequence": str(made["leaves"] - 1)}
    assert [row["name"] for row in found["revoked_tokens"]] == ["worker:release-bot"]
    assert [row["name"] for row in found["ended_sessions"]] == ["bob"]
    assert [row["name"] for row in found["active_accounts"]] == ["bob"]
    with running(new, policies) as restored:
        restored._tokens = tokens
        assert restored.submit(body).status_code == 401
        restored._tokens = {}
        again = restored.submit(body)
        assert again.json() == first | {"duplicate": True}
        assert [item["content"] for item in restored.recall()] == [TEXT]
        assert restored.client.get("/readyz").json()["status"] == "ready"


def test_a_backup_does_not_go_into_the_data_folder(service: Service, tmp_path: Path) -> None:
    """It would be lost with the folder, also if a link leads there; nothing is made."""
    data = service.location.data
    (data / "kept").mkdir()
    (tmp_path / "link").symlink_to(data / "kept")
    for folder in (data, data / "kept", tmp_path / "link"):
        assert "lies in the data folder" in refused("create", folder / "b.tar", *where(service.location))
    assert not list(data.rglob("*.tar"))


def test_a_backup_belongs_to_its_owner_and_its_age_is_a_metric(service: Service, tmp_path: Path) -> None:
    """The archive has mode 0600, nothing else is left, and /metrics has the age once there is a backup."""
    headers = service.bearer("prometheus", "auditor")
    name = "antechamber_backup_age_seconds"
    assert f"\n{name} " not in service.client.get("/metrics", headers=headers).text
    folder = tmp_path / "backups"
    folder.mkdir()
    make(service, folder / "b.tar")
    assert [path.name for path in folder.iterdir()] == ["b.tar"]
    assert (folder / "b.tar").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in service.data.iterdir() if "draft" in path.name or path.suffix == ".new"] == []
    assert f"\n{name} " in service.client.get("/metrics", headers=headers).text


def test_keys_and_passphrase(service: Service, new: Location, tmp_path: Path) -> None:
    """An archive without keys needs them, an encrypted one its passphrase; a refusal leaves nothing behind."""
    service.submit(event(TEXT))
    words = tmp_path / "words"
    words.write_text("correct horse battery\n")
    make(service, tmp_path / "b.tar", "--without-keys", "--passphrase-file", words)
    assert "--passphrase-file" in refused("restore", tmp_path / "b.tar", *where(new))
    locked = ("restore", tmp_path / "b.tar", "--passphrase-file", words, *where(new))
    assert "--keys FOLDER" in refused(*locked)
    other = tmp_path / "other"
    app.migrate(Location(data=other))
    with app.opened_log(Location(data=other)) as opened:
        opened.checkpoints.checkpoint()
    assert "not the secret that this database was made with" in refused(*locked, "--keys", other)
    (other / "quarantine.key").write_bytes(b"short")
    assert "quarantine.key is damaged" in refused(*locked, "--keys", other)
    (other / "quarantine.key").write_bytes(b"x" * 5000)
    assert "is no key" in refused(*locked, "--keys", other)
    (other / "quarantine.key").unlink()
    assert "--keys names the folder" in refused(*locked, "--keys", other)
    assert not new.data.exists()
    restore(tmp_path / "b.tar", new, "--passphrase-file", words, "--keys", service.data)
    assert app.examine(new) == []


def test_only_an_empty_place_is_restored_into(service: Service, new: Location, tmp_path: Path) -> None:
    """A folder with any file, and a database with our schema, are refused and stay as they are."""
    make(service, tmp_path / "b.tar")
    full = Location(data=service.data, database_url=new.database_url)
    assert "is not empty" in refused("restore", tmp_path / "b.tar", *where(full))
    if new.database_url is None:
        assert "migrate --move" in refused(
            "restore", tmp_path / "b.tar", *where(new), "--database-url", "postgresql:///x"
        )
        return
    assert "name an empty one" in refused("restore", tmp_path / "b.tar", "--data", new.data)
    used = Location(data=new.data, database_url=service.location.database_url)
    assert "holds data of Antechamber already" in refused("restore", tmp_path / "b.tar", *where(used))
    assert not new.data.exists()
    assert app.examine(service.location) == []
    listed = run("verify", tmp_path / "b.tar")
    assert "--database-url" in listed.stdout
    assert run("verify", tmp_path / "b.tar", "--database-url", new.database_url).exit_code == 0
    assert json.loads(run("verify", tmp_path / "b.tar", "--json").stdout)["opened"] is False
    restore(tmp_path / "b.tar", new)


def test_a_restore_that_was_killed_is_refused_by_every_command_and_can_be_repeated(
    service: Service, new: Location, policies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark in folder and database keeps the half-restored data from use; the same restore then succeeds."""
    service.submit(event(TEXT))
    make(service, tmp_path / "b.tar")
    new.data.mkdir()
    (new.data / UNFINISHED).touch()
    (new.data / DATABASE).write_bytes(b"half")
    (new.data / "policies").mkdir()
    if new.database_url is not None:
        with database(service.location) as raw:
            raw.execute("SELECT 1")
        with monkeypatch.context() as patch:
            patch.setattr("antechamber.store.postgres.dump.finish", lambda _url: os.kill(os.getpid(), 0))
            patch.setattr("antechamber.app.restoring._sync", lambda _data: None)
            restore(tmp_path / "b.tar", new)
        (new.data / UNFINISHED).touch()
    with pytest.raises(SettingsError, match="was not finished"), running(new, policies):
        pass
    if new.database_url is not None:
        (new.data / UNFINISHED).unlink()
        with pytest.raises(Exception, match="was not finished"), running(new, policies):
            pass
        (new.data / UNFINISHED).touch()
    with pytest.raises(SettingsError, match="was not finished"):
        app.migrate(new)
    restore(tmp_path / "b.tar", new)
    assert app.examine(new) == []


def test_erasures_after_the_backup_are_listed_and_the_newest_checkpoint_is_named(
    service: Service, new: Location, tmp_path: Path
) -> None:
    """A newer export of the log gives both; texts that the backup does not hold need no erasure."""
    desk = service.sign_in()
    early = service.submit(event(TEXT)).json()["proposal_id"]
    assert desk.decide(early, "reject", reason_code="wrong").status_code == 303
    make(service, tmp_path / "b.tar")
    late = service.submit(event("After the backup.")).json()["proposal_id"]
    assert desk.decide(late, "reject", reason_code="wrong").status_code == 303
    for proposal in (early, late):
        app.erase(service.location, proposal, "private")
    with app.opened_log(service.location) as opened:
        from antechamber.cli.audit import _TAKER  # noqa: PLC0415 -- the command line's own name in exports

        (tmp_path / "log.jsonl").write_bytes(b"".join(opened.export.log(_TAKER)))
        last = read_text(opened.checkpoints.checkpoint().note)
    done = run("restore", tmp_path / "b.tar", "--log-export", tmp_path / "log.jsonl", *where(new))
    assert done.exit_code == 0, done.output
    assert f"\n  antechamber erase {early} --reason private --data {new.data}\n" in done.stdout
    assert late not in done.stdout
    (begun,) = [leaf for leaf in leaves(new) if leaf["reason_code"] == "restored"]
    assert begun["subject"]["abandoned_size"] == str(last.size)
    assert begun["subject"]["abandoned_root"] == last.root.hex()
    app.erase(new, early, "private")
    assert app.examine(new) == []


def test_a_checkpoint_of_another_log_is_refused(service: Service, new: Location, tmp_path: Path) -> None:
    """The leaf of the new log names no checkpoint that the log's keys did not sign; the place stays empty."""
    make(service, tmp_path / "b.tar")
    note = service.client.get("/v1/audit/checkpoint", headers=service.bearer("eve", "auditor")).text
    (tmp_path / "note").write_text(note.replace("antechamber/", "elsewhere/"))
    assert "another log" in refused("restore", tmp_path / "b.tar", "--pinned", tmp_path / "note", *where(new))
    assert not new.data.exists()
    (tmp_path / "note").write_text(note)
    restore(tmp_path / "b.tar", new, "--pinned", tmp_path / "note")


def test_old_backups_are_removed_only_after_the_new_one_is_complete(service: Service, tmp_path: Path) -> None:
    """Other names, other instances and files that are no backups stay."""
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / "b-0.tar").write_text("notes")
    app.migrate(Location(data=tmp_path / "other"))
    assert run("create", folder / "b-1.tar", "--data", tmp_path / "other").exit_code == 0
    for number in (2, 3):
        make(service, folder / f"b-{number}.tar")
    make(service, folder / "c-1.tar")
    done = run("create", folder / "b-4.tar", "--keep", "2", *where(service.location))
    assert f"Removed {folder / 'b-2.tar'}." in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["b-0.tar", "b-1.tar", "b-3.tar", "b-4.tar", "c-1.tar"]
    assert "exists already" in refused("create", folder / "b-4.tar", "--keep", "1", *where(service.location))
    assert "make its folder first" in refused("create", folder / "none" / "b.tar", *where(service.location))
    assert len(list(folder.iterdir())) == 5


def test_a_database_that_contradicts_its_log_is_not_backed_up(service: Service, tmp_path: Path) -> None:
    """With --keep, backups of a database that lost its end would replace those that have it."""
    service.client.get("/v1/audit/checkpoint", headers=service.bearer("eve", "auditor"))
    state = service.data / "log.checkpoint"
    state.write_text(state.read_text().replace("antechamber/", "elsewhere/"))
    assert "another log" in refused("create", tmp_path / "b.tar", *where(service.location))
    assert not (tmp_path / "b.tar").exists()


def test_two_backups_of_a_folder_are_not_made_at_once(service: Service, tmp_path: Path) -> None:
    """The second one is refused with the reason; a mistyped folder is not made."""
    from antechamber.app.backups import _alone  # noqa: PLC0415 -- the lock that another process would hold

    with _alone(service.data):
        assert "another process is making a backup" in refused("create", tmp_path / "b.tar", *where(service.location))
    assert "there is no folder" in refused("create", tmp_path / "b.tar", "--data", tmp_path / "typo")
    assert not (tmp_path / "typo").exists()


def test_a_full_disk_is_noticed_before_anything_is_written(
    service: Service, new: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text names the disk, what is free and what is needed."""
    make(service, tmp_path / "b.tar")
    monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": 1 << 10}))
    assert "MiB free and needs" in refused("create", tmp_path / "c.tar", *where(service.location))
    assert "MiB free, and the backup holds" in refused("restore", tmp_path / "b.tar", *where(new))
    assert not new.data.exists()


@pytest.mark.parametrize("words", ["short", "", "x" * 5000])
def test_a_passphrase_has_a_sensible_length(tmp_path: Path, words: str) -> None:
    """An empty or short one is refused before anything is copied."""
    (tmp_path / "words").write_text(words)
    app.migrate(Location(data=tmp_path / "data"))
    message = refused("create", tmp_path / "b", "--data", tmp_path / "data", "--passphrase-file", tmp_path / "words")
    assert "passphrase of 12 to 4096 bytes" in message


def test_a_damaged_backup_is_named_and_nothing_of_it_remains(tmp_path: Path) -> None:
    """A file that is no archive, a cut one, and one whose database lost a row after its manifest was written."""
    data = Location(data=tmp_path / "data")
    app.migrate(data)
    assert run("create", tmp_path / "b.tar", "--data", data.data).exit_code == 0
    raw = (tmp_path / "b.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(raw[:-2000])
    (tmp_path / "other.tar").write_bytes(b"x" * 4096)
    for name, says in {"cut.tar": "cut off", "other.tar": "no backup of Antechamber"}.items():
        assert says in refused("verify", tmp_path / name)
        assert says in refused("restore", tmp_path / name, "--data", tmp_path / "new")
        assert not (tmp_path / "new").exists()


def test_verification_reports_what_the_doctor_finds(tmp_path: Path) -> None:
    """A backup of an altered database is a true copy of it; verify reports the alteration, and restore refuses it."""
    data = Location(data=tmp_path / "data")
    app.migrate(data)
    with app.opened_access(data) as access:
        access.tokens.issue("eve", "auditor", [], None)
    with sqlite3.connect(data.data / DATABASE) as raw:
        raw.execute("DROP TRIGGER IF EXISTS tokens_stay")
        raw.execute("UPDATE tokens SET name = 'mallory'")
    assert run("create", tmp_path / "b.tar", "--data", data.data).exit_code == 0
    done = run("verify", tmp_path / "b.tar")
    assert (done.exit_code, "has another name" in done.stdout) == (1, True)
    assert json.loads(run("verify", tmp_path / "b.tar", "--json").stdout)["whole"] is False
    assert "does not hold what it should" in refused("restore", tmp_path / "b.tar", "--data", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_own_policy_of_a_folder_is_part_of_its_backup(tmp_path: Path) -> None:
    """Files of the folder `policies` come back; other files in it stay out."""
    data = Location(data=tmp_path / "data")
    app.migrate(data)
    own = data.data / "policies"
    (own / "detectors").mkdir(parents=True)
    (own / "producers.toml").write_text("# none yet\n")
    (own / "detectors" / "own.toml").write_text("# none\n")
    (own / "notes.txt").write_text("not a policy")
    done = run("create", tmp_path / "b.tar", "--data", data.data, "--json")
    assert json.loads(done.stdout)["policies"] == ["policies/detectors/own.toml", "policies/producers.toml"]
    done = run("restore", tmp_path / "b.tar", "--data", tmp_path / "new")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "new" / "policies" / "producers.toml").read_text() == "# none yet\n"
    assert not (tmp_path / "new" / "policies" / "notes.txt").exists()


def test_a_backup_holds_what_was_answered_before_it_began_under_load(
    service: Service, new: Location, tmp_path: Path
) -> None:
    """While an agent submits, a backup takes one moment of the database."""
    stop, answered = threading.Event(), list[str]()
    service.token()

    def submit() -> None:
        while not stop.is_set():
            body = event(f"Event {len(answered)}.")
            assert service.submit(body).status_code == 201
            answered.append(body["idempotency_key"])

    agent = threading.Thread(target=submit)
    agent.start()
    try:
        while len(answered) < 20:
            stop.wait(0.01)
        before = list(answered)
        make(service, tmp_path / "b.tar")
    finally:
        stop.set()
        agent.join()
    restore(tmp_path / "b.tar", new)
    with database(new) as raw:
        held = {row[0] for row in raw.execute("SELECT idempotency_key FROM submissions").fetchall()}
    assert set(before) <= held


def test_without_its_program_a_backup_of_postgresql_says_what_to_install(
    postgres: Databases, policies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the program; a password of the address is no argument of it."""
    url = postgres.fresh()
    location = Location(data=tmp_path / "data", database_url=url)
    with running(location, policies) as service:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert "pg_dump is not installed" in refused("create", tmp_path / "b.tar", *where(location))
        program = tmp_path / "pg_dump"
        program.write_text(
            f'#!/bin/sh\n[ -z "$PGPASSWORD" ] || echo "$@" > {tmp_path}/seen\necho no room >&2; exit 3\n'
        )
        program.chmod(0o700)
        url_with_password = (
            url.replace("://", "://postgres:hush@", 1) if "@" not in url else url.replace("@", ":hush@", 1)
        )
        locked = Location(data=location.data, database_url=url_with_password)
        assert "pg_dump failed: no room" in refused("create", tmp_path / "b.tar", *where(locked))
        assert "hush" not in (tmp_path / "seen").read_text()
        assert service.client.get("/healthz").status_code == 200
    postgres.drop(url)


def test_the_checkpoint_that_is_kept_outside_of_the_folder_is_named(tmp_path: Path) -> None:
    """With --checkpoint-file the newest checkpoint survives the loss of the folder, and the new log names it."""
    kept = tmp_path / "kept"
    old = Location(data=tmp_path / "data", checkpoint_file=kept)
    app.migrate(old)
    assert run("create", tmp_path / "b.tar", *where(old), "--checkpoint-file", kept).exit_code == 0
    with app.opened_access(old) as access:
        access.tokens.issue("eve", "auditor", [], None)
    with app.opened_log(old) as opened:
        last = read_text(opened.checkpoints.checkpoint().note)
    new = Location(data=tmp_path / "new", checkpoint_file=kept)
    restore(tmp_path / "b.tar", new, "--checkpoint-file", kept)
    (begun,) = [leaf for leaf in leaves(new) if leaf["reason_code"] == "restored"]
    assert begun["subject"]["abandoned_size"] == str(last.size)
    assert app.examine(new) == []
    assert len(list(tmp_path.glob("kept.given-up-*"))) == 1


def test_a_copy_is_compared_with_its_manifest(tmp_path: Path) -> None:
    """Another size, another root, and a checkpoint that the log does not begin with are findings."""
    location = Location(data=tmp_path / "data")
    app.migrate(location)
    with app.opened_log(location) as opened:
        opened.checkpoints.checkpoint()
    store = app.open_store(location)
    with store.read() as tx:
        state = state_of(tx.log)
        assert check_copy(tx, state, verify) == []
        (finding,) = check_copy(tx, msgspec.structs.replace(state, size=state.size + 1, checkpoint=None), verify)
        assert "are not the 2 leaves of the manifest" in finding
        altered = (state.checkpoint or "").replace("antechamber/", "elsewhere/")
        (finding,) = check_copy(tx, msgspec.structs.replace(state, checkpoint=altered), verify)
        assert "contradicts the checkpoint of the manifest" in finding
    store.close()


def test_a_database_that_is_none_is_refused(tmp_path: Path) -> None:
    """Digests that fit prove nothing about the content."""
    (tmp_path / "b.tar").write_bytes(archive(None, {"antechamber.db": b"x" * 9000}))
    assert "file is not a database" in refused("verify", tmp_path / "b.tar")
    keys = Location(data=tmp_path / "keys")
    app.migrate(keys)
    with app.opened_log(keys):
        pass
    command = ("restore", tmp_path / "b.tar", "--data", tmp_path / "new", "--keys", keys.data)
    assert "file is not a database" in refused(*command)
    assert not (tmp_path / "new").exists()
    (tmp_path / "new").mkdir()
    with (tmp_path / "new" / UNFINISHED).open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        assert "another process restores" in refused(*command)
    inside = tmp_path / "b.tar" / "new"
    assert "cannot be used" in refused(*command[:2], "--data", inside, "--keys", keys.data)


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each percent is shown once, or MiB if the total is unknown."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    show = _progress("Copied")
    for done in (1, 2, 100):
        show(done * 10, 1000)
    show(5 << 20, 0)
    assert terminal.getvalue() == "\rCopied 1 % \rCopied 2 % \rCopied 100 % \n\rCopied 5 MiB "
    monkeypatch.setattr("sys.stderr", io.StringIO())
    _progress("Copied")(1, 1)


def test_a_backup_is_complete_even_if_its_time_cannot_be_recorded(tmp_path: Path, log_lines: list[str]) -> None:
    """While another process holds the database, the archive is made and the log says what was left out."""
    data = Location(data=tmp_path / "data")
    app.migrate(data)
    with app.opened_log(data):
        pass
    with locked(data):
        assert run("create", tmp_path / "b.tar", *where(data)).exit_code == 0
    assert any("the time of the backup was not recorded" in line for line in log_lines)
    assert run("verify", tmp_path / "b.tar").exit_code == 0


def test_a_damaged_database_gets_no_backup_and_keeps_its_older_ones(tmp_path: Path) -> None:
    """With --keep, backups of a database with a broken page would replace the good ones."""
    place = Location(data=tmp_path / "data")
    app.migrate(place)
    folder = tmp_path / "backups"
    folder.mkdir()
    for number in range(3):
        assert run("create", folder / f"b-{number}.tar", "--data", place.data).exit_code == 0
    with sqlite3.connect(place.data / DATABASE) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'webhooks'").fetchone()
    connection.close()
    with (place.data / DATABASE).open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(bytes(range(256)) * 16)
    done = run("create", folder / "b-3.tar", "--keep", "1", "--data", place.data)
    assert done.exit_code == 1
    assert "is damaged, so no backup was made of it and none was removed" in done.output
    assert sorted(file.name for file in folder.iterdir()) == ["b-0.tar", "b-1.tar", "b-2.tar"]


def test_a_folder_whose_database_is_missing_is_refused(tmp_path: Path) -> None:
    """A new database would delete the write-ahead log, which may hold all that was answered last."""
    place = Location(data=tmp_path / "data")
    app.migrate(place)
    (place.data / DATABASE).rename(tmp_path / "saved")
    log = place.data / f"{DATABASE}-wal"
    log.write_bytes(b"not yet in the database")
    with pytest.raises(SettingsError, match=r"antechamber\.db-wal.*, but antechamber\.db is missing\. Bring it back"):
        app.migrate(place)
    assert log.read_bytes() == b"not yet in the database"
    assert not (place.data / DATABASE).exists()
