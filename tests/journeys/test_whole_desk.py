"""Every action of a curator, by the pages' buttons: the same records with and without scripts."""

from typing import Any

import httpx
import msgspec
from playwright.sync_api import Page, expect

from journey import EITHER_WAY, Journey
from support import HANG_SECONDS, antechamber, where

pytestmark = EITHER_WAY

OLD = "Run the migration before the deploy: old workers read the new schema."
NEW = "Run the migration an hour before the deploy: old workers read the new schema."


def told(journey: Journey) -> list[tuple[str, str | None, str]]:
    """Return decision, reason and person of each review record, as an auditor exports them."""
    token = antechamber("token", "issue", "auditing", "--role", "auditor", *where(journey.location)).stdout.strip()
    headers = {"authorization": f"Bearer {token}"}
    lines = httpx.get(f"{journey.url}/v1/audit/review-records", headers=headers, timeout=HANG_SECONDS).text.splitlines()
    found: list[dict[str, Any]] = [msgspec.json.decode(line) for line in lines][:-1]
    return [(one["decision"], one["reason_code"], one["person"]) for one in found]


def press(page: Page, name: str, number: int = 0) -> None:
    """Press a button by its exact name and wait for the next page."""
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).nth(number).click()


def said(page: Page, text: str) -> None:
    """Expect the notice of the last action."""
    expect(page.get_by_role("status").filter(has_text=text)).to_be_visible()


def test_decisions_are_made_and_taken_back(journey: Journey) -> None:
    """Approve, reject, supersede, merge, request a second person, retract and expire; then undo each of them."""
    first = journey.submit(content=OLD)["proposal_id"]
    second = journey.submit(content=NEW)["proposal_id"]
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/review/{first}")
    press(page, "Approve")
    said(page, "Approved")
    press(page, "Undo")
    said(page, "Undone")
    assert journey.remembered() == []
    press(page, "Reject: wrong")
    page.goto(f"{journey.url}/review/latest")
    page.get_by_role("link", name=OLD).first.click()
    press(page, "Undo")
    press(page, "Approve")
    page.goto(f"{journey.url}/review/{second}")
    expect(page.get_by_text("% alike")).to_be_visible()
    press(page, "Approve and replace this")
    assert journey.remembered() == [NEW]
    page.goto(f"{journey.url}/review/{second}")
    press(page, "Undo")
    assert journey.remembered() == [OLD]
    press(page, "Already covered: merge")
    press(page, "Undo")
    press(page, "Request second review")
    other = journey.sign_in("eve")
    expect(other.get_by_role("heading", name="Needs you as the second person")).to_be_visible()
    press(other, "Start reviewing")
    press(other, "Approve")
    said(other, "waits for a second person")
    page.goto(f"{journey.url}/review/{second}")
    press(page, "Approve")
    assert journey.remembered() == [NEW, OLD]
    page.get_by_role("navigation", name="Desk").get_by_role("link", name="Memories").click()
    page.get_by_role("link", name=OLD).first.click()
    for kind in ("Retract", "Mark as expired"):
        form = page.locator("form", has=page.get_by_role("button", name=kind, exact=True))
        form.get_by_label("Reason").select_option("outdated")
        press(page, kind)
        assert journey.remembered() == [NEW]
        press(page, "Undo")
        page.goto(f"{journey.url}/review/{first}")
        page.get_by_role("link", name="its memory").click()
    assert journey.remembered() == [NEW, OLD]
    assert told(journey) == [
        ("approve", None, "bob"), ("undo", None, "bob"), ("reject", "wrong", "bob"), ("undo", None, "bob"),
        ("approve", None, "bob"), ("supersede", None, "bob"), ("undo", None, "bob"), ("merge", "duplicate", "bob"),
        ("undo", None, "bob"), ("flag", None, "bob"), ("approve", None, "eve"), ("approve", None, "bob"),
        ("retract", "outdated", "bob"), ("undo", None, "bob"), ("expire", "outdated", "bob"), ("undo", None, "bob"),
    ]  # fmt: skip


def test_the_queue_is_filtered_held_and_cleared_in_groups(journey: Journey) -> None:
    """A filter saved as a view, claims that others see and take over, a skip, and near duplicates decided at once."""
    for number in range(4):
        journey.submit(
            content=f"The staging host is rebuilt every night at two, so keep no files there. Copy {number}."
        )
    journey.submit(content="Prefer short branches to long ones.")
    page, other = journey.sign_in("bob"), journey.sign_in("eve")
    page.goto(f"{journey.url}/review")
    expect(page.get_by_role("link", name="4 near duplicates")).to_be_visible()
    page.get_by_role("searchbox", name="Filter").fill("short branches")
    press(page, "Filter")
    expect(page.locator("a.whole")).to_have_text(["Prefer short branches to long ones."])
    page.get_by_text("Filters and views").click()
    page.get_by_label("Save this filter as").fill("Branches")
    press(page, "Save")
    page.get_by_role("link", name="Show all").first.click()
    page.get_by_role("link", name="Branches 1").click()
    expect(page.locator("a.whole")).to_have_count(1)
    page.goto(f"{journey.url}/review")
    press(page, "Start reviewing")
    expect(page.get_by_text("held by you")).to_be_visible()
    other.goto(page.url)
    expect(other.get_by_text("held by bob")).to_be_visible()
    press(other, "Take over")
    expect(other.get_by_text("held by you")).to_be_visible()
    press(page, "Skip")
    press(page, "Skip")
    said(page, "held by another curator")
    page.goto(f"{journey.url}/review")
    page.get_by_role("link", name="4 near duplicates").click()
    expect(page.locator("article p.text:not(.diff)")).to_have_count(4)
    expect(page.locator("article p.diff")).to_have_count(3)
    page.get_by_role("checkbox").nth(2).uncheck()
    press(page, "Reject: duplicate")
    said(page, "3 recorded")
    assert told(journey) == [("reject", "duplicate", "bob")] * 3


def test_the_quarantine_is_settled_and_taken_back(journey: Journey) -> None:
    """Keep the original, undo that, open the other as a separate proposal; a private event is dismissed."""
    journey.submit(content="The original.", idempotency_key="first")
    journey.submit(content="The other.", idempotency_key="first")
    journey.submit(content="A personal remark.", visibility="private")
    page = journey.sign_in("bob")
    page.get_by_role("navigation", name="Desk").get_by_role("link", name="Quarantine").click()
    expect(page.get_by_role("heading", name="Quarantine")).to_be_visible()
    page.get_by_role("link", name="The other.").click()
    press(page, "Keep the original")
    press(page, "Undo")
    expect(page.get_by_role("heading", name="Refused event")).to_be_visible()
    said(page, "Undone")
    page.get_by_label("Note").first.fill("Both are worth a look.")
    press(page, "Open the other as a new proposal")
    expect(page.locator("p.text").first).to_have_text("The other.")
    press(page, "Approve")
    page.goto(f"{journey.url}/quarantine")
    page.locator("label", has_text="Dismiss").click()
    press(page, "Record the marks")
    expect(page.get_by_text("The quarantine is empty")).to_be_visible()
    assert journey.remembered() == ["The other."]
    decisions = [decision for decision, _, _ in told(journey)]
    assert decisions == ["keep", "undo", "open", "approve", "dismiss"]
