"""What else says nearly the same: similar memories among all, and reports of other owners and sources."""

import re
from typing import Any

from support import Service, event

TEXT = "Rotate the signing key of the billing gateway before each quarterly audit begins."


def propose(service: Service, content: str, producer: str = "worker:release-bot", **members: Any) -> str:
    """Submit an event and return its proposal."""
    body = event(content, producer_identity=producer, **members)
    proposal: str = service.submit(body).json()["proposal_id"]
    return proposal


def evidence(page: str) -> str:
    """Return the card of evidence of a page, without markup."""
    card = page.partition("Independent evidence</h2>")[2].partition("</section>")[0]
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", card))


def test_an_old_memory_is_found_by_its_rare_words(service: Service) -> None:
    """A memory with nearly the same text is shown, however many others the scope has; those of other words are not."""
    desk = service.sign_in()
    for content in (TEXT, *(f"The service number {number} restarts at night." for number in range(8))):
        assert desk.decide(propose(service, content), "approve").status_code == 303
    page = desk.browser.get(f"/review/{propose(service, TEXT.replace('quarterly', 'yearly'))}").text
    similar = page.partition('id="similar"')[2].partition("</section>")[0]
    assert similar.count("<article>") == 1
    assert "<ins>" in similar
    assert "restarts at night" not in similar


def test_a_text_whose_words_no_memory_has_is_compared_with_none(service: Service) -> None:
    """Neither in an empty scope nor beside memories of other words does a page show similar ones."""
    desk = service.sign_in()
    first = propose(service, TEXT)
    assert 'id="similar"' not in desk.browser.get(f"/review/{first}").text
    assert desk.decide(first, "approve").status_code == 303
    other = propose(service, "Cats sleep.")
    assert 'id="similar"' not in desk.browser.get(f"/review/{other}").text


def test_nearly_the_same_claim_of_another_owner_and_source_is_corroboration(service: Service) -> None:
    """The page counts owners and sources and links to the other report, whether it waits or was approved."""
    other = propose(
        service, TEXT.replace("each", "every"), "tool:watcher", source_span={"uri": "repo://apollo/other.md"}
    )
    own = propose(service, TEXT)
    service.wait_until_sorted()
    desk = service.sign_in()
    card = evidence(desk.browser.get(f"/review/{own}").text)
    assert "2 owners, 2 sources" in card
    assert "nearly the same proposal" in card
    assert desk.decide(other, "approve").status_code == 303
    page = desk.browser.get(f"/review/{own}").text
    assert "2 owners, 2 sources" in evidence(page)
    assert "nearly the same memory" in evidence(page)
    assert f'href="/memories/{service.recall()[0]["memory_id"]}"' in page


def test_the_opposite_claim_of_another_owner_is_no_evidence(service: Service) -> None:
    """A memory or a waiting proposal that says the opposite is listed as such, and its owner does not count."""
    other = propose(
        service, TEXT.replace("before", "after"), "tool:watcher", source_span={"uri": "repo://apollo/other.md"}
    )
    own = propose(service, TEXT)
    service.wait_until_sorted()
    desk = service.sign_in()
    says = "contradicts this text, does not count"
    card = evidence(desk.browser.get(f"/review/{own}").text)
    assert "owners" not in card
    assert f"nearly the same proposal {says}" in card
    assert desk.decide(other, "approve").status_code == 303
    card = evidence(desk.browser.get(f"/review/{own}").text)
    assert "owners" not in card
    assert f"nearly the same memory {says}" in card


def test_the_same_event_from_another_producer_is_a_second_report(service: Service) -> None:
    """A second report of the same event counts its owner, and the source once."""
    own = propose(service, TEXT)
    propose(service, TEXT, "tool:watcher")
    card = evidence(service.sign_in().browser.get(f"/review/{own}").text)
    assert "second report of the same event" in card
    assert "2 owners, 1 source" in card


def test_a_claim_of_one_producer_is_said_to_be_its_own(service: Service) -> None:
    """Without evidence and near duplicates, the page names the only producer."""
    card = evidence(service.sign_in().browser.get(f"/review/{propose(service, TEXT)}").text)
    assert "Only worker:release-bot has reported this so far." in card
    assert "owner" not in card
