"""Pages of large and hidden texts are bounded in size and elements, and only texts shown in full can be decided."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest

from support import Service, event

ROOM = 64_000
"""Bytes available for content in a submission, besides its other members."""


def filled(unit: str) -> str:
    """Repeat a text until a submission is full."""
    return unit * (ROOM // len(unit.encode()))


WORST: dict[str, str] = {
    "invisible": filled("\u200b"),
    "invisible, alternating": filled("\u200b\u200c"),
    "invisible, all different": "".join(chr(0xE000 + one % 6400) for one in range(ROOM // 3)),
    "between letters": filled("a\u200b"),
    "control between letters": filled("a\u007f"),
    "bidirectional": filled("a\u202e"),
    "tags": filled("\U000e0041\U000e0042"),
    # As many tags as a text may have without being private because it cannot be verified.
    "tags and others": "\U000e0041\u200b" * 4_900,
    "marks": filled("e" + "\u0301" * 40),
    "look-alikes": filled("a\u0430"),
    "words": filled("different words to compare "),
    "brackets": filled("\u27e6"),
}


def propose(service: Service, content: str, **members: Any) -> str:
    """Submit an event and return its proposal."""
    answer = service.submit(event(content, **members))
    assert answer.status_code == 201, answer.text
    proposal: str = answer.json()["proposal_id"]
    return proposal


def marks(page: str) -> int:
    """Count the tokens of a page."""
    return page.count('class="mark"')


def test_a_group_of_forty_hidden_texts_is_a_small_page(service: Service) -> None:
    """Each run of hidden characters is one token with a count, so each text is shown whole and can be decided."""
    for number in range(40):
        propose(service, f"Copy {number}." + "\u200b" * 20_000)
    desk = service.sign_in()
    page = desk.browser.get("/review/group?producer=worker:release-bot").text
    assert page.count("<article") == 40
    assert marks(page) == 40
    assert page.count("U+200B \u00d7 20,000") == 40
    boxes = re.findall(r'type="checkbox" (?:id|name)="([^"]+)"', page)
    # The first one unfolds the reasons on a narrow screen and is not sent.
    assert boxes == ["rejecting", *(f"item-{number}" for number in range(1, 41))]
    assert page.count('type="checkbox"') == len(boxes)
    assert len(page) < 80_000


def test_what_a_group_does_not_show_whole_is_not_decided_in_it(service: Service) -> None:
    """A text that a group shows in part has no box but a link to its page, and a form that names it is refused."""
    short, long = propose(service, "Short."), propose(service, "Long text. " * 2000 + "THE END")
    noted = {"kind": "fact", "content": "Small.", "attributes": {"note": "x" * 20_000}}
    attributed = service.submit(event(payload=noted)).json()["proposal_id"]
    desk, location = service.sign_in(), "producer=worker:release-bot"
    page = desk.browser.get(f"/review/group?{location}").text
    boxes = re.findall(r'name="(item-\d+)" value="([^ ]+) ', page)
    assert [one for _, one in boxes] == [short]
    assert page.count("too long to be decided on here") == 2
    assert f'href="/review/{long}">Open all of it</a>' in page
    assert "THE END" not in page
    assert "1 shown whole, 2 too long for that" in page
    forms = {one: desk.form(one) for one in (short, long, attributed)}
    items = {
        f"item-{number}": f"{one} {form['version']} {form['shown_hash']}"
        for number, (one, form) in enumerate(forms.items())
    }
    sent = {"csrf": forms[short]["csrf"], "decision_key": "some-key", "reason_code": "wrong"} | items
    answer = desk.post(f"/review/group/reject?{location}", sent)
    said = html.unescape(answer.text)
    assert "1 recorded. 2 not recorded:" in re.sub(r"<[^>]+>", "", said)
    assert said.count("open it and decide on it alone") == 2
    for one in (long, attributed):
        assert desk.decide(one, "reject", reason_code="wrong").status_code == 303


@pytest.mark.parametrize("location", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", WORST)
def test_each_page_of_a_worst_text_is_bounded(service: Service, name: str) -> None:
    """The proposal's own page shows the whole text; lists, quarantine, history and differences stay small."""
    text, desk, eve = WORST[name], service.sign_in("bob"), service.sign_in("eve")
    other = text[: len(text) // 2] + " another word " + text[len(text) // 2 : -20]
    first = propose(service, text, idempotency_key="first")
    alone = desk.browser.get(f"/review/{first}").text
    assert len(alone.encode()) < 3_500_000
    assert marks(alone) <= 33_000
    assert "too long" not in alone
    if "different words" in text:
        assert text.strip() in alone
    approved = desk.decide(first, "approve")
    assert approved.status_code == 303, re.findall(r'role="alert">.*?</div>', approved.text, re.DOTALL)
    second = propose(service, other, supersedes=service.recall()[0]["memory_id"])
    refused = service.submit(event(other, idempotency_key="first")).json()["quarantine_id"]
    beside = desk.browser.get(f"/review/{second}").text
    assert "Similar memories" in beside
    assert len(beside.encode()) < 4_000_000
    assert len(desk.browser.get(f"/quarantine/{refused}").text.encode()) < 8_000_000
    edited = desk.decide(second, "edit", content="Short.", reason_code="unsafe")
    assert edited.status_code == 303
    assert eve.decide(second, "approve").status_code == 303
    assert len(eve.browser.get(f"/review/{second}").text.encode()) < 250_000
    for path in ("/review", "/review/latest", "/quarantine", "/memories", "/audit", "/submissions"):
        assert (path, len(eve.browser.get(path).text.encode()) < 60_000) == (path, True)


def test_a_quarantine_of_long_conflicts_shows_beginnings(service: Service) -> None:
    """A quarantined text is cut by its rendered size, however few characters it has, and decided on its own page."""
    text = "a\u0001" * 1500
    for number in range(12):
        service.submit(event(f"{text}{number}", idempotency_key=f"k-{number}"))
        service.submit(event(f"{number}{text}", idempotency_key=f"k-{number}"))
    page = service.sign_in().browser.get("/quarantine").text
    assert page.count("data-item") == 12
    assert page.count("Open it to see it whole and to settle it") == 12
    assert "Keep the original" not in page
    assert marks(page) < 12 * 2 * 40
    assert len(page) < 120_000


def test_a_history_of_edits_shows_beginnings_and_leads_to_the_records(service: Service) -> None:
    """The history of ten edits of a long text shows beginnings and links to the records."""
    proposal, desk = propose(service, "Long text. " * 3000 + "0"), service.sign_in()
    for number in range(1, 6):
        content = "Long text. " * 3000 + str(number)
        assert desk.decide(proposal, "edit", content=content, reason_code="unclear").status_code == 303
    page = desk.browser.get(f"/review/{proposal}").text
    assert page.count("Only the beginning.") == 10
    assert len(page) < 250_000
    record = re.findall(r'href="(/v1/audit/review-records/[^"]+)">Open all of it', page)[0]
    assert desk.browser.get(record).status_code == 200


def test_a_memory_that_differs_too_much_to_be_shown_is_not_named_by_a_button(service: Service) -> None:
    """A memory whose difference is not shown cannot be superseded or merged into there; its own page shows it whole."""
    desk = service.sign_in()
    assert desk.decide(propose(service, "a\u0001" * 4000), "approve").status_code == 303
    memory = service.recall()[0]["memory_id"]
    page = desk.browser.get(f"/review/{propose(service, 'b' + chr(2) * 3, supersedes=memory)}").text
    assert "Too much differs to be shown here." in page
    assert f'href="/memories/{memory}">Open the other text' in page
    assert "Approve and replace this" not in page
    own, _, named = desk.browser.get(f"/memories/{memory}").text.partition('id="named-by"')
    assert (marks(own), marks(named)) == (4000, 1)


def test_a_page_of_a_group_gathers_only_what_it_shows(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Similar memories are not searched for each proposal of a group of a hundred."""
    for number in range(5):
        propose(service, f"Sentence {number} of many.")
    desk, asked = service.sign_in(), list[str]()
    with service.state.desk._store.read() as tx:
        kind = type(tx.review)
    real: Callable[..., Any] = kind.memories_near

    def counted(self: Any, *values: Any) -> Any:
        asked.append("memories_near")
        return real(self, *values)

    monkeypatch.setattr(kind, "memories_near", counted)
    assert desk.browser.get("/review/group?producer=worker:release-bot").text.count("<article") == 5
    assert asked == []
