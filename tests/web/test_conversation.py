"""The conversation at the desk: notes with mentions, questions to the producer, assignments, and whose turn it is."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from antechamber import app
from antechamber.core.rows.notes import ProposalActivity
from antechamber.settings import Location
from support import Desk, Service, event, running, write_policies


def propose(service: Service, content: str, **members: Any) -> dict[str, Any]:
    """Submit an event and return its receipt."""
    receipt: dict[str, Any] = service.submit(event(content, **members)).json()
    return receipt


def group(desk: Desk, title: str) -> str:
    """Return the part of the queue below a heading."""
    part: str = desk.browser.get("/review").text.partition(f"<h2>{title}</h2>")[2].partition("<h2>")[0]
    return part


def start(desk: Desk) -> str:
    """Press Start reviewing and return where it leads."""
    page = desk.browser.get("/review").text
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found
    location: str = desk.post("/review/next", {"csrf": found[1]}).headers["location"]
    return location


def test_a_proposal_waits_for_its_producer_and_returns_to_the_person_who_asked(service: Service) -> None:
    """A question moves the proposal out of the line of all curators; the answer brings it first to its asker."""
    first, second = propose(service, "Deploy on Fridays."), propose(service, "Feed the quokkas at noon.")
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    asked = bob.write(first["proposal_id"], "question", "Which Fridays?")
    assert asked.headers["location"] == f"/review/{second['proposal_id']}?done=asked"
    for desk in (bob, eve):
        assert "Deploy on Fridays." in group(desk, "Waiting for the producer")
        assert desk.browser.get("/review").text.count("Deploy on Fridays.") == 1
        assert "waiting for the producer" in desk.browser.get(f"/review/{first['proposal_id']}").text
    assert start(eve) == "/review?done=all-held"
    assert service.answer(first["submission_id"], "Every second one.", "k").status_code == 201
    assert group(eve, "For you") == ""
    assert "answered" in group(bob, "For you")
    third = service.sign_in("kim")
    assert start(third) == f"/review/{first['proposal_id']}"
    assert third.post(f"/review/{first['proposal_id']}/skip", third.form(first["proposal_id"])).status_code == 303
    assert start(bob) == f"/review/{first['proposal_id']}"
    page = bob.browser.get(f"/review/{first['proposal_id']}").text
    assert "the producer answered" in page
    assert "Every second one." in page
    assert bob.decide(first["proposal_id"], "approve").status_code == 303
    assert group(bob, "For you") == group(bob, "Waiting for the producer") == ""
    page = bob.browser.get(f"/review/{first['proposal_id']}").text
    assert "the producer answered" not in page
    assert "Every second one." in page
    assert len(service.recall()) == 1


def test_only_one_question_is_open(service: Service) -> None:
    """A second question is refused until the first one is answered, and what was typed is kept."""
    receipt, bob = propose(service, "Deploy on Fridays."), service.sign_in("bob")
    assert bob.write(receipt["proposal_id"], "question", "Which Fridays?").status_code == 303
    again = bob.write(receipt["proposal_id"], "question", "And at what time?")
    assert again.status_code == 403
    assert "has not answered the last question" in again.text
    assert "And at what time?" in again.text
    service.answer(receipt["submission_id"], "All.", "k")
    assert bob.write(receipt["proposal_id"], "question", "And at what time?").status_code == 303


def test_a_mention_shows_the_proposal_to_that_person(service: Service) -> None:
    """A mentioned curator finds the proposal in a group of its own until having answered or decided."""
    receipt = propose(service, "Deploy on Fridays.")
    bob, eve = service.sign_in("bob"), service.sign_in("eve", person="eva")
    assert bob.write(receipt["proposal_id"], "note", "Is it so, @eve? Not @bob.").status_code == 303
    assert "mentions you" in group(eve, "For you")
    assert group(bob, "For you") == ""
    assert eve.write(receipt["proposal_id"], "note", "It is.").status_code == 303
    assert group(eve, "For you") == ""
    page = bob.browser.get(f"/review/{receipt['proposal_id']}").text
    assert page.index("Is it so, @eve?") < page.index("It is.")


def test_an_assigned_proposal_is_left_to_its_person(service: Service) -> None:
    """Others are not given it, its person finds it first, and the filter and the page name the person."""
    first, second = propose(service, "Deploy on Fridays."), propose(service, "Feed the quokkas at noon.")
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    assert bob.post(f"/review/{second['proposal_id']}/claim", bob.form(second["proposal_id"])).status_code == 303
    assert bob.write(second["proposal_id"], "assignment", person="eve").headers["location"].endswith("?done=assigned")
    assert "assigned to eve" in bob.browser.get(f"/review/{second['proposal_id']}").text
    assert "assigned to eve" in bob.browser.get("/review").text
    assert start(bob) == f"/review/{first['proposal_id']}"
    assert bob.decide(first["proposal_id"], "approve").headers["location"].startswith("/review?")
    assert "assigned to you" in group(eve, "For you")
    assert start(eve) == f"/review/{second['proposal_id']}"
    service.wait_until_sorted()
    found = bob.browser.get("/review", params={"q": "assigned:eve"}).text
    assert "Feed the quokkas" in found
    assert "Feed the quokkas" not in bob.browser.get("/review", params={"q": "assigned:bob"}).text
    form = bob.form(second["proposal_id"]) | {"q": "assigned:eve"}
    assert "filter-done" in bob.post("/review/next", form).headers["location"]
    assert (
        eve.post("/review/next", eve.form(second["proposal_id"]) | {"q": "assigned:eve"})
        .headers["location"]
        .startswith(f"/review/{second['proposal_id']}")
    )
    assert bob.write(second["proposal_id"], "assignment", person="").status_code == 303
    page = bob.browser.get(f"/review/{second['proposal_id']}").text
    assert "assignment ended" in page
    assert group(eve, "For you") == ""


def test_what_was_skipped_does_not_hide_the_rest(service: Service) -> None:
    """A person who skips the only proposal assigned to them gets the next free one of the queue."""
    first, second = propose(service, "Deploy on Fridays."), propose(service, "Feed the quokkas at noon.")
    bob = service.sign_in("bob")
    assert bob.write(second["proposal_id"], "assignment", person="bob").status_code == 303
    assert start(bob) == f"/review/{second['proposal_id']}"
    skipped = bob.post(f"/review/{second['proposal_id']}/skip", bob.form(second["proposal_id"]))
    assert skipped.headers["location"] == f"/review/{first['proposal_id']}"


@pytest.mark.parametrize("decided", [True, False], ids=["decided", "skipped"])
def test_after_what_a_person_should_look_at_the_queue_begins(service: Service, *, decided: bool) -> None:
    """The group For you comes before the queue: behind it, no proposal of the queue is passed over."""
    texts = ("Deploy on Fridays.", "Feed the quokkas at noon.", "Rotate the logs at night.", "Keep ten backups.")
    one, two, three, four = (propose(service, text)["proposal_id"] for text in texts)
    service.wait_until_sorted()
    bob = service.sign_in("bob")
    for proposal in (two, four):
        assert bob.write(proposal, "assignment", person="bob").status_code == 303
    met = [start(bob).rpartition("/")[2]]
    for _ in range(3):
        action = "approve" if decided and met[-1] in {two, four} else "skip"
        answer = bob.post(f"/review/{met[-1]}/{action}", bob.form(met[-1]))
        met.append(answer.headers["location"].rpartition("/")[2].partition("?")[0])
    assert met == [two, four, one, three]


def test_a_second_review_for_a_person_is_offered_once(service: Service) -> None:
    """A proposal that needs a second person and is assigned comes in the group For you, and not after it again."""
    texts = ("Deploy on Fridays.", "Feed the quokkas at noon.", "Rotate the logs at night.")
    one, two, three = (propose(service, text)["proposal_id"] for text in texts)
    service.wait_until_sorted()
    eve, bob = service.sign_in("eve"), service.sign_in("bob")
    for proposal in (one, two):
        assert eve.decide(proposal, "flag").status_code == 303
    assert eve.post(f"/review/{three}/skip", eve.form(three)).status_code == 303
    assert bob.write(two, "assignment", person="bob").status_code == 303
    met = [start(bob).rpartition("/")[2]]
    for _ in range(2):
        answer = bob.post(f"/review/{met[-1]}/skip", bob.form(met[-1]))
        met.append(answer.headers["location"].rpartition("/")[2])
    assert met == [two, one, three]


def test_of_near_duplicates_the_assigned_one_is_found(service: Service) -> None:
    """The filter shows the proposal that was assigned, not the first one of its row."""
    texts = [f"Feed the quokkas {when} the gates are opened in the morning." for when in ("before", "after")]
    _, second = (propose(service, text) for text in texts)
    service.wait_until_sorted()
    bob = service.sign_in("bob")
    assert bob.write(second["proposal_id"], "assignment", person="bob").status_code == 303
    found = bob.browser.get("/review", params={"q": "assigned:bob"}).text
    assert texts[1] in found
    assert texts[0] not in found


def test_who_cannot_judge_is_not_assigned(service: Service) -> None:
    """An owner, a stranger and a disabled curator are refused by name, and nothing is recorded."""
    receipt, bob = propose(service, "Deploy on Fridays."), service.sign_in("bob")
    service.sign_in("ada")
    service.sign_in("una", "auditor")
    service.sign_in("zoe")
    service.state.access.accounts.disable("zoe")
    page = bob.browser.get(f"/review/{receipt['proposal_id']}").text
    assert re.findall(r'<option value="(\w+)"', page.partition('id="person"')[2].partition("</select>")[0]) == ["bob"]
    for person, why in (
        ("ada", "owns its producer"),
        ("una", "no curator"),
        ("zoe", "no curator"),
        ("x", "no curator"),
    ):
        answer = bob.write(receipt["proposal_id"], "assignment", person=person)
        assert (answer.status_code, why in answer.text) == (400, True), person
    assert "Nothing was said yet." in bob.browser.get(f"/review/{receipt['proposal_id']}").text


def test_a_form_counts_once_and_only_while_the_proposal_waits(service: Service) -> None:
    """A repeated form, one without a key, and a question about a decided proposal are refused; what was typed stays."""
    receipt, bob = propose(service, "Deploy on Fridays."), service.sign_in("bob")
    path = f"/review/{receipt['proposal_id']}/note"
    form = bob.form(receipt["proposal_id"]) | {"reason_text": "Once."}
    assert [bob.post(path, form).status_code for _ in range(2)] == [303, 409]
    assert bob.post(path, form | {"decision_key": ""}).status_code == 409
    late = bob.form(receipt["proposal_id"]) | {"reason_text": "Too late."}
    assert bob.decide(receipt["proposal_id"], "approve").status_code == 303
    answer = bob.post(path.replace("/note", "/question"), late)
    assert answer.status_code == 409
    assert "Too late." in answer.text
    assert bob.post("/review/nowhere/note", form).status_code == 404
    page = bob.browser.get(f"/review/{receipt['proposal_id']}").text
    assert page.count("Once.") == 1


def test_a_curator_adds_a_note_to_a_decided_proposal(service: Service) -> None:
    """Notes stay readable after the decision and more can be added; the producer reads them and cannot answer."""
    receipt, bob, eve = propose(service, "Deploy on Fridays."), service.sign_in("bob"), service.sign_in("eve")
    proposal = receipt["proposal_id"]
    assert bob.write(proposal, "note", "Before.").status_code == 303
    assert bob.decide(proposal, "approve").status_code == 303
    page = bob.browser.get(f"/review/{proposal}").text
    assert f'action="/review/{proposal}/note"' in page
    fields = dict(re.findall(r'name="(csrf|decision_key)" value="([^"]*)"', page.partition('id="conversation"')[2]))
    added = bob.post(f"/review/{proposal}/note", fields | {"reason_text": "@eve, the rule changed in spring."})
    assert added.headers["location"] == f"/review/{proposal}?done=noted"
    page = eve.browser.get(f"/review/{proposal}").text
    assert "Before." in page
    assert "the rule changed in spring" in page
    status = service.client.get(f"/v1/submissions/{receipt['submission_id']}", headers=service.bearer()).json()
    assert [note["text"] for note in status["review"]["notes"]] == ["Before.", "@eve, the rule changed in spring."]
    assert service.answer(receipt["submission_id"], "Too late.", "k").status_code == 409
    assert bob.write(proposal, "assignment", person="eve").status_code == 409
    assert app.examine(service.location) == []


def decided_with_mention(service: Service, bob: Desk, decision: str = "approve", **fields: str) -> str:
    """Decide on a proposal, mention eve in a note on it, and return its id."""
    proposal: str = propose(service, "Deploy on Fridays.")["proposal_id"]
    assert bob.decide(proposal, decision, **fields).status_code == 303
    note(bob, proposal, "Is it still so, @eve?")
    return proposal


def note(desk: Desk, proposal: str, text: str) -> None:
    """Add a note to a decided proposal."""
    page = desk.browser.get(f"/review/{proposal}").text.partition('id="conversation"')[2]
    fields = dict(re.findall(r'name="(csrf|decision_key)" value="([^"]*)"', page))
    assert desk.post(f"/review/{proposal}/note", fields | {"reason_text": text}).status_code == 303


def test_a_mention_on_a_decided_proposal_reaches_its_person(service: Service) -> None:
    """The person finds it under For you, named as decided, until an answer; no decision is offered or claimed."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve", person="eva")
    proposal = decided_with_mention(service, bob)
    part = group(eve, "For you")
    assert '<span class="word">decided</span>' in part
    assert "mentions you" in part
    assert "Start reviewing" not in eve.browser.get("/review").text
    assert start(eve) == "/review?done=all-held"
    assert group(bob, "For you") == ""
    assert "Deploy on Fridays." not in service.sign_in("kim").browser.get("/review").text
    assert "/seen" not in bob.browser.get(f"/review/{proposal}").text
    note(eve, proposal, "It is.")
    assert group(eve, "For you") == ""
    assert app.examine(service.location) == []


def test_a_mention_is_marked_as_seen_and_clears_nothing_else(service: Service) -> None:
    """The button ends the mention of one person, also when pressed twice; assignments stay."""
    bob, eve, kim = service.sign_in("bob"), service.sign_in("eve"), service.sign_in("kim")
    proposal = decided_with_mention(service, bob)
    note(bob, proposal, "And you, @kim?")
    form = eve.form(proposal)
    assert f'action="/review/{proposal}/seen"' in eve.browser.get(f"/review/{proposal}").text
    for _ in range(2):
        answer = eve.post(f"/review/{proposal}/seen", form | {"q": "kind:procedure"})
        assert answer.headers["location"] == f"/review/{proposal}?done=seen&q=kind%3Aprocedure"
    assert group(eve, "For you") == ""
    assert "mentions you" in group(kim, "For you")
    page = eve.browser.get(f"/review/{proposal}?done=seen").text
    assert "Marked as seen." in page
    assert f'action="/review/{proposal}/seen"' not in page
    assert eve.post("/review/nowhere/seen", form).status_code == 404
    waiting = propose(service, "Feed the quokkas at noon.")["proposal_id"]
    assert bob.write(waiting, "assignment", person="eve").status_code == 303
    assert bob.write(waiting, "note", "Please, @eve.").status_code == 303
    assert eve.post(f"/review/{waiting}/seen", form).status_code == 303
    assert "assigned to you" in group(eve, "For you")
    assert "mentions you" not in group(eve, "For you")


def test_a_mention_outlives_what_follows_a_decision(service: Service) -> None:
    """A mention stays while others retract or undo, and ends with the next decision."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    proposal = decided_with_mention(service, bob)
    assert bob.decide(proposal, "retract", reason_code="outdated").status_code == 303
    assert ">decided<" in group(eve, "For you")
    assert bob.decide(proposal, "undo", reason_code="other", reason_text="Not so.").status_code == 303
    assert bob.decide(proposal, "undo", reason_code="other", reason_text="Again.").status_code == 303
    part = group(eve, "For you")
    assert "mentions you" in part
    assert ">decided<" not in part
    assert start(eve) == f"/review/{proposal}"
    assert bob.decide(proposal, "reject", reason_code="wrong").status_code == 303
    assert group(eve, "For you") == ""


def test_an_erased_text_mentions_no_person(service: Service) -> None:
    """An erasure takes the proposal out of the group of the mentioned person, as its notes are gone."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    proposal = decided_with_mention(service, bob, "reject", reason_code="wrong")
    assert "mentions you" in group(eve, "For you")
    app.erase(service.location, proposal, "private")
    assert group(eve, "For you") == ""
    assert f'action="/review/{proposal}/seen"' not in eve.browser.get(f"/review/{proposal}").text
    assert app.examine(service.location) == []


def test_an_erased_proposal_takes_no_note(service: Service) -> None:
    """After an erasure the page offers no note, and a form from before is refused."""
    receipt, bob = propose(service, "Deploy on Fridays."), service.sign_in("bob")
    proposal = receipt["proposal_id"]
    assert bob.decide(proposal, "reject", reason_code="wrong").status_code == 303
    form = bob.form(proposal) | {"reason_text": "Late."}
    app.erase(service.location, proposal, "private")
    assert bob.post(f"/review/{proposal}/note", form).status_code == 403
    assert f"/review/{proposal}/note" not in bob.browser.get(f"/review/{proposal}").text


def test_an_open_tab_hears_of_an_answer(service: Service) -> None:
    """The counters of a tab that shows a proposal have the number of all notes, and of those of its producer."""
    receipt, views = propose(service, "Deploy on Fridays."), service.state.desk_views
    assert service.sign_in("bob").write(receipt["proposal_id"], "question", "Which?").status_code == 303
    asked = ProposalActivity(decisions=0, notes=1, answers=0)
    assert (views.counters(receipt["proposal_id"]).activity, views.counters().activity) == (asked, None)
    assert service.answer(receipt["submission_id"], "All.", "k").status_code == 201
    assert views.counters(receipt["proposal_id"]).activity == replace(asked, notes=2, answers=1)
    assert 'data-answers="1"' in service.sign_in("bob").browser.get(f"/review/{receipt['proposal_id']}").text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        (" \n ", "it is empty"),
        ("x" * 2001, "2,000 characters"),
        ("The token is ghp_" + "a1B2" * 9, "private data"),
    ],
)
def test_a_note_that_cannot_be_kept_says_why(service: Service, text: str, why: str) -> None:
    """A curator's note is held to the rules of a producer's, because the producer may read it."""
    receipt, bob = propose(service, "Deploy on Fridays."), service.sign_in("bob")
    for route in ("note", "question"):
        answer = bob.write(receipt["proposal_id"], route, text)
        assert answer.status_code == 400
        assert why in answer.text
    assert "Nothing was said yet." in bob.browser.get(f"/review/{receipt['proposal_id']}").text


def test_hostile_texts_are_shown_as_texts(service: Service) -> None:
    """Markup and hidden characters of a note are escaped or drawn."""
    receipt, bob = propose(service, "Deploy on Fridays."), service.sign_in("bob")
    bob.write(receipt["proposal_id"], "note", "<script>x</script>")
    service.answer(receipt["submission_id"], "a\u202eb", "k")
    page = bob.browser.get(f"/review/{receipt['proposal_id']}").text
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert "\u202e" not in page


def test_auditors_read_the_conversation_and_write_nothing(service: Service) -> None:
    """An auditor sees the notes and the waiting group without forms; a form of an auditor is refused."""
    receipt, bob, una = (
        propose(service, "Deploy on Fridays."),
        service.sign_in("bob"),
        service.sign_in("una", "auditor"),
    )
    bob.write(receipt["proposal_id"], "question", "Which Fridays?")
    page = una.browser.get(f"/review/{receipt['proposal_id']}").text
    assert "Which Fridays?" in page
    assert 'name="person"' not in page
    assert "Deploy on Fridays." in group(una, "Waiting for the producer")
    form = bob.form(receipt["proposal_id"])
    csrf = re.search(r'name="csrf" value="([^"]+)"', una.browser.get("/settings").text)
    assert csrf
    assert una.post(f"/review/{receipt['proposal_id']}/note", form | {"csrf": csrf[1]}).status_code == 403


def test_a_producer_that_cannot_read_is_not_asked(location: Location, tmp_path: Path) -> None:
    """A proposal opened from a conflict, and one of an unlisted producer, say why no question arrives."""
    policies = write_policies(tmp_path / "policies")
    with running(location, policies) as service:
        bob = service.sign_in("bob")
        first = propose(service, "The first event.", idempotency_key="a")["proposal_id"]
        conflict = propose(service, "Another event.", idempotency_key="a")["quarantine_id"]
        page = bob.browser.get(f"/quarantine/{conflict}").text
        form = dict(re.findall(r'name="(csrf|version|decision_key)" value="([^"]*)"', page))
        assert bob.post(f"/quarantine/{conflict}/open", form).status_code == 303
        opened = re.findall(r'href="/review/([0-9a-f-]{36})"', bob.browser.get("/review").text)
        (other,) = set(opened) - {first}
        assert bob.write(first, "question", "Which?").status_code == 303
        answer = bob.write(other, "question", "Which?")
        assert (answer.status_code, "from a conflict" in answer.text) == (403, True)
        waiting = propose(service, "Of the watcher.", producer_identity="tool:watcher")
        listed = (policies / "producers.toml").read_text()
        (policies / "producers.toml").write_text(listed.replace("tool:watcher", "tool:other"))
        service.state.admission._policies.refresh()
        answer = bob.write(waiting["proposal_id"], "question", "Which?")
        assert (answer.status_code, "does not list its producer" in answer.text) == (403, True)


def test_a_first_approval_keeps_the_question_open(service: Service) -> None:
    """A decision that leaves the proposal waiting ends only the turn of its person."""
    wide = propose(service, "For all.", submission_scope="organization", scope_id="labs")
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    bob.write(wide["proposal_id"], "question", "For all?")
    service.answer(wide["submission_id"], "Yes.", "k")
    assert "answered" in group(bob, "For you")
    bob.write(wide["proposal_id"], "assignment", person="eve")
    assert bob.decide(wide["proposal_id"], "approve").status_code == 303
    assert group(bob, "For you") == ""
    assert "assigned to you" in group(eve, "For you")
    assert eve.decide(wide["proposal_id"], "approve").status_code == 303
    assert group(eve, "For you") == ""


def test_the_log_of_an_item_has_its_conversation(service: Service) -> None:
    """Each note, question, answer and assignment has a leaf, which the page of the item lists."""
    receipt, bob = propose(service, "Deploy on Fridays."), service.sign_in("bob")
    bob.write(receipt["proposal_id"], "note", "A note.")
    bob.write(receipt["proposal_id"], "question", "Which Fridays?")
    service.answer(receipt["submission_id"], "All.", "k")
    bob.write(receipt["proposal_id"], "assignment", person="bob")
    page = bob.browser.get(f"/audit/items/{receipt['proposal_id']}").text
    kinds = re.findall(r"<strong>(note|question|answer|assignment)</strong>", page)
    assert kinds == ["note", "question", "answer", "assignment"]
    assert "Which Fridays?" not in page
