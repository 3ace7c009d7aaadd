"""Groups in a real browser: one source with marks, one near duplicate kept, and the list of the quarantine."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from journey import EITHER_WAY, Journey
from journeys.test_whole_desk import press, said, told
from support import write_policies

pytestmark = EITHER_WAY
FILE = {"uri": "repo://apollo/AGENTS.md"}


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy that allows several approvals at once."""
    return write_policies(tmp_path / "policies", scopes="[limits]\nbulk_approve = true\n")


def keys(page: Page, *pressed: str) -> None:
    """Press keys on a page that accepts them."""
    page.wait_for_selector("body[data-armed]")
    for key in pressed:
        page.keyboard.press(key)


def test_a_source_is_read_whole_and_each_item_gets_its_mark(journey: Journey) -> None:
    """Approve, reject and leave by one key or click each; record all at once, and take all of it back."""
    for text in ("Prefer short branches.", "Run the linter first.", "Ask before a force push."):
        journey.submit(content=text, source_span=FILE)
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/review")
    page.get_by_role("link", name="3 from one source").first.click()
    expect(page.locator("article p.text")).to_have_count(3)
    if journey.scripts:
        keys(page, "j", "a", "r", "1", "s", "j", "j", "k", "r", "2")
        with page.expect_navigation():
            keys(page, "w")
    else:
        page.locator("article").nth(0).locator("label", has_text="Approve").click()
        page.locator("article").nth(1).locator("label", has_text="outdated").click()
        press(page, "Record the marks")
    said(page, "2 recorded")
    expect(page.locator("article p.text")).to_have_text(["Ask before a force push."])
    assert journey.remembered() == ["Prefer short branches."]
    assert sorted(told(journey), key=str) == [("approve", None, "bob"), ("reject", "outdated", "bob")]
    press(page, "Undo all 2")
    said(page, "2 undone")
    expect(page.locator("article")).to_have_count(3)
    assert journey.remembered() == []


def test_one_near_duplicate_is_kept_and_that_is_undone(journey: Journey) -> None:
    """Mark the second, keep it: the first is rejected as a duplicate of it, and one undo returns it."""
    for word in ("red", "blue"):
        journey.submit(content=f"The staging host is rebuilt every night at two, so keep no {word} files there.")
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/review")
    page.get_by_role("link", name="2 near duplicates").click()
    expect(page.locator("article ins")).to_have_count(1)
    if journey.scripts:
        keys(page, "j", "Enter")
    else:
        page.get_by_role("button", name="mark this one instead").click()
    expect(page.locator("article").nth(1)).to_contain_text("the others are compared with it")
    if journey.scripts:
        with page.expect_navigation():
            keys(page, "d")
    else:
        press(page, "Keep the marked one")
    said(page, "1 recorded")
    expect(page.locator("article p.text")).to_contain_text(["no blue files"])
    assert told(journey) == [("reject", "duplicate", "bob")]
    if journey.scripts:
        with page.expect_navigation():
            keys(page, "z")
    else:
        press(page, "Undo")
    expect(page.locator("article")).to_have_count(2)


def test_the_quarantine_is_a_list_that_is_filtered_marked_and_undone(journey: Journey) -> None:
    """Filter, open a pair, mark it and the next one, record both; then one undo returns both."""
    for number in range(2):
        journey.submit(content=f"Original {number}.", idempotency_key=f"k-{number}")
        journey.submit(content=f"Refused {number}.", idempotency_key=f"k-{number}")
    journey.submit(content="A personal remark.", visibility="private")
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/quarantine")
    expect(page.locator("a.whole")).to_have_count(3)
    page.get_by_role("link", name="Conflicts").click()
    expect(page.locator("a.whole")).to_have_text(["Refused 1.", "Refused 0."])
    if journey.scripts:
        keys(page, "j", "r", "r", "1", "r", "r", "3")
        with page.expect_navigation():
            keys(page, "w")
    else:
        for place, label in enumerate(("Keep the original", "Dismiss as misuse")):
            row = page.locator(".rows > li").nth(place)
            row.get_by_text("Original and refused, side by side").click()
            expect(row.get_by_role("heading", name="Original, which is kept")).to_be_visible()
            row.get_by_text(label).click()
        press(page, "Record the marks")
    said(page, "2 recorded")
    assert sorted(told(journey)) == [("dismiss", None, "bob"), ("keep", None, "bob")]
    expect(page.get_by_text("No refused event matches")).to_be_visible()
    press(page, "Undo all 2")
    expect(page.locator("a.whole")).to_have_text(["Refused 1.", "Refused 0."])
