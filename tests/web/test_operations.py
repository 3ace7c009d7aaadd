"""The operations page: alarms with remedies, state, disk, processes, webhooks, producers, tokens and people."""

import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from antechamber.app import clock, opened_webhooks
from antechamber.app.factory import create_app
from antechamber.core.access.sessions import SignedOutError
from antechamber.core.metrics.definitions import ALARM_SOURCES
from antechamber.core.ports.snapshots import Disk
from antechamber.core.remedies import REMEDIES
from antechamber.core.times import parse_time
from antechamber.flows.replication import UnsafeServerError
from antechamber.flows.store_state import LAST_BACKUP
from antechamber.settings import Location, Settings
from antechamber.snapshot_files import SnapshotFiles
from support import (
    PRODUCERS,
    Databases,
    Service,
    database,
    event,
    run_retention,
    running,
    until,
    without_indents,
    write_policies,
)

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
    """The page names version and engine, has no alarm, and says how to make what is missing."""
    page = shown(service)
    assert "All parts of the service work." in page
    assert re.search(r"Antechamber \d+\.\d+\.\d+ on (SQLite|PostgreSQL)", page)
    for command in ("backup create FILE", "webhook add URL"):
        assert f"antechamber {command}" in page
    assert 'role="alert"' not in page


def test_the_windows_of_retention_and_its_last_run_are_shown(service: Service, policies: Path) -> None:
    """Without windows all texts are kept and there is no figure; with some, the page shows them and the last run."""
    auditor = service.bearer("prometheus", "auditor")
    name = "antechamber_retention_age_seconds "
    assert "The policy keeps all texts" in shown(service)
    run_retention(service, HOUR)
    assert f"\n{name}" not in service.client.get("/metrics", headers=auditor).text
    write_policies(policies, PRODUCERS, scopes="[defaults]\nkeep_rejected_days = 30\nkeep_ended_days = 1\n")
    service.state.dashboard._policies.refresh()
    page = shown(service)
    assert "<td>project</td><td>30 days</td><td>kept</td><td>1 day</td>" in page
    assert re.search(r"It ran last\s+\S[^<.]*ago\.", page)
    age = re.search(rf"\n{name}([\d.e+]+)", service.client.get("/metrics", headers=auditor).text)
    assert age is not None
    assert 3600 <= float(age[1]) < 7200


def test_retention_that_never_ran_is_named(service: Service, policies: Path) -> None:
    """With windows and without a run, the page says so, and there is no age."""
    write_policies(policies, PRODUCERS, scopes="[defaults]\nkeep_rejected_days = 30\n")
    service.state.dashboard._policies.refresh()
    assert "It has not run yet." in shown(service)
    text = service.client.get("/metrics", headers=service.bearer("prometheus", "auditor")).text
    assert "\nantechamber_retention_age_seconds " not in text


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


def test_a_server_that_could_lose_a_commit_is_refused_or_an_alarm(
    postgres: Databases, tmp_path: Path, policies: Path
) -> None:
    """`--require-synchronous` refuses a server without a standby; while the service runs it is an alarm."""
    url = postgres.fresh()
    place = Location(data=tmp_path / "data", database_url=url)
    strict = Settings(data=place.data, policies=policies, database_url=url, require_synchronous=True)
    try:
        with pytest.raises(UnsafeServerError, match="synchronous_standby_names is empty"):
            create_app(strict)
        with running(place, policies) as service:
            service.state.dashboard.replication.look()
            page = shown(service)
            assert "The server could lose an acknowledged commit: synchronous_standby_names is empty" in page
            assert REMEDIES["replication"].title in page
            assert service.client.get("/readyz").json() == {"status": "degraded"}
    finally:
        postgres.drop(url)


def change(desk: Any, name: str, /, **fields: str) -> httpx.Response:
    """Send a form of the page."""
    found = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/operations").text)
    assert found
    response: httpx.Response = desk.post(f"/operations/{name}", {"csrf": found[1]} | fields)
    return response


def secret_in(response: httpx.Response) -> str:
    """Return the token or link that a form made."""
    assert response.status_code == 200, response.text
    found = re.search(r"<pre>((?:ant|http)[^<]+)</pre>", response.text)
    assert found
    return found[1]


def last_actors(service: Service, number: int) -> list[tuple[str, str, str]]:
    """Return action, actor and role of the last leaves, oldest first."""
    with service.state.operations._store.read() as tx:
        size = tx.log.size()
        leaves = [msgspec.json.decode(leaf) for leaf in tx.log.leaf_texts(size - number, number)]
    return [(leaf["action"], leaf["actor"], leaf["role"]) for leaf in leaves]


def test_an_operator_issues_and_revokes_tokens(service: Service) -> None:
    """The token is in the answer only, works with its scopes until it is revoked, and the log names the operator."""
    desk = service.sign_in("olga", "operator")
    answer = change(desk, "issue-token", name="reading", role="reader", read="project:apollo", expires="90d")
    token = secret_in(answer)
    assert answer.headers["cache-control"] == "no-store"
    headers = {"authorization": f"Bearer {token}"}
    known = service.client.get("/v1/token", headers=headers).json()
    assert (known["name"], known["read"]) == ("reading", ["project:apollo"])
    assert parse_time(known["expires_at"]) - clock() > 89 * 24 * HOUR
    page = desk.browser.get("/operations").text
    assert token not in page
    [token_id] = re.findall(r'name="token_id" value="([^"]+)"', page)
    assert "Revoked." in change(desk, "revoke-token", token_id=token_id).text
    assert last_actors(service, 2) == [("issue-token", "olga", "operator"), ("revoke-token", "olga", "operator")]
    assert "revoked already" in change(desk, "revoke-token", token_id=token_id).text
    until(lambda: service.client.get("/v1/token", headers=headers).status_code == 401, "the token is refused")


def test_a_token_that_promises_too_much_comes_with_a_warning(service: Service) -> None:
    """What the policy refuses to a producer is said where its token is shown, and of no other token."""
    desk = service.sign_in("olga", "operator")
    unlisted = change(desk, "issue-token", name="worker:stranger", role="producer")
    assert unlisted.status_code == 200
    assert "The policy does not list worker:stranger, so the service refuses" in unlisted.text
    wide = change(desk, "issue-token", name="worker:release-bot", role="producer", read="project:secret-plans").text
    assert "does not let worker:release-bot read project:secret-plans" in wide
    for fields in ({"name": "worker:release-bot", "role": "producer"}, {"name": "worker:stranger", "role": "auditor"}):
        assert "he policy does not" not in change(desk, "issue-token", **fields).text


def test_an_operator_adds_people_and_disables_them(service: Service) -> None:
    """A link signs the person in once; after the account is disabled, its session has ended."""
    desk = service.sign_in("olga", "operator")
    link = secret_in(change(desk, "add-person", name="cora", role="curator", person="cora-smith"))
    secret = link.partition("link=")[2]
    signed_in = service.client.post("/login", data={"link": secret}, follow_redirects=False)
    assert signed_in.headers["location"] == "/review"
    assert "link=" in secret_in(change(desk, "make-link", name="cora"))
    assert "Disabled cora" in change(desk, "disable-person", name="cora").text
    assert last_actors(service, 1) == [("disable-user", "olga", "operator")]
    assert change(desk, "make-link", name="cora").status_code == 400
    assert change(desk, "disable-person", name="cora").status_code == 400


def test_giving_access_asks_again_who_it_is(service: Service) -> None:
    """Minutes after the sign-in a token or a link needs a confirmation; ending access never waits for one."""
    desk = service.sign_in("olga", "operator")
    service.state.access.accounts.add("cora", "curator", None, None)
    start = clock()
    service.set_access_clock(lambda: start + 16 * 60_000_000)
    for name, fields in (
        ("issue-token", {"name": "reading", "role": "auditor"}),
        ("add-person", {"name": "dora", "role": "curator"}),
        ("make-link", {"name": "cora"}),
    ):
        asked = change(desk, name, **fields)
        assert asked.status_code == 403
        assert "Confirm that it is you" in asked.text
    assert service.state.access.tokens.all() == []
    assert "Disabled cora" in change(desk, "disable-person", name="cora").text


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("issue-token", {"name": "worker", "role": "producer"}, "it must be kind:name"),
        ("issue-token", {"name": "reading", "role": "reader"}, "A reader token needs a scope"),
        ("issue-token", {"name": "a", "role": "auditor", "expires": "1y"}, "1y is no lifetime"),
        ("issue-token", {"name": "a", "role": "operator"}, "Choose a role: producer, reader, auditor"),
        ("add-person", {"name": "a b", "role": "curator"}, "is no name"),
        ("add-person", {"name": "olga", "role": "curator"}, "The name olga is taken"),
        ("add-person", {"name": "cora"}, "Choose a role: curator, auditor, operator"),
        ("disable-person", {"name": "olga"}, "You cannot disable the account that you are signed in with"),
    ],
)
def test_a_form_that_is_refused_says_why_and_keeps_what_was_typed(
    service: Service, name: str, fields: dict[str, str], said: str
) -> None:
    """Nothing is changed by it."""
    desk = service.sign_in("olga", "operator")
    before = last_actors(service, 1)
    answer = change(desk, name, **fields)
    assert answer.status_code == 400
    assert said in answer.text.replace("&#34;", '"')
    if name != "disable-person":
        assert f'value="{fields["name"]}"' in answer.text
    assert last_actors(service, 1) == before


def test_only_an_operator_whose_session_lasts_changes_access(service: Service) -> None:
    """A curator is refused, an unknown form is not found, and an ended session has to sign in again."""
    curator, operator = service.sign_in(), service.sign_in("olga", "operator")
    csrf = re.search(r'name="csrf" value="([^"]+)"', curator.browser.get("/review").text)
    assert csrf
    fields = {"csrf": csrf[1], "name": "mine", "role": "auditor"}
    assert curator.post("/operations/issue-token", fields).status_code == 403
    assert change(operator, "other").status_code == 404
    account = service.state.access.sessions.account(operator.browser.cookies["antechamber"])
    service.state.access.accounts.disable("olga")
    for work in (
        lambda: service.state.access.tokens.issue("a", "auditor", [], None, account),
        lambda: service.state.access.tokens.revoke("a", account),
        lambda: service.state.access.accounts.add("cora", "curator", None, None, account),
        lambda: service.state.access.accounts.disable("bob", account),
        lambda: service.state.access.sign_in.create_link("bob", account),
    ):
        with pytest.raises(SignedOutError):
            work()
    assert service.state.access.tokens.all() == []
