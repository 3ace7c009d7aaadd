"""Who reads a memory, and which memories come up for review: counts, pages, review dates and their records."""

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.rows.upkeep import ReaderRow
from antechamber.settings import Location
from support import Desk, Service, database, event, locked, running, write_policies
from web.test_changes import erase
from web.test_derivations import page, propose, remember

DAY = 86_400_000_000
SHARED = {"submission_scope": "project", "scope_id": "apollo"}


def day(ahead: int) -> str:
    """Return a day from today on, as a date field writes it."""
    return (datetime.now(UTC) + timedelta(days=ahead)).date().isoformat()


def readers(service: Service, memory_id: str) -> dict[str, int]:
    """Write what is counted, and return how often each reader read a memory."""
    service.state.recall.reads.flush()
    rows: list[ReaderRow] = service.state.upkeep_views.of_memory(memory_id).readers
    return {f"{row.role} {row.name}": row.number for row in rows}


def keep(desk: Desk, memory_id: str, **fields: str) -> httpx.Response:
    """Open a memory, fill in the form that keeps it and send it."""
    text = desk.browser.get(f"/memories/{memory_id}").text.partition('id="keep"')[2]
    form = dict(re.findall(r'name="(csrf|decision_key|standing)" value="([^"]*)"', text))
    return desk.post(f"/memories/{memory_id}/keep", form | fields)


def move_back(service: Service, memory_id: str, days: int) -> None:
    """Make a memory's review date, and the time since which it is idle, earlier by some days."""
    memory = f"(SELECT id FROM memories WHERE memory_id = '{memory_id}')"
    with database(service.location) as raw:
        raw.execute(
            f"UPDATE upkeep SET idle_since = idle_since - {days * DAY}, review_after = review_after - {days * DAY} "
            f"WHERE memory = {memory}"
        )


def listed(desk: Desk, path: str) -> list[str]:
    """Return the memories or proposals of a list, in its order."""
    return re.findall(r'class="whole" dir="auto" href="/(?:memories|review)/([^"?]+)', page(desk, path))


@pytest.fixture
def bulk(location: Location, tmp_path: Path) -> Iterator[Service]:
    """A service whose policy approves groups, and keeps reads for two days."""
    limits = "[limits]\nbulk_approve = true\nreads_kept_days = 2\nunread_days = 0\n"
    with running(location, write_policies(tmp_path / "policies", scopes=limits)) as service:
        yield service


def test_every_way_of_reading_a_memory_is_counted(service: Service) -> None:
    """A page, a single memory, an answer, a change and the tools count once each, under the name of the token."""
    desk = service.sign_in()
    _, memory_id = remember(service, desk, "The staging host is called Gemini.")
    with database(service.location) as raw:
        assert raw.execute("SELECT count(*) FROM memory_reads").fetchone()[0] == 0
    bot, notebook = service.bearer(), service.bearer("notebook", "reader", ("project:apollo",))
    for path, params in (
        ("/v1/memories", SHARED),
        (f"/v1/memories/{memory_id}", {}),
        ("/v1/memories", SHARED | {"q": "staging host"}),
        ("/v1/changes", SHARED),
    ):
        assert service.client.get(path, params=params, headers=notebook).status_code == 200
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search_memory", "arguments": {"query": "staging host"} | SHARED},
    }
    accepted = {"accept": "application/json, text/event-stream"}
    assert memory_id in service.client.post("/mcp", json=call, headers=bot | accepted).text
    assert readers(service, memory_id) == {"reader notebook": 4, "producer worker:release-bot": 2}
    service.recall()
    assert readers(service, memory_id)["producer worker:release-bot"] == 3
    shown = page(desk, f"/memories/{memory_id}")
    assert re.search(r"notebook <span class=\"tag\">reader</span>:\s*4 times", shown)
    assert service.client.get("/v1/memories/none", headers=bot).status_code == 404
    assert readers(service, memory_id)["producer worker:release-bot"] == 3


def test_counts_survive_a_store_that_cannot_write_and_the_end_of_the_service(
    location: Location, tmp_path: Path
) -> None:
    """What could not be written is written later, and a service that ends writes what it has counted."""
    policies = write_policies(tmp_path / "policies")
    with running(location, policies) as service:
        _, memory_id = remember(service, service.sign_in(), "The staging host is called Gemini.")
        service.recall()
        with locked(service.location), pytest.raises((BusyError, UnavailableError)):
            service.state.recall.reads.flush()
        service.recall()
    with running(location, policies) as service:
        assert readers(service, memory_id) == {"producer worker:release-bot": 3}


def test_reads_are_kept_for_as_long_as_the_policy_says(bulk: Service) -> None:
    """Older counts are deleted with the next write, even if nothing was read; the memory keeps its last time."""
    desk = bulk.sign_in()
    _, memory_id = remember(bulk, desk, "The staging host is called Gemini.")
    assert readers(bulk, memory_id) == {"producer worker:release-bot": 1}
    with database(bulk.location) as raw:
        raw.execute("UPDATE memory_reads SET hour = hour - 47")
        assert readers(bulk, memory_id)
        raw.execute("UPDATE memory_reads SET hour = hour - 2")
        assert readers(bulk, memory_id) == {}
        assert raw.execute("SELECT count(*) FROM memory_reads").fetchone()[0] == 0
    assert "by whom is not kept any more" in page(desk, f"/memories/{memory_id}")


def test_an_approval_sets_the_review_date_and_the_memory_comes_up_after_it(service: Service) -> None:
    """The date of the form is recorded with the approval, in the log, and lists the memory once it has passed."""
    desk = service.sign_in()
    proposal = propose(service, "The staging host is called Gemini.")
    assert desk.decide(proposal, "approve", review_after=day(30)).status_code == 303
    memory_id = service.recall()[0]["memory_id"]
    shown = page(desk, f"/memories/{memory_id}")
    assert f"<dd>{day(30)}</dd>" in shown
    assert f"review after {day(30)}, set by bob" in shown
    assert "schedule-review" in page(desk, f"/audit/items/{proposal}")
    assert listed(desk, "/memories?view=due") == []
    move_back(service, memory_id, 32)
    assert listed(desk, "/memories?view=due") == [memory_id]
    assert "review date passed" in page(desk, "/memories?view=due")
    assert ">due for review</a>" in page(desk, f"/memories/{memory_id}")
    assert re.search(r'<div class="figure">1</div>\s*<a href="/memories\?view=due">', page(desk, "/dashboard"))
    assert service.recall()[0]["memory_id"] == memory_id


def test_a_review_date_outlasts_an_undo_and_changes_only_where_the_form_says(service: Service) -> None:
    """The next form shows the date that holds; the same date makes no second record, an empty one takes it away."""
    desk = service.sign_in()
    proposal = propose(service, "The staging host is called Gemini.")
    assert desk.decide(proposal, "approve", review_after=day(30)).status_code == 303
    for field, number in (day(30), 1), (None, 1), ("", 2):
        assert desk.decide(proposal, "undo").status_code == 303
        assert f'form="decide" value="{day(30)}"' in page(desk, f"/review/{proposal}")
        fields = {} if field is None else {"review_after": field}
        assert desk.decide(proposal, "approve", **fields).status_code == 303
        with database(service.location) as raw:
            assert raw.execute("SELECT count(*) FROM review_dates").fetchone()[0] == number
    memory_id = service.recall()[0]["memory_id"]
    assert "<dd>none</dd>" in page(desk, f"/memories/{memory_id}")


@pytest.mark.parametrize("typed", ["soon", "2020-01-01", "2999-01-01", "2027-02-30", "<b>"])
def test_a_wrong_review_date_records_nothing(service: Service, typed: str) -> None:
    """An approval or a kept memory with a wrong date is refused with what to write; what was typed stays."""
    desk = service.sign_in()
    proposal = propose(service, "The staging host is called Gemini.")
    answer = desk.decide(proposal, "approve", review_after=typed)
    assert (answer.status_code, service.recall()) == (400, [])
    assert "review date" in answer.text
    assert f'form="decide" value="{html.escape(typed)}"' in answer.text
    assert desk.decide(proposal, "approve").status_code == 303
    memory_id = service.recall()[0]["memory_id"]
    kept = keep(desk, memory_id, review_after=typed)
    assert kept.status_code == 400
    assert f'type="date" value="{html.escape(typed)}"' in kept.text


def test_an_edit_carries_the_review_date_over_its_preview(service: Service) -> None:
    """The date that was typed beside an edit is set when the edit is saved, and holds once a second person approves."""
    desk = service.sign_in()
    proposal = propose(service, "The staging host is called Gemini.")
    edited = desk.decide(
        proposal, "edit", content="The staging host is Gemini.", reason_code="unclear", review_after=day(9)
    )
    assert edited.status_code == 303
    assert service.sign_in("pia").decide(proposal, "approve").status_code == 303
    assert f"<dd>{day(9)}</dd>" in page(desk, f"/memories/{service.recall()[0]['memory_id']}")


def test_a_group_is_approved_with_one_review_date(bulk: Service) -> None:
    """The date of a group's form holds for each text that is approved; without one nothing is set."""
    desk = bulk.sign_in()
    proposals = [propose(bulk, text) for text in ("The staging host is called Gemini.", "Deploys run on Friday.")]
    for number, field in enumerate((day(40), "")):
        address = "/review/group?producer=worker:release-bot"
        text = desk.browser.get(address).text
        form = dict(re.findall(r'name="(csrf|decision_key|item-1)" value="([^"]*)"', text))
        answer = desk.post(address.replace("group", "group/approve"), form | {"review_after": field})
        assert "1 recorded" in answer.text, answer.text
        with database(bulk.location) as raw:
            assert raw.execute("SELECT count(*) FROM review_dates").fetchone()[0] == 1
        assert "set by bob" in page(desk, f"/memories/{memory_of(bulk, proposals[0])}"), number


def memory_of(service: Service, proposal_id: str) -> str:
    """Return the memory of a proposal."""
    with service.state.desk._store.read() as tx:
        memory_id: str = tx.review.proposal(proposal_id).memory_id
    return memory_id


def test_a_memory_that_is_not_read_comes_up_and_a_read_or_a_curator_keeps_it(service: Service) -> None:
    """The list begins with the earliest, names each memory once, and a memory leaves it when it is read or kept."""
    desk = service.sign_in()
    ids = {text: remember(service, desk, text)[1] for text in ("First text.", "Second text.", "Third text.")}
    first, second, third = ids.values()
    service.state.recall.reads.flush()
    for memory_id, days in (first, 181), (second, 190), (third, 179):
        move_back(service, memory_id, days)
    assert listed(desk, "/memories?view=due") == [second, first]
    assert listed(desk, "/memories?view=due&scope=project:apollo") == [second, first]
    assert listed(desk, "/memories?view=due&scope=project:zeus") == []
    assert page(desk, "/memories?view=due").count(">not read</span>") == 2
    assert keep(desk, first, review_after=day(3)).status_code == 303
    assert listed(desk, "/memories?view=due") == [second]
    service.client.get(f"/v1/memories/{second}", headers=service.bearer())
    with database(service.location) as raw:
        raw.execute(f"UPDATE upkeep SET last_read_at = last_read_at - {DAY}")
    service.state.recall.reads.flush()
    assert listed(desk, "/memories?view=due") == []
    move_back(service, first, 190)
    assert listed(desk, "/memories?view=due") == [first]
    assert desk.decide(proposal_of(service, first), "expire", reason_code="outdated").status_code == 303
    assert listed(desk, "/memories?view=due") == []


def proposal_of(service: Service, memory_id: str) -> str:
    """Return the proposal of a memory."""
    with service.state.desk._store.read() as tx:
        proposal_id: str = tx.review.memory(memory_id).proposal_id
    return proposal_id


def test_pages_of_the_views_continue_where_the_last_one_ended(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list longer than a page has a next one, without a gap or a repetition."""
    desk = service.sign_in()
    monkeypatch.setattr("antechamber.flows.upkeep.views.PAGE", 2)
    bad, source = remember(service, desk, "The source text.")
    ids = [remember(service, desk, f"Text {number}.", source)[1] for number in range(3)]
    for memory_id in ids:
        move_back(service, memory_id, 200)
    assert desk.decide(bad, "retract", reason_code="wrong").status_code == 303
    for view, order in ("due", ids), ("derived-from-retracted", ids[::-1]):
        text, found = page(desk, f"/memories?view={view}"), listed(desk, f"/memories?view={view}")
        assert found == order[:2]
        (following,) = re.findall(r'rel="next" href="([^"]+)"', text)
        assert listed(desk, following) == order[2:]
    assert listed(desk, "/memories?view=due&after=nonsense") == ids[:2]


def test_a_kept_memory_has_a_record_that_names_who_kept_it(service: Service) -> None:
    """Each step is listed with its person; a form counts once, and one that is out of date not at all."""
    desk, pia = service.sign_in(), service.sign_in("pia")
    _, memory_id = remember(service, desk, "The staging host is called Gemini.")
    path = f"/memories/{memory_id}"
    text = desk.browser.get(path).text.partition('id="keep"')[2]
    form = dict(re.findall(r'name="(csrf|decision_key|standing)" value="([^"]*)"', text))
    assert keep(pia, memory_id).headers["location"] == f"{path}?done=memory-kept"
    late = desk.post(f"{path}/keep", form)
    assert (late.status_code, "another curator kept it meanwhile" in late.text) == (409, True)
    assert keep(desk, memory_id, review_after=day(5)).status_code == 303
    fresh = {"standing": re.findall(r'name="standing" value="([^"]+)"', desk.browser.get(path).text)[0]}
    sent = form | fresh
    assert desk.post(f"{path}/keep", sent).status_code == 303
    again = desk.post(f"{path}/keep", sent)
    assert (again.status_code, "counted once" in again.text) == (409, True)
    shown = page(desk, path)
    assert re.findall(r"<li>(.+), set by (\w+)", shown) == [
        ("no review date", "pia"),
        (f"review after {day(5)}", "bob"),
        ("no review date", "bob"),
    ]
    assert desk.post(f"{path}/keep", {**sent, "decision_key": ""}).status_code == 409


def test_only_a_curator_who_does_not_own_the_producer_keeps_an_active_memory(service: Service) -> None:
    """An auditor, an owner, an unknown memory and an ended one are refused, and nothing is recorded."""
    desk = service.sign_in()
    proposal, memory_id = remember(service, desk, "The staging host is called Gemini.")
    auditor = service.sign_in("ann", "auditor")
    assert 'id="keep"' not in page(auditor, f"/memories/{memory_id}")
    csrf = re.findall(r'name="csrf" value="([^"]+)"', auditor.browser.get("/memories").text)[0]
    assert auditor.post(f"/memories/{memory_id}/keep", {"csrf": csrf}).status_code == 403
    owner = keep(service.sign_in("ada"), memory_id)
    assert (owner.status_code, "another person must judge its memories" in owner.text) == (403, True)
    csrf = re.findall(r'name="csrf" value="([^"]+)"', desk.browser.get("/memories").text)[0]
    assert desk.post("/memories/unknown/keep", {"csrf": csrf, "decision_key": "k"}).status_code == 404
    assert desk.decide(proposal, "retract", reason_code="wrong").status_code == 303
    ended = desk.post(f"/memories/{memory_id}/keep", {"csrf": csrf, "decision_key": "k"})
    assert (ended.status_code, "the memory is retracted by now" in ended.text) == (409, True)
    with database(service.location) as raw:
        assert raw.execute("SELECT count(*) FROM review_dates").fetchone()[0] == 0


def test_a_store_that_cannot_write_keeps_what_was_typed(service: Service) -> None:
    """The page says that nothing was stored, and shows the typed date again."""
    desk = service.sign_in()
    _, memory_id = remember(service, desk, "The staging host is called Gemini.")
    with locked(service.location):
        answer = keep(desk, memory_id, review_after=day(5))
    assert answer.status_code in {409, 503}
    assert f'value="{day(5)}"' in answer.text
    assert "cannot store anything right now" in answer.text


def test_a_memory_lists_the_proposals_that_name_it(service: Service) -> None:
    """Proposals in any state that claim to derive from it or to supersede it are linked, with their state."""
    desk = service.sign_in()
    _, memory_id = remember(service, desk, "The staging host is called Gemini.")
    assert "Proposals that name it" not in page(desk, f"/memories/{memory_id}")
    derived = propose(service, "Gemini has two disks.", memory_id)
    newer = service.submit(event("The staging host is called Leo.", supersedes=memory_id)).json()["proposal_id"]
    propose(service, "Deploys run on Friday.", "m-unknown")
    assert desk.decide(newer, "reject", reason_code="wrong").status_code == 303
    section = page(desk, f"/memories/{memory_id}").partition('id="named-by"')[2].partition("</section>")[0]
    assert re.findall(r'<span class="word \w*">(\w+)</span>\s+([\w ]+):\s+<a href="/review/([^"]+)"', section) == [
        ("rejected", "supersedes it", newer),
        ("pending", "derived from it", derived),
    ]
    assert erase(service, newer) == 0
    assert newer not in page(desk, f"/memories/{memory_id}")


def test_views_list_what_is_derived_from_retracted_memories(service: Service) -> None:
    """The queue lists proposals and the memories page memories, to any depth, until the retraction is undone."""
    desk = service.sign_in()
    bad, source = remember(service, desk, "The staging host is called Gemini.")
    _, between = remember(service, desk, "Gemini has two disks.", source)
    waiting = propose(service, "Gemini needs a third disk.", between, "m-unknown")
    propose(service, "Gemini runs Linux.", "m-unknown")
    service.wait_until_sorted()
    queue, memories = "/review?q=derived:retracted", "/memories?view=derived-from-retracted"
    assert (listed(desk, queue), listed(desk, memories)) == ([], [])
    assert desk.decide(bad, "retract", reason_code="wrong").status_code == 303
    assert (listed(desk, queue), listed(desk, memories)) == ([waiting], [between])
    assert listed(desk, f"{queue}+producer:worker:release-bot+derived:retracted") == [waiting]
    assert listed(desk, f"{queue}+mine:yes") == []
    assert listed(desk, f"{memories}&scope=project:zeus") == []
    assert re.search(
        r'href="/review\?q=derived%3Aretracted"[^>]*>Derived from retracted <span class="count">1<',
        page(desk, "/review"),
    )
    assert desk.decide(bad, "undo").status_code == 303
    assert (listed(desk, queue), listed(desk, memories)) == ([], [])


@pytest.mark.parametrize("query", ["view=other", "view=due&q=word", "view=due&at=2026-01-01", "view=due&scope=x"])
def test_a_view_that_cannot_be_shown_says_why(service: Service, query: str) -> None:
    """An unknown view, or words and days beside a view, are refused."""
    answer = service.sign_in().browser.get(f"/memories?{query}")
    assert (answer.status_code, 'role="alert"' in answer.text) == (400, True)


def review_dates_are_guarded(raw: Any, statement: str) -> None:
    """Expect the database to refuse a statement."""
    with pytest.raises(Exception, match=r"append-only|only a curator|UNIQUE|duplicate"):
        raw.execute(statement)


def test_review_dates_are_append_only(service: Service) -> None:
    """A raw connection cannot change, remove or invent a review date."""
    desk = service.sign_in()
    _, memory_id = remember(service, desk, "The staging host is called Gemini.")
    assert keep(desk, memory_id).status_code == 303
    names = "proposal, review_after, curator, person, decision_key, policy_digest, set_at"
    insert = f"INSERT INTO review_dates (review_date_id, {names})"
    with database(service.location) as raw:
        for statement in (
            "UPDATE review_dates SET review_after = 1",
            "DELETE FROM review_dates",
            f"{insert} SELECT 'x', proposal, 1, curator, 'eve', 'x', '', 1 FROM review_dates",
            f"{insert} SELECT 'x', {names} FROM review_dates",
        ):
            review_dates_are_guarded(raw, statement)
