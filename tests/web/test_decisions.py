"""Decisions beyond approve and reject: supersede, merge, request a second person, end, and undo each of them."""

import html
import json
import re
from typing import Any

import pytest

from antechamber.core.review import requirements
from support import Desk, Service, event

OLD = "Run the migration before the deploy."
NEW = "Run the migration an hour before the deploy."


def propose(service: Service, content: str, **members: Any) -> str:
    """Submit an event and return its proposal."""
    proposal: str = service.submit(event(content, **members)).json()["proposal_id"]
    return proposal


def remembered(service: Service) -> list[str]:
    """Return the texts of project:apollo as an agent reads them."""
    return [item["content"] for item in service.recall()]


def shown(desk: Desk, path: str) -> str:
    """Return the visible text of a page."""
    page = desk.browser.get(path)
    assert page.status_code == 200
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", "", page.text.partition("<main")[2])))


def records(service: Service) -> list[dict[str, Any]]:
    """Return all review records as an auditor exports them."""
    answer = service.client.get("/v1/audit/review-records", headers=service.bearer("auditing", "auditor"))
    return [record for line in answer.text.splitlines() if (record := json.loads(line))["record"] == "review"]


@pytest.fixture
def memory(service: Service) -> str:
    """A memory approved earlier."""
    assert service.sign_in().decide(propose(service, OLD), "approve").status_code == 303
    memory: str = service.recall()[0]["memory_id"]
    return memory


def test_a_similar_memory_is_compared_with_the_proposal_word_by_word(service: Service, memory: str) -> None:
    """The page shows how similar the two texts are, and the words added and removed."""
    page = service.sign_in().browser.get(f"/review/{propose(service, NEW)}").text
    assert f'href="/memories/{memory}"' in page
    assert re.search(r"<ins>.*an hour .*</ins>", page)
    assert "% alike" in page
    assert "% alike" not in service.sign_in().browser.get(f"/review/{propose(service, 'Cats sleep a lot.')}").text


def test_superseding_ends_the_old_memory_and_undo_restores_it(service: Service, memory: str) -> None:
    """Agents read only the new text; undo restores the old memory, and both records stay."""
    desk, proposal = service.sign_in(), propose(service, NEW)
    assert desk.decide(proposal, "supersede", target=memory).status_code == 303
    (item,) = service.recall()
    assert (item["content"], item["supersedes"]) == (NEW, memory)
    assert "superseded by" in shown(desk, f"/memories/{memory}")
    undone = desk.decide(proposal, "undo")
    assert undone.headers["location"] == f"/review/{proposal}?done=undone"
    assert remembered(service) == [OLD]
    assert service.recall()[0]["memory_id"] == memory
    assert desk.decide(proposal, "approve").status_code == 303
    assert remembered(service) == [NEW, OLD]
    assert [record["decision"] for record in records(service)] == ["approve", "supersede", "undo", "approve"]
    assert records(service)[1]["target"] == memory
    assert records(service)[2]["undoes"] == records(service)[1]["review_record_id"]


def test_two_persons_approve_the_same_successor(service: Service) -> None:
    """Where two people are required, the second sees which memory will end, and it ends with the second approval."""
    wide = {"submission_scope": "organization", "scope_id": "labs"}
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    first = propose(service, OLD, **wide)
    assert [desk.decide(first, "approve").status_code for desk in (bob, eve)] == [303, 303]
    page = bob.browser.get(f"/review/{propose(service, NEW, **wide)}").text
    old = re.search(r'name="target"\s+value="([^"]+)"', page)
    assert old
    second = propose(service, NEW, **wide)
    assert bob.decide(second, "supersede", target=old[1]).headers["location"].startswith("/review?done=waits")
    assert "Once admitted it supersedes this memory" in shown(eve, f"/review/{second}")
    assert eve.decide(second, "approve").status_code == 303
    assert "superseded" in shown(eve, f"/memories/{old[1]}")


def test_merging_keeps_the_memory_and_informs_the_agent(service: Service, memory: str) -> None:
    """Merging creates no second memory, and the agent is informed of the duplicate."""
    desk, proposal = service.sign_in(), propose(service, NEW, idempotency_key="merged")
    assert desk.decide(proposal, "merge", target=memory).status_code == 303
    assert remembered(service) == [OLD]
    answer = service.client.get("/v1/submissions/by-key/merged", headers=service.bearer()).json()
    assert (answer["review"]["state"], answer["review"]["reason_code"]) == ("rejected", "duplicate")
    assert desk.decide(proposal, "undo").status_code == 303
    assert "Similar memories" in shown(desk, f"/review/{proposal}")


@pytest.mark.parametrize("kind", ["supersede", "merge"])
def test_a_memory_of_another_scope_cannot_be_named(service: Service, memory: str, kind: str) -> None:
    """A memory of another scope, an unknown one or none cannot be named as the target."""
    desk, proposal = service.sign_in(), propose(service, NEW, submission_scope="session", scope_id="s-1")
    assert desk.decide(proposal, kind, target=memory).status_code == 409
    assert desk.decide(proposal, kind, target="nowhere").status_code == 409
    assert desk.decide(proposal, kind).status_code == 400
    assert remembered(service) == [OLD]


def test_of_two_successors_of_one_memory_the_second_is_late(service: Service, memory: str) -> None:
    """A memory can be superseded once; a later attempt shows that it ended."""
    desk, one, other = service.sign_in(), propose(service, NEW), propose(service, NEW + " Always.")
    late = desk.form(other)
    assert desk.decide(one, "supersede", target=memory).status_code == 303
    assert desk.post(f"/review/{other}/supersede", late | {"target": memory}).status_code == 409
    assert remembered(service) == [NEW]


def test_a_second_curator_that_was_asked_for_is_needed(service: Service) -> None:
    """Requesting a second curator leaves the text unchanged, and two approvals are required from then on."""
    bob, eve, proposal = service.sign_in("bob"), service.sign_in("eve"), propose(service, OLD)
    assert bob.decide(proposal, "flag").headers["location"].startswith("/review?done=flagged")
    assert "second review requested" in shown(eve, "/review")
    assert eve.decide(proposal, "approve").headers["location"].startswith("/review?done=waits")
    assert remembered(service) == []
    assert bob.decide(proposal, "approve").status_code == 303
    assert remembered(service) == [OLD]


@pytest.mark.parametrize(("kind", "state"), [("retract", "retracted"), ("expire", "expired")])
def test_a_memory_ends_by_a_decision_with_a_reason(service: Service, memory: str, kind: str, state: str) -> None:
    """A memory ended by a decision is no longer read by agents; its page shows who and why, and undo restores it."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    page = bob.browser.get(f"/memories/{memory}").text
    proposal = re.search(r'action="/review/([^/]+)/retract"', page)
    assert proposal
    assert bob.decide(proposal[1], kind).status_code == 400
    ended = bob.decide(proposal[1], kind, reason_code="outdated", reason_text="Since last week.")
    assert ended.headers["location"] == f"/memories/{memory}?done={state}&last={proposal[1]}"
    assert remembered(service) == []
    page = shown(bob, f"/memories/{memory}")
    assert (state in page, "Since last week." in page, "End it" in page) == (True, True, False)
    assert eve.decide(proposal[1], "undo").status_code == 400
    assert eve.decide(proposal[1], "undo", reason_code="wrong").status_code == 303
    assert remembered(service) == [OLD]


def test_every_decision_can_be_taken_back_from_the_page_that_follows(service: Service) -> None:
    """The notice on the next page offers undo to the curator who decided, and to no other."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    for kind, fields in (("approve", {}), ("reject", {"reason_code": "wrong"}), ("flag", {})):
        proposal = propose(service, f"To be decided by {kind}.")
        location = bob.decide(proposal, kind, **fields).headers["location"]
        page = bob.browser.get(location).text
        note = page.partition('class="note good done"')[2].partition("</form>")[0]
        assert f'action="/review/{proposal}/undo"' in note
        form = dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', note))
        assert f"/review/{proposal}/undo" not in eve.browser.get(location).text.partition("<h1")[0]
        assert bob.post(f"/review/{proposal}/undo", form).status_code == 303
        assert bob.post(f"/review/{proposal}/undo", form).status_code == 409
        assert "undo" not in bob.browser.get(location).text.partition("<h1")[0].partition("<main")[2]
        assert bob.decide(proposal, "reject", reason_code="other").status_code == 303
    assert remembered(service) == []


def test_the_latest_decisions_lead_to_where_they_are_taken_back(service: Service) -> None:
    """The list shows every curator's decisions, newest first, with links to undo, or a note that it is empty."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    assert "No decisions yet" in shown(bob, "/review/latest")
    for content in ("First.", "Second."):
        bob.decide(propose(service, content), "reject", reason_code="wrong")
    page = shown(eve, "/review/latest")
    assert page.index("Second.") < page.index("First.")
    assert "by bob" in page
    assert "by you" in shown(bob, "/review/latest")
    eve.decide(propose(service, "Third."), "approve")
    page = shown(eve, "/review/latest?mine=yes")
    assert "Third." in page
    assert "First." not in page
    assert "None of the newest 2,000 decisions is yours" in shown(service.sign_in("kim"), "/review/latest?mine=yes")


def test_a_row_of_the_latest_decisions_undoes_it(service: Service) -> None:
    """Each row of an own, still valid decision has a form that undoes it; rows of others and undone ones have none."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    first, second = (propose(service, content) for content in ("First.", "Second."))
    service.submit(event(idempotency_key="reused"))
    refused = service.submit(event(payload={"kind": "fact", "content": "Other."}, idempotency_key="reused")).json()
    conflict = refused["quarantine_id"]
    for one in (first, second):
        bob.decide(one, "reject", reason_code="wrong")
    fields = dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', bob.browser.get(f"/quarantine/{conflict}").text))
    assert bob.post(f"/quarantine/{conflict}/dismiss", fields).status_code == 303
    page = bob.browser.get("/review/latest").text
    assert [page.count(f'action="{path}/undo"') for path in (
        f"/review/{first}", f"/review/{second}", f"/quarantine/{conflict}"
    )] == [1, 1, 1]  # fmt: skip
    assert "/undo" not in eve.browser.get("/review/latest").text.partition("<main")[2]
    for path in (f"/review/{first}", f"/quarantine/{conflict}"):
        form = page.partition(f'action="{path}/undo"')[2].partition("</form>")[0]
        fields = dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', form))
        assert bob.post(f"{path}/undo", fields).status_code == 303
        assert bob.post(f"{path}/undo", fields).status_code == 409
    page = bob.browser.get("/review/latest").text
    assert f"/review/{second}/undo" in page
    assert f"/review/{first}/undo" not in page
    assert f"/quarantine/{conflict}/undo" not in page


def test_undoing_an_edit_brings_the_text_back(service: Service) -> None:
    """After an edit is undone, one person can approve the proposed text again."""
    bob, eve, proposal = service.sign_in("bob"), service.sign_in("eve"), propose(service, OLD)
    assert bob.decide(proposal, "edit", content=NEW, reason_code="unclear").status_code == 303
    assert bob.decide(proposal, "undo").status_code == 303
    assert OLD in shown(eve, f"/review/{proposal}")
    assert eve.decide(proposal, "approve").headers["location"].startswith("/review?done=approved")
    assert remembered(service) == [OLD]


def test_a_stale_form_shows_what_changed_and_how_the_typed_text_differs(service: Service) -> None:
    """A stale form shows a word diff from the opened text to the current one, and from that to the typed text."""
    bob, eve, proposal = service.sign_in("bob"), service.sign_in("eve"), propose(service, OLD)
    opened = bob.form(proposal)
    assert eve.decide(proposal, "edit", content=NEW, reason_code="unclear").status_code == 303
    typed = {"content": OLD.replace("the deploy", "all deploys"), "reason_code": "unclear", "reason_text": "My note."}
    page = bob.post(f"/review/{proposal}/edit", opened | typed)
    assert page.status_code == 409
    since = page.text.partition("What changed since you opened it")[2].partition("</section>")[0]
    assert re.search(r"<ins>.*an hour .*</ins>", since)
    own = page.text.partition("How it differs from the present text")[2].partition("</details>")[0]
    assert re.search(r"<ins>.*all.*</ins>", own)
    assert "by eve" in page.text
    assert "My note." in page.text
    assert page.text.count('value="My note."') == 1, "the field of the decision has it"
    second = bob.post(f"/review/{proposal}/approve", opened | {"decision_key": "another"}).text
    assert "What changed since you opened it" in second
    assert "What you had typed" not in second
    assert bob.decide(proposal, "edit", content=f"{NEW} Always.", reason_code="unclear").status_code == 303
    after = eve.decide(proposal, "approve", version="1")
    assert after.status_code == 409
    assert "What changed since you opened it" not in after.text


def test_a_note_that_comes_too_late_is_kept_and_in_no_other_form(service: Service) -> None:
    """After another person's decision the note is shown once: undoing and adding a note are other acts."""
    bob, eve, proposal = service.sign_in("bob"), service.sign_in("eve"), propose(service, OLD)
    opened = bob.form(proposal) | {"reason_code": "wrong", "reason_text": "My note."}
    assert eve.decide(proposal, "approve").status_code == 303
    late = bob.post(f"/review/{proposal}/reject", opened)
    assert late.status_code == 409
    assert late.text.count("My note.") == 1
    assert '<input readonly value="My note.">' in late.text
    assert re.search(r'id="add-note"', late.text)


def test_the_note_of_a_refused_undo_is_only_in_its_form(service: Service) -> None:
    """An undo with a reason that there is not is refused; neither the decision nor a new note gets its note."""
    bob, eve, proposal = service.sign_in("bob"), service.sign_in("eve"), propose(service, OLD)
    assert bob.decide(proposal, "approve").status_code == 303
    refused = eve.decide(proposal, "undo", reason_code="nonsense", reason_text="My note.")
    assert refused.status_code == 400
    assert refused.text.count("My note.") == 1
    assert "My note." in refused.text.partition('id="history"')[2]


def test_the_note_offers_no_way_back_that_is_closed(service: Service, memory: str) -> None:
    """The notice offers no undo for an unknown proposal or one whose memory ended by a later decision."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    first = re.findall(r'href="/review/([0-9a-f-]{36})', bob.browser.get(f"/memories/{memory}").text)[0]
    assert eve.decide(propose(service, NEW), "supersede", target=memory).status_code == 303
    for last in (first, "nowhere"):
        page = bob.browser.get(f"/review?done=approved&last={last}").text
        assert "Approved and added to memory." in page
        assert "/undo" not in page.partition("<h1")[0]


def test_a_proposal_is_opened_beside_the_memory_it_claims_to_supersede(service: Service, memory: str) -> None:
    """The memory named in a claim is shown first, however dissimilar."""
    claiming = service.submit(event("Cats sleep a lot.", supersedes=memory)).json()["proposal_id"]
    page = shown(service.sign_in(), f"/review/{claiming}")
    assert "its producer says: superseded by this" in page


def test_a_requirement_that_failed_keeps_an_approval_back(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A requirement that cannot be evaluated blocks the approval with an explanation."""

    def broken(_situation: Any) -> Any:
        raise ArithmeticError

    proposal, desk = propose(service, OLD), service.sign_in()
    form = desk.form(proposal)
    monkeypatch.setitem(requirements.CHECKS, "fits-scope", broken)
    refused = desk.post(f"/review/{proposal}/approve", form)
    assert refused.status_code == 403
    assert "Whether fits-scope holds could not be found out" in refused.text
    assert remembered(service) == []
