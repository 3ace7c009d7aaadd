"""Claims: which curator looks at which proposal, for five minutes, as a hint without enforcement."""

import re
from typing import Any

from support import Desk, Service, event

MINUTE = 60_000_000


def propose(service: Service, *contents: str, **members: Any) -> list[str]:
    """Submit events and return their proposals."""
    return [service.submit(event(content, **members)).json()["proposal_id"] for content in contents]


def press(desk: Desk, path: str) -> str:
    """Press a button that needs only the page's token, and return where it leads."""
    csrf = re.search(r'name="csrf" value="([^"]+)"', desk.browser.get("/review").text)
    assert csrf
    response = desk.post(path, {"csrf": csrf[1]})
    assert response.status_code == 303, response.text
    location: str = response.headers["location"]
    return location


def later(service: Service, microseconds: int) -> None:
    """Advance the clock of decisions and of what the desk shows."""
    before = service.state.desk._clock
    service.state.desk._clock = service.state.desk_views._clock = lambda: before() + microseconds


def test_two_curators_who_start_get_different_proposals(service: Service) -> None:
    """Each curator gets the first free proposal, sees who holds the other, and is informed when none is left."""
    first, second = propose(service, "First.", "Second.")
    bob, eve, kim = (service.sign_in(name) for name in ("bob", "eve", "kim"))
    assert press(bob, "/review/next") == f"/review/{first}"
    assert press(eve, "/review/next") == f"/review/{second}"
    assert press(kim, "/review/next") == "/review?done=all-held"
    page = kim.browser.get("/review?done=all-held").text
    assert "2 are held by another curator" in page
    assert re.findall(r"held by (bob|eve|you)", page) == ["bob", "eve"]
    assert "held by you" in bob.browser.get(f"/review/{first}").text
    assert press(bob, "/review/next") == f"/review/{first}"


def test_a_claim_ends_by_itself(service: Service) -> None:
    """A claim expires after five minutes, even if the browser stays open."""
    (only,) = propose(service, "First.")
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    assert press(bob, "/review/next") == f"/review/{only}"
    later(service, 5 * MINUTE - 1_000_000)
    assert press(eve, "/review/next") == "/review?done=all-held"
    later(service, 2_000_000)
    assert "held by" not in eve.browser.get("/review").text
    assert press(eve, "/review/next") == f"/review/{only}"


def test_a_claim_can_be_taken_over_and_guards_nothing(service: Service) -> None:
    """Another curator may take a claim over or simply decide; the version determines who was first."""
    (only,) = propose(service, "First.")
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    press(bob, "/review/next")
    assert "Take over" in eve.browser.get(f"/review/{only}").text
    assert press(eve, f"/review/{only}/claim") == f"/review/{only}?done=claimed"
    assert "held by eve" in bob.browser.get(f"/review/{only}").text
    assert bob.decide(only, "approve").status_code == 303
    assert eve.decide(only, "approve").status_code == 409


def test_deciding_and_skipping_claim_what_comes_next(service: Service) -> None:
    """The next proposal is claimed as soon as it is shown, and a skipped one is free again."""
    first, second, third = propose(service, "First.", "Second.", "Third.")
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    press(bob, "/review/next")
    assert press(bob, f"/review/{first}/skip") == f"/review/{second}"
    assert press(eve, "/review/next") == f"/review/{first}"
    assert bob.decide(second, "approve").headers["location"].startswith(f"/review/{third}?")
    assert "held by bob" in eve.browser.get(f"/review/{third}").text
    assert eve.decide(first, "reject", reason_code="wrong").headers["location"].startswith("/review?")
    assert press(bob, f"/review/{third}/skip") == "/review?done=all-held"
    assert press(eve, "/review/next") == f"/review/{third}"


def test_a_curator_is_not_given_what_they_cannot_judge(service: Service) -> None:
    """Proposals of a curator's own producers and those already approved by the curator are skipped."""
    (own,) = propose(service, "By the release bot.")
    (other,) = propose(service, "By the watcher.", producer_identity="tool:watcher")
    (wide,) = propose(service, "For all.", submission_scope="organization", scope_id="labs")
    ada, bob = service.sign_in("ada"), service.sign_in("bob")
    assert press(ada, "/review/next") == f"/review/{other}"
    assert bob.decide(wide, "approve").headers["location"].startswith(f"/review/{own}?")
    assert press(bob, f"/review/{own}/skip") == "/review?done=all-held"


def test_only_what_waits_can_be_claimed(service: Service) -> None:
    """A decided proposal gives 409 with its state, an unknown one 404, and viewing a page claims nothing."""
    (only,) = propose(service, "First.")
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    for _ in range(2):
        assert bob.browser.get(f"/review/{only}").status_code == 200
    assert "held by" not in eve.browser.get("/review").text
    form = bob.form(only)
    assert bob.decide(only, "approve").status_code == 303
    late = bob.post(f"/review/{only}/claim", form)
    assert (late.status_code, "this proposal was approved meanwhile" in late.text) == (409, True)
    assert bob.post("/review/nowhere/claim", form).status_code == 404
