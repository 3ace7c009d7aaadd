"""Upkeep of memories in a real browser: approve with a review date, see the reader, keep the memory later."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import expect

from journey import EITHER_WAY, Journey
from journeys.test_whole_desk import press, said
from support import database

pytestmark = EITHER_WAY
DAY = 86_400_000_000


def day(ahead: int) -> str:
    """Return a day from today on, as a date field writes it."""
    return (datetime.now(UTC) + timedelta(days=ahead)).date().isoformat()


def test_a_memory_comes_up_for_review_and_is_kept(journey: Journey) -> None:
    """The date of the approval lists the memory once it has passed; its page names the proposal that uses it."""
    proposal = journey.submit(content="The staging host is called Gemini.")["proposal_id"]
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/review/{proposal}")
    page.get_by_text("Review it again later").click()
    page.get_by_label("Review again after").fill(day(20))
    press(page, "Approve")
    said(page, "Approved and added to memory.")
    assert journey.remembered() == ["The staging host is called Gemini."]
    with database(journey.location) as raw:
        (memory_id,) = raw.execute("SELECT memory_id FROM memories").fetchone()
        raw.execute(f"UPDATE upkeep SET review_after = review_after - {22 * DAY}")
    journey.submit(content="Gemini has two disks.", derived_from=[memory_id])
    page.goto(f"{journey.url}/memories")
    page.get_by_role("link", name="To review 1").click()
    expect(page.get_by_text("review date passed")).to_be_visible()
    page.get_by_role("link", name="The staging host is called Gemini.").click()
    expect(page.get_by_role("link", name="due for review")).to_be_visible()
    expect(page.get_by_role("link", name="Gemini has two disks.").first).to_be_visible()
    page.get_by_label("Review again after").fill(day(90))
    press(page, "Keep it")
    said(page, "Kept.")
    page.get_by_text("2 dates set so far").click()
    expect(page.locator("#review-date")).to_contain_text(f"review after {day(90)}, set by bob")
    page.goto(f"{journey.url}/memories?view=due")
    expect(page.get_by_text("No memory is due for review")).to_be_visible()
