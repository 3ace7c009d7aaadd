"""From the masked view of a sealed event to a memory, in a real browser, on both engines."""

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from journey import EITHER_WAY, Journey
from support import HANG_SECONDS, dump, write_policies

pytestmark = EITHER_WAY

MIRA, NOOR = "mira.solberg" + "@" + "orbit-works.dev", "noor" + "@" + "orbit-works.dev"
SCOPES = """
reveal = ["bob", "eve", "ada"]

[scope.project]
keep_private = "sealed"
actions = {email-address = "quarantine"}
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy that keeps private events of projects sealed."""
    return write_policies(tmp_path / "policies", scopes=SCOPES)


def test_a_sealed_event_is_redacted_released_and_approved_by_another_person(journey: Journey) -> None:
    """Masks, one revealed span, a redaction in the queue that its redactor cannot admit alone, then a memory."""
    answer = journey.submit(content=f"Ask {MIRA} before the deploy, or {NOOR}.", idempotency_key="one")
    assert answer["disposition"] == "rejected-private"
    page = journey.sign_in("bob")
    page.get_by_role("link", name="Quarantine").click()
    page.get_by_role("link", name="Private, sealed").click()
    expect(page.get_by_role("img", name="Hidden span 1: e-mail address")).to_be_visible()
    expect(page.get_by_text("before the deploy").first).to_be_visible()
    assert MIRA not in page.content()
    page.get_by_role("combobox", name="Span").select_option("2")
    page.get_by_label("Why you need to see it").fill("Is it the address of the team?")
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("ins.shown")).to_contain_text(NOOR)
    assert MIRA not in page.content()
    field = page.get_by_label("Text to remember")
    expect(field).to_have_value("Ask [redacted] before the deploy, or [redacted].")
    field.fill("Ask the owner before the deploy.")
    page.get_by_role("button", name="Redact and release").click()
    expect(page.get_by_role("status")).to_contain_text("Released redacted")
    proposal = page.url.partition("?")[0]
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("It waits for a second person")
    assert journey.remembered() == []
    owner = journey.sign_in("ada")
    owner.goto(proposal)
    expect(owner.get_by_role("button", name="Approve")).to_be_disabled()
    other = journey.sign_in("eve")
    other.goto(proposal)
    other.get_by_role("button", name="Approve").click()
    expect(other.get_by_role("status")).to_contain_text("Approved")
    assert journey.remembered() == ["Ask the owner before the deploy."]
    headers = {"authorization": f"Bearer {journey.token}"}
    status = httpx.get(f"{journey.url}/v1/submissions/by-key/one", headers=headers, timeout=HANG_SECONDS).json()
    assert (status["disposition"], status["review"]["state"]) == ("rejected-private", "approved")
    stored = dump(journey.location)
    assert MIRA not in stored
    assert NOOR not in stored


def test_a_sealed_event_is_destroyed_or_cleared(journey: Journey) -> None:
    """Destroyed, nothing is left to show; as a false alarm, the page has an example for the policy."""
    for number in range(2):
        journey.submit(content=f"Ask {MIRA}, number {number}.")
    page = journey.sign_in("bob")
    page.goto(f"{journey.url}/quarantine")
    page.get_by_role("link", name="Private, sealed").first.click()
    page.get_by_role("button", name="Destroy").click()
    expect(page.get_by_role("status")).to_contain_text("Destroyed")
    page.get_by_role("link", name="Private, sealed").click()
    page.get_by_role("button", name="Mark as a false alarm").click()
    expect(page.get_by_role("heading", name="False alarm")).to_be_visible()
    expect(page.locator("pre")).to_contain_text(f"Ask {MIRA}, number 0.")
    page.get_by_role("link", name="Quarantine").first.click()
    expect(page.get_by_text("The quarantine is empty")).to_be_visible()
