"""Exports for auditors, health for operators, and the policy in force in a running service."""

import csv
import io
import json
import re
import time
from pathlib import Path
from typing import Any

import httpx

from antechamber.core.times import format_time
from support import HANG_SECONDS, PRODUCERS, Service, event, serving, write_policies

ROUTE = "/v1/audit/review-records"
TEXT = "Run the migration before the deploy."


def _decide(service: Service, curator: str, decision: str, content: str, **members: Any) -> str:
    """Submit and decide one proposal; return its id."""
    proposal: str = service.submit(event(content, **members)).json()["proposal_id"]
    desk = service.sign_in(curator)
    typed = {"content": f"{content} Changed."} if decision == "edit" else {}
    response = desk.decide(proposal, decision, reason_code="other", reason_text="note", **typed)
    assert response.status_code == 303
    return proposal


def _fill(service: Service) -> list[str]:
    """Create one approval, one rejection and one edit, in two scopes, by two curators."""
    return [
        _decide(service, "bob", "approve", "First."),
        _decide(service, "eve", "reject", "Second."),
        _decide(service, "bob", "edit", "Third.", submission_scope="session", scope_id="s-1"),
    ]


def _export(service: Service, read: tuple[str, ...] = (), **query: str) -> list[dict[str, Any]]:
    headers = service.bearer("auditing", "auditor", read)
    response = service.client.get(ROUTE, params=query, headers=headers)
    assert response.status_code == 200, response.text
    return [json.loads(line) for line in response.text.splitlines()]


def _proposals(records: list[dict[str, Any]]) -> list[str]:
    return [record["proposal_id"] for record in records if record["record"] == "review"]


def test_an_export_holds_every_decision_and_a_closing_record(service: Service) -> None:
    """The export lists every review record in order, and the last line counts them."""
    made = _fill(service)
    records = _export(service)
    assert _proposals(records) == made
    closing = records[-1]
    assert (closing["record"], closing["count"], closing["complete"], closing["filters"]) == ("closing", 3, False, {})
    assert closing["exported_at"].endswith("Z")


def test_a_record_has_the_person_the_decision_and_the_exact_text(service: Service) -> None:
    """A record holds the exact text shown and its hash, person, time, reason, policy and result."""
    _decide(service, "bob", "approve", "First.")
    record = _export(service)[0]
    assert json.loads(record["shown"])["content"] == "First."
    assert (record["curator"], record["person"], record["decision"]) == ("bob", "bob", "approve")
    assert record["shown_hash"] == record["resulting_hash"]
    assert record["memory_id"] == service.recall()[0]["memory_id"]
    assert record["policy_digest"].startswith("blake3:")
    assert record["producer_identity"] == "worker:release-bot"
    assert record["decided_at"].endswith("Z")


def test_an_export_before_any_decision_is_only_closed(service: Service) -> None:
    """An export without records consists of the closing record."""
    assert [(record["record"], record["count"]) for record in _export(service)] == [("closing", 0)]


def test_exports_are_filtered(service: Service) -> None:
    """Scope, scope id, decision and curator select records, and the closing record names the filters."""
    first, second, third = _fill(service)
    expected = {
        ("submission_scope", "session"): [third],
        ("submission_scope", "organization"): [],
        ("scope_id", "apollo"): [first, second],
        ("decision", "reject"): [second],
        ("decision", "edit"): [third],
        ("curator", "eve"): [second],
        ("curator", "nobody"): [],
        ("curator", ""): [first, second, third],
    }
    for (name, value), proposals in expected.items():
        records = _export(service, **{name: value})
        assert (name, value, _proposals(records)) == (name, value, proposals)
        assert records[-1]["count"] == len(proposals)
        assert records[-1]["filters"] == ({name: value} if value else {})
    both = _export(service, curator="bob", decision="approve")
    assert _proposals(both) == [first]
    assert both[-1]["filters"] == {"curator": "bob", "decision": "approve"}


def test_exports_are_filtered_by_time(service: Service) -> None:
    """`since` is inclusive, `until` is exclusive, and both accept dates and offsets."""
    made = _fill(service)
    moments = [record["decided_at"] for record in _export(service)[:3]]
    assert _proposals(_export(service, since=moments[1])) == made[1:]
    assert _proposals(_export(service, until=moments[1])) == made[:1]
    assert _proposals(_export(service, since=moments[1], until=moments[2])) == made[1:2]
    assert _proposals(_export(service, since="2000-01-01", until="2200-01-01")) == made
    assert _proposals(_export(service, until="2000-01-01T00:00:00+02:00")) == []


UNREADABLE = [
    {"format": "xml"},
    {"since": "yesterday"},
    {"until": "2026-13-01"},
    {"since": "2026-11-20T10:00:00"},
    {"decision": "promote"},
    {"submission_scope": "galaxy"},
]


def test_a_filter_that_is_none_is_refused(service: Service) -> None:
    """An invalid filter is named in the error and exports nothing, instead of everything."""
    for query in UNREADABLE:
        response = service.client.get(ROUTE, params=query, headers=service.bearer("auditing", "auditor"))
        assert response.status_code == 400
        assert response.json()["reasons"][0]["code"] == "malformed"
        assert response.json()["reasons"][0]["pointer"] == f"/{next(iter(query))}"


def test_a_limited_auditor_gets_its_scopes_only(service: Service) -> None:
    """A token with --read exports those scopes, and its closing record does not claim to be complete."""
    first, second, third = _fill(service)
    project = _export(service, read=("project:apollo",))
    assert _proposals(project) == [first, second]
    assert (project[-1]["count"], project[-1]["complete"]) == (2, False)
    assert _proposals(_export(service, read=("session:s-1",))) == [third]
    assert _proposals(_export(service, read=("session:*",))) == [third]
    assert _proposals(_export(service, read=("project:gemini",))) == []


def test_signed_in_auditors_and_curators_export_too(service: Service) -> None:
    """The links on the audit page work in the browser and download a file."""
    _fill(service)
    for role in ("auditor", "curator"):
        response = service.sign_in(f"{role}-1", role).browser.get(ROUTE)
        assert response.status_code == 200
        assert len(response.text.splitlines()) == 4
        assert response.headers["content-disposition"] == 'attachment; filename="review-records.jsonl"'
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["content-type"].startswith("application/x-ndjson")


def test_a_csv_export_holds_the_same(service: Service) -> None:
    """The CSV has a header line, the same records and the closing record."""
    _fill(service)
    response = service.client.get(ROUTE, params={"format": "csv"}, headers=service.bearer("auditing", "auditor"))
    rows = list(csv.DictReader(io.StringIO(response.text)))
    records = _export(service)
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert [row["record"] for row in rows] == ["review", "review", "review", "closing"]
    assert (rows[-1]["count"], rows[-1]["complete"]) == ("3", "false")
    for row, record in zip(rows[:3], records, strict=False):
        assert {
            name: value or ""
            for name, value in record.items()
            if isinstance(value, str | None) and name not in {"salt", "shown", "resulting"}
        }.items() <= row.items()
        assert row["text_shown"] == json.loads(record["shown"])["content"]


def test_no_cell_of_a_csv_is_a_formula(service: Service) -> None:
    """Text typed by a curator cannot act as a formula in a spreadsheet; the JSONL keeps it unchanged."""
    notes = {
        "=1+1": "'=1+1",
        "+1": "'+1",
        "-1": "'-1",
        "@SUM(1)": "'@SUM(1)",
        "\t=1": "'\t'=1",
        "\r=1": "'\r'=1",
        "\n=1": "'\n'=1",
        "\r\n=1": "'\r\n'=1",
        "so;=1": "so;'=1",
        "so\t=1": "so\t'=1",
        'so;"=1"': 'so;"\'=1"',
        "so\n=1": "so\n'=1",
    }
    desk = service.sign_in()
    for number, note in enumerate(notes):
        proposal = service.submit(event(f"Sentence {number}.")).json()["proposal_id"]
        assert desk.decide(proposal, "reject", reason_code="other", reason_text=note).status_code == 303
    headers = service.bearer("auditing", "auditor")
    text = service.client.get(ROUTE, params={"format": "csv"}, headers=headers).content.decode()
    cells = [row["reason_text"] for row in csv.DictReader(io.StringIO(text, newline=""))][: len(notes)]
    assert cells == list(notes.values())
    assert [record.get("reason_text") for record in _export(service)] == [*notes, None]


def test_a_csv_keeps_quotes_commas_and_lines(service: Service) -> None:
    """A note with quotes, commas and line breaks is one cell."""
    note = 'He said "no", twice;\nthen, again'
    proposal = service.submit(event()).json()["proposal_id"]
    service.sign_in().decide(proposal, "reject", reason_code="other", reason_text=note)
    headers = service.bearer("auditing", "auditor")
    text = service.client.get(ROUTE, params={"format": "csv"}, headers=headers).content.decode()
    assert next(csv.DictReader(io.StringIO(text, newline="")))["reason_text"] == note


def test_a_long_export_comes_whole(service: Service) -> None:
    """An export of several chunks holds every record once."""
    made, desk = [], service.sign_in()
    for number in range(40):
        made.append(service.submit(event(f"Sentence {number}. " + "x" * 4000)).json()["proposal_id"])
        assert desk.decide(made[-1], "approve").status_code == 303
    assert _proposals(_export(service)) == made


def test_the_audit_page_lists_and_filters(service: Service) -> None:
    """The page lists the newest first and filters by form, and its export links carry the filters."""
    first, second, third = _fill(service)
    auditor = service.sign_in("audrey", "auditor").browser
    page = auditor.get("/audit").text
    assert page.index(third) < page.index(second) < page.index(first)
    filtered = auditor.get("/audit", params={"decision": "reject", "scope_id": "apollo"}).text
    assert second in filtered
    assert first not in filtered
    form = filtered[filtered.index('action="/v1/audit/review-records"') :]
    assert re.findall(r'name="(\w+)" value="(\w+)"', form)[:3] == [
        ("scope_id", "apollo"),
        ("decision", "reject"),
        ("format", "jsonl"),
    ]
    assert '<option value="reject" selected>reject</option>' in filtered


def test_a_bad_filter_on_the_audit_page_is_explained(service: Service) -> None:
    """An invalid date gives 400 with an explanation, and the page still works."""
    response = service.sign_in().browser.get("/audit", params={"since": "yesterday"})
    assert response.status_code == 400
    assert "since must be an RFC 3339 time or a date" in response.text


def test_the_audit_page_leads_on(service: Service) -> None:
    """More than fifty records are divided into pages that keep the filters."""
    desk = service.sign_in()
    for number in range(51):
        proposal = service.submit(event(f"Sentence {number}.")).json()["proposal_id"]
        assert desk.decide(proposal, "reject", reason_code="other").status_code == 303
    browser = desk.browser
    page = browser.get("/audit", params={"decision": "reject"}).text
    following = page.partition('rel="next" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert following.startswith("/audit?decision=reject&after=")
    assert "Sentence 0." in browser.get(following).text
    assert "Sentence 0." not in page


def test_health_and_readiness_are_public_without_details(service: Service) -> None:
    """Everyone can see whether the service runs; only operators see more."""
    assert service.client.get("/healthz").json() == {"status": "ok"}
    for headers in ({}, service.bearer(), service.bearer("auditing", "auditor")):
        assert service.client.get("/readyz", headers=headers).json() == {"status": "ready"}
    assert service.sign_in().browser.get("/readyz").json() == {"status": "ready"}
    details = service.sign_in("olga", "operator").browser.get("/readyz").json()
    assert details["status"] == "ready"
    assert details["policy_digest"].startswith("blake3:")
    assert details["alarms"] == []


def test_a_bad_policy_edit_leaves_the_old_one_and_shows(service: Service, policies: Path) -> None:
    """A mistyped edit changes nothing but raises an alarm on /readyz and every page until it is corrected."""
    operator, curator = service.sign_in("olga", "operator").browser, service.sign_in().browser
    before = operator.get("/readyz").json()["policy_digest"]
    write_policies(policies, PRODUCERS.replace("submit", "submt"))
    service.state.dashboard._policies.refresh()
    assert service.client.get("/readyz").status_code == 200
    assert service.client.get("/readyz").json() == {"status": "degraded"}
    details = operator.get("/readyz").json()
    assert (details["status"], details["policy_digest"]) == ("degraded", before)
    assert 'write "submit"' in details["alarms"][0].replace("&#34;", '"')
    for page in (
        curator.get("/review"),
        curator.get("/memories"),
        operator.get("/dashboard"),
        operator.get("/operations"),
    ):
        assert 'role="alert"' in page.text
        assert "The edited policy is not in force" in page.text
    assert service.submit(event()).status_code == 201
    write_policies(policies)
    service.state.dashboard._policies.refresh()
    assert service.client.get("/readyz").json() == {"status": "ready"}
    assert "The edited policy" not in curator.get("/review").text


def test_a_good_policy_edit_is_in_force_as_a_whole(service: Service, policies: Path) -> None:
    """After an edit, new submissions are judged by it, and their receipts name its digest."""
    first = service.submit(event("First.")).json()["policy_digest"]
    write_policies(policies, PRODUCERS.replace('"project:apollo", "session:*", "organization', '"organization'))
    service.state.dashboard._policies.refresh()
    answer = service.submit(event("Second.")).json()
    assert answer["reasons"][0]["code"] == "scope-not-granted"
    assert answer["policy_digest"] != first
    assert answer["policy_digest"] in service.sign_in("olga", "operator").browser.get("/operations").text


def _until(url: str, status: str) -> None:
    deadline = time.monotonic() + 20
    while httpx.get(f"{url}/readyz", timeout=HANG_SECONDS).json() != {"status": status}:
        assert time.monotonic() < deadline, f"the service never became {status}"


def test_a_running_process_notices_edits(tmp_path: Path, policies: Path) -> None:
    """A separate process notices a bad edit without a restart, and its correction too."""
    with serving(tmp_path / "data", policies) as (url, _process):
        _until(url, "ready")
        write_policies(policies, "[[producer]]\n")
        _until(url, "degraded")
        write_policies(policies)
        _until(url, "ready")


def test_times_in_exports_sort_as_text(service: Service) -> None:
    """Every time has the same width and zone, so text order is time order."""
    _fill(service)
    times = [record["decided_at"] for record in _export(service)[:3]]
    assert times == sorted(times)
    assert {len(moment) for moment in times} == {len(format_time(0))}
