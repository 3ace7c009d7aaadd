"""Sealed events: masked, revealed one span at a time, released redacted, destroyed, cleared, expired."""

import html
import json
import re
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from antechamber import app
from antechamber.app.maintenance import clock
from antechamber.core.access.callers import Account
from antechamber.core.review.quarantine import QuarantineForm, key_for_opening
from antechamber.core.review.sealed_event import MASK, REDACTED
from antechamber.event_vault import EventVault
from antechamber.settings import Location
from support import PRODUCERS, Desk, Service, database, dump, event, leaf_texts, running, write_policies

VALUE = "zoe.quill" + "@" + "lovelace.dev"
OTHER = "ada.quill" + "@" + "lovelace.dev"
TEXT = f"Ask {VALUE} or {OTHER} before the deploy."
SCOPES = """
reveal = ["bob", "eve", "ada"]

[scope.project]
keep_private = "sealed"
actions = {email-address = "quarantine"}
"""
DAY = 86_400_000_000


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy that keeps private events of projects sealed."""
    return write_policies(tmp_path / "policies", scopes=SCOPES)


def refuse(service: Service, text: str = TEXT, **members: Any) -> str:
    """Submit a private event and return its id in quarantine."""
    answer = service.submit(event(text, **members))
    assert (answer.status_code, answer.json()["disposition"]) == (422, "rejected-private")
    quarantine_id: str = answer.json()["quarantine_id"]
    return quarantine_id


@pytest.fixture
def sealed(service: Service) -> str:
    """A sealed event under the key `first`."""
    return refuse(service, idempotency_key="first")


def form(desk: Desk, quarantine_id: str) -> dict[str, str]:
    """Return the hidden fields of a quarantined event's forms."""
    page = desk.browser.get(f"/quarantine/{quarantine_id}").text
    return dict(re.findall(r'name="(csrf|version|decision_key|undoes)" value="([^"]*)"', page))


def act(desk: Desk, quarantine_id: str, kind: str, **fields: str) -> httpx.Response:
    """Fill in a form of a sealed event and send it."""
    return desk.post(f"/quarantine/{quarantine_id}/{kind}", form(desk, quarantine_id) | fields)


def release(desk: Desk, quarantine_id: str, content: str = "Ask the owner before the deploy.") -> str:
    """Release a sealed event and return its proposal."""
    released = act(desk, quarantine_id, "release", content=content)
    assert released.status_code == 303, released.text
    return released.headers["location"].removeprefix("/review/").partition("?")[0]


def count(location: Location, query: str) -> int:
    """Return the number that a query counts."""
    with database(location) as raw:
        number: int = raw.execute(query).fetchone()[0]
        return number


def rows(location: Location, query: str) -> list[Any]:
    """Return all rows of a query."""
    with database(location) as raw:
        found: list[Any] = raw.execute(query).fetchall()
        return found


def actions_of(service: Service) -> list[str]:
    """Return the actions of all leaves of the log."""
    with database(service.location) as raw:
        return [json.loads(leaf)["action"] for leaf in leaf_texts(raw)]


def test_a_released_redaction_becomes_a_memory_by_another_person(service: Service, sealed: str) -> None:
    """The page shows masks; the redactor releases, is not the only approver, and another person admits the text."""
    bob = service.sign_in()
    page = bob.browser.get(f"/quarantine/{sealed}").text
    assert VALUE not in page
    assert f"Ask {REDACTED} or {REDACTED} before the deploy." in page
    proposal = release(bob, sealed)
    assert "another person has to approve it too" in bob.browser.get(f"/review/{proposal}").text
    assert bob.decide(proposal, "approve").status_code == 303
    assert service.recall() == []
    assert service.sign_in("ada").decide(proposal, "approve").status_code == 403
    assert service.sign_in("eve").decide(proposal, "approve").status_code == 303
    assert [item["content"] for item in service.recall()] == ["Ask the owner before the deploy."]
    assert app.examine(service.location) == []


def test_another_person_alone_approves_what_was_redacted(service: Service, sealed: str) -> None:
    """The policy wants one person, and one who did not redact is enough."""
    proposal = release(service.sign_in(), sealed)
    assert service.sign_in("eve").decide(proposal, "approve").status_code == 303
    assert len(service.recall()) == 1


def test_the_receipt_stays_and_the_status_shows_the_review(service: Service, sealed: str) -> None:
    """The submission's own answer never changes; its review is that of the released proposal."""
    first = service.submit(event(TEXT, idempotency_key="first"))
    submission = f"/v1/submissions/{first.json()['submission_id']}"
    assert service.client.get(submission, headers=service.bearer()).json()["review"] is None
    proposal = release(service.sign_in(), sealed)
    for path in (submission, "/v1/submissions/by-key/first"):
        status = service.client.get(path, headers=service.bearer()).json()
        assert (status["disposition"], status["proposal_id"]) == ("rejected-private", None)
        assert status["review"]["state"] == "pending"
    assert service.sign_in("eve").decide(proposal, "approve").status_code == 303
    status = service.client.get(submission, headers=service.bearer()).json()
    assert (status["review"]["state"], status["review"]["memory_id"]) == ("approved", service.recall()[0]["memory_id"])
    again = service.submit(event(TEXT, idempotency_key="first")).json()
    assert (again["duplicate"], again["disposition"]) == (True, "rejected-private")


def test_one_span_is_revealed_with_a_reason_and_a_leaf(service: Service, sealed: str) -> None:
    """Only the span that was asked for is shown, once; reason, person and place are on record, the value is not."""
    bob = service.sign_in()
    fields = form(bob, sealed) | {"span": "1", "reveal_reason": "Is it a public address?"}
    shown = bob.post(f"/quarantine/{sealed}/reveal", fields)
    assert shown.status_code == 200
    assert VALUE in shown.text
    assert OTHER not in shown.text
    assert shown.headers["cache-control"] == "no-store"
    assert "Is it a public address?" in shown.text
    assert bob.post(f"/quarantine/{sealed}/reveal", fields).status_code == 409
    assert VALUE not in bob.browser.get(f"/quarantine/{sealed}").text
    with database(service.location) as raw:
        [leaf] = [json.loads(leaf) for leaf in leaf_texts(raw) if "reveal_id" in leaf]
    assert (leaf["action"], leaf["actor"], leaf["subject"]["quarantine_id"]) == ("reveal", "bob", sealed)
    assert VALUE not in dump(service.location)
    assert app.examine(service.location) == []


def test_a_reveal_keeps_what_was_typed_for_another_decision(service: Service, sealed: str) -> None:
    """Redaction and note stay in their fields; the reason is recorded and leaves its own, except after a refusal."""
    bob = service.sign_in()
    typed = {"span": "2", "content": "Ask the owner.", "reason_text": "My note.", "reveal_reason": "Is it public?"}
    shown = bob.post(f"/quarantine/{sealed}/reveal", form(bob, sealed) | typed)
    assert (shown.status_code, OTHER in shown.text) == (200, True)
    late = bob.post(f"/quarantine/{sealed}/reveal", form(bob, sealed) | typed | {"decision_key": ""})
    assert late.status_code == 409
    for page, reason in ((shown.text, ""), (late.text, "Is it public?")):
        fields = re.search(r'<form [^>]*/reveal">.*?</form>', page, re.DOTALL)
        assert fields
        assert ">\nAsk the owner.</textarea>" in fields[0]
        assert re.findall(r'name="reason_text"\s+maxlength="2000"\s+value="([^"]*)"', fields[0]) == ["My note."]
        assert re.findall(r'name="reveal_reason"\s+required\s+maxlength="2000"\s+value="([^"]*)"', fields[0]) == [
            reason
        ]
        assert '<option value="2" selected>' in fields[0]


@pytest.mark.parametrize("kind", ["reveal", "destroy", "clear"])
def test_private_text_is_revealed_or_destroyed_after_a_recent_check_only(
    service: Service, sealed: str, kind: str
) -> None:
    """A sign-in of an hour ago does not suffice: the page asks for the password and keeps what was typed."""
    service.state.access.accounts.add("bob", "curator", None, service.state.passwords.hash("a long pass phrase"))
    bob = service.sign_in()
    fields = form(bob, sealed) | {"span": "1", "reveal_reason": 'Is it "public" <b>?'}
    service.set_access_clock(lambda: app.clock() + 3_600_000_000)
    asked = bob.post(f"/quarantine/{sealed}/{kind}", fields)
    assert asked.status_code == 403
    assert VALUE not in asked.text
    sent = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', asked.text))
    assert {name: html.unescape(value) for name, value in sent.items()} == fields
    assert count(service.location, "SELECT count(*) FROM sealed_events WHERE ended_at IS NULL") == 1
    done = bob.post(f"/quarantine/{sealed}/{kind}", fields | {"confirmation": "a long pass phrase"})
    assert done.status_code == {"reveal": 200, "destroy": 303, "clear": 200}[kind]
    assert (VALUE in done.text) == (kind != "destroy")


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({"span": "1", "reveal_reason": "  "}, 400, "Write why you need to see it"),
        ({"span": "1", "reveal_reason": f"Is {VALUE} public?"}, 400, "The note holds private data"),
        ({"span": "3", "reveal_reason": "Why not."}, 404, ""),
        ({"span": "x", "reveal_reason": "Why not."}, 404, ""),
        ({"span": "1", "reveal_reason": "Why not.", "decision_key": ""}, 409, "sent before"),
    ],
)
def test_a_reveal_without_a_reason_shows_nothing(
    service: Service, sealed: str, fields: dict[str, str], status: int, text: str
) -> None:
    """A blank reason, a private one, an unknown span and a used form reveal and record nothing."""
    answer = act(service.sign_in(), sealed, "reveal", **fields)
    assert answer.status_code == status
    assert text in answer.text
    assert VALUE not in answer.text.replace(fields["reveal_reason"], "")
    assert "reveal" not in actions_of(service)


@pytest.mark.parametrize("kind", ["reveal", "release", "destroy", "clear"])
def test_only_listed_persons_who_never_owned_the_producer_may_act(
    service: Service, sealed: str, policies: Path, kind: str
) -> None:
    """A curator who is not listed, the owner then and the owner now see the masked text and nothing more."""
    (policies / "producers.toml").write_text(PRODUCERS.replace('"ada"', '"eve"'))
    service.state.dashboard._policies.refresh()
    fields = {"span": "1", "reveal_reason": "Why not.", "content": "Ask."}
    for name, text in (("kim", "lists under reveal"), ("ada", "another person"), ("eve", "another person")):
        desk = service.sign_in(name)
        page = desk.browser.get(f"/quarantine/{sealed}").text
        assert text in page
        assert "before the deploy" in page
        answer = act(desk, sealed, kind, **fields)
        assert answer.status_code == 403
        assert VALUE not in answer.text
    una = service.sign_in("una", "auditor")
    assert "Redact and release" not in una.browser.get(f"/quarantine/{sealed}").text
    assert act(una, sealed, kind, **fields).status_code == 403
    assert set(actions_of(service)) & {"reveal", "release", "destroy", "clear"} == set()


def test_what_is_still_private_is_not_released(service: Service, sealed: str) -> None:
    """The rules read the redaction; a refusal says where and why, keeps what was typed, and binds nothing."""
    bob = service.sign_in()
    refused = act(bob, sealed, "release", content=f"Ask {VALUE}.")
    assert refused.status_code == 400
    assert "email-address: e-mail address (at /payload/content)" in refused.text
    blank = act(bob, sealed, "release", content=" ")
    assert blank.status_code == 400
    assert all("Change the text, or destroy the event." in answer.text for answer in (refused, blank))
    damaged = act(bob, sealed, "release", content="Ask ⟦U+1")
    assert "is damaged" in damaged.text
    assert count(service.location, "SELECT count(*) FROM submissions") == 1
    assert release(bob, sealed)


def test_a_release_that_the_policy_refuses_changes_nothing(service: Service, sealed: str, policies: Path) -> None:
    """A kind that is not taken any more, or a producer that is not listed, is a reason on the page."""
    bob = service.sign_in()
    for name, text, reason in (
        ("scopes", f'{SCOPES}kinds = ["fact"]\n', "this scope takes fact"),
        ("producers", "", "the policy does not list this producer"),
    ):
        (policies / f"{name}.toml").write_text(text)
        service.state.dashboard._policies.refresh()
        answer = act(bob, sealed, "release", content="Ask.")
        assert answer.status_code == 400
        assert reason in answer.text
        assert "Change the text, or destroy the event." in answer.text
    assert count(service.location, "SELECT count(*) FROM submissions") == 1


def test_everything_beside_the_content_is_redacted_by_itself(service: Service) -> None:
    """Source, tags and attributes lose their spans; a found name is not shown and takes its object with it."""
    quarantine_id = refuse(
        service,
        payload={
            "kind": "fact",
            "content": "Plain.",
            "tags": [VALUE],
            "attributes": {"who": VALUE, "n": 1},
        },
        source_span={"uri": "repo://apollo/RUNBOOK.md", "heading": f"By {VALUE}"},
        supersedes=VALUE,
    )
    bob = service.sign_in()
    page = bob.browser.get(f"/quarantine/{quarantine_id}").text
    assert VALUE not in page
    assert page.count('class="mask"') == 4
    proposal = release(bob, quarantine_id, "Plain.")
    assert service.sign_in("eve").decide(proposal, "approve").status_code == 303
    (item,) = service.recall()
    assert (item["tags"], item["attributes"]) == ([REDACTED], {"who": REDACTED, "n": 1})
    assert (item["source_span"]["heading"], item["supersedes"]) == (f"By {REDACTED}", None)


def test_a_secret_is_masked_in_clear_and_encoded(location: Location, tmp_path: Path) -> None:
    """The rule found it encoded; in a tag it is in clear, where no rule knows what it is."""
    scopes = SCOPES.replace("{email-address", '{secret = "quarantine", email-address')
    password = "Vq7mTz" + "41xKd"
    basic = b64encode(f"app:{password}".encode()).decode()
    payload = {"kind": "fact", "content": f"Send Authorization: Basic {basic} to the hub.", "tags": [password.lower()]}
    with running(location, write_policies(tmp_path / "policies", scopes=scopes)) as service:
        sealed = service.submit(event(payload=payload)).json()["quarantine_id"]
        page = service.sign_in().browser.get(f"/quarantine/{sealed}").text
    assert MASK in page
    assert not any(form in page for form in (basic, password, password.lower()))


def test_a_destroyed_event_is_gone(service: Service, sealed: str) -> None:
    """Ciphertext and key are deleted, the decision has a record and a leaf, and nothing takes it back."""
    bob = service.sign_in()
    assert act(bob, sealed, "destroy").headers["location"] == "/quarantine?done=destroyed"
    page = bob.browser.get(f"/quarantine/{sealed}").text
    assert "destroyed" in page
    assert "The sealed text" not in page
    assert f"/quarantine/{sealed}/undo" not in page
    assert count(service.location, "SELECT count(*) FROM sealed_events WHERE wrapped_key IS NOT NULL") == 0
    assert actions_of(service)[-1] == "destroy"
    with database(service.location) as raw:
        record = raw.execute("SELECT review_record_id FROM review_records").fetchone()[0]
    undo = act(bob, sealed, "undo", undoes=record, version="1", reason_code="wrong")
    assert undo.status_code == 403
    assert "cannot be undone" in undo.text
    for kind in ("destroy", "release", "clear", "reveal"):
        assert act(bob, sealed, kind, version="1", span="1", reveal_reason="x", content="x").status_code == 409
    assert app.examine(service.location) == []


def test_a_false_alarm_shows_examples_once(service: Service, sealed: str) -> None:
    """The answer has a `miss` example for the rule; nothing of it is stored."""
    bob = service.sign_in()
    cleared = act(bob, sealed, "clear")
    assert (cleared.status_code, cleared.headers["cache-control"]) == (200, "no-store")
    assert "Rule email-address: add these texts to its `miss`." in cleared.text
    assert VALUE in cleared.text
    assert VALUE not in bob.browser.get(f"/quarantine/{sealed}").text
    assert VALUE not in dump(service.location)
    assert actions_of(service)[-1] == "clear"
    assert app.examine(service.location) == []


def test_a_sealed_event_is_not_dismissed_or_opened(service: Service, sealed: str) -> None:
    """The ordinary decisions of the quarantine do not apply, and the list offers none."""
    bob = service.sign_in()
    assert 'class="settle"' not in bob.browser.get("/quarantine").text
    assert "kept encrypted for redaction" in bob.browser.get("/quarantine").text
    for kind in ("dismiss", "open", "keep"):
        answer = act(bob, sealed, kind)
        assert answer.status_code == 400
        assert "This event is sealed" in answer.text


def test_an_event_expires_and_can_then_be_dismissed(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time nothing is readable, even before the background work ran; that writes a leaf once."""
    with monkeypatch.context() as past:
        past.setattr(service.state.admission, "_clock", lambda: clock() - 14 * DAY - 1)
        sealed = refuse(service)
    bob, events = service.sign_in(), service.state.sealed_events
    assert "The sealed text" not in bob.browser.get(f"/quarantine/{sealed}").text
    fields = {"csrf": form(bob, sealed)["csrf"], "decision_key": "k", "span": "1", "reveal_reason": "x"}
    assert bob.post(f"/quarantine/{sealed}/reveal", fields).status_code == 409
    events.end_expired()
    events.end_expired()
    assert actions_of(service).count("end-sealed") == 1
    assert "expired" in bob.browser.get(f"/quarantine/{sealed}").text
    assert act(bob, sealed, "destroy").status_code == 400
    assert act(bob, sealed, "dismiss").status_code == 303
    assert count(service.location, "SELECT count(*) FROM sealed_events WHERE ciphertext IS NOT NULL") == 0
    assert app.examine(service.location) == []


def test_many_events_end_in_several_transactions(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each transaction ends a limited number, until all that expired have ended; the others stay."""
    monkeypatch.setattr("antechamber.flows.sealed_events.MAX_ENDED", 2)
    with monkeypatch.context() as past:
        past.setattr(service.state.admission, "_clock", lambda: clock() - 15 * DAY)
        for number in range(5):
            refuse(service, f"{TEXT} {number}")
    refuse(service)
    service.state.sealed_events.end_expired()
    assert count(service.location, "SELECT count(*) FROM sealed_events WHERE expired = 1") == 5
    assert count(service.location, "SELECT count(*) FROM sealed_events WHERE wrapped_key IS NOT NULL") == 1


@pytest.mark.parametrize(
    ("members", "kept"),
    [
        ({}, 1),
        ({"visibility": "private"}, 0),
        ({"submission_scope": "session", "scope_id": "s-1"}, 0),
        ({"payload": {"kind": "fact", "content": f"{TEXT} IBAN DE89 3704 0044 0532 0130 00"}}, 0),
        ({"scope_id": VALUE}, 0),
        ({"idempotency_key": "taken"}, 0),
    ],
    ids=["sealed", "declared private", "another scope", "also to reject", "private scope id", "a conflict"],
)
def test_only_what_the_policy_keeps_is_sealed(service: Service, members: dict[str, Any], kept: int) -> None:
    """Declared privacy, other scopes, a finding to reject, a private scope id and conflicts keep findings only."""
    assert service.submit(event("Plain.", idempotency_key="taken")).status_code == 201
    answer = service.submit(event(TEXT, **members))
    assert answer.status_code == 422
    assert count(service.location, "SELECT count(*) FROM sealed_events") == kept
    assert app.examine(service.location) == []


def test_offsets_are_not_stored_beside_the_findings(service: Service, sealed: str) -> None:
    """They would show how long a value is."""
    with database(service.location) as raw:
        findings = json.loads(raw.execute("SELECT findings FROM quarantine").fetchone()[0])
    assert findings == [{"action": "quarantine", "pointer": "/payload/content", "rule_id": "email-address"}]
    assert sealed


def test_what_was_released_already_only_gets_its_record(service: Service, sealed: str) -> None:
    """A proposal without its record, as an earlier version left it after a crash, is found, whatever text it has."""
    events = service.state.sealed_events
    bob = Account(id=1, name="bob", person="bob", role="curator", session="")
    one = service.state.quarantine.event(sealed, bob)
    shown = QuarantineForm(kind="release", version=0, decision_key="first")
    submission = events._redacted(one.event, events._decrypt(one.event), shown, "The first text.")
    with service.client.portal() as portal:
        candidate = portal.call(events._admission.prepare_opened, submission, "bob")
    reply = events._store.write(lambda tx: events._admission.admit_opened(candidate, tx)).result()
    opened = json.loads(reply.body)["proposal_id"]
    assert release(service.sign_in("eve"), sealed, "Another text.") == opened
    assert service.sign_in("eve").decide(opened, "approve").status_code == 303
    assert [item["content"] for item in service.recall()] == ["The first text."]
    assert app.examine(service.location) == []


@pytest.mark.parametrize("kind", ["destroy", "clear"])
def test_a_release_and_another_decision_at_once_have_one_result(service: Service, kind: str) -> None:
    """Two curators decide in the same moment: what is destroyed or cleared leaves no proposal."""
    bob, eve = service.sign_in(), service.sign_in("eve")
    results = []
    with ThreadPoolExecutor(2) as pool:
        for number in range(6):
            sealed = refuse(service, f"{TEXT} {number}", idempotency_key=f"race-{number}")
            forms = form(bob, sealed) | {"content": f"Ask the owner, {number}."}, form(eve, sealed)
            released = pool.submit(bob.post, f"/quarantine/{sealed}/release", forms[0])
            other = pool.submit(eve.post, f"/quarantine/{sealed}/{kind}", forms[1])
            results.append((released.result().status_code, other.result().status_code))
    assert all((released == 303) == (other == 409) for released, other in results)
    assert count(service.location, "SELECT count(*) FROM proposals") == sum(released == 303 for released, _ in results)
    assert app.examine(service.location) == []


def test_another_key_leaves_the_event_unreadable_but_destroyable(
    service: Service, sealed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says what to do; the event can still be destroyed."""
    events = service.state.sealed_events
    monkeypatch.setattr(events, "_vault", EventVault(b"k" * 32))
    bob = service.sign_in()
    page = bob.browser.get(f"/quarantine/{sealed}").text
    assert "sealed with another quarantine.key" in page
    assert act(bob, sealed, "release", content="x").status_code == 400
    assert act(bob, sealed, "destroy").status_code == 303


def test_the_key_of_a_release_is_none_of_a_producer(service: Service, sealed: str) -> None:
    """Neither the producer nor another event can take the place of a release."""
    taken = service.submit(event("Mine.", idempotency_key=key_for_opening(sealed))).json()
    assert [reason["code"] for reason in taken["reasons"]] == ["key-invalid"]
    assert release(service.sign_in(), sealed)


def test_a_restart_keeps_what_is_sealed(location: Location, policies: Path) -> None:
    """The key is in the folder, so that another process decrypts the event."""
    with running(location, policies) as service:
        sealed = refuse(service)
    with running(location, policies) as service:
        assert REDACTED in service.sign_in().browser.get(f"/quarantine/{sealed}").text


def test_a_text_that_ends_while_a_page_is_made_is_reported(service: Service, sealed: str) -> None:
    """The page has no text, and says why."""
    service.sign_in()
    bob = Account(id=1, name="bob", person="bob", role="curator", session="")
    one = service.state.quarantine.event(sealed, bob)
    assert act(service.sign_in(), sealed, "destroy").status_code == 303
    view = service.state.sealed_events.view(one, bob)
    assert (view.members, view.problem) == ([], "The sealed text ended meanwhile.")


def test_a_release_counts_as_scanning_of_its_producer(service: Service, sealed: str) -> None:
    """While the producer's scan steps are used up, the page says so, and nothing is bound."""
    limit = service.state.dashboard._policies.current.policy.limits.scan_steps_per_second
    service.state.admission._steps.charge("worker:release-bot", 10**12, limit)
    answer = act(service.sign_in(), sealed, "release", content=f"Ask {VALUE}.")
    assert answer.status_code == 400
    assert "too long to scan" in answer.text
    assert count(service.location, "SELECT count(*) FROM submissions") == 1


def test_a_rule_that_the_policy_lost_is_named_by_its_id(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of an event that an earlier rule found still opens."""
    sealed = refuse(service)
    monkeypatch.setattr(service.state.sealed_events, "titles", dict)
    assert "email-address" in service.sign_in().browser.get(f"/quarantine/{sealed}").text
