"""A curator proposes through a `service:` producer that the policy maps to them, and another person decides."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from antechamber.core.access.callers import Account
from antechamber.core.errors import ForbiddenDecisionError
from antechamber.flows.proposing import ProposalForm
from antechamber.settings import Location
from support import PRODUCERS, Desk, Service, event, running, write_policies

DESK = """
[[producer]]
identity = "service:bob-desk"
owner = "bob"
submit = ["project:apollo", "session:*"]

[[producer]]
identity = "service:eve-desk"
owner = "eve"
submit = ["project:apollo"]

[[producer]]
identity = "worker:bobs-bot"
owner = "bob"
submit = ["project:apollo"]
"""


@pytest.fixture
def policies(tmp_path: Path) -> Path:
    """A policy in which bob and eve have a producer for the desk."""
    return write_policies(tmp_path / "policies", PRODUCERS + DESK)


def fields_of(desk: Desk, query: str = "") -> dict[str, str]:
    """Open the form and return its hidden fields."""
    page = desk.browser.get(f"/memories/propose{query}").text
    return dict(
        re.findall(r'name="(csrf|decision_key|supersedes)" value="([^"]*)"', page.partition('<form class="card')[2])
    )


def send(desk: Desk, **typed: Any) -> httpx.Response:
    """Fill in the form and send it."""
    usual = {
        "producer_identity": "service:bob-desk",
        "scope": "project:apollo",
        "kind": "fact",
        "content": "Tea at four.",
    }
    return desk.post("/memories/propose", fields_of(desk) | usual | typed)


def test_a_curator_proposes_and_another_person_decides(service: Service) -> None:
    """The proposal waits like any other; its owner cannot judge it, another curator can; a form counts once."""
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    page = bob.browser.get("/memories/propose").text
    assert '<option value="service:bob-desk"' in page
    assert "service:eve-desk" not in page
    assert "worker:bobs-bot" not in page
    assert '<option value="project:apollo">' in page
    form = fields_of(bob) | {
        "producer_identity": "service:bob-desk", "scope": "project:apollo", "kind": "fact", "tags": "b a",
        "content": "Tea is\r\nat four.", "source": "https://wiki.example.org/tea",
    }  # fmt: skip
    first, again = bob.post("/memories/propose", form), bob.post("/memories/propose", form)
    path = first.headers["location"]
    assert re.fullmatch(r"/review/[0-9a-f-]{36}\?done=proposed", path)
    assert again.headers["location"] == path
    proposal = path.removeprefix("/review/").partition("?")[0]
    assert "Another person decides on it" in bob.browser.get(path).text
    assert bob.decide(proposal, "approve").status_code == 403
    assert eve.decide(proposal, "approve").status_code == 303
    [memory] = service.recall()
    assert (memory["content"], memory["tags"], memory["kind"]) == ("Tea is\nat four.", ["a", "b"], "fact")
    assert (memory["producer_identity"], memory["source_span"]["uri"]) == (
        "service:bob-desk", "https://wiki.example.org/tea",
    )  # fmt: skip
    known = send(
        eve, producer_identity="service:eve-desk", content="Tea is\nat four.", tags="a b", source=form["source"]
    )
    assert known.headers["location"] == f"/review/{proposal}?done=known"


def test_a_change_of_a_memory_is_proposed_from_its_page(service: Service) -> None:
    """The form has the text of the memory, also characters that a field cannot show, and claims to supersede it."""
    text = "Deploy on Fri\u202edays."
    proposal = service.submit(event(text)).json()["proposal_id"]
    bob, eve = service.sign_in("bob"), service.sign_in("eve")
    assert bob.decide(proposal, "approve").status_code == 303
    memory = service.recall()[0]["memory_id"]
    assert f"/memories/propose?memory={memory}" in bob.browser.get(f"/memories/{memory}").text
    page = bob.browser.get(f"/memories/propose?memory={memory}").text
    assert "Deploy on Fri⟦U+202E⟧days." in page
    fields = fields_of(bob, f"?memory={memory}")
    assert fields["supersedes"] == memory
    changed = send(bob, **fields, kind="procedure", content="Deploy on Fri⟦U+202E⟧days, early.")
    own = changed.headers["location"].removeprefix("/review/").partition("?")[0]
    assert memory in eve.browser.get(f"/review/{own}").text
    damaged = send(bob, content="A ⟦U+202E b")
    assert damaged.status_code == 400
    assert bob.browser.get("/memories/propose?memory=nowhere").status_code == 404


@pytest.mark.parametrize(
    ("typed", "status", "why"),
    [
        ({"scope": "project:gemini"}, 422, "scope-not-granted"),
        ({"scope": "galaxy:x"}, 400, "malformed"),
        ({"scope": ""}, 400, "malformed"),
        ({"kind": "poem"}, 422, "kind-unsupported"),
        ({"kind": "Not A Kind"}, 400, "malformed"),
        ({"content": " \n "}, 400, "malformed"),
        ({"content": "The token is ghp_" + "a1B2" * 9}, 422, "private-detected"),
        ({"content": "x" * 70_000}, 413, "body-too-large"),
        ({"tags": "t" * 65}, 400, "malformed"),
        ({"producer_identity": "service:eve-desk"}, 403, "does not map this producer to you"),
        ({"producer_identity": "worker:bobs-bot"}, 403, "does not map this producer to you"),
    ],
)
def test_what_is_refused_says_why_and_keeps_what_was_typed(
    service: Service, typed: dict[str, str], status: int, why: str
) -> None:
    """A refusal shows the reasons of the contract beside the form, with a fresh key; nothing waits."""
    bob = service.sign_in("bob")
    answer = send(bob, **typed)
    assert (answer.status_code, why in answer.text) == (status, True), answer.text
    assert "Not proposed." in answer.text
    assert service.state.desk_views.counters().pending == 0
    assert send(bob).status_code == 303


def test_only_a_curator_proposes(service: Service) -> None:
    """The flow itself refuses an auditor, whatever route leads to it."""
    account = Account(id=1, name="ava", person="bob", role="auditor", session="s")
    form = ProposalForm(decision_key="k", producer_identity="service:bob-desk", scope="x", kind="fact", content="x")
    with pytest.raises(ForbiddenDecisionError, match="Only a curator"):
        asyncio.run(service.state.proposing.propose(form, account))


def test_without_a_producer_of_their_own_the_page_says_what_is_missing(location: Location, tmp_path: Path) -> None:
    """The page shows the table that the operator adds; auditors do not see it."""
    with running(location, write_policies(tmp_path / "policies")) as service:
        page = service.sign_in("bob").browser.get("/memories/propose").text
        assert 'identity = "service:bob-desk"' in page.replace("&#34;", '"')
        assert service.sign_in("ava", "auditor").browser.get("/memories/propose").status_code == 403
        assert "/memories/propose" not in service.sign_in("ava", "auditor").browser.get("/memories").text
