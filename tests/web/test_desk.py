"""The review desk: its pages, its decisions, and what it never does."""

import html
import json
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import msgspec
import pytest

from support import PRODUCERS, Desk, Service, event, without_indents, write_policies

TEXT = "Run the migration before the deploy."
HOSTILE = (
    "<script>alert(1)</script> \"'><img src=x onerror=alert(2)> {{ 7 * 7 }} javascript:alert(3)\n"
    "bidi \u202eecived\u202c zero\u200bwidth tag\U000e0041\U000e007f line\u2028end filler\u3164 nbsp\u00a0here"
)
DRAWN = ("U+202E", "U+202C", "U+200B", "U+E0041", "U+E007F", "U+2028", "U+3164")
OWN_SCRIPT = re.compile(r"/assets/(?:shortcuts|live|times)\.js\?[0-9a-f]{12}")
STATE = re.compile(r'<span class="word [a-z]*">\s*(pending|approved|rejected)</span>')


def _propose(service: Service, content: str = TEXT, **members: Any) -> str:
    response = service.submit(event(content, **members))
    proposal: str = response.json()["proposal_id"]
    assert response.status_code == 201, response.text
    return proposal


def _page(desk: Desk, path: str, status: int = 200) -> str:
    response = desk.browser.get(path)
    assert response.status_code == status
    return html.unescape(response.text)


def _records(service: Service) -> list[dict[str, Any]]:
    response = service.client.get("/v1/audit/review-records", headers=service.bearer("auditing", "auditor"))
    return [record for line in response.text.splitlines() if (record := json.loads(line))["record"] == "review"]


class _Suspect(HTMLParser):
    """Collects page elements that could load, run or draw foreign content."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check a tag and its attributes; the desk's own scripts are external files without inline code."""
        own = dict(attrs)
        if tag == "script" and own.keys() == {"src", "defer"} and OWN_SCRIPT.fullmatch(own["src"] or ""):
            return
        if tag == "svg" and own.get("class") == "chart":
            return
        if tag in {"script", "style", "img", "iframe", "object", "embed", "svg", "base", "b", "template"}:
            self.found.append(tag)
        for name, value in attrs:
            leads = name in {"href", "src", "action", "formaction"} and re.match(r"[/#](?![/\\])", value or "") is None
            if leads or name.startswith("on") or name in {"style", "srcdoc", "ping"}:
                self.found.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        """Check text that a browser would run."""
        if self.lasttag == "script" and data.strip():
            self.found.append(f"script {data}")


def _csrf(desk: Desk) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/dashboard").text)
    assert found
    return found[1]


def test_empty_pages_explain_what_will_appear(service: Service) -> None:
    """Before the first event every page explains that it is empty and what will appear."""
    desk = service.sign_in()
    expected = {
        "/review": "Nothing to review",
        "/quarantine": "The quarantine is empty",
        "/memories": "Nothing is remembered yet",
        "/memories?q=nothing": "No memory holds all these words",
        "/audit": "No review record",
        "/audit?decision=reject": "Nothing matches these filters",
        "/dashboard": "Nothing was submitted in this time.",
    }
    assert {path for path, text in expected.items() if text not in _page(desk, path)} == set()


def test_the_queue_shows_the_oldest_first_page_by_page(service: Service) -> None:
    """The queue shows fifty proposals per page, oldest first, and each exactly once."""
    ids = [_propose(service, " ".join(f"{number}{letter}" * 3 for letter in "abcdef")) for number in range(53)]
    desk = service.sign_in()
    service.wait_until_sorted()
    first = _page(desk, "/review")
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following
    second = _page(desk, following[1])
    assert re.findall(r'href="/review/([0-9a-f-]{36})"', first + second) == ids
    assert 'rel="next"' not in second
    assert 'data-count="pending">53<' in first


def test_a_proposal_page_has_all_that_a_decision_needs(service: Service) -> None:
    """Scope, producer, owner, span, claim, evidence, replays, duplicates, conflicts and findings are on the page."""
    span = {"uri": "repo://apollo/RUNBOOK.md", "start": 10, "end": 14, "revision": "9f1c2ab", "heading": "Deploy"}
    payload = {"kind": "procedure", "content": TEXT, "tags": ["deploy"], "attributes": {"severity": 2}}
    members = {"payload": payload, "source_span": span}
    first = event(**members, idempotency_key="first", observed_at="2026-01-02T10:00:00Z", supersedes="old-memory")
    accepted = service.submit(first)
    proposal = accepted.json()["proposal_id"]
    assert service.submit(first).json()["duplicate"]
    assert service.submit(event(**members)).json()["disposition"] == "accepted-as-duplicate"
    assert service.submit(event(**members, producer_identity="tool:watcher")).status_code == 200
    assert service.submit(event("Something else.", idempotency_key="first")).status_code == 422
    page = _page(service.sign_in(), f"/review/{proposal}")
    wanted = (
        TEXT, "procedure", "deploy", '"severity": 2', "project:apollo", "version 1", "worker:release-bot", "ada",
        "repo://apollo/RUNBOOK.md", "10 to 14", "9f1c2ab", "Deploy", "old-memory", "2026-01-02 10:00 UTC",
        accepted.json()["source_event_hash"], accepted.json()["policy_digest"], "tool:watcher · owner grace",
        "same key, different content", "/quarantine/", "<dt>own duplicates</dt><dd>1</dd>",
    )  # fmt: skip
    assert [text for text in wanted if text not in page] == []


def test_a_proposal_page_names_the_memories_it_was_derived_from(service: Service) -> None:
    """A memory that the producer may read is a link with its text and state; any other id is shown as unknown."""
    desk = service.sign_in()
    known = _propose(service, "Wait for the migration.")
    of_another = {"producer_identity": "tool:watcher", "submission_scope": "session"}
    for proposal in (known, _propose(service, "A note.", **of_another)):
        assert desk.decide(proposal, "approve").status_code == 303
    (memory,) = service.recall()
    page = _page(desk, "/memories")
    ids = set(re.findall(r'href="/memories/([0-9a-f-]{36})"', page))
    (other,) = ids - {memory["memory_id"]}
    derived = _propose(service, "Deploy after it.", derived_from=[memory["memory_id"], other, "m-unknown"])
    page = without_indents(_page(desk, f"/review/{derived}"))
    assert f'<a href="/memories/{memory["memory_id"]}">Wait for the migration.</a> (active)' in page
    assert page.count("(unknown)") == 2
    assert f'href="/memories/{other}"' not in page
    assert desk.decide(derived, "approve").status_code == 303
    admitted = next(item for item in service.recall() if item["content"] == "Deploy after it.")
    assert admitted["derived_from"] == sorted([memory["memory_id"], other, "m-unknown"])
    assert "m-unknown</a> (claimed)" in _page(desk, f"/memories/{admitted['memory_id']}")


def test_a_conflict_is_listed_once(service: Service) -> None:
    """A conflict is shown once, with a link to the pair, and not repeated among the warnings."""
    proposal = _propose(service, idempotency_key="first")
    service.submit(event("Something else.", idempotency_key="first"))
    page = _page(service.sign_in(), f"/review/{proposal}")
    assert page.partition('id="warnings"')[2].partition("</p>")[0].count("same key, different content") == 1
    assert page.count("/quarantine/") == 1


def test_replays_are_counted_on_the_page(service: Service) -> None:
    """A proposal's page shows the number of replays once the counters are written."""
    sent = event()
    proposal = service.submit(sent).json()["proposal_id"]
    for _ in range(3):
        service.submit(sent)
    service.state.admission.flush()
    assert "<dt>replays</dt><dd>3</dd>" in _page(service.sign_in(), f"/review/{proposal}")


def test_approving_makes_a_memory(service: Service) -> None:
    """Approve gives a redirect, and agents read the memory."""
    proposal = _propose(service)
    desk = service.sign_in()
    response = desk.decide(proposal, "approve")
    assert (response.status_code, response.headers["location"]) == (303, f"/review?done=approved&last={proposal}")
    assert "Approved and added to memory." in _page(desk, response.headers["location"])
    assert [item["content"] for item in service.recall()] == [TEXT]


def test_a_decision_leads_on_to_the_next_proposal(service: Service) -> None:
    """After a decision the curator sees the next proposal and a notice of what was done."""
    first, second = _propose(service, "First."), _propose(service, "Second.")
    desk = service.sign_in()
    response = desk.decide(first, "approve")
    assert response.headers["location"] == f"/review/{second}?done=approved&last={first}"
    assert "Approved and added to memory." in _page(desk, response.headers["location"])


def test_rejecting_makes_no_memory(service: Service) -> None:
    """Reject stores reason and note, and creates no memory."""
    proposal = _propose(service)
    desk = service.sign_in()
    response = desk.decide(proposal, "reject", reason_code="outdated", reason_text="Replaced last week.")
    assert response.headers["location"] == f"/review?done=rejected&last={proposal}"
    assert service.recall() == []
    page = _page(desk, f"/review/{proposal}")
    assert STATE.findall(page)[0] == "rejected"
    assert "outdated" in page
    assert "Replaced last week." in page


def test_every_reason_of_the_contract_is_offered_and_taken(service: Service) -> None:
    """The page offers the nine reasons, and each is accepted."""
    reasons = ["wrong", "outdated", "duplicate", "unclear", "out-of-scope", "unsafe", "private", "low-value", "other"]
    desk = service.sign_in()
    for number, reason in enumerate(reasons):
        proposal = _propose(service, f"Sentence {number}.")
        page = _page(desk, f"/review/{proposal}")
        button = r'name="reason_code"\s+value="([a-z-]+)"\s+data-digit="([1-9])"\s+aria-label="([A-Z])'
        offered = re.findall(button, page)
        numbered = [(code, str(digit)) for digit, code in enumerate(reasons, 1)]
        assert offered == [(*one, kind) for kind in "RE" for one in numbered]
        assert desk.decide(proposal, "reject", reason_code=reason).status_code == 303
    assert [record["reason_code"] for record in _records(service)] == reasons


INCOMPLETE: list[tuple[str, dict[str, str], str]] = [
    ("reject", {"reason_text": "My long note."}, "Choose a reason"),
    ("reject", {"reason_code": "because", "reason_text": "My long note."}, "Choose a reason"),
    ("reject", {"reason_code": "wrong", "reason_text": "My long note." + "x" * 2000}, "Shorten the note"),
    ("edit", {"content": "My changed text."}, "Choose a reason"),
    ("edit", {"content": "My changed text.", "reason_code": "because"}, "Choose a reason"),
    ("edit", {"content": " \t\r\n ", "reason_code": "unclear", "reason_text": "My note."}, "The changed text is blank"),
    ("edit", {"content": f"\r\n{TEXT}  ", "reason_code": "unclear"}, "The text is unchanged"),
    ("edit", {"content": "Ask ada@love" + "lace.dev.", "reason_code": "unclear"}, "private data"),
    ("edit", {"content": "My changed text." + "x" * 70_000, "reason_code": "unclear"}, "The text is too long"),
]


def test_an_incomplete_form_is_shown_again(service: Service) -> None:
    """An incomplete form gives 400 with the reason and the typed text; nothing is recorded."""
    proposal, desk = _propose(service), service.sign_in()
    for decision, fields, why in INCOMPLETE:
        response = desk.decide(proposal, decision, **fields)
        page = html.unescape(response.text)
        assert (response.status_code, why in page) == (400, True), (decision, fields)
        assert [name for name in ("content", "reason_text") if fields.get(name, "").strip() not in page] == []
    assert _records(service) == []


def test_an_edit_waits_for_a_second_person(service: Service) -> None:
    """An edit raises the version; its author cannot approve it, and a second person's approval makes it the memory."""
    proposal = _propose(service)
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    edited = bob.decide(proposal, "edit", content="Run the migration\r\nfirst.", reason_code="unclear")
    assert edited.headers["location"] == f"/review?done=waits&last={proposal}"
    page = _page(bob, f"/review/{proposal}")
    assert "version 2" in page
    assert "It needs 2 persons: approved by bob." in _page(eve, f"/review/{proposal}")
    assert "What was changed since it was proposed" in page
    assert bob.decide(proposal, "approve").status_code == 403
    assert service.recall() == []
    assert eve.decide(proposal, "approve").status_code == 303
    assert [item["content"] for item in service.recall()] == ["Run the migration\nfirst."]


def test_an_edit_voids_earlier_approvals(service: Service) -> None:
    """In a scope for two persons an edit between the approvals resets the count."""
    proposal = _propose(service, submission_scope="organization", scope_id="labs")
    bob, eve, kim = (service.sign_in(name) for name in ("bob", "eve", "kim"))
    assert bob.decide(proposal, "approve").status_code == 303
    assert eve.decide(proposal, "edit", content="Changed.", reason_code="unclear").status_code == 303
    assert STATE.findall(_page(kim, f"/review/{proposal}"))[0] == "pending"
    assert kim.decide(proposal, "approve").status_code == 303
    assert STATE.findall(_page(kim, f"/review/{proposal}"))[0] == "approved"
    assert [(record["person"], record["resulting_version"]) for record in _records(service)] == [
        ("bob", 1),
        ("eve", 2),
        ("kim", 2),
    ]


def test_an_organization_wants_two_persons(service: Service) -> None:
    """One approval is not enough, a repeated one by the same person does not count, and another person's admits."""
    proposal = _propose(service, submission_scope="organization", scope_id="labs")
    bob = service.sign_in("bob")
    again = service.sign_in("bob-2", person="bob")
    eve = service.sign_in("eve")
    assert bob.decide(proposal, "approve").headers["location"] == f"/review?done=waits&last={proposal}"
    assert "1 approved, needs another" in _page(bob, "/review")
    assert bob.decide(proposal, "approve").status_code == 403
    refused = again.decide(proposal, "approve")
    assert refused.status_code == 403
    assert "It needs a second person" in refused.text
    assert "It needs 2 persons: approved by bob." in _page(eve, f"/review/{proposal}")
    assert eve.decide(proposal, "approve").headers["location"] == f"/review?done=approved&last={proposal}"
    assert [record["person"] for record in _records(service)] == ["bob", "eve"]


def test_one_veto_rejects(service: Service) -> None:
    """Where two persons have to agree, one rejection is enough."""
    proposal = _propose(service, submission_scope="organization", scope_id="labs")
    service.sign_in("bob").decide(proposal, "approve")
    assert service.sign_in("eve").decide(proposal, "reject", reason_code="wrong").status_code == 303
    assert STATE.findall(_page(service.sign_in("kim"), f"/review/{proposal}"))[0] == "rejected"


@pytest.mark.parametrize("decision", ["approve", "edit", "reject"])
def test_owners_do_not_judge_their_own_producers(service: Service, decision: str) -> None:
    """The owner of a producer cannot judge its proposals from any account, because persons are compared."""
    proposal = _propose(service)
    for name, person in (("ada", None), ("ada-private", "ada")):
        owner = service.sign_in(name, person=person)
        page = owner.browser.get(f"/review/{proposal}").text
        acts = re.findall(r"<(?:button|fieldset)[^>]*\bdisabled\b(?! hidden)[^>]*>", page)
        assert len(acts) == 4
        typed = {"reason_code": "other"} | ({"content": "Changed."} if decision == "edit" else {})
        response = owner.decide(proposal, decision, **typed)
        assert response.status_code == 403
        assert "another person must judge" in response.text
    assert _records(service) == []
    namesake = service.sign_in("ada-of-sales", person="ada-b")
    assert namesake.decide(proposal, decision, **typed).status_code == 303


def test_an_owner_of_today_and_of_then_are_both_kept_out(service: Service, policies: Any) -> None:
    """After a producer changes hands, neither the old nor the new owner may judge."""
    proposal = _propose(service)
    write_policies(policies, PRODUCERS.replace('owner = "ada"', 'owner = "linus"'))
    service.state.dashboard._policies.refresh()
    for name in ("ada", "linus"):
        assert service.sign_in(name).decide(proposal, "approve").status_code == 403
    assert service.sign_in("bob").decide(proposal, "approve").status_code == 303


STALE: list[tuple[str, dict[str, str]]] = [
    ("approve", {"version": "2"}),
    ("approve", {"version": ""}),
    ("approve", {"version": "9" * 40}),
    ("approve", {"version": "one"}),
    ("approve", {"shown_hash": "blake3:" + "0" * 64}),
    ("approve", {"shown_hash": ""}),
    ("approve", {"shown_hash": "ü"}),
    ("approve", {"decision_key": ""}),
    ("edit", {"version": "7", "content": "My changed text.", "reason_code": "unclear", "reason_text": "My note."}),
    ("reject", {"shown_hash": "x", "reason_code": "wrong", "reason_text": "My note."}),
]


def test_a_stale_form_is_answered_with_the_current_state(service: Service) -> None:
    """A form with an outdated version or text records nothing and returns the typed text."""
    proposal, desk = _propose(service), service.sign_in()
    for decision, fields in STALE:
        response = desk.decide(proposal, decision, **fields)
        page = html.unescape(response.text)
        assert (response.status_code, "Not recorded" in page, TEXT in page) == (409, True, True), (decision, fields)
        assert [name for name in ("content", "reason_text") if fields.get(name, "") not in page] == []
    assert _records(service) == []


def test_the_page_of_a_stale_form_can_be_sent_at_once(service: Service) -> None:
    """The 409 page holds a fresh form, so the same decision succeeds on the second try."""
    proposal = _propose(service)
    desk = service.sign_in()
    stale = desk.decide(proposal, "approve", version="9")
    fresh = dict(re.findall(r'name="(csrf|version|shown_hash|decision_key)" value="([^"]*)"', stale.text))
    assert desk.post(f"/review/{proposal}/approve", fresh).status_code == 303


def test_a_form_counts_once(service: Service) -> None:
    """A form that is sent again, as after Back, creates no second record, even with a different decision."""
    first = _propose(service, submission_scope="organization", scope_id="labs")
    desk = service.sign_in()
    form = desk.form(first)
    assert desk.post(f"/review/{first}/approve", form).status_code == 303
    for decision in ("approve", "reject"):
        again = desk.post(f"/review/{first}/{decision}", form | {"reason_code": "wrong", "reason_text": "My note."})
        assert again.status_code == 409
        assert "counted once" in again.text
        assert "My note." in again.text
        assert "bob" in again.text
    assert len(_records(service)) == 1


def test_a_form_of_one_proposal_does_not_decide_another(service: Service) -> None:
    """The hash of the shown text binds a form to its proposal."""
    first, second = _propose(service, "First."), _propose(service, "Second.")
    desk = service.sign_in()
    assert desk.post(f"/review/{second}/approve", desk.form(first)).status_code == 409
    assert service.recall() == []


def test_a_decided_proposal_shows_who_decided(service: Service) -> None:
    """The second curator sees the current state and who decided, and keeps the typed text."""
    proposal = _propose(service)
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    form = eve.form(proposal)
    bob.decide(proposal, "reject", reason_code="wrong")
    late = eve.post(f"/review/{proposal}/edit", form | {"content": "My changed text.", "reason_code": "unclear"})
    assert late.status_code == 409
    assert "this proposal was rejected meanwhile" in late.text
    said = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", late.text))
    assert "The last decision: rejected as wrong by bob" in said
    assert "My changed text." in late.text
    offered = re.findall(r'<form method="post" action="([^"]+)"', late.text.partition("</header>")[2])
    assert offered == ["/review/next", f"/review/{proposal}/undo"]


def test_two_curators_at_once_make_one_decision(service: Service) -> None:
    """Of several simultaneous decisions exactly one counts, and the others get a conflict."""
    proposal = _propose(service)
    desks = [service.sign_in(f"curator-{number}") for number in range(4)]
    forms = [desk.form(proposal) for desk in desks]
    start, statuses = threading.Barrier(len(desks)), [0] * len(desks)

    def decide(number: int) -> None:
        decision = "approve" if number % 2 else "reject"
        start.wait()
        sent = desks[number].post(f"/review/{proposal}/{decision}", forms[number] | {"reason_code": "wrong"})
        statuses[number] = sent.status_code

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(len(desks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [303, 409, 409, 409]
    assert len(_records(service)) == 1


def test_an_auditor_reads_without_forms(service: Service) -> None:
    """An auditor sees the desk's pages without forms for decisions."""
    proposal = _propose(service)
    auditor = service.sign_in("audrey", "auditor")
    for path in ("/review", f"/review/{proposal}", "/quarantine", "/memories"):
        page = _page(auditor, path)
        assert re.findall(r'method="post" action="([^"]+)"', page) == ["/logout"]
    assert TEXT in _page(auditor, f"/review/{proposal}")


@pytest.mark.parametrize("role", ["auditor", "operator"])
def test_only_a_curator_decides(service: Service, role: str) -> None:
    """A valid form from another role changes nothing, and shows an operator no contents."""
    proposal = _propose(service)
    form, other = service.sign_in().form(proposal), service.sign_in("other", role)
    sent = form | {"csrf": _csrf(other), "content": "Changed.", "reason_code": "wrong"}
    for decision in ("approve", "edit", "reject", "promote"):
        response = other.post(f"/review/{proposal}/{decision}", sent)
        assert response.status_code == 403
        assert role == "auditor" or TEXT not in response.text
    assert _records(service) == []
    assert service.recall() == []


def test_an_operator_sees_no_contents(service: Service) -> None:
    """Pages with contents are closed to operators; their own pages show figures and names."""
    proposal = _propose(service)
    service.sign_in().decide(proposal, "approve")
    memory = service.recall()[0]["memory_id"]
    operator = service.sign_in("olga", "operator")
    for path in ("/review", f"/review/{proposal}", "/quarantine", "/memories", f"/memories/{memory}", "/audit"):
        page = _page(operator, path, 403)
        assert TEXT not in page
        assert "you are signed in as operator" in page
    dashboard, operations = _page(operator, "/dashboard"), _page(operator, "/operations")
    assert TEXT not in dashboard + operations
    assert [text for text in ("worker:release-bot", "olga", "bob") if text not in operations] == []


def test_only_operators_see_people_and_tokens(service: Service) -> None:
    """Curators and auditors see the figures, but neither accounts nor tokens; no role sees a secret."""
    secret = service.token()
    service.sign_in("olga", "operator")
    for role in ("curator", "auditor"):
        desk = service.sign_in(f"{role}-1", role)
        assert "olga" not in _page(desk, "/dashboard")
        assert "olga" not in _page(desk, "/operations", 403)
    page = _page(service.sign_in("olga", "operator"), "/operations")
    assert "<h2>Tokens</h2>" in page
    assert secret not in page


def test_the_dashboard_counts(service: Service) -> None:
    """The dashboard shows the counts of dispositions, states and replays."""
    sent = event("First.")
    service.submit(sent)
    service.submit(sent)
    service.submit(event("First."))
    service.submit(event("Call me.", visibility="private"))
    service.submit(event("Another.", idempotency_key=sent["idempotency_key"]))
    service.sign_in().decide(_propose(service, "Second."), "approve")
    service.state.admission.flush()
    page = without_indents(_page(service.sign_in("olga", "operator"), "/dashboard"))
    found = re.findall(r'class="figure">(\d+)</div>\s*(?:<a href="([^"]+)">)?([a-z-]+)(?:</a>)?\s*</div>', page)
    assert {name: int(number) for number, _, name in found} == {
        "accepted-for-review": 2,
        "accepted-as-duplicate": 1,
        "rejected-conflict": 1,
        "rejected-private": 1,
        "rejected-invalid": 0,
        "pending": 1,
        "approved": 1,
        "rejected": 0,
        "decisions": 1,
    }
    assert service.sign_in("olga", "operator").browser.get("/dashboard?days=7").status_code == 200
    chart = page.partition("<svg")[2].partition("</svg>")[0]
    # For each hour a bar of each kind, and one behind them that shows the values on hover.
    assert chart.count("<rect") == 3 * 24
    assert re.findall(r"<title>\S+ \S+ UTC: (\d+) received, (\d+) decided</title>", chart)[-1] == ("2", "1")
    assert page.partition('class="plot"')[2].partition("<svg")[0].endswith("<span>2</span><span>0</span></p>")
    # Five submissions, one of them a duplicate, and one replay.
    rate = '<td>1.20</td><td>33.3 % <span class="word warn">above 5 %</span></td><td>33.3 %</td>'
    assert f"<td>http</td><td>1</td><td>6</td>{rate}</tr>" in page


def test_a_zero_of_the_dashboard_leads_nowhere(service: Service) -> None:
    """In the tables of the dashboard each number leads to its list, except for zeros."""
    service.submit(event("First."))
    page = without_indents(_page(service.sign_in(), "/dashboard"))
    table = page.partition('aria-label="Producers and replays"')[2].partition("</table>")[0]
    cells = re.findall(r'<td rowspan="1">(?:<a [^>]*>)?(\d+)(</a>)?</td>', table)
    assert cells == [("1", "</a>"), *[("0", "")] * 4]


def test_a_thousand_replays_of_one_submission_are_no_zero_percent(service: Service) -> None:
    """Duplicate rate and attempts per submission show the cost of a retry storm, for its channel alone."""
    sent = event("Once.")
    service.submit(sent)
    line = msgspec.json.encode(sent)
    answer = service.client.post("/v1/submissions/batch", content=(line + b"\n") * 1000, headers=service.bearer())
    assert answer.text.count('"duplicate":true') == 1000
    for number in range(20):
        service.submit(event(f"By a tool, {number}."), submission_channel="mcp")
    other = event("Of another producer.", producer_identity="tool:watcher")
    service.client.post("/v1/submissions", json=other, headers=service.bearer("tool:watcher"))
    service.state.admission.flush()
    page = without_indents(_page(service.sign_in("olga", "operator"), "/dashboard"))
    table = page.partition("<h2>Producers and replays</h2>")[2].partition("</table>")[0]
    assert "(replays + duplicates) / attempts" in table
    rows = [re.sub("<[^>]+>", "|", row).strip("|").split("||") for row in re.findall("<tr>(<td.*?)</tr>", table)]
    assert [row[-6] for row in rows] == ["batch", "mcp", "http", "http"]
    assert [row[0] for row in rows] == ["worker:release-bot", "mcp", "http", "tool:watcher"]
    assert "100.0 % " in table
    assert table.count("above 5 %</span>") == 1
    buckets = page.partition("The same as a table")[2].partition("</table>")[0]
    assert re.search(r"<td>46\.45 <span class=\"word warn\">above 1.5</span></td>", buckets)


def test_replays_on_the_channel_of_the_submission_show_nearly_all_of_its_attempts(service: Service) -> None:
    """One submission with a thousand replays shows 99.9 % and a thousand attempts per submission."""
    line = msgspec.json.encode(event("Once.")) + b"\n"
    for number in (1000, 1):
        service.client.post("/v1/submissions/batch", content=line * number, headers=service.bearer())
    service.state.admission.flush()
    page = without_indents(_page(service.sign_in("olga", "operator"), "/dashboard"))
    expected = (
        '<td>batch</td><td>1000</td><td>1001</td><td>1001.00 <span class="word warn">above 1.5</span></td>'
        '<td>99.9 % <span class="word warn">above 5 %</span></td><td>99.9 %</td>'
    )
    assert expected in page


def test_quarantine_shows_the_pair_side_by_side(service: Service) -> None:
    """A conflict is shown beside the original, with the differences and a link to its proposal."""
    proposal = _propose(service, "The original.", idempotency_key="first")
    claims = {"supersedes": "other-memory", "derived_from": ["m-used"]}
    refused = service.submit(event("The refused one.", idempotency_key="first", **claims)).json()
    page = _page(service.sign_in(), "/quarantine")
    pair = page[page.index('class="pair"') :]
    assert pair.index("The original.") < pair.index("Refused") < pair.index("The refused one.")
    assert f'id="{refused["quarantine_id"]}"' in page
    assert f'href="/review/{proposal}"' in page
    assert "other-memory" in page
    assert "m-used" in page
    assert "<code>first</code>" in page


def test_quarantine_shows_that_a_scope_differs(service: Service) -> None:
    """When only the scope differs, the pair shows that."""
    service.submit(event(idempotency_key="first"))
    service.submit(event(idempotency_key="first", submission_scope="session", scope_id="s-1"))
    assert "The scope differs: project:apollo before." in _page(service.sign_in(), "/quarantine")


def test_quarantine_never_shows_a_private_value(service: Service) -> None:
    """Of a private event only rule and pointer are shown."""
    private = "ada@love" + "lace.dev"
    answer = service.submit(event(f"Ask {private} first."))
    assert answer.json()["disposition"] == "rejected-private"
    declared = service.submit(event("A personal remark.", visibility="private"))
    assert declared.json()["disposition"] == "rejected-private"
    page = _page(service.sign_in(), "/quarantine")
    assert private not in page
    assert "A personal remark." not in page
    assert "/payload/content" in page
    assert "Its producer declared it private." in page


def test_a_retry_that_turned_private_blocks_approval(service: Service) -> None:
    """When a producer reports its event as private, approval is blocked and rejection still works."""
    proposal = _propose(service, idempotency_key="first")
    assert service.submit(event(idempotency_key="first", visibility="private")).status_code == 422
    desk = service.sign_in()
    assert "withdrawn as private" in _page(desk, "/review")
    form = desk.form(proposal)
    assert desk.post(f"/review/{proposal}/approve", form).status_code == 403
    assert desk.decide(proposal, "reject", reason_code="private").status_code == 303
    assert service.recall() == []


def test_memories_are_listed_found_and_explained(service: Service) -> None:
    """The list is newest first, search requires every word, and a memory shows its origin."""
    desk = service.sign_in()
    for content in ("Café opens at nine.", "The café closes at five.", "Deploys wait for review."):
        desk.decide(_propose(service, content), "approve")
    page = _page(desk, "/memories")
    assert page.index("Deploys wait") < page.index("closes at five") < page.index("opens at nine")
    found = _page(desk, "/memories?q=CAFE+five")
    assert "closes at five" in found
    assert "opens at nine" not in found
    memory = re.findall(r'href="(/memories/[0-9a-f-]{36})"', found)
    assert len(memory) == 1
    detail = _page(desk, memory[0])
    wanted = (
        "closes at five",
        "worker:release-bot",
        "repo://apollo/RUNBOOK.md",
        "approved",
        "bob",
        "/review/",
        "active",
    )
    assert [text for text in wanted if text not in detail] == []


def test_search_accepts_any_typed_text(service: Service) -> None:
    """No typed character acts as an operator or causes a failure."""
    typed = ['"', "'", "*", "AND", "NOT x", "(", "content:x", "-x", "%", "\\", "\0", "\ud7ff", "a" * 3000, "x " * 100]
    desk = service.sign_in()
    desk.decide(_propose(service), "approve")
    answered = {words: desk.browser.get("/memories", params={"q": words}).status_code for words in typed}
    assert answered == dict.fromkeys(typed, 200)


def test_pages_of_memories_and_quarantine_lead_on(service: Service) -> None:
    """Long lists are divided into pages that together hold every entry once."""
    desk = service.sign_in()
    for number in range(51):
        proposal = _propose(service, f"Sentence {number}.", idempotency_key=f"k-{number}")
        assert desk.decide(proposal, "approve").status_code == 303
        service.submit(event(f"Another {number}.", idempotency_key=f"k-{number}"))
    for path, pattern in (
        ("/memories", r'href="/memories/([0-9a-f-]{36})"'),
        ("/quarantine", r'<li data-item>\s*<a id="(.*?)"'),
    ):
        first = _page(desk, path)
        following = re.search(r'rel="next" href="([^"]+)"', first)
        assert following
        found = re.findall(pattern, first + _page(desk, following[1]))
        assert (len(found), len(set(found))) == (51, 51)


def test_what_does_not_exist_is_a_page_of_its_own(service: Service) -> None:
    """An unknown address gives 404 and a link back."""
    desk = service.sign_in()
    for path in ("/review/nothing", "/memories/nothing", "/nothing", "/review/%ED%A0%80", "/memories/%00"):
        page = _page(desk, path, 404)
        assert "There is nothing here by that name" in page
        assert 'href="/"' in page


def test_deciding_on_nothing_is_not_found(service: Service) -> None:
    """A valid form for an unknown proposal gives 404, as does an unknown decision."""
    proposal = _propose(service)
    desk = service.sign_in()
    form = desk.form(proposal)
    assert desk.post("/review/nothing/approve", form).status_code == 404
    unknown = desk.post(f"/review/{proposal}/promote", form | {"content": "My changed text."})
    assert unknown.status_code == 404
    assert "My changed text." in unknown.text


def _hostile_pages(service: Service, text: str) -> dict[str, str]:
    """Put a text on every page that shows texts of agents or curators, and return the pages."""
    span = {"uri": text, "heading": text, "revision": text}
    payload = {"kind": "fact", "content": text, "attributes": {"note": text}}
    sent = event(payload=payload, source_span=span, idempotency_key="first", supersedes=text)
    proposal = service.submit(sent).json()["proposal_id"]
    service.submit(event(text + " differs", idempotency_key="first", supersedes=text + " differs"))
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    pages = {"pending": bob.browser.get(f"/review/{proposal}").text, "queue": bob.browser.get("/review").text}
    fields = {"content": "edited " + text, "reason_text": text[:2000], "reason_code": "unclear"}
    pages["stale"] = bob.decide(proposal, "edit", **fields, version="9").text
    pages["invalid"] = bob.decide(proposal, "edit", **fields | {"reason_code": "none"}).text
    pages["signed out"] = service.client.post(f"/review/{proposal}/edit", data=fields).text
    assert bob.decide(proposal, "edit", **fields).status_code == 303
    pages["edited"] = bob.browser.get(f"/review/{proposal}").text
    assert eve.decide(proposal, "approve").status_code == 303
    memory = service.recall()[0]["memory_id"]
    for path in ("/quarantine", "/memories", f"/memories/{memory}", f"/review/{proposal}", "/audit"):
        pages[path] = bob.browser.get(path).text
    service.submit(event(f"{text} refused", idempotency_key="twice")).json()
    refused = service.submit(event(f"{text} and more", idempotency_key="twice")).json()
    waiting = service.submit(event(f"{text} waits")).json()["proposal_id"]
    eve.decide(waiting, "reject", reason_code="wrong", reason_text=text)
    service.submit(event(f"{text} waits too"))
    for path in ("/review/latest", f"/quarantine/{refused['quarantine_id']}", "/submissions", "/policy", "/settings"):
        pages[path] = bob.browser.get(path).text
    pages["group"] = bob.browser.get("/review/group", params={"producer": "worker:release-bot"}).text
    pages["group of none"] = bob.browser.get("/review/group", params={"producer": text, "like": text}).text
    pages["filtered"] = bob.browser.get("/review", params={"q": text, "refused": text}).text
    view = {"csrf": bob.form(waiting)["csrf"], "name": text, "q": text}
    pages["view"] = bob.browser.post("/review/views", data=view).text
    pages["as of"] = bob.browser.get("/memories", params={"scope": text, "at": text}).text
    pages["listed"] = bob.browser.get("/submissions", params={"producer_identity": text, "disposition": text}).text
    pages["search"] = bob.browser.get("/memories", params={"q": text}).text
    pages["filters"] = bob.browser.get("/audit", params={"curator": text, "since": text, "scope_id": text}).text
    pages["login"] = service.client.post("/login", data={"name": text, "password": text, "next": "/" + text}).text
    pages["next"] = service.client.get("/login", params={"next": '/"><script>', "link": text}).text
    return pages


def test_a_hostile_text_does_nothing_on_any_page(service: Service) -> None:
    """Markup, scripts and template syntax are shown as text on every page, and no page holds a script or style."""
    for name, page in _hostile_pages(service, HOSTILE).items():
        assert (name, _Suspect(page).found) == (name, [])
        assert "<!doctype html>" in page
        assert "7 * 7" in unquote_plus(page) or "alert" not in page


def test_the_invisible_is_drawn_on_every_page_with_a_text(service: Service) -> None:
    """Bidirectional, zero-width, tag, filler and separator characters are shown with code point and name."""
    drawn_on = ("pending", "queue", "edited", "/quarantine", "/memories", "/audit", "/review/latest", "group")
    pages = _hostile_pages(service, HOSTILE[-90:])
    for name in drawn_on:
        text = pages[name]
        missing = [code for code in DRAWN if f">{code}</span>" not in text]
        assert (name, missing) == (name, [])
    for hidden in "\u202e\u202c\u200b\U000e0041\u2028\u3164":
        shown = re.sub(r"<textarea.*?</textarea>|<input[^>]*>", "", pages["edited"], flags=re.DOTALL)
        assert hidden not in shown


def test_a_huge_text_is_shown_whole(service: Service) -> None:
    """A text of 60 KiB is complete on its proposal's page, and shortened in lists."""
    text = "Long text <b> & more.\n" * 2600 + "THE END"
    pages = {}
    proposal = _propose(service, text)
    desk = service.sign_in()
    pages = {path: _page(desk, path) for path in ("/review", f"/review/{proposal}")}
    assert text in pages[f"/review/{proposal}"]
    assert "THE END" not in pages["/review"]
    assert desk.decide(proposal, "approve").status_code == 303
    assert text in _page(desk, f"/memories/{service.recall()[0]['memory_id']}")


def test_pages_reference_nothing_from_elsewhere(service: Service) -> None:
    """No page loads from, links to or sends to another host, and none has an inline script or style."""
    proposal = _propose(service)
    desk, operator = service.sign_in(), service.sign_in("olga", "operator")
    service.submit(event("Other.", idempotency_key="first"))
    places = (
        "/review",
        f"/review/{proposal}",
        "/quarantine",
        "/memories",
        "/audit",
        "/dashboard",
        "/schema",
        "/contract",
    )
    pages = [desk.browser.get(path).text for path in (*places, "/login", "/nothing")]
    pages += [operator.browser.get(path).text for path in ("/dashboard", "/operations", "/review")]
    for page in pages:
        assert _Suspect(page).found == []
        assert "<main" in page
    sheet = service.client.get("/assets/antechamber.css")
    assert sheet.status_code == 200
    assert "://" not in sheet.text
    assert "@import" not in sheet.text


def test_every_page_names_itself_and_its_parts(service: Service) -> None:
    """Each page has a language, a title, one first-level heading and a link that skips the menu."""
    proposal = _propose(service)
    desk = service.sign_in()
    for path in ("/review", f"/review/{proposal}", "/quarantine", "/memories", "/audit", "/dashboard", "/schema"):
        page = desk.browser.get(path).text
        assert '<html lang="en">' in page
        assert re.search(r"<title>\S.* · Antechamber</title>", page)
        assert (len(re.findall("<h1[ >]", page)), page.count('href="#main"'), page.count('id="main"')) == (1, 1, 1)
        current = re.findall(r'aria-current="page"', page)
        assert len(current) == (0 if path == "/schema" else 1)


def test_guidelines_are_shown_beside_matching_proposals(service: Service, policies: Path) -> None:
    """Guidelines appear by scope and kind beside pending proposals only, and all of them on the policy page."""
    (policies / "guidelines.toml").write_text(
        '[[guideline]]\ntext = "Is it <true>?"\n'
        '[[guideline]]\nkinds = ["warning"]\ntext = "What happens otherwise?"\n'
        '[[guideline]]\nscopes = ["organization"]\ntext = "For all?"\n'
    )
    service.state.dashboard._policies.refresh()
    desk = service.sign_in()
    first = service.submit(event("A procedure.")).json()["proposal_id"]
    warning = {"kind": "warning", "content": "A warning."}
    wide = service.submit(event(payload=warning, submission_scope="organization", scope_id="labs")).json()[
        "proposal_id"
    ]
    shown = {one: desk.browser.get(f"/review/{one}").text for one in (first, wide)}
    texts = ("Is it &lt;true&gt;?", "What happens otherwise?", "For all?")
    assert [text in shown[first] for text in texts] == [True, False, False]
    assert [text in shown[wide] for text in texts] == [True, True, True]
    assert all(text in desk.browser.get("/policy").text for text in texts)
    desk.decide(first, "approve")
    assert "Review guidelines" not in desk.browser.get(f"/review/{first}").text
