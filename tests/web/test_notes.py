"""The conversation about a proposal: what its producer reads and answers over HTTP."""

from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from antechamber.core.contract import MAX_NOTE
from antechamber.core.review import notes as rules
from antechamber.settings import Location
from support import MEMBERS, Desk, Service, dump, event, running, write_policies

NOTE = {"note_id", "at", "from", "kind", "text"}


def propose(service: Service, content: str = "Run the migration before the deploy.", **members: Any) -> dict[str, Any]:
    """Submit an event and return its receipt."""
    receipt: dict[str, Any] = service.submit(event(content, **members)).json()
    return receipt


def say(
    service: Service, receipt: dict[str, Any], text: Any, key: str | None = "answer-1", who: str = "worker:release-bot"
) -> httpx.Response:
    """Post a note as a producer."""
    headers = service.bearer(who) | ({} if key is None else {"idempotency-key": key})
    path = f"/v1/submissions/{receipt['submission_id']}/notes"
    body = text if isinstance(text, bytes) else msgspec.json.encode({"text": text})
    return service.client.post(path, content=body, headers=headers)


def review(service: Service, receipt: dict[str, Any], who: str = "worker:release-bot") -> dict[str, Any]:
    """Return the review of a submission as its producer reads it."""
    answer = service.client.get(f"/v1/submissions/{receipt['submission_id']}", headers=service.bearer(who))
    found: dict[str, Any] = answer.json()["review"]
    return found


def write(desk: Desk, receipt: dict[str, Any], route: str, text: str = "", **fields: str) -> httpx.Response:
    """Send a form of a proposal's conversation."""
    return desk.write(receipt["proposal_id"], route, text, **fields)


def refused(answer: httpx.Response) -> tuple[int, list[str]]:
    """Return status and codes of a refusal, and check its form."""
    body = answer.json()
    assert body.keys() >= MEMBERS
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.headers["cache-control"] == "no-store"
    assert body["disposition"] is None
    assert "submission-disposition" not in answer.headers
    assert body["status"] == answer.status_code
    return answer.status_code, [reason["code"] for reason in body["reasons"]]


def test_a_question_reaches_the_producer_and_the_answer_the_curator(service: Service) -> None:
    """Notes and questions appear in the status; the answer is a note of the producer under a key of its own."""
    receipt, bob = propose(service), service.sign_in("bob")
    assert review(service, receipt)["notes"] == []
    assert write(bob, receipt, "note", "Looks like the runbook.").status_code == 303
    assert write(bob, receipt, "question", "Which deploy?").status_code == 303
    seen = review(service, receipt)["notes"]
    assert [(note["from"], note["kind"], note["text"]) for note in seen] == [
        ("curator", "note", "Looks like the runbook."),
        ("curator", "question", "Which deploy?"),
    ]
    assert all(note.keys() == NOTE for note in seen)
    first = say(service, receipt, "The one of the API.")
    assert first.status_code == 201
    assert first.headers["idempotency-key"] == "answer-1"
    assert first.headers["cache-control"] == "no-store"
    assert "idempotent-replayed" not in first.headers
    answer = first.json()
    assert answer.keys() == NOTE
    assert (answer["from"], answer["kind"], answer["text"]) == ("producer", "answer", "The one of the API.")
    assert review(service, receipt)["notes"] == [*seen, answer]
    assert "The one of the API." in bob.browser.get(f"/review/{receipt['proposal_id']}").text


def test_the_same_key_and_text_is_the_same_note(service: Service) -> None:
    """A repetition gets the first answer and stores nothing, also after the decision; another text is refused."""
    receipt, bob = propose(service), service.sign_in("bob")
    write(bob, receipt, "question", "Which deploy?")
    first = say(service, receipt, "  The one\r\nof the API. \n")
    assert first.json()["text"] == "The one\nof the API."
    again = say(service, receipt, "The one\nof the API.", key='"answer-1"')
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert refused(say(service, receipt, "The one of the desk.")) == (422, ["key-reused"])
    other = propose(service, "Another event.")
    assert refused(say(service, other, "The one\nof the API.")) == (422, ["key-reused"])
    assert len(review(service, receipt)["notes"]) == 2
    assert bob.decide(receipt["proposal_id"], "approve").status_code == 303
    assert say(service, receipt, "The one\nof the API.").content == first.content
    assert refused(say(service, receipt, "More.", key="answer-2")) == (409, ["already-decided"])


def test_a_key_of_a_note_is_apart_from_keys_of_submissions(service: Service) -> None:
    """The key of a submission can be the key of a note, and two producers can use the same key."""
    receipt = propose(service, idempotency_key="shared")
    other = propose(service, "Seen by the watcher.", producer_identity="tool:watcher")
    assert say(service, receipt, "First.", key="shared").status_code == 201
    assert say(service, other, "Second.", key="shared", who="tool:watcher").status_code == 201
    assert review(service, receipt)["notes"][0]["text"] == "First."


def test_a_text_that_answers_nothing_is_a_note(service: Service) -> None:
    """Without an open question, and after the first answer, what a producer writes is a note."""
    receipt, bob = propose(service), service.sign_in("bob")
    assert say(service, receipt, "By the way.", key="a").json()["kind"] == "note"
    write(bob, receipt, "question", "Which deploy?")
    assert say(service, receipt, "That one.", key="b").json()["kind"] == "answer"
    assert say(service, receipt, "And more.", key="c").json()["kind"] == "note"


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (b"", ["malformed"]),
        (b"[]", ["malformed"]),
        (b"{", ["malformed"]),
        (b'"text"', ["malformed"]),
        (b"{}", ["malformed"]),
        (b'{"text": null}', ["malformed"]),
        (b'{"text": 7}', ["malformed"]),
        (b'{"text": " \\n\\t"}', ["malformed"]),
        (b'{"text": "a", "text": "b"}', ["duplicate-member"]),
        (b'{"text": "a", "kind": "question"}', ["unknown-member"]),
        (b'{"text": "\\ud800"}', ["out-of-profile"]),
        (b'{"text": "a\\u0000b"}', ["out-of-profile"]),
        (b"[" * 5000, ["out-of-profile"]),
        (b'{"text": "\xff"}', ["malformed"]),
        (msgspec.json.encode({"text": "a " * MAX_NOTE}), ["malformed"]),
    ],
)
def test_a_malformed_note_is_refused(service: Service, body: bytes, codes: list[str]) -> None:
    """A body that is no note leaves the key free, and nothing is kept."""
    receipt = propose(service)
    assert refused(say(service, receipt, body)) == (400, codes)
    assert say(service, receipt, "x" * MAX_NOTE).status_code == 201


def test_a_note_needs_a_key_and_a_small_body(service: Service) -> None:
    """A missing, malformed, repeated or private key is refused, and so is a body beyond 64 KiB."""
    receipt = propose(service)
    assert refused(say(service, receipt, "Text.", key=None)) == (400, ["key-missing"])
    assert refused(say(service, receipt, "Text.", key="no key!")) == (400, ["key-invalid"])
    assert refused(say(service, receipt, "Text.", key="ghp_" + "a1B2" * 9)) == (400, ["key-invalid"])
    twice = [("authorization", service.bearer()["authorization"]), ("idempotency-key", "a"), ("idempotency-key", "b")]
    path = f"/v1/submissions/{receipt['submission_id']}/notes"
    assert refused(service.client.post(path, content=b'{"text":"x"}', headers=twice)) == (400, ["key-invalid"])
    assert say(service, receipt, b" " * (64 * 1024 + 1)).status_code == 413


def test_a_private_answer_is_refused_and_nothing_of_it_is_kept(service: Service) -> None:
    """The reasons name the rule and the pointer, never the value; the corrected text goes under the same key."""
    receipt = propose(service)
    secret = "ghp_" + "a1B2" * 9
    answer = say(service, receipt, f"The token is {secret}.")
    assert refused(answer) == (422, ["private-detected"])
    assert answer.json()["reasons"][0]["pointer"] == "/text"
    assert secret not in answer.text
    assert answer.json()["retry_same_key"] is True
    assert review(service, receipt)["notes"] == []
    assert write(service.sign_in("bob"), receipt, "note", f"It sent {secret}.").status_code == 400
    assert secret not in dump(service.location)
    assert say(service, receipt, "The token is in the vault.").status_code == 201


def test_only_the_producer_of_the_proposal_takes_part(service: Service) -> None:
    """Another producer neither sees nor answers, also if it submitted the same event; strangers get a plain 404."""
    receipt, bob = propose(service), service.sign_in("bob")
    same = propose(service, producer_identity="tool:watcher")
    assert same["disposition"] == "accepted-as-duplicate"
    write(bob, receipt, "question", "Which deploy?")
    assert review(service, same, "tool:watcher")["notes"] == []
    assert refused(say(service, same, "Mine.", who="tool:watcher")) == (409, ["already-decided"])
    for submission_id, who in ((receipt["submission_id"], "tool:watcher"), ("nothing", "worker:release-bot")):
        answer = say(service, {"submission_id": submission_id}, "Mine.", who=who)
        assert (answer.status_code, answer.json()["type"]) == (404, "about:blank")
    refusal = propose(service, visibility="private")
    assert refused(say(service, refusal, "Mine.")) == (409, ["already-decided"])
    again = propose(service)
    assert again["duplicate_of"] == receipt["submission_id"]
    assert say(service, again, "Through my other submission.").json()["kind"] == "answer"
    assert bob.decide(receipt["proposal_id"], "reject", reason_code="wrong", reason_text="No.").status_code == 303
    assert review(service, receipt)["reason_text"] == "No."
    assert review(service, same, "tool:watcher")["reason_text"] is None


def test_only_producers_of_the_policy_write_notes(service: Service) -> None:
    """Other tokens and unlisted producers are refused with 403."""
    receipt = propose(service)
    path = f"/v1/submissions/{receipt['submission_id']}/notes"
    for bearer in (("worker:unlisted",), ("lookout", "reader", ("project:apollo",)), ("auditing", "auditor")):
        headers = service.bearer(*bearer) | {"idempotency-key": "a"}
        answer = service.client.post(path, content=b'{"text": "x"}', headers=headers)
        assert refused(answer) == (403, ["producer-mismatch"])


def test_the_status_has_the_reason_and_the_text_as_admitted(service: Service) -> None:
    """A decision's note and the admitted text, also an edited one, are in the status; without a note it is null."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    plain, edited = propose(service, "As proposed."), propose(service, "As porposed.")
    assert {name: review(service, plain)[name] for name in ("reason_text", "content")} == {
        "reason_text": None,
        "content": None,
    }
    bob.decide(plain["proposal_id"], "approve")
    decided = review(service, plain)
    assert (decided["content"], decided["reason_text"]) == ("As proposed.", None)
    bob.decide(edited["proposal_id"], "edit", content="As it was meant.", reason_code="wrong", reason_text="Spelling.")
    assert review(service, edited)["content"] is None
    eve.decide(edited["proposal_id"], "approve", reason_text="Right.")
    decided = review(service, edited)
    assert (decided["content"], decided["reason_text"]) == ("As it was meant.", "Right.")


def test_a_policy_may_keep_notes_from_producers(location: Location, tmp_path: Path) -> None:
    """With `sees_notes = false` a producer sees neither notes nor reasons, and cannot be asked."""
    policies = write_policies(tmp_path / "policies", scopes="[producer]\nsees_notes = false\n")
    with running(location, policies) as service:
        receipt, bob = propose(service), service.sign_in("bob")
        assert write(bob, receipt, "note", "Between us.").status_code == 303
        asked = write(bob, receipt, "question", "Which deploy?")
        assert asked.status_code == 403
        assert "would not arrive" in asked.text
        assert review(service, receipt)["notes"] == []
        bob.decide(receipt["proposal_id"], "reject", reason_code="wrong", reason_text="No.")
        assert review(service, receipt)["reason_text"] is None
        assert review(service, receipt)["reason_code"] == "wrong"


def test_a_proposal_takes_a_limited_number_of_notes(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer's share is limited, so that curators can always write; a page names their own limit."""
    receipt, bob = propose(service), service.sign_in("bob")
    monkeypatch.setattr("antechamber.flows.producer_notes.MAX_PRODUCER_NOTES", 2)
    monkeypatch.setattr("antechamber.flows.conversation.MAX_NOTES", 3)
    assert [say(service, receipt, "More.", key=f"k-{number}").status_code for number in range(3)] == [201, 201, 422]
    assert refused(say(service, receipt, "More.", key="k-3")) == (422, ["too-large-for-scope"])
    assert write(bob, receipt, "note", "Enough.").status_code == 303
    page = write(bob, receipt, "note", "One more.")
    assert page.status_code == 400
    assert "takes no more" in page.text
    assert rules.MAX_PRODUCER_NOTES < rules.MAX_NOTES


def test_a_limited_producer_is_limited_here_too(location: Location, tmp_path: Path) -> None:
    """A note counts as an attempt."""
    policies = write_policies(tmp_path / "policies", scopes="[limits]\nattempts_per_minute = 2\n")
    with running(location, policies) as service:
        receipt = propose(service)
        assert say(service, receipt, "One.", key="a").status_code == 201
        answer = say(service, receipt, "Two.", key="b")
        assert refused(answer) == (429, ["rate-limited"])
        assert answer.headers["retry-after"]
