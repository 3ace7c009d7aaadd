"""What was derived from a memory that a curator retracted: warnings on each page, and a list on the memory's own."""

import html

from antechamber.core.rows.memories import DerivedRow
from support import Desk, Service, database, event
from web.test_changes import erase

WARNING = ">derived from a retracted memory</a>"
HEADING = "Derived from retracted"


def propose(service: Service, content: str, *sources: str) -> str:
    """Propose a text that claims sources, and return its proposal."""
    claims = {"derived_from": list(sources)} if sources else {}
    proposal: str = service.submit(event(content, **claims)).json()["proposal_id"]
    return proposal


def remember(service: Service, desk: Desk, content: str, *sources: str) -> tuple[str, str]:
    """Propose and approve a text; return its proposal and memory."""
    proposal = propose(service, content, *sources)
    assert desk.decide(proposal, "approve").status_code == 303
    return proposal, next(item["memory_id"] for item in service.recall() if item["content"] == content)


def page(desk: Desk, path: str) -> str:
    """Return a page as a person reads it."""
    answer = desk.browser.get(path)
    assert answer.status_code == 200
    return html.unescape(answer.text)


def derived(service: Service, memory_id: str) -> list[DerivedRow]:
    """Return what the memory's page lists."""
    with service.state.desk._store.read() as tx:
        rows: list[DerivedRow] = tx.review.derived_from(memory_id, 10)
    return rows


def test_a_retraction_warns_of_everything_derived_from_it(service: Service) -> None:
    """The warning reaches proposals and memories over any number of steps, and ends when the retraction is undone."""
    desk = service.sign_in()
    bad, source = remember(service, desk, "The staging host is called Gemini.")
    _, between = remember(service, desk, "Gemini has two disks.", source)
    waiting = propose(service, "Gemini needs a third disk.", between, "m-unknown")
    apart = propose(service, "Deploys run on Friday.", "m-unknown")
    before = page(desk, f"/memories/{source}")
    assert "Derived from it" in before
    assert (HEADING in before, WARNING in page(desk, f"/review/{waiting}")) == (False, False)
    assert desk.decide(bad, "retract", reason_code="wrong").status_code == 303
    listed = page(desk, f"/memories/{source}")
    assert HEADING in listed
    assert (f'href="/memories/{between}"' in listed, f'href="/review/{waiting}"' in listed) == (True, True)
    for path in (f"/review/{waiting}", f"/memories/{between}"):
        assert page(desk, path).count(WARNING) == 1
        assert f'href="/memories/{source}">derived' in page(desk, path)
    assert WARNING not in page(desk, f"/review/{apart}") + listed
    for path in ("/review", "/review?q=derived:yes"):
        assert page(desk, path).count(WARNING) == 1
        assert WARNING in page(desk, path).partition("Gemini needs a third disk.")[2].partition("</li>")[0]
    assert desk.decide(waiting, "reject", reason_code="wrong").status_code == 303
    assert [row.memory_id for row in derived(service, source)] == [between]
    assert desk.decide(bad, "undo").status_code == 303
    assert WARNING not in page(desk, f"/memories/{between}")


def test_claims_in_a_circle_end(service: Service) -> None:
    """Memories that name each other are listed once each."""
    desk = service.sign_in()
    _, first = remember(service, desk, "The staging host is called Gemini.")
    proposal, second = remember(service, desk, "Gemini has two disks.", first)
    with database(service.location) as raw:
        raw.execute("INSERT INTO derivations SELECT memory_id, proposal FROM memories")
        raw.execute(f"INSERT INTO derivations SELECT '{second}', proposal FROM memories WHERE memory_id = '{first}'")
    assert {row.memory_id for row in derived(service, first)} == {first, second}
    assert desk.decide(proposal, "retract", reason_code="wrong").status_code == 303
    assert page(desk, f"/memories/{second}").count(HEADING) == 1


def test_an_erased_proposal_has_no_derivations(service: Service) -> None:
    """The claims of an erased proposal are not kept in another place."""
    desk = service.sign_in()
    proposal = propose(service, "Gemini has two disks.", "m-1", "m-2")
    assert desk.decide(proposal, "reject", reason_code="wrong").status_code == 303
    assert count(service) == 2
    assert erase(service, proposal) == 0
    assert count(service) == 0


def count(service: Service) -> int:
    """Count derivations."""
    with database(service.location) as raw:
        number: int = raw.execute("SELECT count(*) FROM derivations").fetchone()[0]
    return number
