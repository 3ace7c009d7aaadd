"""Typed text in a real browser: no button beside it discards it, with and without scripts."""

from playwright.sync_api import Page, expect

from journey import EITHER_WAY, Journey

EDIT = "Deploy on Mondays."


def typed(journey: Journey, *, note: str) -> Page:
    """Open a proposal and type an edit and a note."""
    receipt = journey.submit(content="Deploy on Fridays.")
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/review/{receipt['proposal_id']}")
    page.get_by_text("Edit or redact").click()
    page.get_by_label("Text to remember").fill(EDIT)
    page.get_by_label("Note, optional").fill(note)
    return page


@EITHER_WAY
def test_an_edit_survives_the_buttons_beside_it(journey: Journey) -> None:
    """Hold, assign and add a note: each is done, and the edit is there until it is saved."""
    page = typed(journey, note="Ask the owner first.")
    for press, notice in (
        (lambda: page.get_by_role("button", name="Hold for five minutes").click(), "It is yours"),
        (lambda: page.get_by_role("button", name="Assign").click(), "Assignment saved"),
        (lambda: page.get_by_role("button", name="Add note").click(), "Note added"),
    ):
        expect(page.get_by_label("Note, optional")).to_have_value("Ask the owner first.")
        press()
        expect(page.locator("#done")).to_contain_text(notice)
        expect(page.get_by_label("Text to remember")).to_have_value(EDIT)
    expect(page.get_by_label("Note, optional")).to_have_value("")
    expect(page.locator("#conversation")).to_contain_text("Ask the owner first.")
    page.get_by_role("button", name="Edit: unclear").click()
    page.get_by_role("button", name="Save this change").click()
    expect(page.get_by_role("status")).to_contain_text("It waits for a second person")
