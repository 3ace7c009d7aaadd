"""Two processes on one database: curators decide once, see each other, and ended access is ended everywhere."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from antechamber import app
from antechamber.core.access.callers import Account, PasswordChange
from antechamber.core.errors import StaleDecisionError
from antechamber.core.ports.store import Rows
from antechamber.core.review.decision import Decision
from antechamber.flows.access import AccessFlows
from antechamber.flows.review import DecisionResult, Desk
from antechamber.settings import Location
from store.faults import Backends
from support import HANG_SECONDS, Databases, Service, event, running, until

ROUNDS = 25
CHANGE = PasswordChange(
    change_id="change",
    user="bob",
    password="the new hash",
    actor="command-line",
    role="operator",
    session="",
    changed_at=1,
)
BEGINNINGS: dict[str, Callable[[AccessFlows, str], Any]] = {
    "session by password": lambda access, _: access.sign_in.check_password(
        "bob", "", lambda known: known == "the old hash"
    ),
    "session by link": lambda access, link: access.sign_in.consume_link(link),
    "link": lambda access, _: access.sign_in.create_link("bob"),
    "token": lambda access, _: access.tokens.issue("worker:release-bot", "producer", [], None),
}
"""Ways in which access begins."""
ENDS: dict[str, Callable[[Rows], Any]] = {
    "password change": lambda tx: tx.access.set_password(CHANGE),
    "end of all access": lambda tx: tx.access.end_access(2, 0),
}
"""Ways in which access ends; the second is part of giving up a log."""
MEETINGS = [
    *((kind, "password change", False) for kind in BEGINNINGS),
    # Using an ended link would wait in any case, because its row is locked.
    *((kind, end, True) for kind in BEGINNINGS for end in ENDS if kind != "session by link"),
]
"""Each beginning with an end that only holds its lock, or has done all its work without committing."""
_keys = itertools.count(1)


@pytest.fixture
def two(location: Location, policies: Path) -> Iterator[tuple[Service, Service]]:
    """Two services on one location, as two processes."""
    with running(location, policies) as one, running(location, policies) as other:
        yield one, other


def people(service: Service) -> tuple[Account, Account]:
    """Return two curators."""
    made = []
    for name in ("bob", "cleo"):
        service.state.access.accounts.add(name, "curator", None, None)
        made.append(service.state.access.sign_in.consume_link(service.state.access.sign_in.create_link(name)).account)
    return made[0], made[1]


def at_once(
    two: tuple[Service, Service], proposal_id: str, kinds: tuple[str, str]
) -> list[DecisionResult | StaleDecisionError]:
    """Let both curators decide on the same version at the same moment, each on a separate service."""
    gate = threading.Barrier(2)
    curators = two[0].state.curators

    def decide(number: int) -> DecisionResult | StaleDecisionError:
        desk: Desk = two[number].state.desk
        dossier = two[number].state.desk_views.dossier(proposal_id, curators[number])
        decision = Decision(
            kind=kinds[number],  # type: ignore[arg-type]
            version=dossier.proposal.version,
            shown_hash=dossier.shown_hash,
            decision_key=f"key-{next(_keys)}",
            reason_code="wrong" if kinds[number] == "reject" else None,
        )
        gate.wait()
        try:
            return desk.decide(proposal_id, decision, curators[number])
        except StaleDecisionError as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(decide, range(2)))


def submitted(two: tuple[Service, Service], **members: str) -> str:
    """Submit an event and return its proposal."""
    proposal_id: str = two[0].submit(event(f"Sentence {next(_keys)}.", **members)).json()["proposal_id"]
    return proposal_id


def test_of_two_decisions_at_once_one_counts(two: tuple[Service, Service]) -> None:
    """Whether the two decisions agree or not, one is recorded and the other curator gets a conflict."""
    two[0].state.curators = people(two[0])
    for number in range(ROUNDS):
        proposal_id = submitted(two)
        results = at_once(two, proposal_id, ("approve", "reject" if number % 2 else "approve"))
        assert sorted(type(result).__name__ for result in results) == ["DecisionResult", "StaleDecisionError"]
        dossier = two[1].state.desk_views.dossier(proposal_id, two[0].state.curators[0])
        assert len(dossier.records) == 1
        assert dossier.proposal.state == {"approve": "approved", "reject": "rejected"}[dossier.records[0].decision]


def test_two_first_approvals_at_once_are_the_two_that_were_wanted(two: tuple[Service, Service]) -> None:
    """Where two persons are required, neither approval is lost and the later one admits the memory."""
    two[0].state.curators = people(two[0])
    for _ in range(ROUNDS):
        proposal_id = submitted(two, submission_scope="organization", scope_id="labs")
        results = at_once(two, proposal_id, ("approve", "approve"))
        assert sorted(result.outcome for result in results if isinstance(result, DecisionResult)) == [
            "approved",
            "waits",
        ]
        assert len({result.memory_id for result in results if isinstance(result, DecisionResult)} - {None}) == 1


def test_what_a_process_sealed_or_took_is_known_to_the_other(two: tuple[Service, Service]) -> None:
    """A key is sealed or used in every process, and a retry that turned private withdraws its proposal everywhere."""
    body = event("Seen once.", idempotency_key="k-1")
    first = two[0].submit(body)
    assert two[1].submit(body).json() == first.json() | {"duplicate": True}
    assert two[1].submit(body | {"visibility": "private"}).status_code == 422
    two[0].state.curators = people(two[0])
    dossier = two[0].state.desk_views.dossier(first.json()["proposal_id"], two[0].state.curators[0])
    assert (dossier.proposal.withdrawn, dossier.proposal.version) == (True, 2)
    assert app.examine(two[0].location) == []


@pytest.fixture
def shared(postgres: Databases, tmp_path: Path) -> Iterator[Location]:
    """A location on PostgreSQL, where several processes write at once; SQLite has a single writer."""
    url = postgres.fresh()
    yield Location(data=tmp_path / "data", database_url=url)
    postgres.drop(url)


@contextlib.contextmanager
def under_way(location: Location, end: Callable[[Rows], Any], *, done: bool) -> Iterator[threading.Event]:
    """Keep an end of access from committing until the event is set, before or after its work is done."""
    store = app.open_store(location)
    begun, go_on = threading.Event(), threading.Event()

    def work(tx: Rows) -> None:
        if done:
            end(tx)
        else:
            tx.access.hold_sessions()
        # This query's answer proves that all statements before it are done.
        assert tx.access.user("bob")
        begun.set()
        assert go_on.wait(HANG_SECONDS)
        if not done:
            end(tx)

    ending = store.write(work)
    try:
        assert begun.wait(HANG_SECONDS)
        yield go_on
    finally:
        go_on.set()
        ending.result(HANG_SECONDS)
        store.close()


@pytest.mark.parametrize(("kind", "end", "done"), MEETINGS)
def test_no_access_begins_while_an_end_of_access_is_under_way(
    shared: Location,
    kind: str,
    end: str,
    done: bool,  # noqa: FBT001 -- a parameter of the table
) -> None:
    """A sign-in waits for the end to commit, and a session starts only under the account's committed state."""
    backends = Backends(shared.database_url or "")
    with app.opened_access(shared, create=True) as access:
        access.accounts.add("bob", "curator", None, "the old hash")
        link = access.sign_in.create_link("bob")
        with under_way(shared, ENDS[end], done=done) as go_on, ThreadPoolExecutor(1) as pool:
            beginning = pool.submit(BEGINNINGS[kind], access, link)
            until(lambda: beginning.done() or backends.waiting(), "it has begun, or waits")
            waited = not beginning.done()
            go_on.set()
            begun = beginning.result()
    assert waited
    assert (begun is None) == (kind.startswith("session") and end == "password change")
    assert app.examine(shared) == []
