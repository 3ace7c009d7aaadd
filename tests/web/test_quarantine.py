"""The quarantine's outcomes: the original stands, the other becomes a proposal of its own, or it was misuse."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from antechamber import app
from support import Desk, Service, event


@pytest.fixture
def refused(service: Service) -> str:
    """A conflict that waits."""
    assert service.submit(event("The original.", idempotency_key="first")).status_code == 201
    answer = service.submit(event("The other.", idempotency_key="first")).json()
    assert answer["disposition"] == "rejected-conflict"
    quarantine_id: str = answer["quarantine_id"]
    return quarantine_id


def form(desk: Desk) -> dict[str, str]:
    """Return the hidden fields of the page's first form about a refused event."""
    page = desk.browser.get("/quarantine").text.partition('class="settle"')[2]
    return dict(re.findall(r'name="(csrf|decision_key)" value="([^"]*)"', page.partition("</form>")[0]))


def settle(desk: Desk, quarantine_id: str, kind: str, **fields: str) -> httpx.Response:
    """Fill the form in and send it."""
    return desk.post(f"/quarantine/{quarantine_id}/{kind}", form(desk) | fields)


def records(service: Service) -> list[dict[str, Any]]:
    """Return all review records as an auditor exports them."""
    answer = service.client.get("/v1/audit/review-records", headers=service.bearer("auditing", "auditor"))
    return [record for line in answer.text.splitlines() if (record := json.loads(line))["record"] == "review"]


@pytest.mark.parametrize("kind", ["keep", "dismiss"])
def test_a_conflict_is_settled_with_a_record(service: Service, refused: str, kind: str) -> None:
    """It waits no longer, the original is untouched, and auditors see who settled it, how and why."""
    desk = service.sign_in()
    settled = settle(desk, refused, kind, reason_text="Seen with the team.")
    assert (settled.status_code, settled.headers["location"]) == (303, "/quarantine?done=settled")
    assert "The quarantine is empty" in desk.browser.get("/quarantine").text
    (record,) = records(service)
    assert (record["decision"], record["quarantine_id"], record["proposal_id"]) == (kind, refused, None)
    assert (record["person"], record["reason_text"]) == ("bob", "Seen with the team.")
    assert json.loads(record["shown"])["content"] == "The other."
    assert kind in desk.browser.get("/audit", params={"decision": kind}).text
    assert service.submit(event("The other.", idempotency_key="first")).json()["quarantine_id"] == refused
    assert app.examine(service.place) == []


def test_the_other_becomes_a_proposal_of_its_own(service: Service, refused: str) -> None:
    """It waits in the queue under a key of its own, as if it had been sent that way."""
    desk = service.sign_in()
    opened = settle(desk, refused, "open")
    proposal = opened.headers["location"].removeprefix("/review/").removesuffix("?done=opened")
    assert "The other." in desk.browser.get(f"/review/{proposal}").text
    by_key = service.client.get(f"/v1/submissions/by-key/quarantine:{refused}", headers=service.bearer()).json()
    assert (by_key["proposal_id"], by_key["disposition"]) == (proposal, "accepted-for-review")
    assert desk.decide(proposal, "approve").status_code == 303
    assert [item["content"] for item in service.recall()] == ["The other."]
    assert [record["decision"] for record in records(service)] == ["open", "approve"]


def test_what_was_opened_already_only_gets_its_record(service: Service, refused: str) -> None:
    """Where the service was killed between proposal and record, the same again adds the record and nothing else."""
    desk = service.sign_in()
    row = service.state.quarantine._found(refused)
    with service.client.portal() as portal:
        opened = portal.call(service.state.quarantine._open, row)
    assert settle(desk, refused, "open").headers["location"] == f"/review/{opened}?done=opened"
    assert len(records(service)) == 1


def test_a_policy_that_refuses_keeps_the_event_where_it_is(service: Service, refused: str, policies: Any) -> None:
    """The page says why, keeps the note and records nothing."""
    (policies / "scopes.toml").write_text('[defaults]\nkinds = ["fact"]\n')
    service.state.overview._policies.refresh()
    desk = service.sign_in()
    answer = settle(desk, refused, "open", reason_text="My note.")
    assert answer.status_code == 400
    assert "It cannot become a proposal: this scope takes fact" in answer.text
    assert "My note." in answer.text
    assert refused in desk.browser.get("/quarantine").text
    assert records(service) == []


def test_of_nothing_that_was_private_anything_is_opened(service: Service) -> None:
    """A private event can only be dismissed: nothing of it was kept."""
    answer = service.submit(event("A personal remark.", visibility="private")).json()
    desk = service.sign_in()
    page = desk.browser.get("/quarantine").text
    assert f"/quarantine/{answer['quarantine_id']}/open" not in page
    assert settle(desk, answer["quarantine_id"], "open").status_code == 400
    assert settle(desk, answer["quarantine_id"], "dismiss").status_code == 303
    assert [(record["decision"], record["shown"]) for record in records(service)] == [("dismiss", "null")]


def test_an_event_is_settled_once(service: Service, refused: str) -> None:
    """Of many who settle it at once one counts; a form counts once, and only whole."""
    desks = [service.sign_in(name) for name in ("bob", "eve", "kim")]
    forms = [form(desk) for desk in desks]
    with ThreadPoolExecutor(3) as pool:
        sent = list(
            pool.map(lambda one: one[0].post(f"/quarantine/{refused}/keep", one[1]), zip(desks, forms, strict=True))
        )
    assert sorted(answer.status_code for answer in sent) == [303, 409, 409]
    assert desks[0].post(f"/quarantine/{refused}/keep", forms[0]).status_code == 409
    assert desks[0].post(f"/quarantine/{refused}/keep", forms[0] | {"decision_key": ""}).status_code == 409
    assert len(records(service)) == 1


def test_who_may_not_settle_is_told_why(service: Service, refused: str) -> None:
    """The owner of the producer, an auditor, a private note, a note without end, an unknown outcome or event."""
    ada, bob = service.sign_in("ada"), service.sign_in("bob")
    assert "somebody else has to judge" in settle(ada, refused, "keep").text
    auditor = service.sign_in("una", "auditor")
    assert '<form class="settle"' not in auditor.browser.get("/quarantine").text
    assert settle(bob, refused, "keep", reason_text="Ask ada@love" + "lace.dev.").status_code == 400
    assert settle(bob, refused, "keep", reason_text="x" * 2001).status_code == 400
    assert settle(bob, refused, "promote").status_code == 404
    assert settle(bob, "nowhere", "keep").status_code == 404
    assert records(service) == []
