"""Webhooks of a review in a real browser: what a curator does arrives signed, in order and without text."""

import json

from playwright.sync_api import expect

from journey import EITHER_WAY, Journey
from receiver import Receiver
from support import antechamber, until, where

pytestmark = EITHER_WAY
TEXT = "Deploy on Fridays."
EVENTS = ["proposal.waiting", "proposal.question", "proposal.decided", "memory.admitted"]


def test_a_receiver_learns_what_a_curator_asks_and_decides(journey: Journey) -> None:
    """The operator adds an endpoint; a proposal, a question about it and its approval arrive, and no text does."""
    place = where(journey.location)
    with Receiver().running() as receiver:
        chosen = [word for name in EVENTS for word in ("--event", name)]
        added = antechamber("webhook", "add", receiver.url, *chosen, "--allow-private", *place)
        receipt = journey.submit(content=TEXT)
        page = journey.sign_in("bob")
        page.goto(f"{journey.url}/review/{receipt['proposal_id']}")
        page.get_by_label("Note, optional").fill("Which Fridays?")
        page.get_by_role("button", name="Ask the producer").click()
        expect(page.get_by_role("status")).to_contain_text("Asked.")
        page.goto(f"{journey.url}/review/{receipt['proposal_id']}")
        page.get_by_role("button", name="Approve", exact=False).first.click()
        expect(page.get_by_role("status")).to_contain_text("Approved")
        assert until(lambda: {event["type"] for event in receiver.events} >= set(EVENTS), "four kinds of events")
        receiver.verify(added.stdout.strip())
        assert [event["type"] for event in receiver.events][:2] == EVENTS[:2]
        sent = json.dumps(receiver.events)
        assert receipt["proposal_id"] in sent
        assert TEXT not in sent
        assert "Which Fridays?" not in sent
