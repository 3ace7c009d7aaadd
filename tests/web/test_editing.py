"""Editing: exactly the curator's changes are saved, after a preview."""

import html
import re

import pytest

from antechamber.core.review.edit_field import MAX_TOKENS
from support import Desk, Service, edit_field, event

PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0646\u0645\u06cc\u200c\u0634\u0648\u062f"
EMOJI = "\U0001f468\u200d\U0001f469\u200d\U0001f467 \u26a0\ufe0f"
ODD = (
    f"{PERSIAN} {EMOJI} \u6771\u4eac\u3000\u5927\u962a soft\u00adhyphen wide\u3000gap bidi\u202eecived\u202c "
    "tag\U000e0041\U000e007f line\u2028end\u0085x zwsp\u200b\u200b\u200bx \u27e6U+200C\u27e7 \u27e6x\u27e7 p\u0430ypal "
    "null\0x"
)


def propose(service: Service, content: str = ODD) -> str:
    """Submit an event and return its proposal."""
    proposal: str = service.submit(event(content)).json()["proposal_id"]
    return proposal


def stored(service: Service, desk: Desk, proposal: str) -> str:
    """Approve a proposal as a second person and return the text that agents read."""
    assert desk.decide(proposal, "approve").status_code == 303
    content: str = service.recall()[0]["content"]
    return content


def words(page: str) -> str:
    """Return the visible words of a page's main part."""
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", "", page.partition("<main")[2])))


def test_a_word_typed_at_the_end_changes_nothing_else(service: Service) -> None:
    """Persian, emoji, wide spaces, soft hyphens and hidden characters reach the memory as proposed."""
    proposal, bob = propose(service), service.sign_in("bob")
    typed = edit_field(bob.browser.get(f"/review/{proposal}").text) + " Done."
    assert PERSIAN in typed
    assert EMOJI in typed
    assert "soft\u27e6U+00AD\u27e7hyphen" in typed
    assert bob.decide(proposal, "edit", content=typed.replace("\n", "\r\n"), reason_code="unclear").status_code == 303
    assert stored(service, service.sign_in("eve"), proposal) == f"{ODD} Done."


def test_a_token_that_is_deleted_is_the_whole_change(service: Service) -> None:
    """When a curator removes a token of hidden characters, nothing else changes."""
    proposal, bob = propose(service), service.sign_in("bob")
    typed = edit_field(bob.browser.get(f"/review/{proposal}").text)
    typed = typed.replace("\u27e6U+202E\u27e7", "").replace("\u27e6U+202C\u27e7", "")
    assert bob.decide(proposal, "edit", content=typed, reason_code="unsafe").status_code == 303
    assert stored(service, service.sign_in("eve"), proposal) == ODD.replace("\u202e", "").replace("\u202c", "")


def test_the_difference_is_shown_before_anything_is_saved(service: Service) -> None:
    """The difference shows hidden characters as tokens; the form names the resulting text, and only that is saved."""
    proposal, bob = propose(service, "Deploy\u200b on Monday."), service.sign_in("bob")
    form = bob.form(proposal) | {"content": "Deploy on Tuesday.", "reason_code": "wrong", "reason_text": "My note."}
    shown = bob.post(f"/review/{proposal}/edit", form)
    assert shown.status_code == 200
    assert "<h1 tabindex" in shown.text
    assert re.search(r"<del>.*U\+200B.*</del>", shown.text)
    assert re.search(r"<ins>.*Tuesday.*</ins>", shown.text)
    assert "My note." in shown.text
    assert "None yet." in bob.browser.get(f"/review/{proposal}").text
    save = bob.draft(shown.text)
    assert save["decision_key"] == form["decision_key"]
    for changed in ({"content": "Deploy on Friday."}, {"resulting_hash": "blake3:" + "0" * 64}):
        again = bob.post(f"/review/{proposal}/edit", save | changed)
        assert (again.status_code, "Your change" in again.text) == (200, True)
    assert "None yet." in bob.browser.get(f"/review/{proposal}").text
    assert bob.post(f"/review/{proposal}/edit", save).status_code == 303
    assert bob.post(f"/review/{proposal}/edit", save).status_code == 409
    assert stored(service, service.sign_in("eve"), proposal) == "Deploy on Tuesday."


def test_a_curator_goes_back_to_editing_without_losing_a_word(service: Service) -> None:
    """The form keeps text, note and filter; hidden characters that were pasted appear as a token."""
    proposal, bob = propose(service, "Deploy on Monday."), service.sign_in("bob")
    typed = {"content": "Deploy\u200b on\r\nTuesday.", "reason_code": "wrong", "reason_text": "My note.", "q": "deploy"}
    shown = bob.post(f"/review/{proposal}/edit", bob.form(proposal) | typed)
    back = bob.post(f"/review/{proposal}/edit", bob.draft(shown.text) | {"again": "1"})
    assert back.status_code == 200
    assert edit_field(back.text) == "Deploy\u27e6U+200B\u27e7 on\nTuesday."
    assert "data-unsaved" in back.text
    assert "My note." in back.text
    assert 'name="q" value="deploy"' in back.text
    assert "None yet." in back.text


def test_a_draft_is_refused_as_the_edit_would_be(service: Service) -> None:
    """A decision in between, a damaged token or an auditor's role records nothing and keeps the text."""
    proposal, bob = propose(service), service.sign_in("bob")
    damaged = bob.decide(proposal, "edit", content="My \u27e6U+20 text.", reason_code="wrong")
    assert damaged.status_code == 400
    assert "The token \u27e6U+20 is damaged" in html.unescape(damaged.text)
    assert edit_field(damaged.text) == "My \u27e6U+20 text."
    form = bob.form(proposal) | {"content": "My text.", "reason_code": "wrong"}
    save = bob.draft(bob.post(f"/review/{proposal}/edit", form).text)
    assert service.sign_in("eve").decide(proposal, "flag").status_code == 303
    assert bob.decide(proposal, "edit", content="", reason_code="wrong").status_code == 400
    assert service.sign_in("kim").decide(proposal, "reject", reason_code="wrong").status_code == 303
    late = bob.post(f"/review/{proposal}/edit", save)
    assert late.status_code == 409
    assert "My text." in late.text
    stale = bob.post(f"/review/{proposal}/edit", save | {"content": "My \u27e6U+20 text."})
    assert stale.status_code == 400


def test_a_stale_form_with_a_damaged_token_keeps_the_text(service: Service) -> None:
    """A damaged token is shown as typed, without a difference."""
    proposal, bob = propose(service), service.sign_in("bob")
    page = bob.decide(proposal, "reject", reason_code="wrong", version="9", content="My \u27e6U+20 text.")
    assert page.status_code == 409
    assert "My \u27e6U+20 text." in html.unescape(page.text)
    assert "How it differs" not in page.text


def test_a_damaged_token_in_a_group_records_nothing(service: Service) -> None:
    """A group cannot be edited, whatever its form contains."""
    proposal, bob = propose(service), service.sign_in("bob")
    form = bob.form(proposal)
    item = f"{proposal} {form['version']} {form['shown_hash']}"
    sent = {"csrf": form["csrf"], "decision_key": "k", "item-1": item, "content": "\u27e6U+", "reason_code": "wrong"}
    answer = bob.post("/review/group/edit?producer=worker:release-bot", sent)
    assert (answer.status_code, "Nothing was recorded" in answer.text) == (400, True)


@pytest.mark.parametrize("number", [MAX_TOKENS - 1, MAX_TOKENS + 1])
def test_a_text_of_too_many_hidden_places_cannot_be_edited_but_judged(service: Service, number: int) -> None:
    """A text with too many hidden characters for a form can be judged but not edited; below, it is editable."""
    text = "a\u0001" * number + "."
    proposal, bob = propose(service, text), service.sign_in("bob")
    page = bob.browser.get(f"/review/{proposal}").text
    if number > MAX_TOKENS:
        assert "textarea" not in page
        assert "too many to be edited here" in page
        assert bob.decide(proposal, "reject", reason_code="unsafe").status_code == 303
        return
    assert bob.decide(proposal, "edit", content=edit_field(page) + "b", reason_code="unclear").status_code == 303
    assert stored(service, service.sign_in("eve"), proposal) == text + "b"


def test_a_large_change_is_shown_as_the_text_that_results(service: Service) -> None:
    """When a difference would make the page too large, the complete new text is shown."""
    proposal, bob = propose(service, "a\u0001" * 4000), service.sign_in("bob")
    form = bob.form(proposal) | {"content": "Nothing but this.", "reason_code": "unsafe"}
    shown = bob.post(f"/review/{proposal}/edit", form).text
    assert "Too much differs" in shown
    assert "Nothing but this." in words(shown)
    assert len(shown) < 50_000


def test_the_page_after_a_refused_edit_leads_to_its_field(service: Service) -> None:
    """An edit without a change leaves the field open and focused; any other refusal does so where a change is left."""
    proposal, bob = propose(service, "Deploy on Monday."), service.sign_in("bob")
    focused = re.compile(r'<details open>.*?<textarea\s+id="content"[^>]*\sautofocus\s', re.DOTALL)
    unchanged = bob.decide(proposal, "edit", content="Deploy on Monday.", reason_code="unclear")
    assert unchanged.status_code == 400
    assert focused.search(unchanged.text)
    assert focused.search(bob.decide(proposal, "approve", content="Deploy on Tuesday.").text)
    refused = bob.decide(proposal, "reject", content="Deploy on Monday.").text
    assert "Choose a reason" in refused
    assert not focused.search(refused)
    claimed = bob.post(f"/review/{proposal}/claim", bob.form(proposal) | {"content": "Deploy on Tuesday."}).text
    assert claimed.count(" autofocus") == 1
    assert not focused.search(claimed)
