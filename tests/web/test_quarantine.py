"""Outcomes of quarantine: keep the original, open the event as a separate proposal, or record misuse."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from antechamber import app
from antechamber.core.access.callers import Account
from antechamber.core.errors import ForbiddenDecisionError
from antechamber.core.review.quarantine import QuarantineForm
from antechamber.flows.quarantine import _to_submission
from antechamber.settings import Location
from support import PRODUCERS, Desk, Service, database, event, running, write_policies


@pytest.fixture
def refused(service: Service) -> str:
    """A quarantined conflict."""
    assert service.submit(event("The original.", idempotency_key="first")).status_code == 201
    answer = service.submit(event("The other.", idempotency_key="first")).json()
    assert answer["disposition"] == "rejected-conflict"
    quarantine_id: str = answer["quarantine_id"]
    return quarantine_id


def form(desk: Desk, quarantine_id: str) -> dict[str, str]:
    """Return the hidden fields of a quarantined event's forms."""
    page = desk.browser.get(f"/quarantine/{quarantine_id}").text
    return dict(re.findall(r'name="(csrf|version|decision_key|undoes)" value="([^"]*)"', page))


def settle(desk: Desk, quarantine_id: str, kind: str, **fields: str) -> httpx.Response:
    """Fill in the form and send it."""
    return desk.post(f"/quarantine/{quarantine_id}/{kind}", form(desk, quarantine_id) | fields)


def records(service: Service) -> list[dict[str, Any]]:
    """Return all review records as an auditor exports them."""
    answer = service.client.get("/v1/audit/review-records", headers=service.bearer("auditing", "auditor"))
    return [record for line in answer.text.splitlines() if (record := json.loads(line))["record"] == "review"]


@pytest.mark.parametrize("kind", ["keep", "dismiss"])
def test_a_conflict_is_settled_with_a_record(service: Service, refused: str, kind: str) -> None:
    """A decided conflict leaves the quarantine and its original unchanged; auditors see who decided, how and why."""
    desk = service.sign_in()
    settled = settle(desk, refused, kind, reason_text="Seen with the team.")
    assert (settled.status_code, settled.headers["location"]) == (303, f"/quarantine?done=settled&refused={refused}")
    assert "The quarantine is empty" in desk.browser.get("/quarantine").text
    (record,) = records(service)
    assert (record["decision"], record["quarantine_id"], record["proposal_id"]) == (kind, refused, None)
    assert (record["person"], record["reason_text"]) == ("bob", "Seen with the team.")
    assert json.loads(record["shown"])["content"] == "The other."
    assert kind in desk.browser.get("/audit", params={"decision": kind}).text
    assert service.submit(event("The other.", idempotency_key="first")).json()["quarantine_id"] == refused
    assert app.examine(service.location) == []


def test_the_other_becomes_a_proposal_of_its_own(service: Service, refused: str) -> None:
    """The opened event waits in the queue, and its producer can read the receipt by id but not by key."""
    desk = service.sign_in()
    opened = settle(desk, refused, "open")
    proposal = opened.headers["location"].removeprefix("/review/").partition("?")[0]
    assert "The other." in desk.browser.get(f"/review/{proposal}").text
    again = service.submit(event("The other.")).json()
    assert (again["disposition"], again["proposal_id"]) == ("accepted-as-duplicate", proposal)
    receipt = service.client.get(f"/v1/submissions/{again['duplicate_of']}", headers=service.bearer()).json()
    assert (receipt["proposal_id"], receipt["disposition"]) == (proposal, "accepted-for-review")
    for key in (f"quarantine:{refused}", receipt["idempotency_key"]):
        by_key = service.client.get(f"/v1/submissions/by-key/{quote(key)}", headers=service.bearer())
        assert by_key.status_code == 404
    assert desk.decide(proposal, "approve").status_code == 303
    assert [item["content"] for item in service.recall()] == ["The other."]
    assert [record["decision"] for record in records(service)] == ["open", "approve"]


def open_without_record(service: Service, quarantine_id: str) -> str:
    """Open an event as an earlier version did that was killed before it wrote the record; return the proposal."""
    quarantine = service.state.quarantine
    with quarantine._store.read() as tx:
        row = tx.quarantine.event(quarantine_id)
    with service.client.portal() as portal:
        candidate = portal.call(quarantine._admission.prepare_opened, _to_submission(row))
    reply = quarantine._store.write(lambda tx: quarantine._admission.admit_opened(candidate, tx)).result()
    opened: str = json.loads(reply.body)["proposal_id"]
    return opened


def test_what_was_opened_already_only_gets_its_record(service: Service, refused: str) -> None:
    """A proposal without its record, as an earlier version left it after a crash, is found again."""
    desk = service.sign_in()
    opened = open_without_record(service, refused)
    assert settle(desk, refused, "open").headers["location"].startswith(f"/review/{opened}?done=opened")
    assert len(records(service)) == 1


def test_a_proposal_that_was_opened_without_a_record_is_named_by_the_event(service: Service, refused: str) -> None:
    """The first decision holds; the event's page names the proposal that an earlier version left."""
    desk, bob = service.sign_in("eve"), service.sign_in()
    shown = form(desk, refused)
    opened = open_without_record(service, refused)
    assert settle(bob, refused, "dismiss").status_code == 303
    assert opened in bob.browser.get(f"/quarantine/{refused}").text
    late = desk.post(f"/quarantine/{refused}/open", shown)
    assert late.status_code == 409
    assert opened in late.text
    assert [record["decision"] for record in records(service)] == ["dismiss"]


def test_a_policy_that_refuses_keeps_the_event_where_it_is(service: Service, refused: str, policies: Any) -> None:
    """When the policy refuses the event, the page gives the reason, keeps the note and records nothing."""
    (policies / "scopes.toml").write_text('[defaults]\nkinds = ["fact"]\n')
    service.state.dashboard._policies.refresh()
    desk = service.sign_in()
    answer = settle(desk, refused, "open", reason_text="My note.")
    assert answer.status_code == 400
    assert "It cannot become a proposal: this scope takes fact" in answer.text
    assert "My note." in answer.text
    assert refused in desk.browser.get("/quarantine").text
    assert records(service) == []


def test_of_nothing_that_was_private_anything_is_opened(service: Service) -> None:
    """A private event can only be dismissed, because its content was not kept."""
    answer = service.submit(event("A personal remark.", visibility="private")).json()
    desk = service.sign_in()
    page = desk.browser.get("/quarantine").text
    assert f"/quarantine/{answer['quarantine_id']}/open" not in page
    assert settle(desk, answer["quarantine_id"], "open").status_code == 400
    assert settle(desk, answer["quarantine_id"], "dismiss").status_code == 303
    assert [(record["decision"], record["shown"]) for record in records(service)] == [("dismiss", "null")]


def test_rules_are_named_by_their_titles_once_for_each_place(service: Service) -> None:
    """The list and the page of an event say in words what was found, in one line for each member."""
    text = "Ask ada@apollo-labs.net or bo@apollo-labs.net, and use 4111 1111 1111 1111."
    answer = service.submit(event(text)).json()
    desk = service.sign_in()
    for address in ("/quarantine", f"/quarantine/{answer['quarantine_id']}"):
        page = desk.browser.get(address).text
        titles = re.findall(r'<span class="word bad" title="([a-z-]+)">([^<]+)</span>', page)
        assert titles == [("email-address", "e-mail address"), ("payment-card", "payment card number")]
        assert page.count("at <code>/payload/content</code>") == 1


def test_an_event_is_settled_once(service: Service, refused: str) -> None:
    """Of several simultaneous decisions one counts; a form counts once, and only if it is complete."""
    desks = [service.sign_in(name) for name in ("bob", "eve", "kim")]
    forms = [form(desk, refused) for desk in desks]
    with ThreadPoolExecutor(3) as pool:
        sent = list(
            pool.map(lambda one: one[0].post(f"/quarantine/{refused}/keep", one[1]), zip(desks, forms, strict=True))
        )
    assert sorted(answer.status_code for answer in sent) == [303, 409, 409]
    assert desks[0].post(f"/quarantine/{refused}/keep", forms[0]).status_code == 409
    assert desks[0].post(f"/quarantine/{refused}/keep", forms[0] | {"decision_key": ""}).status_code == 409
    assert len(records(service)) == 1


def test_opening_and_another_decision_at_once_have_one_result(service: Service) -> None:
    """Two curators decide on a conflict in the same moment: what is dismissed or kept leaves no proposal."""
    bob, eve = service.sign_in(), service.sign_in("eve")
    opened = 0
    with ThreadPoolExecutor(2) as pool:
        for number in range(6):
            service.submit(event(f"The port is {number}.", idempotency_key=f"race-{number}"))
            answer = service.submit(event(f"The port is not {number}.", idempotency_key=f"race-{number}")).json()
            forms = form(bob, answer["quarantine_id"]), form(eve, answer["quarantine_id"])
            opening = pool.submit(bob.post, f"/quarantine/{answer['quarantine_id']}/open", forms[0])
            other = pool.submit(eve.post, f"/quarantine/{answer['quarantine_id']}/dismiss", forms[1])
            assert sorted([opening.result().status_code, other.result().status_code]) == [303, 409]
            opened += opening.result().status_code == 303
    with database(service.location) as raw:
        assert raw.execute("SELECT count(*) FROM proposals").fetchone()[0] == 6 + opened


def test_a_refused_settlement_is_explained(service: Service, refused: str) -> None:
    """Refused: the producer's owner, an auditor, a private or too long note, and an unknown outcome or event."""
    ada, bob = service.sign_in("ada"), service.sign_in("bob")
    assert "another person must judge" in settle(ada, refused, "keep").text
    auditor = service.sign_in("una", "auditor")
    assert '<form class="settle"' not in auditor.browser.get("/quarantine").text
    assert "/undo" not in auditor.browser.get(f"/quarantine/{refused}").text
    assert settle(bob, refused, "keep", reason_text="Ask ada@love" + "lace.dev.").status_code == 400
    assert settle(bob, refused, "keep", reason_text="x" * 2001).status_code == 400
    assert settle(bob, refused, "promote").status_code == 404
    csrf = {"csrf": form(bob, refused)["csrf"]}
    assert bob.post("/quarantine/nowhere/keep", csrf).status_code == 404
    assert bob.browser.get("/quarantine/nowhere").status_code == 404
    assert records(service) == []


@pytest.mark.parametrize("kind", ["keep", "dismiss", "open"])
def test_a_settlement_is_taken_back_by_a_record(service: Service, refused: str, kind: str) -> None:
    """After an undo the event waits again; all three records stay, and each names the one it undoes."""
    desk = service.sign_in()
    done = settle(desk, refused, kind).headers["location"]
    assert f'action="/quarantine/{refused}/undo"' in desk.browser.get(done).text
    undone = settle(desk, refused, "undo")
    assert (undone.status_code, undone.headers["location"]) == (303, f"/quarantine/{refused}?done=undone")
    assert refused in desk.browser.get("/quarantine").text
    assert ("It has become" in desk.browser.get(f"/quarantine/{refused}").text) == (kind == "open")
    assert settle(desk, refused, "dismiss").status_code == 303
    told = [(record["decision"], record["undoes"]) for record in records(service)]
    first = records(service)[0]["review_record_id"]
    assert told == [(kind, None), ("undo", first), ("dismiss", None)]
    assert [record["version"] for record in records(service)] == [0, 1, 2]
    latest = desk.browser.get("/review/latest").text
    assert latest.count(f"/quarantine/{refused}#history") == 3
    assert app.examine(service.location) == []


def test_what_another_person_settled_is_taken_back_with_a_reason(service: Service, refused: str) -> None:
    """Undoing another person's decision needs a reason; only the decision in force can be undone, and only once."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    assert settle(bob, refused, "undo").status_code == 400
    settle(bob, refused, "keep")
    old = form(eve, refused)
    assert (
        f'action="/quarantine/{refused}/undo"'
        not in eve.browser.get(f"/quarantine?done=settled&refused={refused}").text
    )
    assert settle(eve, refused, "undo").status_code == 400
    assert settle(eve, refused, "undo", undoes="another").status_code == 409
    assert settle(eve, refused, "undo", reason_code="wrong", reason_text="It was no retry.").status_code == 303
    stale = eve.post(f"/quarantine/{refused}/undo", old | {"reason_code": "wrong", "decision_key": "fresh"})
    assert stale.status_code == 409
    used = {"decision_key": old["decision_key"]}
    assert settle(bob, refused, "keep", **used).status_code == 303
    assert settle(bob, refused, "undo").status_code == 303
    again = settle(bob, refused, "keep", **used)
    assert again.status_code == 409
    assert "this form was sent before" in again.text
    assert settle(bob, refused, "keep", version="0").status_code == 409
    assert settle(bob, refused, "keep", version="one").status_code == 409
    told = [(record["decision"], record["person"]) for record in records(service)]
    assert told == [("keep", "bob"), ("undo", "eve"), ("keep", "bob"), ("undo", "bob")]
    assert "It was no retry." in bob.browser.get(f"/quarantine/{refused}").text


def test_the_page_of_a_conflict_shows_at_once_where_the_events_differ(service: Service, refused: str) -> None:
    """On the event's own page the differences are open, in the list those of short texts are folded."""
    desk = service.sign_in()
    for path, opened in ((f"/quarantine/{refused}", "open"), ("/quarantine", "")):
        before = desk.browser.get(path).text.partition("<summary>Where they differ")[0]
        assert before.rstrip().endswith(f"<details {opened}>"), path


def test_the_pair_is_shown_place_by_place(service: Service) -> None:
    """Of two long texts only the differences are shown side by side, with the amount of equal text between."""
    same = " ".join(f"Step {number} is the same in both." for number in range(40))
    service.submit(event(f"Begin at nine. {same} End at five.", idempotency_key="long"))
    other = event(f"Begin at ten. {same} End at six.", idempotency_key="long")
    quarantine_id = service.submit(other).json()["quarantine_id"]
    page = service.sign_in().browser.get(f"/quarantine/{quarantine_id}").text
    places = page.partition("Where they differ")[2].partition("</details>")[0]
    assert places.count('<div class="pair">') == 2
    assert re.search(r"Not shown: [\d,]+ equal characters", places)
    assert [re.sub("<[^>]+>", "", one) for one in re.findall(r"<del>.*?</span>(.*?)<span", places)] == ["nine", "five"]
    assert [re.sub("<[^>]+>", "", one) for one in re.findall(r"<ins>.*?</span>(.*?)<span", places)] == ["ten", "six"]
    assert "Step 20 is the same" not in places


def test_the_flow_itself_lets_only_a_curator_settle(service: Service, refused: str) -> None:
    """The flow itself refuses other roles, whatever the form contains."""
    auditor = Account(id=1, name="una", person="una", role="auditor", session="")
    said = QuarantineForm(kind="keep", version=0, decision_key="k")
    with service.client.portal() as portal, pytest.raises(ForbiddenDecisionError, match="Only a curator decides"):
        portal.call(service.state.quarantine.settle, refused, said, auditor)
    assert records(service) == []


def test_no_producer_can_take_the_place_of_what_is_opened(service: Service, refused: str) -> None:
    """A producer's keys cannot collide with the key of an opened event, which is outside their grammar."""
    own = service.submit(event("Something else.", idempotency_key=f"quarantine:{refused}")).json()["proposal_id"]
    for key, status in ((refused, 201), (f"!quarantine:{refused}", 400)):
        sealed = service.client.put(f"/v1/submissions/by-key/{quote(key)}/seal", headers=service.bearer())
        assert sealed.status_code == status
    taken = service.submit(event("Something else.", idempotency_key=f"!quarantine:{refused}")).json()
    assert [reason["code"] for reason in taken["reasons"]] == ["key-invalid"]
    desk = service.sign_in()
    assert own not in desk.browser.get(f"/quarantine/{refused}").text
    opened = settle(desk, refused, "open").headers["location"].removeprefix("/review/").partition("?")[0]
    assert opened != own
    page = desk.browser.get(f"/quarantine/{refused}").text
    assert opened in page
    assert own not in page


def test_a_seal_of_the_key_that_was_used_before_blocks_nothing(service: Service, refused: str) -> None:
    """A sealed key does not prevent its event from being opened."""
    seal = service.client.put(f"/v1/submissions/by-key/quarantine:{refused}/seal", headers=service.bearer())
    assert seal.status_code == 201
    assert settle(service.sign_in(), refused, "open").headers["location"].startswith("/review/")


def test_opening_is_no_attempt_of_its_producer(location: Location, tmp_path: Path) -> None:
    """A producer at its rate limit can neither submit nor seal, and its event can still be opened."""
    policies = write_policies(tmp_path / "policies", scopes="[limits]\nattempts_per_minute = 3\n")
    with running(location, policies) as service:
        seal = "/v1/submissions/by-key/free/seal"
        service.submit(event("The original.", idempotency_key="first"))
        refused = service.submit(event("The other.", idempotency_key="first")).json()["quarantine_id"]
        assert service.client.put(seal, headers=service.bearer()).status_code == 201
        late = service.client.put(seal, headers=service.bearer())
        assert late.status_code == 429
        assert late.headers["retry-after"]
        assert settle(service.sign_in(), refused, "open").status_code == 303


def hand_over(service: Service, policies: Path, owner: str | None) -> None:
    """Change the owner of the producer, or remove it from the policy."""
    listed = PRODUCERS.replace('"ada"', f'"{owner}"') if owner else PRODUCERS.partition("[[producer]]")[2]
    (policies / "producers.toml").write_text(listed if owner else listed[listed.index("[[producer]]") :])
    service.state.dashboard._policies.refresh()


@pytest.fixture
def handed_over(service: Service, policies: Path) -> str:
    """A conflict whose producer was owned by ada at the original, by eve at the refusal, and by kim now."""
    service.submit(event("The original.", idempotency_key="first"))
    hand_over(service, policies, "eve")
    quarantine_id: str = service.submit(event("The other.", idempotency_key="first")).json()["quarantine_id"]
    hand_over(service, policies, "kim")
    return quarantine_id


@pytest.mark.parametrize("kind", ["keep", "dismiss", "open", "undo"])
def test_no_owner_of_then_or_now_settles(service: Service, handed_over: str, kind: str) -> None:
    """The owner at the original, at the refusal or today may not decide; a person who never was one may."""
    bob = service.sign_in()
    if kind == "undo":
        assert settle(bob, handed_over, "keep").status_code == 303
    for name in ("ada", "eve", "kim"):
        owner = service.sign_in(f"{name}-private", person=name)
        answer = settle(owner, handed_over, kind, reason_code="wrong")
        assert answer.status_code == 403
        assert "another person must judge its events" in answer.text
    assert settle(bob, handed_over, kind).status_code == 303


def test_no_owner_of_then_or_now_judges_what_was_opened(service: Service, policies: Path, handed_over: str) -> None:
    """The owner at the refusal, at the opening and today may not judge the opened proposal."""
    opened = settle(service.sign_in(), handed_over, "open").headers["location"]
    proposal = opened.removeprefix("/review/").partition("?")[0]
    hand_over(service, policies, "zoe")
    for name in ("eve", "kim", "zoe"):
        for decision in ("approve", "reject"):
            assert service.sign_in(name).decide(proposal, decision, reason_code="wrong").status_code == 403
    assert service.sign_in().decide(proposal, "approve").status_code == 303
    assert app.examine(service.location) == []


def test_what_joined_a_proposal_of_the_same_producer_keeps_its_owner_out(
    service: Service, policies: Path, handed_over: str
) -> None:
    """When the event joins an existing proposal of its producer, the owner at the refusal may judge neither."""
    proposal = service.submit(event("The other.")).json()["proposal_id"]
    assert settle(service.sign_in(), handed_over, "open").headers["location"].startswith(f"/review/{proposal}?")
    hand_over(service, policies, "zoe")
    for name in ("eve", "kim", "zoe"):
        assert service.sign_in(name).decide(proposal, "approve").status_code == 403
    assert service.sign_in().decide(proposal, "approve").status_code == 303


def test_what_joined_a_proposal_of_another_producer_keeps_no_person_out_of_that(service: Service) -> None:
    """As evidence for another producer's proposal, the event does not exclude its own owner from judging that."""
    proposal = service.submit(event("The other.")).json()["proposal_id"]
    watcher = {"producer_identity": "tool:watcher"}
    bearer = service.bearer("tool:watcher")
    for text in ("The original.", "The other."):
        sent = event(text, idempotency_key="first", **watcher)
        answer = service.client.post("/v1/submissions", json=sent, headers=bearer).json()
    assert settle(service.sign_in("grace"), answer["quarantine_id"], "open").status_code == 403
    assert settle(service.sign_in(), answer["quarantine_id"], "open").status_code == 303
    assert service.sign_in("grace").decide(proposal, "approve").status_code == 303


def test_the_owner_of_an_original_that_joined_another_proposal_does_not_settle(
    service: Service, policies: Path
) -> None:
    """The owner of an original that became evidence for another producer's proposal may not decide the conflict."""
    service.submit(event("The original."))
    bearer = service.bearer("tool:watcher")
    for text, owner in (("The original.", "eve"), ("The other.", "kim")):
        (policies / "producers.toml").write_text(PRODUCERS.replace('"grace"', f'"{owner}"'))
        service.state.dashboard._policies.refresh()
        sent = event(text, idempotency_key="first", producer_identity="tool:watcher")
        answer = service.client.post("/v1/submissions", json=sent, headers=bearer).json()
    for name, status in (("eve", 403), ("kim", 403), ("ada", 303)):
        assert settle(service.sign_in(name), answer["quarantine_id"], "keep").status_code == status


def test_owners_of_a_producer_that_was_removed_stay_kept_out(
    service: Service, policies: Path, handed_over: str
) -> None:
    """Owners of a removed producer, even the last one, are excluded by the recorded policies, also from proposals."""
    hand_over(service, policies, None)
    original = service.sign_in("una", "auditor").browser.get(f"/quarantine/{handed_over}").text
    (proposal,) = set(re.findall(r'href="/review/([0-9a-f-]{36})"', original))
    for name in ("ada", "eve", "kim"):
        assert settle(service.sign_in(name), handed_over, "keep").status_code == 403
    for name in ("ada", "kim"):
        assert service.sign_in(name).decide(proposal, "approve").status_code == 403
    bob = service.sign_in()
    unlisted = settle(bob, handed_over, "open")
    assert unlisted.status_code == 400
    assert "the policy does not list this producer" in unlisted.text
    assert settle(bob, handed_over, "keep").status_code == 303


def test_a_private_event_is_kept_from_its_former_owner(service: Service, policies: Path) -> None:
    """A private event cannot be opened, and its owner at the time may not dismiss it either."""
    quarantine_id = service.submit(event("A personal remark.", visibility="private")).json()["quarantine_id"]
    hand_over(service, policies, "kim")
    for name, status in (("ada", 403), ("kim", 403), ("bob", 303)):
        assert settle(service.sign_in(name), quarantine_id, "dismiss").status_code == status


def test_a_long_event_is_cut_in_the_list_and_settled_where_it_is_whole(service: Service) -> None:
    """The list shows long events in part so that fifty of them stay loadable; decisions need the full page."""
    text = "Every line of it matters. " * 400
    service.submit(event(f"{text} THE END", idempotency_key="long"))
    quarantine_id = service.submit(event(f"{text} ANOTHER END", idempotency_key="long")).json()["quarantine_id"]
    desk = service.sign_in()
    listed = desk.browser.get("/quarantine").text
    assert "Open it to see it whole and to settle it" in listed
    assert 'class="settle"' not in listed
    assert len(listed) < 12_000
    whole = desk.browser.get(f"/quarantine/{quarantine_id}").text
    assert "ANOTHER END" in whole
    assert settle(desk, quarantine_id, "keep").status_code == 303
