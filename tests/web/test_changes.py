"""The change feed: what was admitted and what ended, in commit order, without gaps and without waiting in vain."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from antechamber.core.change_cursor import ChangeCursor, read_cursor
from antechamber.core.contract import MAX_WAIT
from antechamber.flows import change_watch, changes
from antechamber.settings import Location
from support import (
    HANG_SECONDS,
    PRODUCERS,
    Databases,
    Desk,
    Service,
    antechamber,
    database,
    event,
    running,
    until,
    where,
    write_policies,
)

APOLLO = "project:apollo"


@pytest.fixture(autouse=True)
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests wait longer than a test may take, so that only what wakes them ends them."""
    monkeypatch.setattr(changes, "MAX_WAIT", 3000)


def ask(service: Service, *bearer: Any, **query: Any) -> httpx.Response:
    """Ask for the changes of project:apollo, or as `query` says; None omits a parameter."""
    params = {name: value for name, value in ({"scope": APOLLO} | query).items() if value is not None}
    return service.client.get("/v1/changes", params=params, headers=service.bearer(*bearer))


def page(service: Service, **query: Any) -> tuple[list[dict[str, Any]], str]:
    """Return the items of a page and its cursor."""
    response = ask(service, **query)
    assert response.status_code == 200, response.text
    assert response.headers["cache-control"] == "no-store"
    return response.json()["items"], response.json()["next"]


def outline(items: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """Return each change with the text that came with it."""
    return [(item["change"], item["memory"] and item["memory"]["content"]) for item in items]


def pages(service: Service, after: str | None = None, **query: Any) -> list[dict[str, Any]]:
    """Return all changes after a cursor, page by page."""
    found: list[dict[str, Any]] = []
    while True:
        items, after = page(service, after=after, **query)
        if not items:
            return found
        found += items


def admit(service: Service, content: str, **members: Any) -> str:
    """Have an event approved and return the id of its proposal."""
    response = service.submit(event(content, **members))
    assert response.status_code == 201, response.text
    proposal: str = response.json()["proposal_id"]
    assert service.sign_in().decide(proposal, "approve").status_code == 303
    return proposal


def end(desk: Desk, proposal: str, decision: str = "retract", **fields: str) -> None:
    """End a memory by a decision."""
    assert desk.decide(proposal, decision, reason_code="wrong", **fields).status_code == 303


def erase(service: Service, proposal: str) -> int:
    """Erase a text with the command line, which writes beside the service; return its status."""
    return antechamber("erase", proposal, "--reason", "private", "--yes", *where(service.location)).returncode


def apply(items: list[dict[str, Any]], held: dict[str, Any] | None = None) -> dict[str, Any]:
    """Apply changes to what a reader holds, by memory id."""
    held = dict(held or {})
    for item in items:
        if item["memory"] is not None:
            held[item["memory_id"]] = item["memory"]
        else:
            held.pop(item["memory_id"], None)
    return held


def recalled(service: Service) -> dict[str, Any]:
    """Return what GET /v1/memories returns, by memory id."""
    return {item["memory_id"]: item for item in service.recall(limit=200)}


def busy(service: Service) -> None:
    """Admit, supersede, retract, expire, undo and erase memories, and add evidence to one."""
    desk = service.sign_in()
    kept = admit(service, "Deploys run on Friday.")
    old = admit(service, "The host is called Castor.")
    newer = service.submit(event("The host is called Pollux.")).json()["proposal_id"]
    memory = service.recall(q="Castor")[0]["memory_id"]
    assert desk.decide(newer, "supersede", target=memory).status_code == 303
    gone = admit(service, "The canary memory.")
    end(desk, gone)
    back = admit(service, "Retracted by mistake.")
    end(desk, back)
    undo = desk.form(back)
    assert desk.post(f"/review/{back}/undo", undo).status_code == 303
    end(desk, admit(service, "True until June."), "expire")
    assert erase(service, gone) == 0
    again = event("Deploys run on Friday.", producer_identity="tool:watcher")
    assert service.submit(again).json()["disposition"] == "accepted-as-duplicate"
    assert kept
    assert old


def test_a_reader_may_begin_at_the_end(service: Service) -> None:
    """After `latest` there is only what changes from then on, also in an empty service."""
    items, empty = page(service, after="latest")
    assert items == []
    admit(service, "Deploys run on Friday.")
    items, latest = page(service, after="latest")
    assert (items, page(service, after=latest)) == ([], ([], latest))
    assert [item["change"] for item in page(service, after=empty)[0]] == ["admitted"]
    admit(service, "Deploys wait for the canary.")
    assert outline(page(service, after=latest)[0]) == [("admitted", "Deploys wait for the canary.")]


def test_changes_are_in_commit_order_with_their_leaves(service: Service) -> None:
    """Each change has the sequence of its leaf; memories that ended since come without their text."""
    busy(service)
    items = pages(service)
    assert outline(items) == [
        ("admitted", "Deploys run on Friday."),
        ("admitted", None),
        ("admitted", "The host is called Pollux."),
        ("superseded", None),
        ("admitted", None),
        ("retracted", None),
        ("admitted", "Retracted by mistake."),
        ("retracted", None),
        ("admitted", "Retracted by mistake."),
        ("admitted", None),
        ("expired", None),
        ("erased", None),
        ("admitted", "Deploys run on Friday."),
    ]
    sequences = [item["sequence"] for item in items]
    assert sequences == sorted(set(sequences))
    with database(service.location) as raw:
        subjects = dict(raw.execute("SELECT id, subject FROM log_leaves").fetchall())
    own = [item for item in items[:-2] if subjects[item["sequence"]] != item["memory_id"]]
    assert own == []
    assert "canary" not in msgspec.json.encode(items).decode()


def test_a_reader_holds_what_retrieval_returns_from_any_cursor(service: Service) -> None:
    """Applied in order from any cursor, also again, the changes lead to what GET /v1/memories returns."""
    busy(service)
    items, expected = pages(service), recalled(service)
    assert len(expected) == 3
    assert {item["evidence"] for item in expected.values()} == {0, 1}
    for limit in (1, 2, 3, 1000):
        assert pages(service, limit=limit) == items
    for place, item in enumerate(items):
        rest = pages(service, after=item["sequence"])
        assert rest == items[place + 1 :]
        # A reader at this cursor holds at least what a reader of the beginning holds.
        assert apply(rest, apply(items[: place + 1])) == expected
        assert apply(items, apply(rest)) == expected


def test_the_doctor_agrees_with_the_feed(service: Service) -> None:
    """The doctor finds nothing wrong with a feed, and names an erasure and evidence that are taken out of it."""
    busy(service)
    with service.state.desk._store.read() as tx:
        assert list(tx.doctor.check()) == []
    with database(service.location) as raw:
        guard = ""
        if service.location.database_url is None:
            (guard,) = raw.execute("SELECT sql FROM sqlite_master WHERE name = 'change_feed_stays'").fetchone()
            raw.execute("DROP TRIGGER change_feed_stays")
        else:
            raw.execute("ALTER TABLE change_feed DISABLE TRIGGER USER")
        raw.execute("DELETE FROM change_feed WHERE sequence = (SELECT max(sequence) FROM change_feed)")
        raw.execute("DELETE FROM change_feed WHERE change = 'erased'")
        raw.execute(guard)
    with service.state.desk._store.read() as tx:
        found = [line for line in tx.doctor.check() if "switched off" not in line]
    assert len(found) == 2
    assert "was erased, and the feed does not say so" in found[0]
    assert "got evidence while it was active" in found[1]


def test_an_erasure_of_several_memories_is_paged_too(service: Service) -> None:
    """One leaf ends all memories of a proposal, and a page may end among them."""
    desk = service.sign_in()
    proposal = admit(service, "Approved twice.")
    for _ in range(2):
        assert desk.post(f"/review/{proposal}/undo", desk.form(proposal)).status_code == 303
        assert desk.decide(proposal, "approve").status_code == 303
    end(desk, proposal)
    assert erase(service, proposal) == 0
    items = pages(service)
    erased = [item for item in items if item["change"] == "erased"]
    assert len({item["memory_id"] for item in erased}) == 3
    assert len({item["sequence"] for item in erased}) == 1
    assert pages(service, limit=1) == pages(service, limit=2) == items
    with service.state.desk._store.read() as tx:
        assert list(tx.doctor.check()) == []


def test_a_page_ends_where_its_texts_are_long(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page holds few long memories, so that a reader who does not read occupies little; the next one goes on."""
    monkeypatch.setattr(changes, "MAX_CHARACTERS", 100)
    for number in range(3):
        admit(service, f"Memory {number} " + "x" * 60)
    items, after = page(service)
    assert len(items) == 1
    assert len(pages(service, after)) == 2


def test_several_scopes_are_merged_in_commit_order(service: Service) -> None:
    """Changes of several scopes are one sequence, and those of a scope that is not named are not in it."""
    admit(service, "In the project.")
    admit(service, "In the session.", submission_scope="session", scope_id="s-1")
    admit(service, "In the project again.")
    admit(service, "In another session.", submission_scope="session", scope_id="s-2")
    both = pages(service, scope=[APOLLO, "session:s-1"], limit=1)
    assert outline(both) == [
        ("admitted", "In the project."),
        ("admitted", "In the session."),
        ("admitted", "In the project again."),
    ]
    only = pages(service, scope=None, submission_scope="session", scope_id="s-2")
    assert outline(only) == [("admitted", "In another session.")]


# What is refused

BAD: dict[str, tuple[dict[str, Any], int, str, str | None]] = {
    "no scope": ({"scope": None}, 400, "malformed", "/submission_scope"),
    "seventeen scopes": ({"scope": [f"session:s-{n}" for n in range(17)]}, 400, "malformed", "/scope"),
    "no such scope": ({"scope": "galaxy:x"}, 400, "malformed", "/scope"),
    "not granted": ({"scope": "organization:labs"}, 403, "scope-not-granted", "/scope"),
    "one of two not granted": ({"scope": [APOLLO, "project:gemini"]}, 403, "scope-not-granted", "/scope"),
    "a session without a submission": ({"scope": "session:s-1"}, 403, "scope-not-granted", "/scope"),
    **{
        f"wait {text!r}": ({"wait": text}, 400, "malformed", "/wait")
        for text in ("3001", "-1", "1.5", "", "ten", "9" * 500)
    },
    **{f"limit {text!r}": ({"limit": text}, 400, "malformed", "/limit") for text in ("0", "1001", "", "²")},
    **{
        f"after {text!r}": ({"after": text}, 400, "malformed", "/after")
        for text in ("", "-1", "x", "1-", "1-xyz", "0-00000000", "1.", "999999999", "9" * 30, "0198c7f2-6a0e", "1\0")
    },
}


@pytest.fixture(scope="module")
def quiet(lasting_place: Location) -> Iterator[Service]:
    """A service without a memory, shared by tests that only read."""
    with running(lasting_place, write_policies(lasting_place.data.parent / "policies")) as service:
        yield service


@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused_at_once(quiet: Service, name: str, *, waiting: bool) -> None:
    """A bad parameter, a foreign cursor and a scope that is not granted are refused, also by a request that waits."""
    query, status, code, pointer = BAD[name]
    response = ask(quiet, **({"wait": 30} if waiting else {}) | query)
    reason = response.json()["reasons"][0]
    assert (response.status_code, reason["code"], reason["pointer"]) == (status, code, pointer)


def test_an_empty_page_has_a_cursor(quiet: Service) -> None:
    """Where nothing happened, the cursor of an empty page can be used, and stays the same."""
    items, after = page(quiet)
    assert items == []
    assert page(quiet, after=after) == ([], after)
    assert page(quiet, after=after, wait=1) == ([], after)


def test_a_wait_has_a_limit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request waits at most 30 seconds."""
    monkeypatch.setattr(changes, "MAX_WAIT", MAX_WAIT)
    admit(service, "There already.")
    assert ask(service, wait=30).status_code == 200
    assert ask(service, wait=31).status_code == 400


def test_a_cursor_is_read_as_it_is_written() -> None:
    """A cursor names a leaf, how many of its changes are known, and digits of its hash."""
    for cursor in (
        ChangeCursor(7),
        ChangeCursor(7, 2),
        ChangeCursor(7, None, "0a1b2c3d"),
        ChangeCursor(7, 2, "0a1b2c3d"),
    ):
        assert read_cursor(cursor.text()) == cursor
    assert (ChangeCursor(7).first, ChangeCursor(7, 2).first) == (8, 7)


def test_a_cursor_of_another_log_is_refused(service: Service, tmp_path: Path, policies: Path) -> None:
    """A service whose log was replaced does not take an older cursor for one of its own."""
    admit(service, "Known before.")
    _, after = page(service)
    with running(tmp_path / "other", policies) as other:
        for number in range(3):
            admit(other, f"Memory {number}.")
        response = ask(other, after=after)
    assert response.status_code == 400
    assert response.json()["reasons"][0]["pointer"] == "/after"
    assert "not of this log" in response.json()["reasons"][0]["message"]


# Requests that wait


def waits(service: Service, *bearer: Any, **query: Any) -> Callable[[], httpx.Response]:
    """Begin a request that waits for a change, and return a function that returns its answer."""
    headers = service.bearer(*bearer)
    before = waiting(service)
    pool = ThreadPoolExecutor(1)
    params = {"scope": APOLLO, "wait": 3000} | query
    answer = pool.submit(service.client.get, "/v1/changes", params=params, headers=headers)
    until(lambda: waiting(service) > before or answer.done(), "the request waits")
    return lambda: answer.result(HANG_SECONDS)


def waiting(service: Service) -> int:
    """Return how many requests wait."""
    number: int = service.state.changes.watch._of_token.total()
    return number


def test_a_waiting_request_gets_the_next_change(service: Service) -> None:
    """A request that waits is answered with the next change in its scope, and not by one in another."""
    _, after = page(service)
    answer = waits(service, after=after)
    admit(service, "Elsewhere.", submission_scope="session", scope_id="s-9")
    admit(service, "Waited for.")
    assert outline(answer().json()["items"]) == [("admitted", "Waited for.")]
    assert service.state.changes.watch._waiting == {}
    assert waiting(service) == 0


def test_an_erasure_by_another_process_wakes_a_waiting_request(service: Service) -> None:
    """The command line writes beside the service, and its erasure arrives within the wait."""
    proposal = admit(service, "To be erased.")
    end(service.sign_in(), proposal)
    answer = waits(service, after=page(service)[1])
    assert erase(service, proposal) == 0
    assert outline(answer().json()["items"]) == [("erased", None)]


def test_a_decision_at_another_process_wakes_a_waiting_request(postgres: Databases, tmp_path: Path) -> None:
    """On PostgreSQL a reader at one process gets what a curator decides at another."""
    location = Location(data=tmp_path / "data", database_url=postgres.fresh())
    policies = write_policies(tmp_path / "policies")
    with running(location, policies) as here, running(location, policies) as there:
        answer = waits(here)
        admit(there, "Decided there.")
        assert outline(answer().json()["items"]) == [("admitted", "Decided there.")]


def test_a_revoked_token_gets_no_change(service: Service) -> None:
    """A token that is revoked while its request waits gets a 401 instead of the change."""
    tokens = service.state.access.tokens
    token_id, secret = tokens.issue("lookout", "reader", [APOLLO], None)
    service._tokens["lookout", "reader"] = secret
    answer = waits(service, "lookout", "reader")
    assert tokens.revoke(token_id) == 1
    until(lambda: ask(service, "lookout", "reader").status_code == 401, "the revocation takes effect")
    admit(service, "Not for this token.")
    response = answer()
    assert response.status_code == 401
    assert "Not for this token" not in response.text


def test_a_withdrawn_grant_gets_no_change(location: Location, tmp_path: Path) -> None:
    """A scope that is taken from a producer while its request waits is refused."""
    policies = write_policies(tmp_path / "policies")
    with running(location, policies) as service:
        answer = waits(service, "tool:watcher")
        before, _, _ = PRODUCERS.rpartition("read = ")
        write_policies(policies, before + 'read = ["session:*"]\n')
        service.state.recall._policies.refresh()
        admit(service, "Not for the watcher.")
        response = answer()
    assert (response.status_code, response.json()["reasons"][0]["code"]) == (403, "scope-not-granted")


def test_a_waiting_request_ends_at_once_when_the_service_stops(service: Service) -> None:
    """A service that is asked to stop answers waiting requests with an empty page."""
    _, after = page(service)
    answer = waits(service, after=after)
    with service.client.portal() as portal:
        portal.call(service.state.stopping.set)
    assert answer().json() == {"items": [], "next": after}


def test_too_many_waiting_requests_are_refused(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token may have only some requests waiting, and further ones are refused with the time of the next try."""
    monkeypatch.setattr(change_watch, "MAX_WAITING_OF_TOKEN", 1)
    answer = waits(service)
    refused = ask(service, wait=30)
    assert (refused.status_code, refused.json()["reasons"][0]["code"]) == (429, "rate-limited")
    assert refused.headers["retry-after"]
    assert ask(service).status_code == 200
    other = waits(service, "tool:watcher")
    monkeypatch.setattr(change_watch, "MAX_WAITING", 2)
    assert ask(service, "lookout", "reader", (APOLLO,), wait=30).status_code == 429
    admit(service, "At last.")
    assert answer().status_code == other().status_code == 200


def test_the_watch_asks_once_for_all_that_wait(service: Service) -> None:
    """However many requests wait, one look reads the feed for all of them, and wakes only those it concerns."""
    watch = service.state.changes.watch

    async def woken() -> list[bool]:
        scopes = [("project", "apollo"), ("session", "s-7")]
        held = [watch.waiting([scopes[number % 2]], number) for number in range(1000)]
        events = [one.__enter__() for one in held]
        await asyncio.to_thread(admit, service, "Seen by half of them.")
        async with asyncio.timeout(HANG_SECONDS):
            await asyncio.gather(*(event.wait() for event in events[::2]))
        found = [event.is_set() for event in events]
        for one in held:
            one.__exit__(None, None, None)
        return found

    assert run(woken()) == [True, False] * 500
    assert watch._waiting == {}


def test_a_waiter_whose_loop_has_ended_stops_no_other(service: Service) -> None:
    """A request whose event loop is gone is skipped."""
    watch = service.state.changes.watch

    async def enter() -> Any:
        held = watch.waiting([("project", "apollo")], 1)
        held.__enter__()
        return held

    held = run(enter())
    assert waiting(service) == 1
    answer = waits(service)
    admit(service, "For the other.")
    assert outline(answer().json()["items"]) == [("admitted", "For the other.")]
    held.__exit__(None, None, None)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in an event loop of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def test_a_client_that_leaves_ends_its_waiting_request(service: Service) -> None:
    """A request whose client is gone waits no longer, and the others go on."""
    answer = waits(service)
    gone, sent = asyncio.Event(), list[Any]()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    with service.client.portal() as portal:
        left = portal.start_task_soon(service.app, answer_scope(service), receive, send)
        until(lambda: waiting(service) == 2, "both requests wait")
        portal.call(gone.set)
        left.result(HANG_SECONDS)
    assert sent[0]["status"] == 200
    assert waiting(service) == 1
    admit(service, "For the one that stays.")
    assert outline(answer().json()["items"]) == [("admitted", "For the one that stays.")]


def answer_scope(service: Service) -> Any:
    """Return the scope of a request that waits, as the HTTP server forms it."""
    headers = {"host": "127.0.0.1:8080"} | service.bearer()
    return {
        "type": "http",
        "method": "GET",
        "path": "/v1/changes",
        "raw_path": b"/v1/changes",
        "query_string": b"scope=project:apollo&wait=3000",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8080),
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
        "state": {},
    }
