"""The list of the quarantine: filtered, marked event by event, settled together, and undone together."""

import re

import pytest

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import SignedOutError
from antechamber.core.errors import ForbiddenDecisionError
from antechamber.core.review.quarantine import QuarantineForm
from antechamber.flows import quarantine
from support import Desk, Service, event
from web.test_quarantine import records
from web.test_source_groups import said_on

TEXTS = ("The first lesson.", "The second lesson.", "The third lesson.")


@pytest.fixture
def events(service: Service) -> list[str]:
    """Three conflicts and a private event, oldest first."""
    made = []
    for number, text in enumerate(TEXTS):
        service.submit(event(f"Original {number}.", idempotency_key=f"k-{number}"))
        changed = event(idempotency_key=f"k-{number}", payload={"kind": "warning", "content": text})
        made.append(service.submit(changed).json()["quarantine_id"])
    private = event("A personal remark.", visibility="private", producer_identity="tool:watcher")
    return [*made, service.submit(private).json()["quarantine_id"]]


def listed(desk: Desk, query: str = "") -> list[str]:
    """Return the ids of the events on the list, as they are ordered."""
    return re.findall(r'<li data-item>\s*<a id="([^"]+)"', desk.browser.get(f"/quarantine?q={query}").text)


def fields_of(page: str, action: str = "marks") -> dict[str, str]:
    """Return the fields of one form of the list."""
    form = page.partition(f'action="/quarantine/group/{action}')[2].partition("</form>")[0]
    return dict(re.findall(r'name="(csrf|decision_key|item-\d+)" value="([^"]*)"', form))


def test_a_filter_selects_events(service: Service, events: list[str]) -> None:
    """Producer, owner, scope, kind, conflict, age and words select; other parts of the queue's filters are refused."""
    desk = service.sign_in()
    assert listed(desk) == events[::-1]
    assert listed(desk, "conflict:no") == listed(desk, "producer:tool:watcher") == [events[3]]
    assert listed(desk, "conflict:yes kind:warning owner:ada scope:project:apollo age:<1h") == events[2::-1]
    assert listed(desk, "SECOND") == [events[1]]
    assert listed(desk, '"original 2"') == [events[2]]
    for nothing in ("tag:deploy", "age:>1h", "scope:session", "owner:me", "producer:worker:none"):
        assert listed(desk, nothing) == []
        assert "No refused event matches" in desk.browser.get(f"/quarantine?q={nothing}").text
    refused = desk.browser.get("/quarantine?q=near:yes")
    assert (refused.status_code, "The quarantine has no &#34;near:&#34;" in refused.text) == (400, True)


def test_settling_one_leads_to_the_next_that_matches(service: Service, events: list[str]) -> None:
    """The next event of the filter follows, and the list once none is left."""
    desk = service.sign_in()
    for settled, following in ((events[2], events[1]), (events[1], events[0]), (events[0], None)):
        page = desk.browser.get(f"/quarantine/{settled}?q=conflict:yes").text
        form = dict(re.findall(r'name="(csrf|version|decision_key|q)" value="([^"]*)"', page))
        assert form["q"] == "conflict:yes"
        answer = desk.post(f"/quarantine/{settled}/keep", form).headers["location"]
        path = f"/quarantine/{following}" if following else "/quarantine"
        assert answer == f"{path}?done=settled&refused={settled}&q=conflict%3Ayes"


def test_marked_events_are_settled_with_a_record_each_and_undone_together(service: Service, events: list[str]) -> None:
    """One is kept, one opened, the private one dismissed and one left alone; a used form records nothing."""
    desk = service.sign_in()
    fields = fields_of(desk.browser.get("/quarantine").text)
    marks = {"mark-1": "dismiss", "mark-2": "keep", "mark-3": "open", "mark-4": "", "reason_text": "Seen."}
    sent = desk.post("/quarantine/group/marks", fields | marks)
    assert "3 recorded." in sent.text
    told = {(one["decision"], one["quarantine_id"], one["reason_text"]) for one in records(service)}
    assert told == {("dismiss", events[3], "Seen."), ("keep", events[2], "Seen."), ("open", events[1], "Seen.")}
    assert listed(desk) == [events[0]]
    again = desk.post("/quarantine/group/marks", fields | marks)
    assert "0 recorded. 3 not recorded:" in said_on(again.text)
    undone = desk.post("/quarantine/group/undo", fields_of(sent.text, "undo"))
    assert "3 undone." in undone.text
    assert listed(desk) == events[::-1]
    assert "0 undone" in desk.post("/quarantine/group/undo", fields_of(sent.text, "undo")).text
    assert len(records(service)) == 6


def test_marks_and_note_that_were_not_recorded_are_kept(service: Service, events: list[str]) -> None:
    """After a refused form, and after one that was recorded in part, the rest can be sent again as it was."""
    desk = service.sign_in()
    fields = fields_of(desk.browser.get("/quarantine").text) | {"reason_text": "Seen."}
    refused = desk.post("/quarantine/group/marks", fields | {"mark-1": "dismiss", "mark-2": "promote"})
    assert refused.status_code == 400
    late = {"mark-1": "dismiss", "mark-3": "open", "item-3": f"{events[1]} 7"}
    partly = desk.post("/quarantine/group/marks", fields | late)
    assert "1 recorded. 1 not recorded:" in said_on(partly.text)
    assert not re.search(r"<li><a[^>]*><bdi>[0-9a-f]{8}-", partly.text)
    for page, number, mark in ((refused.text, 1, "dismiss"), (partly.text, 2, "open")):
        assert re.findall(r'name="mark-(\d)"\s+value="(\w+)"\s+checked', page) == [(str(number), mark)]
        assert 'name="reason_text" maxlength="2000" value="Seen."' in page
    done = desk.post("/quarantine/group/marks", fields | {"mark-3": "open", "decision_key": "another"})
    assert "1 recorded." in done.text
    assert 'name="reason_text" maxlength="2000" value=""' in done.text


@pytest.mark.usefixtures("events")
def test_what_cannot_be_settled_in_the_list_is_refused(service: Service) -> None:
    """An owner, a long text, an unknown mark, none at all, and another role settle nothing."""
    text = "Much to read. " * 400
    service.submit(event(text, idempotency_key="long"))
    long = service.submit(event(f"Changed. {text}", idempotency_key="long")).json()["quarantine_id"]
    desk, ada, auditor = service.sign_in(), service.sign_in("ada"), service.sign_in("una", "auditor")
    page = desk.browser.get("/quarantine").text
    assert "Open it to see it whole and to settle it" in page
    fields = fields_of(page)
    forged = desk.post("/quarantine/group/marks", fields | {"item-1": f"{long} 0", "mark-1": "keep"})
    assert "It is too long to be shown whole in a list" in forged.text
    own = ada.browser.get("/quarantine").text
    assert own.count("another person must judge") == 4
    taken = fields | fields_of(own) | {"mark-3": "keep", "mark-4": "keep"}
    assert "0 recorded. 2 not recorded:" in said_on(ada.post("/quarantine/group/marks", taken).text)
    for marks in ({"mark-3": "promote"}, {"mark-3": "undo"}, {"mark-3": "destroy"}, {}):
        assert desk.post("/quarantine/group/marks", fields_of(page) | marks).status_code == 400
    assert desk.post("/quarantine/group/promote", fields_of(page) | {"mark-3": "keep"}).status_code == 400
    assert "mark-" not in auditor.browser.get("/quarantine").text
    assert auditor.post("/quarantine/group/marks", fields | {"mark-3": "keep"}).status_code == 403
    assert records(service) == []


def test_the_last_event_leads_to_the_first_and_pages_lead_on(
    service: Service, events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the end of the list its beginning follows; a page of a filter ends after a limited number of events."""
    flow = service.state.quarantine
    assert flow.next_waiting(events[0]) == events[3]
    monkeypatch.setattr(quarantine, "PAGE", 1)
    monkeypatch.setattr(quarantine, "WINDOW", 2)
    desk = service.sign_in()
    page = desk.browser.get("/quarantine?q=first").text
    assert "a thousand events at a time" in page
    following = re.search(r'rel="next" href="([^"]+)"', page)
    assert following
    assert events[0] in desk.browser.get(following[1].replace("&amp;", "&")).text


def test_the_flow_refuses_other_roles_and_ended_sessions(service: Service, events: list[str]) -> None:
    """Whatever calls it, only a curator who is signed in settles events."""
    form = QuarantineForm(kind="keep", version=0, decision_key="x")
    auditor = Account(id=1, name="una", person="una", role="auditor", session="")
    with service.client.portal() as portal:
        with pytest.raises(ForbiddenDecisionError, match="Only a curator decides"):
            portal.call(service.state.quarantine.settle_many, [(events[0], form)], auditor)
        gone = Account(id=1, name="bob", person="bob", role="curator", session="")
        with pytest.raises(SignedOutError):
            portal.call(service.state.quarantine.settle_many, [(events[0], form)], gone)
