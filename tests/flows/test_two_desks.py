"""Two desks on one database: curators at different processes never decide twice, and never miss each other."""

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from antechamber import app
from antechamber.config import Place
from antechamber.core.errors import StaleDecisionError
from antechamber.core.review import Decision
from antechamber.core.roles import Person
from antechamber.flows.review import Decided, Desk
from support import Service, event, running

ROUNDS = 25
_keys = itertools.count(1)


@pytest.fixture
def two(place: Place, policies: Path) -> Iterator[tuple[Service, Service]]:
    """Two services over one place, as two processes would be."""
    with running(place, policies) as one, running(place, policies) as other:
        yield one, other


def people(service: Service) -> tuple[Person, Person]:
    """Return two curators."""
    made = []
    for name in ("bob", "cleo"):
        service.state.access.add_user(name, "curator", None, None)
        made.append(service.state.access.sign_in_by_link(service.state.access.link(name)).person)
    return made[0], made[1]


def at_once(
    two: tuple[Service, Service], proposal_id: str, kinds: tuple[str, str]
) -> list[Decided | StaleDecisionError]:
    """Let both curators decide on the same version at the same moment, each at a desk of their own."""
    gate = threading.Barrier(2)
    curators = two[0].state.curators

    def decide(number: int) -> Decided | StaleDecisionError:
        desk: Desk = two[number].state.desk
        dossier = desk.dossier(proposal_id, curators[number])
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
    """Whether they agree or not, one decision is recorded and the other curator hears that it was late."""
    two[0].state.curators = people(two[0])
    for number in range(ROUNDS):
        proposal_id = submitted(two)
        results = at_once(two, proposal_id, ("approve", "reject" if number % 2 else "approve"))
        assert sorted(type(result).__name__ for result in results) == ["Decided", "StaleDecisionError"]
        dossier = two[1].state.desk.dossier(proposal_id, two[0].state.curators[0])
        assert len(dossier.records) == 1
        assert dossier.proposal.state == {"approve": "approved", "reject": "rejected"}[dossier.records[0].decision]


def test_two_first_approvals_at_once_are_the_two_that_were_wanted(two: tuple[Service, Service]) -> None:
    """Where two persons are wanted neither is lost and neither waits for a third: the later one admits the memory."""
    two[0].state.curators = people(two[0])
    for _ in range(ROUNDS):
        proposal_id = submitted(two, submission_scope="organization", scope_id="labs")
        results = at_once(two, proposal_id, ("approve", "approve"))
        assert sorted(result.outcome for result in results if isinstance(result, Decided)) == ["approved", "waits"]
        assert len({result.memory_id for result in results if isinstance(result, Decided)} - {None}) == 1


def test_what_a_process_sealed_or_took_is_known_to_the_other(two: tuple[Service, Service]) -> None:
    """A key belongs to its producer in every process; a retry that turned private withdraws everywhere."""
    body = event("Seen once.", idempotency_key="k-1")
    first = two[0].submit(body)
    assert two[1].submit(body).json() == first.json() | {"duplicate": True}
    assert two[1].submit(body | {"visibility": "private"}).status_code == 422
    two[0].state.curators = people(two[0])
    dossier = two[0].state.desk.dossier(first.json()["proposal_id"], two[0].state.curators[0])
    assert (dossier.proposal.withdrawn, dossier.proposal.version) == (True, 2)
    assert app.examine(two[0].place) == []
