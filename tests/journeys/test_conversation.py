"""The conversation in a real browser: keys and buttons, with and without scripts."""

import httpx
from playwright.sync_api import expect

from journey import EITHER_WAY, Journey
from support import HANG_SECONDS


def answer(journey: Journey, submission_id: str, text: str) -> None:
    """Answer as the agent."""
    headers = {"authorization": f"Bearer {journey.token}", "idempotency-key": "answer"}
    path = f"{journey.url}/v1/submissions/{submission_id}/notes"
    assert httpx.post(path, json={"text": text}, headers=headers, timeout=HANG_SECONDS).status_code == 201


@EITHER_WAY
def test_a_question_goes_to_the_producer_and_its_answer_comes_back(journey: Journey) -> None:
    """A curator asks, finds the proposal among the waiting ones, and gets it back first with the answer."""
    receipt = journey.submit(content="Deploy on Fridays.")
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/review/{receipt['proposal_id']}")
    page.get_by_label("Note, optional").fill("Which Fridays?")
    page.get_by_role("button", name="Ask the producer").click()
    expect(page.get_by_role("status")).to_contain_text("Asked.")
    page.goto(f"{journey.url}/review")
    expect(page.get_by_role("heading", name="Waiting for the producer")).to_be_visible()
    answer(journey, receipt["submission_id"], "Every second one.")
    page.goto(f"{journey.url}/review")
    expect(page.get_by_role("heading", name="For you")).to_be_visible()
    page.get_by_role("button", name="Start reviewing").click()
    expect(page.get_by_role("link", name="the producer answered")).to_be_visible()
    expect(page.locator("#conversation")).to_contain_text("Every second one.")
    page.get_by_label("Assigned to").select_option("bob")
    page.get_by_role("button", name="Assign", exact=False).click()
    expect(page.locator("#scope")).to_contain_text("assigned to you")
    page.get_by_role("button", name="Approve", exact=False).first.click()
    expect(page.get_by_role("status")).to_contain_text("Approved")
    assert journey.remembered() == ["Deploy on Fridays."]


def test_keys_ask_and_assign(with_scripts: Journey) -> None:
    """The key of a question leads to the empty note field and sends a written note; another key chooses a person."""
    journey = with_scripts
    receipt = journey.submit(content="Deploy on Fridays.")
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/review/{receipt['proposal_id']}")
    page.wait_for_selector("body[data-armed]")
    page.keyboard.press("i")
    expect(page.get_by_label("Assigned to")).to_be_focused()
    page.locator("h1").first.focus()
    page.keyboard.press("q")
    field = page.get_by_label("Note, optional")
    expect(field).to_be_focused()
    expect(page.locator("#early")).to_contain_text("Write the question first")
    page.keyboard.type("Which Fridays?")
    page.keyboard.press("Tab")
    page.keyboard.press("q")
    expect(page.get_by_role("status")).to_contain_text("Asked.")
    page.goto(f"{journey.url}/review/{receipt['proposal_id']}")
    expect(page.locator("#news")).to_be_hidden()
    answer(journey, receipt["submission_id"], "Every second one.")
    expect(page.locator("#news")).to_contain_text("The producer wrote an answer meanwhile.")
