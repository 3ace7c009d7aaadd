"""Filters and views of the queue, in the address and in the search field."""

import html
import re
from typing import Any
from urllib.parse import unquote_plus

import pytest

from antechamber.store import review_queue
from support import Desk, Service, event, without_indents

LETTERS = ("abcdef", "ghijkl", "mnopqr", "stuvwx")


def propose(service: Service, content: str, **members: Any) -> str:
    """Submit an event and return its proposal."""
    proposal: str = service.submit(event(content, **members)).json()["proposal_id"]
    return proposal


def found(desk: Desk, text: str, after: str = "", status: int = 200) -> list[str]:
    """Return the matches of a filter."""
    page = desk.browser.get("/review", params={"q": text} | ({"after": after} if after else {}))
    assert page.status_code == status
    return re.findall(r'class="whole" dir="auto" href="/review/([0-9a-f-]{36})[?"]', page.text)


def tabs(desk: Desk, address: str = "/review") -> dict[str, tuple[str, str]]:
    """Return the filter and the count of each view by its name; the present one has a star behind its name."""
    bar = without_indents(desk.browser.get(address).text).partition('aria-label="Views">')[2].partition("</nav>")[0]
    links = re.findall(
        r'<a href="/review(?:\?q=([^"]*))?" (aria-current="true")?>\s*([^<]*?)\s*<span[^>]*>([^<]*)<', bar
    )
    return {name + ("*" if current else ""): (unquote_plus(text), number) for text, current, name, number in links}


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
    """Parts of a filter narrow each other; words match regardless of case and signs."""
    desk = service.sign_in()
    expected = {
        "producer:tool:watcher": ["watcher"],
        "producer:worker:nobody": [],
        "scope:session": ["session"],
        "scope:session:s-2": [],
        "scope:organization:labs": ["wide"],
        "kind:procedure": ["odd", "wide", "bot", "watcher", "session"],
        "kind:fact": [],
        "warning:yes": ["odd", "wide"],
        "warning:no": ["bot", "watcher", "session"],
        "warning:wide-scope": ["wide"],
        "warning:hidden-characters": ["odd"],
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


def test_an_invalid_filter_is_explained_and_kept(service: Service, ids: dict[str, str]) -> None:
    """The page keeps an invalid filter, lists the valid parts, and shows the unfiltered queue."""
    desk = service.sign_in()
    assert len(found(desk, "state:open", status=400)) == len(ids)
    page = html.unescape(desk.browser.get("/review?q=state:open").text)
    assert 'Unknown filter "state:"' in page
    assert 'value="state:open"' in page
    assert "No waiting proposal matches" in desk.browser.get("/review?q=nowhere").text


def test_one_page_scans_a_limited_number_of_rows(
    service: Service, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page scans a limited number of rows, however few match; the next page continues there."""
    monkeypatch.setattr(review_queue, "WINDOW", 2)
    desk, seen, after = service.sign_in(), [], ""
    for _ in range(4):
        page = desk.browser.get(
            "/review", params={"q": "producer:worker:release-bot"} | ({"after": after} if after else {})
        )
        seen += re.findall(r'class="whole" dir="auto" href="/review/([0-9a-f-]{36})[?"]', page.text)
        following = re.search(r'rel="next" href="[^"]*after=([0-9.]+)"', page.text)
        if following is None:
            break
        after = following[1]
    assert sorted(seen) == sorted(ids[name] for name in ("bot", "session", "wide", "odd"))


def test_views_belong_to_a_person_and_stay(service: Service, ids: dict[str, str]) -> None:
    """A view is saved under a name for all sessions of a person and can be deleted; an invalid one shows the reason."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    csrf = bob.form(ids["bot"])["csrf"]
    kept = bob.post("/review/views", {"csrf": csrf, "name": "Odd", "q": "warning:yes"})
    assert (kept.status_code, kept.headers["location"]) == (303, "/review?q=warning%3Ayes&done=view")
    assert tabs(service.sign_in("bob"))["Odd"] == ("warning:yes", "2")
    assert tabs(bob, "/review?q=warning%3Ayes")["Odd*"] == ("warning:yes", "2")
    assert "Odd" not in tabs(eve)
    refused = bob.post("/review/views", {"csrf": csrf, "name": "", "q": "warning:yes"})
    assert refused.status_code == 400
    assert "Give the view a name" in refused.text
    assert 'value="warning:yes"' in refused.text
    assert bob.post("/review/views", {"csrf": csrf, "name": "Odd", "q": ""}).status_code == 303
    assert "Odd" not in tabs(bob)
    assert bob.post("/review/views", {"name": "Odd", "q": "warning:yes"}).status_code == 403


def test_two_views_that_one_person_keeps_at_once_are_both_there(service: Service) -> None:
    """Both views are kept even if both requests read the person before either saved."""
    access = service.state.access
    access.accounts.add("bob", "curator", None, None)
    person = access.sessions.account(access.sign_in.consume_link(access.sign_in.create_link("bob")).secret)
    for name, text in (("Odd", "warning:yes"), ("Wide", "scope:organization")):
        access.accounts.save_view(person, name, text)
    shown = tabs(service.sign_in("bob"))
    assert (shown["Odd"], shown["Wide"]) == (("warning:yes", "0"), ("scope:organization", "0"))


def test_the_way_to_the_news_keeps_the_filter(service: Service) -> None:
    """The link in a change notice leads to the open page with its filter, without notices of earlier decisions."""
    desk = service.sign_in()
    page = desk.browser.get("/review", params={"q": "kind:fact <b>", "done": "approved", "last": "nowhere"}).text
    assert 'href="/review?q=kind%3Afact+%3Cb%3E"' in page.partition('id="news"')[2]
    assert 'href="/review"' in desk.browser.get("/review?done=approved").text.partition('id="news"')[2]


def press(desk: Desk, path: str, **fields: str) -> str:
    """Press a button that needs only the page's token, and return where it leads."""
    csrf = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/review").text)
    assert csrf
    response = desk.post(path, {"csrf": csrf[1]} | fields)
    assert response.status_code == 303, response.text
    location: str = response.headers["location"]
    return location


def test_a_curator_stays_inside_the_filter(service: Service, ids: dict[str, str]) -> None:
    """Start, decide, skip and undo lead to matching proposals; when none is left, the page offers the whole queue."""
    bob, text = service.sign_in(), "scope:project:apollo producer:worker:release-bot"
    query = "q=scope%3Aproject%3Aapollo+producer%3Aworker%3Arelease-bot"
    queue = bob.browser.get(f"/review?{query}").text
    assert f'name="q" value="{text}"' in queue.partition('action="/review/next"')[2].partition("</form>")[0]
    assert press(bob, "/review/next", q=text) == f"/review/{ids['odd']}?{query}"
    page = bob.browser.get(f"/review/{ids['odd']}?{query}").text
    forms = re.findall(rf'<form\s[^>]*action="/review/{ids["odd"]}/.*?</form>', page, re.DOTALL)
    assert len(forms) == 1
    assert all(f'name="q" value="{text}"' in form for form in forms)
    assert f'href="/review?{query}#{ids["odd"]}"' in page
    assert press(bob, f"/review/{ids['odd']}/skip", q=text) == f"/review/{ids['bot']}?{query}"
    assert press(bob, f"/review/{ids['bot']}/claim", q=text) == f"/review/{ids['bot']}?done=claimed&{query}"
    decided = bob.decide(ids["bot"], "approve", q=text).headers["location"]
    assert decided == f"/review/{ids['odd']}?done=approved&last={ids['bot']}&{query}"
    note = bob.browser.get(decided).text.partition('id="done"')[2].partition("</form>")[0]
    assert f'name="q" value="{text}"' in note
    undone = bob.decide(ids["bot"], "undo", q=text).headers["location"]
    assert undone == f"/review/{ids['bot']}?done=undone&{query}"
    for name in ("bot", "odd"):
        last = bob.decide(ids[name], "reject", reason_code="wrong", q=text).headers["location"]
    assert last == f"/review?done=rejected&last={ids['odd']}&{query}"
    empty = bob.browser.get(last).text
    assert "No waiting proposal matches" in empty
    assert "Continue in the whole queue" in empty
    assert press(bob, "/review/next", q=text) == f"/review?done=filter-done&{query}"
    assert (
        "Nothing else that matches this filter is free for you."
        in bob.browser.get(f"/review?done=filter-done&{query}").text
    )
    assert press(bob, "/review/next").startswith("/review/0")


def test_groups_of_a_proposal_stay_inside_the_filter(service: Service) -> None:
    """Links of a proposal to its near duplicates and its source keep the filter, and lead back into it."""
    texts = [f"Feed the quokkas {when} the gates are opened in the morning." for when in ("before", "after")]
    first, _ = (service.submit(event(text)).json()["proposal_id"] for text in texts)
    service.wait_until_sorted()
    bob = service.sign_in()
    page = bob.browser.get(f"/review/{first}?q=kind:procedure").text
    for kind in ("like", "source"):
        address = f"/review/group?{kind}={first}&amp;q=kind%3Aprocedure"
        assert f'href="{address}"' in page
        back = f'href="/review?q=kind%3Aprocedure#{first}"'
        assert back in bob.browser.get(address.replace("&amp;", "&")).text
    assert f'href="/review/group?like={first}"' in bob.browser.get(f"/review/{first}").text


def test_inside_a_filter_a_curator_is_not_given_what_they_cannot_judge(service: Service, ids: dict[str, str]) -> None:
    """Claimed, own and already approved proposals are skipped; those that need a second person are shown."""
    ada, bob, eve = (service.sign_in(name) for name in ("ada", "bob", "eve"))
    assert press(ada, "/review/next", q="producer:worker:release-bot").startswith("/review?done=filter-done")
    assert press(ada, "/review/next", q="kind:procedure").startswith(f"/review/{ids['watcher']}?")
    assert press(bob, "/review/next", q="producer:tool:watcher").startswith("/review?done=filter-done")
    assert press(bob, "/review/next", q="scope:organization").startswith(f"/review/{ids['wide']}?")
    decided = bob.decide(ids["wide"], "approve", q="scope:organization").headers["location"]
    assert decided.startswith("/review?done=waits")
    assert press(bob, "/review/next", q="scope:organization").startswith("/review?done=filter-done")
    assert press(eve, "/review/next", q="scope:organization").startswith(f"/review/{ids['wide']}?")


def test_a_filter_with_many_that_are_not_free_is_looked_through_in_pages(
    service: Service, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search for a free match continues past claimed rows and past one window, up to a limit."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    for name in ("odd", "wide"):
        bob.post(f"/review/{ids[name]}/claim", bob.form(ids[name]))
    monkeypatch.setattr(review_queue, "_ROWS", 1)
    assert press(eve, "/review/next", q="producer:worker:release-bot").startswith(f"/review/{ids['bot']}?")
    monkeypatch.setattr(review_queue, "WINDOW", 2)
    monkeypatch.setattr(review_queue, "NEARBY", 1)
    monkeypatch.setattr(review_queue, "_ROWS", 100)
    assert press(bob, "/review/next", q="scope:session").startswith(f"/review/{ids['session']}?")
    monkeypatch.setattr(review_queue, "_MAX_PAGES", 1)
    assert press(eve, "/review/next", q="scope:session").startswith("/review?done=filter-done")


def test_a_filter_that_cannot_be_read_starts_nothing(service: Service, ids: dict[str, str]) -> None:
    """The queue reports an invalid filter; a proposal's page ignores it."""
    bob = service.sign_in()
    sent = {"csrf": bob.form(ids["bot"])["csrf"], "q": "state:open"}
    answer = bob.post("/review/next", sent)
    assert answer.status_code == 400
    assert 'Unknown filter "state:"' in html.unescape(answer.text)
    assert 'href="/review?q=state%3Aopen"' in answer.text.partition('id="news"')[2]
    assert "held by you" not in answer.text
    assert "Inside the filter" not in bob.browser.get(f"/review/{ids['bot']}?q=state:open").text
    assert bob.decide(ids["bot"], "approve", q="state:open").status_code == 303


def test_a_page_prints_no_text_of_its_address(service: Service, ids: dict[str, str]) -> None:
    """Only known codes in the address produce a notice; other text in the address is never shown."""
    desk, text = service.sign_in(), "Your account was closed, write to the address below"
    query = ("refused", "error", "notice", "done", "last", "after", "next", "days", "at", "size", "reason", "title")
    paths = ("/review", f"/review/{ids['bot']}", "/quarantine", "/memories", "/audit", "/submissions", "/dashboard",
             "/settings", "/policy", "/review/latest", "/review/group", "/login", "/nowhere")  # fmt: skip
    for path in paths:
        page = html.unescape(desk.browser.get(path, params=dict.fromkeys(query, text)).text)
        seen = re.sub(r"<[^>]*>", "", page)
        assert (path, "account was closed" in seen) == (path, False)
