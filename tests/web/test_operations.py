"""The operations page: alarms with remedies, state, disk, processes, webhooks, producers, tokens and people."""

import re
from pathlib import Path

import pytest

from antechamber.app import clock, opened_webhooks
from antechamber.core.metrics.definitions import ALARM_SOURCES
from antechamber.core.ports.snapshots import Disk
from antechamber.core.remedies import REMEDIES
from antechamber.flows.store_state import LAST_BACKUP
from antechamber.settings import Location
from antechamber.snapshot_files import SnapshotFiles
from support import PRODUCERS, Databases, Service, database, event, running, without_indents, write_policies

HOUR = 3_600_000_000


def shown(service: Service) -> str:
    """Return the page as an operator sees it."""
    response = service.sign_in("olga", "operator").browser.get("/operations")
    assert response.status_code == 200, response.text
    return without_indents(response.text)


def note_backup(service: Service, age: int) -> None:
    """Note a backup that was made this many microseconds ago."""
    at = str(clock() - age)
    service.state.operations._store.write(lambda tx: tx.reports.set_meta(LAST_BACKUP, at)).result()


def test_a_new_service_has_no_alarm_and_no_backup(service: Service) -> None:
    """The page names version and engine, has no alarm, and tells how to make what is missing."""
    page = shown(service)
    assert "All parts of the service work." in page
    assert re.search(r"Antechamber \d+\.\d+\.\d+ on (SQLite|PostgreSQL)", page)
    for command in ("backup create FILE", "webhook add URL", "token issue NAME", "policy diff NEW"):
        assert f"antechamber {command}" in page
    assert 'role="alert"' not in page


def test_each_source_of_alarms_has_a_remedy() -> None:
    """The table of remedies and the sources that the metrics know are the same."""
    assert set(REMEDIES) == set(ALARM_SOURCES)


def test_an_alarm_is_shown_once_with_its_cause_and_its_remedy(service: Service, policies: Path) -> None:
    """The page explains it; the other pages of the desk only name it."""
    write_policies(policies, PRODUCERS.replace("submit", "submt"))
    service.state.dashboard._policies.refresh()
    page = shown(service)
    assert page.count('role="alert"') == 1
    assert page.count("The edited policy is not in force, the earlier one still is.") == 1
    assert REMEDIES["policy"].text in page
    assert "antechamber policy check DIR" in page


def test_what_waits_and_how_old_the_last_backup_is(service: Service) -> None:
    """A backup above two days and a disk with less than a tenth are marked."""
    service.submit(event("First."))
    note_backup(service, HOUR)
    page = shown(service)
    assert re.search(r'<div class="figure">1</div><p>pending, the oldest for', page)
    assert "since the last backup" in page
    assert "antechamber backup create" not in page
    note_backup(service, 49 * HOUR)
    assert "antechamber backup create" in shown(service)


def test_a_disk_that_is_nearly_full_is_marked(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Less than a tenth is free; a disk that cannot be read is left out."""
    monkeypatch.setattr(SnapshotFiles, "disk", lambda _: Disk(9, 100))
    assert "Less than a tenth is free." in shown(service)
    monkeypatch.setattr(SnapshotFiles, "disk", lambda _: Disk(10, 100))
    assert "Less than a tenth" not in shown(service)
    monkeypatch.setattr(SnapshotFiles, "disk", lambda _: None)
    assert "on the disk" not in shown(service)


def test_a_webhook_is_listed_without_its_query(service: Service) -> None:
    """The query of an address may be a secret of its receiver."""
    with opened_webhooks(service.location, grants=True) as webhooks:
        webhooks.add("http://127.0.0.1:9/hook?key=secret", ["memory.ended"], allow_private=True)
    page = shown(service)
    assert "http://127.0.0.1:9/hook" in page
    assert "key=secret" not in page
    assert ">active</span>" in page


def test_tokens_show_their_scopes_and_their_state(service: Service) -> None:
    """In use, expired or revoked; a reader's scopes are listed."""
    tokens = service.state.access.tokens
    tokens.issue("reading", "reader", ["project:apollo"], None)
    tokens.issue("short", "auditor", [], 1)
    tokens.issue("lost", "auditor", [], None)
    tokens.revoke("lost")
    page = shown(service)
    rows = {found[0]: found[0] + found[1] for found in re.findall(r"<tr><td>(\w+)</td>(.*?)</tr>", page, re.DOTALL)}
    assert "project:apollo" in rows["reading"]
    states = {"reading": "in use", "short": "expired", "lost": "revoked"}
    assert [name for name, state in states.items() if state not in rows[name]] == []


def test_a_store_that_cannot_be_read_is_an_alarm(service: Service) -> None:
    """The rest of the page is shown, so that the operator learns what to do."""
    with database(service.location) as owner:
        owner.execute("ALTER TABLE webhooks RENAME TO webhooks_gone")
    page = shown(service)
    assert "The store cannot be read now." in page
    assert REMEDIES["store"].text in page
    assert "<h2>Tokens</h2>" not in page


def test_processes_over_one_database_are_listed(postgres: Databases, tmp_path: Path, policies: Path) -> None:
    """Each process that reported within a minute has a row."""
    url = postgres.fresh()
    place = Location(data=tmp_path / "data", database_url=url)
    try:
        with running(place, policies) as one, running(place, policies):
            page = shown(one)
            rows = page[page.index("<h2>Processes</h2>") : page.index("<h2>Webhooks</h2>")]
            assert rows.count("the same") == 2
    finally:
        postgres.drop(url)
