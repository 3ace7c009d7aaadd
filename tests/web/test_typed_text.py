"""Typed text survives each button of the desk: the page keeps it, or the button refuses to leave the proposal."""

import html
import re

import pytest

from support import Desk, Service, edit_field, event

TEXT = "Deploy on Fridays."
EDIT = "Deploy on\r\nMondays."
NOTE = "Is it so?"


@pytest.fixture
def proposal(service: Service) -> str:
    """A proposal that waits."""
    proposal_id: str = service.submit(event(TEXT)).json()["proposal_id"]
    return proposal_id


def note_field(page: str) -> str:
    """Return the content of the note field of a page's decision form."""
    found = re.search(r'<input name="reason_text" maxlength="2000" value="([^"]*)"', page)
    assert found
    return html.unescape(found[1])


def filled(desk: Desk, proposal: str, **fields: str) -> dict[str, str]:
    """Return the fields of a decision form with an edit and a note, as a browser sends them."""
    return desk.form(proposal) | {"content": EDIT, "reason_text": NOTE, "q": "kind:procedure"} | fields


@pytest.mark.parametrize(
    ("route", "done"),
    [("claim", "It is yours for five minutes."), ("assignment", "Assignment saved."), ("seen", "Marked as seen.")],
)
def test_an_action_that_leaves_the_page_open_keeps_edit_and_note(
    service: Service, proposal: str, route: str, done: str
) -> None:
    """The answer has both in their fields, with the notice of the action, and the filter; nothing is in an address."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    assert eve.write(proposal, "note", "Is it so, @bob?").status_code == 303
    answer = bob.post(f"/review/{proposal}/{route}", filled(bob, proposal, person="eve", review_after="2031-01-02"))
    assert (answer.status_code, done in answer.text) == (200, True)
    assert edit_field(answer.text) == EDIT.replace("\r", "")
    assert note_field(answer.text) == NOTE
    assert "data-unsaved" in answer.text
    assert 'value="2031-01-02"' in answer.text
    assert 'name="q" value="kind:procedure"' in answer.text
    assert re.search(r'<option value="eve" selected>', answer.text)
    assert bob.browser.get(f"/review/{proposal}").text.count("None yet.") == 1


def test_a_note_that_is_added_keeps_the_edit(service: Service, proposal: str) -> None:
    """The note is recorded and leaves its field; the edit stays."""
    bob = service.sign_in()
    answer = bob.post(f"/review/{proposal}/note", filled(bob, proposal))
    assert (answer.status_code, "Note added." in answer.text) == (200, True)
    assert (edit_field(answer.text), note_field(answer.text)) == (EDIT.replace("\r", ""), "")
    assert f'<p class="text plain" dir="auto">{NOTE}' in answer.text


@pytest.mark.parametrize("route", ["claim", "assignment", "note"])
def test_an_action_on_an_untouched_form_redirects(service: Service, proposal: str, route: str) -> None:
    """A browser sends the edit field with every button; its stored text is nothing typed."""
    bob = service.sign_in()
    fields = bob.form(proposal) | {"content": TEXT, "reason_text": NOTE if route == "note" else ""}
    assert bob.post(f"/review/{proposal}/{route}", fields).status_code == 303


@pytest.mark.parametrize("route", ["skip", "question"])
def test_a_proposal_is_not_left_while_an_edit_is_unsaved(service: Service, proposal: str, route: str) -> None:
    """To skip it or to ask is refused, as an approval is; nothing is recorded and both texts stay."""
    service.submit(event("Feed the quokkas at noon."))
    bob = service.sign_in()
    answer = bob.post(f"/review/{proposal}/{route}", filled(bob, proposal))
    assert (answer.status_code, "You changed the text without saving it." in answer.text) == (400, True)
    assert (edit_field(answer.text), note_field(answer.text)) == (EDIT.replace("\r", ""), NOTE)
    assert "waiting for the producer" not in answer.text
    damaged = bob.post(f"/review/{proposal}/{route}", filled(bob, proposal, content="My \u27e6U+20 text."))
    assert (damaged.status_code, edit_field(damaged.text)) == (400, "My \u27e6U+20 text.")
    left = bob.post(f"/review/{proposal}/{route}", filled(bob, proposal, content=TEXT, reason_text="  Which?  "))
    assert (left.status_code, "Your note is not recorded." in left.text) == (
        (400, True) if route == "skip" else (303, False)
    )
    if route == "skip":
        assert note_field(left.text) == "  Which?  "
        assert (
            bob.post(f"/review/{proposal}/skip", filled(bob, proposal, content=TEXT, reason_text="")).status_code == 303
        )


def test_typed_text_survives_what_another_person_does_meanwhile(service: Service, proposal: str) -> None:
    """An action says what changed; an untouched field shows the new text, and the old one's tick is gone."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    opened = bob.form(proposal) | {"read": "1", "reason_text": NOTE}
    long = f"{TEXT} " + "Ask first. " * 100
    assert eve.decide(proposal, "edit", content=long, reason_code="unclear").status_code == 303
    answer = bob.post(f"/review/{proposal}/claim", opened | {"content": TEXT})
    assert answer.status_code == 200
    assert "What changed since you opened it" in answer.text
    assert edit_field(answer.text) == long.strip()
    assert "data-unsaved" not in answer.text
    assert re.search(r'name="read"[^>]*checked', answer.text) is None
    assert note_field(answer.text) == NOTE
    edited = bob.post(f"/review/{proposal}/claim", opened | {"content": EDIT}).text
    assert edit_field(edited) == EDIT.replace("\r", "")
    assert bob.post(f"/review/{proposal}/skip", opened | {"content": TEXT, "reason_text": ""}).status_code == 303
    assert eve.decide(proposal, "reject", reason_code="wrong").status_code == 303
    late = bob.post(f"/review/{proposal}/claim", opened | {"content": EDIT})
    assert (late.status_code, "What you had typed" in late.text) == (409, True)
    assert EDIT.replace("\r", "") in html.unescape(late.text).replace("\r", "")
