"""With an older backup nothing is written and no one signs in until an operator acts."""

import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from litestar.testing import TestClient

from antechamber.app import examine, factory, open_store
from antechamber.core.log.rows import SignedCheckpoint
from antechamber.flows.live_policy import PolicyReloader
from antechamber.settings import DATABASE, Location
from support import (
    HANG_SECONDS,
    URL,
    Databases,
    Desk,
    Service,
    antechamber,
    database,
    event,
    running,
    serving,
    until,
    where,
    write_policies,
)
from web.test_audit_api import get
from web.test_checkpoints import leaves_of, owner_does

NAME = "Run the migration first."


class Backup(NamedTuple):
    """A location whose database is older than its checkpoint, with the credentials valid at the time of the backup."""

    location: Location
    tokens: dict[tuple[str, ...], str]
    cookies: dict[str, str]
    link: str
    proposal: str
    submission: str


@pytest.fixture
def backup(location: Location, policies: Path, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backup]:
    """Back up the database, end all access, and replace the database with the backup."""
    with running(location, policies) as service:
        service.token(), service.bearer("auditing", "auditor")
        receipt = service.submit(event(NAME)).json()
        desk = service.sign_in()
        cookies = dict(desk.browser.cookies)
        link = service.state.access.sign_in.create_link("bob")
        get(service, "checkpoint")
        tokens = dict(service._tokens)
    copied = location
    if location.database_url is None:
        shutil.copy(location.data / DATABASE, tmp_path / "backup.db")
    else:
        databases: Databases = request.getfixturevalue("postgres")
        copied = Location(data=location.data, database_url=databases.fresh(location.database_url))
    with running(location, policies) as service:
        assert service.state.access.tokens.revoke("worker:release-bot") == 1
        assert service.state.access.accounts.disable("bob")
        get(service, "checkpoint")
    if location.database_url is None:
        shutil.copy(tmp_path / "backup.db", location.data / DATABASE)
    yield Backup(copied, tokens, cookies, link, receipt["proposal_id"], receipt["submission_id"])
    if copied.database_url is not None:
        databases.drop(copied.database_url)


def reopened(service: Service, backup: Backup) -> Desk:
    """Use the tokens and the session that the backup restored."""
    service._tokens = dict(backup.tokens)
    return Desk(TestClient(service.app, base_url=URL, cookies=backup.cookies))


def test_no_one_signs_in(backup: Backup, policies: Path) -> None:
    """Neither a link nor a password signs in, and the page names the remedy for an operator."""
    with running(backup.location, policies) as service:
        browser = reopened(service, backup).browser
        forms = ({"link": backup.link}, {"name": "bob", "password": "wrong"})
        answers = [browser.post("/login", data=form, follow_redirects=False) for form in forms]
        for answer in (*answers, browser.get("/login")):
            assert answer.status_code == 503
            assert "log new-key --restored" in answer.text
            assert "No one can sign in" in answer.text


def test_sessions_of_the_backup_are_signed_out_and_decide_nothing(backup: Backup, policies: Path) -> None:
    """Pages redirect to the sign-in, a form returns the typed text, and nothing is recorded."""
    with running(backup.location, policies) as service:
        desk = reopened(service, backup)
        answer = desk.browser.get("/review", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2Freview")
        sent = desk.post(f"/review/{backup.proposal}/reject", {"reason_text": "What was typed."})
        assert sent.status_code == 401
        assert "What was typed." in sent.text
        with database(backup.location) as raw:
            assert raw.execute("SELECT count(*) FROM review_records").fetchone()[0] == 0


def test_agents_get_503_for_writes_and_can_still_read(backup: Backup, policies: Path) -> None:
    """Agents get 503 for each write; they read as before, and exports are refused as before."""
    with running(backup.location, policies) as service:
        reopened(service, backup)
        before, bearer = leaves_of(service), service.bearer()
        batch = service.client.post("/v1/submissions/batch", content=b"{}\n", headers=bearer)
        seal = service.client.put("/v1/submissions/by-key/c/seal", headers=bearer)
        for answer in (service.submit(event("Another.")), service.submit(event(NAME)), batch, seal):
            assert answer.status_code == 503
            assert answer.json()["reasons"][0]["code"] == "unavailable"
            assert int(answer.headers["retry-after"]) > 0
        assert service.client.post("/v1/memories", headers=bearer).status_code == 403
        assert leaves_of(service) == before
        ready = service.client.get("/readyz")
        assert (ready.status_code, ready.json()) == (200, {"status": "degraded"})
        assert service.client.get(f"/v1/submissions/{backup.submission}", headers=bearer).status_code == 200
        assert service.recall() == []
        assert get(service, "proof/inclusion", sequence=0).status_code == 200
        for kind in ("export", "review-records", "dispositions", "checkpoint"):
            assert get(service, kind).status_code == 503


def test_a_policy_that_was_edited_is_recorded_once_the_log_is_whole_again(backup: Backup, policies: Path) -> None:
    """No policy leaf is written before an operator acts, because it would let an older backup grow."""
    write_policies(policies, scopes="[limits]\nattempts_per_minute = 1000\n")
    with database(backup.location) as raw:
        (before,) = raw.execute("SELECT count(*) FROM log_leaves").fetchone()
    with running(backup.location, policies) as service:
        keeper: PolicyReloader = service.state.admission._policies

        def is_recorded() -> bool:
            with service.state.desk._store.read() as tx:
                return bool(tx.log.recorded_policy() == keeper.current.digest)

        keeper.refresh()
        assert (leaves_of(service), is_recorded()) == (before, False)
        done = antechamber("log", "new-key", "--restored", *where(backup.location))
        assert done.returncode == 0, done.stderr
        until(is_recorded, "the policy in force is recorded")
    assert examine(backup.location) == []


def test_the_command_line_lets_no_one_in(backup: Backup) -> None:
    """Commands that grant access are refused with the remedy; commands that end access always work."""
    before = len(examine(backup.location))
    for verb in (
        ["token", "issue", "worker:other"],
        ["user", "add", "eve", "--role", "curator"],
        ["user", "link", "bob"],
        ["erase", backup.proposal, "--yes"],
    ):
        done = antechamber(*verb, *where(backup.location))
        assert done.returncode == 1
        assert "log new-key --restored" in done.stderr
        assert done.stdout == ""
    assert len(examine(backup.location)) == before
    for verb in (["user", "disable", "bob"], ["token", "revoke", "worker:release-bot"]):
        assert antechamber(*verb, *where(backup.location)).returncode == 0


def test_what_was_given_up_takes_all_access_with_it(backup: Backup, policies: Path) -> None:
    """Giving up lists and ends tokens, links, sessions and accounts; the running service continues within seconds."""
    with serving(backup.location, policies) as (url, _):
        assert httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).json() == {"status": "degraded"}
        done = antechamber("log", "new-key", "--restored", "--json", *where(backup.location))
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = httpx.Response(200, text=done.stdout).json()
        assert [(one["role"], one["name"]) for one in told["revoked_tokens"]] == [
            ("producer", "worker:release-bot"),
            ("auditor", "auditing"),
        ]
        for kind, name in (("ended_links", "link"), ("ended_sessions", "session")):
            assert [(one["role"], one["name"], len(one[name])) for one in told[kind]] == [("curator", "bob", 16)]
        assert told["active_accounts"] == [{"name": "bob", "role": "curator", "person": "bob"}]
        until(
            lambda: httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).json() == {"status": "ready"},
            "the service goes on",
        )
        for secret in backup.tokens.values():
            refused = httpx.get(f"{url}/v1/token", headers={"authorization": f"Bearer {secret}"}, timeout=HANG_SECONDS)
            assert refused.status_code == 401
        assert httpx.get(f"{url}/review", cookies=backup.cookies, timeout=HANG_SECONDS).status_code == 303
        assert httpx.post(f"{url}/login", data={"link": backup.link}, timeout=HANG_SECONDS).status_code == 400
        issued = antechamber("token", "issue", "worker:release-bot", *where(backup.location)).stdout.strip()
        accepted = httpx.post(
            f"{url}/v1/submissions",
            json=event("Goes on."),
            headers={"authorization": f"Bearer {issued}"},
            timeout=HANG_SECONDS,
        )
        assert accepted.status_code == 201
    assert examine(backup.location) == []


def test_the_list_is_for_people_too(backup: Backup) -> None:
    """With --restored the list follows the key, for people to read."""
    lines = antechamber("log", "new-key", "--restored", *where(backup.location)).stdout.splitlines()
    assert lines[0].startswith("antechamber/")
    assert [line for line in lines[1:] if not line.startswith("  ")] == [
        "revoked tokens: 2",
        "ended links: 1",
        "ended sessions: 1",
        "active accounts: 1",
    ]
    assert lines[-1] == "  bob  curator  bob"


def test_a_backup_under_a_running_service_is_found_by_the_next_look(
    location: Location, policies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decision compares the size of the log in its own transaction, before the periodic check."""
    monkeypatch.setattr(factory, "SIGN_LOOK_EVERY", 3600)
    with running(location, policies) as service:
        proposal = service.submit(event(NAME)).json()["proposal_id"]
        desk = service.sign_in()
        size = service.state.checkpoints.checkpoint().size
        form = desk.form(proposal)
        owner_does(location, f"DELETE FROM log_leaves WHERE id >= {size - 1}", "DELETE FROM checkpoints")
        assert desk.post(f"/review/{proposal}/approve", form).status_code == 503
        with database(location) as raw:
            assert raw.execute("SELECT count(*) FROM review_records").fetchone()[0] == 0
        assert desk.browser.get("/review", follow_redirects=False).status_code == 303
        service.state.checkpoints.tick()
        assert "older backup" in service.state.checkpoints.doubt


def test_no_route_answers_500_while_the_log_is_shorter_than_what_was_signed(location: Location, policies: Path) -> None:
    """A failover without synchronous replication can take signed leaves and nodes away under a running service."""
    with running(location, policies) as service:
        receipt = service.submit(event(NAME)).json()
        size = service.state.checkpoints.checkpoint().size
        callers: list[tuple[Any, dict[str, str]]] = [
            (service.client, service.bearer("auditing", "auditor")),
            (service.client, {"authorization": f"Bearer {service.token()}"}),
            (service.sign_in().browser, {}),
        ]
        paths = [
            f"/v1/audit/proof/inclusion?sequence={size - 1}",
            "/v1/audit/proof/inclusion?sequence=0",
            f"/v1/audit/proof/inclusion?subject={receipt['submission_id']}",
            "/v1/audit/proof/consistency?old_size=1",
            f"/log/tile/0/000.p/{size}",
            "/audit/leaf/0",
            *(route.path for route in service.app.routes if "{" not in route.path and "changes" not in route.path),
        ]
        owner_does(location, "DELETE FROM log_nodes", "DELETE FROM log_leaves WHERE id >= 2", "DELETE FROM checkpoints")
        for _ in ("not noticed", "noticed"):
            answers = {
                (method, path, number): browser.request(method, path, headers=headers, follow_redirects=False)
                for number, (browser, headers) in enumerate(callers)
                for path in paths
                for method in ("GET", "POST")
            }
            failed = {path: answer.text for path, answer in answers.items() if answer.status_code == 500}
            assert not failed
            service.state.checkpoints.tick()
        assert service.state.checkpoints.doubt is not None
        assert callers[0][0].get(paths[0], headers=callers[0][1]).status_code == 503


def test_a_log_that_was_altered_under_a_running_service_is_found(location: Location, policies: Path) -> None:
    """A log altered by another process that signed it in the same size differs from the local checkpoint."""
    with running(location, policies) as service:
        service.submit(event(NAME))
        signed = service.state.checkpoints.checkpoint()
        owner_does(location, "UPDATE log_leaves SET leaf = replace(leaf, 'operator', 'producer') WHERE id = 1")
        later = SignedCheckpoint(size=signed.size, note=signed.note + "— x AAAA\n", signed_at=signed.signed_at)
        service.state.checkpoints._store.write(lambda tx: tx.log.add_checkpoint(later)).result()
        service.state.checkpoints.tick()
        assert "not those that were signed" in service.state.checkpoints.doubt


def test_what_another_machine_signed_is_kept_here_as_well(location: Location, policies: Path) -> None:
    """Each machine stores checkpoints signed by others, so all hold the database to them; SQLite has one machine."""
    with running(location, policies) as service:
        if location.database_url is None:
            assert service.state.checkpoints._signer.alone
            return
        log = service.state.checkpoints
        log.checkpoint()
        elsewhere = Location(data=location.data.parent / "elsewhere", database_url=location.database_url)
        elsewhere.data.mkdir()
        for name in ("log.key", "secret.key"):
            shutil.copy(location.data / name, elsewhere.data / name)
        with running(elsewhere, policies) as other:
            other.submit(event(NAME))
            note = other.state.checkpoints.checkpoint().note
        log.tick()
        assert (location.data / "log.checkpoint").read_text() == note


def test_nothing_is_written_before_the_first_look(location: Location, policies: Path) -> None:
    """An application that was not started has compared nothing and writes nothing."""
    service = Service(location, policies)
    try:
        with pytest.raises(Exception, match="an operator has to act"):
            service.state.access.tokens.issue("worker:release-bot", "producer", [], None)
        assert service.state.dashboard.alarms() == ["The log has not been compared yet with what was signed last."]
    finally:
        service.state.checkpoints._store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Location:
    """A location on SQLite, whose files can be copied."""
    return Location(data=tmp_path / "data")


def copy(location: Location, to: Path, *without: str) -> Location:
    """Copy a folder, without some of its files."""
    shutil.copytree(location.data, to, ignore=lambda _, names: [name for name in names if name in without])
    return Location(data=to)


def fill(url: str, location: Location, number: int) -> None:
    """Submit a number of events to a running service."""
    token = antechamber("token", "issue", "worker:release-bot", *where(location)).stdout.strip()
    for text in range(number):
        body = event(f"Event {text} for {token[-6:]}.")
        answer = httpx.post(
            f"{url}/v1/submissions", json=body, headers={"authorization": f"Bearer {token}"}, timeout=HANG_SECONDS
        )
        assert answer.status_code == 201, answer.text


def begin(location: Location) -> None:
    """Create a folder whose database file has the first checkpoint; later writes stay in the WAL."""
    for verb in (["migrate"], ["log", "checkpoint"]):
        assert antechamber(*verb, *where(location)).returncode == 0


def killed(process: Any) -> None:
    """End a process as a crash does."""
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def test_a_copy_without_the_write_ahead_log_is_noticed(folder: Location, policies: Path, tmp_path: Path) -> None:
    """Doctor and service report missing leaves after a copy without the WAL; a copy of all files is healthy."""
    begin(folder)
    with serving(folder, policies) as (url, process):
        fill(url, folder, 7)
        whole = copy(folder, tmp_path / "whole")
        short = copy(folder, tmp_path / "short", f"{DATABASE}-wal", f"{DATABASE}-shm")
        killed(process)
    crashed = copy(folder, tmp_path / "crashed", f"{DATABASE}-wal")
    empty = copy(folder, tmp_path / "empty", f"{DATABASE}-wal", f"{DATABASE}-shm")
    (empty.data / f"{DATABASE}-wal").touch()
    assert examine(whole) == []
    for index in (short, crashed, empty):
        # The loss is found every time, also after a killed service has left its own files.
        found = examine(index)
        # A copy whose checkpoint is newer than its database gets the second message.
        noticed = ("leaves are missing", "leaves when it was signed last")
        assert any(text in line for line in found for text in noticed), (index.data.name, found)
        with serving(index, policies) as (url, process):
            assert httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).json() == {"status": "degraded"}
            assert httpx.get(f"{url}/login", timeout=HANG_SECONDS).status_code == 503
            killed(process)
        found = examine(index)
        assert any(text in line for line in found for text in noticed), (index.data.name, found)
    done = antechamber("log", "new-key", "--restored", *where(short))
    assert done.returncode == 0, done.stderr
    assert examine(short) == []
    # The crash lost nothing.
    assert examine(folder) == []


def test_the_write_ahead_log_that_is_brought_back_ends_the_alarm(
    folder: Location, policies: Path, tmp_path: Path
) -> None:
    """Restoring the missing WAL beside the database ends the alarm."""
    begin(folder)
    with serving(folder, policies) as (url, process):
        fill(url, folder, 3)
        killed(process)
    location = copy(folder, tmp_path / "copy", f"{DATABASE}-wal")
    assert examine(location) != []
    for name in (DATABASE, f"{DATABASE}-wal"):
        shutil.copy(folder.data / name, location.data / name)
    assert examine(location) == []


def test_what_is_copied_after_a_clean_stop_is_whole(folder: Location, policies: Path, tmp_path: Path) -> None:
    """Database, keys and checkpoint suffice after a clean stop, or once a tool emptied the WAL after a crash."""
    with serving(folder, policies) as (url, _):
        fill(url, folder, 3)
        assert antechamber("log", "checkpoint", *where(folder)).returncode == 0
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    for name in (DATABASE, "secret.key", "log.key", "log.checkpoint"):
        shutil.copy(folder.data / name, stopped / name)
    assert examine(Location(data=stopped)) == []
    with serving(folder, policies) as (url, process):
        fill(url, folder, 1)
        killed(process)
    with sqlite3.connect(folder.data / DATABASE) as raw:
        raw.execute("SELECT count(*) FROM submissions").fetchone()
    raw.close()
    assert not (folder.data / f"{DATABASE}-wal").exists()
    assert examine(folder) == []


def test_access_that_ends_in_a_short_log_does_not_hide_what_is_missing(folder: Location, policies: Path) -> None:
    """Writing as many leaves as are missing restores the log's size but not its root, and is detected."""
    begin(folder)
    with serving(folder, policies) as (url, process):
        fill(url, folder, 1)
        killed(process)
    (folder.data / f"{DATABASE}-wal").unlink()
    store = open_store(folder)
    try:
        for _ in range(2):
            for number in range(3):
                store.write(
                    lambda tx, number=number: tx.log.add_verifier_key(f"key {number} {os.urandom(4)!r}", 1)
                ).result()
        assert "leaves are missing" in (store.lost() or "")
    finally:
        store.close()


@pytest.mark.parametrize("marker", [(), ("log.where",)])
def test_a_copy_without_its_checkpoint_is_noticed(
    folder: Location, policies: Path, tmp_path: Path, marker: tuple[str, ...]
) -> None:
    """A copy without its checkpoint, or without the file that names its path, is detected by the database."""
    with running(folder, policies) as service:
        service.submit(event(NAME))
        get(service, "checkpoint")
    location = copy(folder, tmp_path / "copy", "log.checkpoint", *marker)
    assert any("missing or empty" in line for line in examine(location))
    with running(location, policies) as service:
        assert service.client.get("/readyz").json() == {"status": "degraded"}
        assert service.client.get("/login").status_code == 503
    # The copy keeps its checkpoint in its own folder.
    shutil.copy(folder.data / "log.checkpoint", location.data / "log.checkpoint")
    before = (folder.data / "log.checkpoint").read_text()
    with running(location, policies) as service:
        service.submit(event("Another."))
        get(service, "checkpoint")
    assert (folder.data / "log.checkpoint").read_text() == before


def test_the_database_alone_of_a_folder_that_was_signed_once_is_noticed(
    folder: Location, policies: Path, tmp_path: Path
) -> None:
    """The first checkpoint is in the database file itself, so a copy of that file alone shows that it was signed."""
    alone = tmp_path / "alone"
    alone.mkdir()
    with running(folder, policies) as service:
        service.submit(event(NAME))
        get(service, "checkpoint")
        for name in (DATABASE, "secret.key", "log.key"):
            shutil.copy(folder.data / name, alone / name)
    assert any("missing or empty" in line for line in examine(Location(data=alone)))


def test_an_empty_database_in_the_place_of_a_signed_one_is_noticed(folder: Location, policies: Path) -> None:
    """A folder in which a log was signed detects an empty database."""
    with running(folder, policies) as service:
        get(service, "checkpoint")
    secret = (folder.data / "secret.key").read_bytes()
    (folder.data / DATABASE).unlink()
    (folder.data / "antechamber.db-reached").unlink()
    open_store(folder).close()
    assert (folder.data / "secret.key").read_bytes() == secret
    assert any("replaced by another one" in line for line in examine(folder))
    with running(folder, policies) as service:
        assert service.client.get("/readyz").json() == {"status": "degraded"}


def test_a_contradicted_database_is_not_moved(backup: Backup, postgres: Databases) -> None:
    """A database that contradicts its checkpoint is not imported, because the loss would be forgotten."""
    if backup.location.database_url is not None:
        return
    done = antechamber("migrate", "--move", "--data", str(backup.location.data), "--database-url", postgres.empty())
    assert done.returncode == 1
    assert "log new-key --restored" in done.stderr


def test_nothing_is_stored_in_a_file_that_has_no_name_any_more(folder: Location, policies: Path) -> None:
    """A running service stops writing when the database file was replaced."""
    with running(folder, policies) as service:
        assert service.submit(event(NAME)).status_code == 201
        shutil.copy(folder.data / DATABASE, folder.data / "copy")
        (folder.data / "copy").replace(folder.data / DATABASE)
        answer = service.submit(event("Another."))
        assert answer.status_code == 503
        assert "another file" in answer.json()["detail"]
        assert service.client.get("/readyz").json() == {"status": "read-only"}
