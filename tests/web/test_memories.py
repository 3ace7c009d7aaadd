"""The memories page: by words, by scope, and as agents read it on a given day."""

import html
import re

import pytest

from antechamber.core.times import format_time
from support import Desk, Service, event

DAY = 86_400_000_000


def remember(service: Service, desk: Desk, content: str, **members: str) -> str:
    """Have an event approved and return its proposal."""
    proposal: str = service.submit(event(content, **members)).json()["proposal_id"]
    assert desk.decide(proposal, "approve").status_code == 303
    return proposal


def listed(desk: Desk, status: int = 200, **query: str) -> list[str]:
    """Return the texts on a page of memories."""
    page = desk.browser.get("/memories", params=query)
    assert page.status_code == status
    return [html.unescape(text) for text in re.findall(r'href="/memories/[0-9a-f-]{36}">([^<]*)</a>', page.text)]


def test_memories_are_found_by_scope_and_words_together(service: Service) -> None:
    """A scope filter matches the exact id and combines with words."""
    desk = service.sign_in()
    remember(service, desk, "Deploys wait for review.")
    remember(service, desk, "Deploys in this session are free.", submission_scope="session", scope_id="s-1")
    assert listed(desk, scope="session:s-1") == ["Deploys in this session are free."]
    assert listed(desk, scope="project:apollo", q="deploys") == ["Deploys wait for review."]
    assert listed(desk, scope="session:s-2") == []
    assert len(listed(desk, q="deploys")) == 2
    assert "Nothing was remembered there" in desk.browser.get("/memories?scope=session:s-2").text


@pytest.mark.parametrize(
    "query", [{"scope": "project"}, {"scope": "galaxy:x"}, {"at": "yesterday"}, {"at": "2026-13-01"}]
)
def test_an_invalid_filter_is_reported(service: Service, query: dict[str, str]) -> None:
    """An invalid filter is reported; the page keeps the input and shows all memories."""
    desk = service.sign_in()
    remember(service, desk, "Deploys wait for review.")
    assert listed(desk, 400, **query) == ["Deploys wait for review."]
    assert next(iter(query.values())) in desk.browser.get("/memories", params=query).text


def test_a_day_of_the_past_is_shown_as_agents_read_it(service: Service) -> None:
    """Memories superseded or retracted later are included, and later ones are not."""
    desk, clock = service.sign_in(), service.state.desk._clock
    today = format_time(clock())[:10]
    old = remember(service, desk, "Deploys are free on Fridays.")
    access = service.state.access
    for flow in (service.state.desk, service.state.desk_views, access.sign_in, access.sessions, access.accounts):
        flow._clock = lambda: clock() + 2 * DAY
    desk = service.sign_in()
    assert desk.decide(old, "retract", reason_code="wrong").status_code == 303
    remember(service, desk, "Deploys wait for review.")
    after = format_time(clock() + 2 * DAY)[:10]
    assert listed(desk, at=today) == ["Deploys are free on Fridays."]
    assert listed(desk, at=today, scope="project:apollo") == ["Deploys are free on Fridays."]
    assert listed(desk, at=today, q="deploys") == ["Deploys are free on Fridays."]
    assert listed(desk, at=after) == ["Deploys wait for review."]
    assert listed(desk) == ["Deploys wait for review.", "Deploys are free on Fridays."]
    assert listed(desk, at="2001-01-01") == []


def test_the_policy_in_force_can_be_read(service: Service) -> None:
    """Every role sees the policy's rules and digest, read-only."""
    for name, role in (("bob", "curator"), ("una", "auditor"), ("olga", "operator")):
        page = service.sign_in(name, role).browser.get("/policy").text
        assert service.state.dashboard.policy()[1] in page
        assert "worker:release-bot" in page
        assert "<form" not in page.partition("<main")[2].partition("</main>")[0]
