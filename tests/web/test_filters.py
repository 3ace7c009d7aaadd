"""Filters and views of the queue, in the address and in the field alike."""

import html
import re
from typing import Any

import pytest

from antechamber.store import waiting
from support import Desk, Service, event

LETTERS = ("abcdef", "ghijkl", "mnopqr", "stuvwx")


def propose(service: Service, content: str, **members: Any) -> str:
    """Submit an event and return its proposal."""
    proposal: str = service.submit(event(content, **members)).json()["proposal_id"]
    return proposal


def found(desk: Desk, text: str, after: str = "", status: int = 200) -> list[str]:
    """Return what a filter finds."""
    page = desk.browser.get("/review", params={"q": text} | ({"after": after} if after else {}))
    assert page.status_code == status
    return re.findall(r'class="whole" dir="auto" href="/review/([0-9a-f-]{36})"', page.text)


@pytest.fixture
def ids(service: Service) -> dict[str, str]:
    """A queue of different proposals."""
    made = {
        "bot": propose(service, "Deploy an hour after 100 % of the checks passed."),
        "watcher": propose(service, "Cold starts take forty seconds.", producer_identity="tool:watcher"),
        "session": propose(service, "In this session nobody deploys.", submission_scope="session", scope_id="s-1"),
        "wide": propose(service, "Every service has_an owner.", submission_scope="organization", scope_id="labs"),
        "odd": propose(service, "Rollback is safe\u202e.ton ro\u202c on Fridays."),
    }
    service.wait_until_sorted()
    return made


def test_each_part_finds_its_own(service: Service, ids: dict[str, str]) -> None:
    """Parts narrow each other; words find whatever case and signs they are written in."""
    desk = service.sign_in()
    expected = {
        "producer:tool:watcher": ["watcher"],
        "producer:worker:nobody": [],
        "scope:session": ["session"],
        "scope:session:s-2": [],
        "scope:organization:labs": ["wide"],
        "kind:procedure": ["odd", "wide", "bot", "watcher", "session"],
        "kind:fact": [],
        "care:yes": ["odd"],
        "DEPLOY": ["bot", "session"],
        '"an  hour"': ["bot"],
        "deploy producer:worker:release-bot scope:project:apollo": ["bot"],
        "100 %": ["bot"],
        "%": ["bot"],
        "has_an": ["wide"],
        "has!an": [],
        "_": ["wide"],
    }
    assert {text: sorted(found(desk, text)) for text in expected} == {
        text: sorted(ids[name] for name in names) for text, names in expected.items()
    }


def test_what_cannot_be_read_is_said_and_nothing_is_lost(service: Service, ids: dict[str, str]) -> None:
    """The page keeps the text, says what there is, and shows the queue as it is."""
    desk = service.sign_in()
    assert len(found(desk, "age:3d", status=400)) == len(ids)
    page = html.unescape(desk.browser.get("/review?q=age:3d").text)
    assert 'There is no "age:"' in page
    assert 'value="age:3d"' in page
    assert "Nothing that waits matches" in desk.browser.get("/review?q=nowhere").text


def test_only_so_many_are_looked_through_at_once(
    service: Service, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few match, a page comes soon; the next one goes on where this one ended."""
    monkeypatch.setattr(waiting, "WINDOW", 2)
    desk, seen, after = service.sign_in(), [], ""
    for _ in range(4):
        page = desk.browser.get(
            "/review", params={"q": "producer:worker:release-bot"} | ({"after": after} if after else {})
        )
        seen += re.findall(r'class="whole" dir="auto" href="/review/([0-9a-f-]{36})"', page.text)
        following = re.search(r'rel="next" href="[^"]*after=([0-9.]+)"', page.text)
        if following is None:
            break
        after = following[1]
    assert sorted(seen) == sorted(ids[name] for name in ("bot", "session", "wide", "odd"))


def test_views_belong_to_a_person_and_stay(service: Service, ids: dict[str, str]) -> None:
    """Kept under a name, found again in any session, forgotten by a button; a bad one says why."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    csrf = bob.form(ids["bot"])["csrf"]
    kept = bob.post("/review/views", {"csrf": csrf, "name": "Mine", "q": "care:yes"})
    assert (kept.status_code, kept.headers["location"]) == (303, "/review?q=care%3Ayes&done=kept")
    assert '<a href="/review?q=care%3Ayes">Mine</a>' in service.sign_in("bob").browser.get("/review").text
    assert "Mine" not in eve.browser.get("/review").text
    refused = bob.post("/review/views", {"csrf": csrf, "name": "", "q": "care:yes"})
    assert "Give the view a name" in bob.browser.get(refused.headers["location"]).text
    assert bob.post("/review/views", {"csrf": csrf, "name": "Mine", "q": ""}).status_code == 303
    assert "Mine" not in bob.browser.get("/review").text
    assert bob.post("/review/views", {"name": "Mine", "q": "care:yes"}).status_code == 403


def test_the_way_to_the_news_keeps_the_filter(service: Service) -> None:
    """What the notice of a change leads to is the page that is open, without what says how one came to it."""
    desk = service.sign_in()
    page = desk.browser.get("/review", params={"q": "kind:fact <b>", "done": "approved", "last": "nowhere"}).text
    assert 'href="/review?q=kind%3Afact+%3Cb%3E"' in page.partition('id="news"')[2]
    assert 'href="/review"' in desk.browser.get("/review?done=approved").text.partition('id="news"')[2]
