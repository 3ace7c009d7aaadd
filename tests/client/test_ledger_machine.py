"""A state machine over ledger and service: lost and late requests, lost answers, gateway refusals, restarts.

The quick form runs with the tests; `--steps 20000` runs the long form that scripts/README.md lists.
"""

import itertools
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from antechamber.client.errors import outcome_or_error
from antechamber.client.ledger import Ledger
from antechamber.client.submitter import Submitter
from antechamber.core.contract import Receipt
from client.network import Network
from client.test_ledger import lesson
from client.test_submitter import refused
from support import URL, Service, database

FAULTS = st.lists(
    st.sampled_from(
        [
            "pass",
            "lose",
            "drop",
            "late",
            (500, b"{}"),
            (503, b"<html>"),
            (200, b"{}"),
            (401, refused(401)),
            (403, refused(403)),
            (401, b"{}"),
            (400, b"{}"),
        ]
    ),
    max_size=4,
)
KINDS = st.sampled_from(["good", "private", "elsewhere"])
"""The outcome of an event: accepted, found private, or refused by policy."""
ACCEPTED = {"accepted-for-review", "accepted-as-duplicate"}
_worlds = itertools.count(1)


class Machine(RuleBasedStateMachine):
    """One agent with a ledger, over a network with faults, with a service that outlives it."""

    service: Service
    steps = 0
    seen: ClassVar[Counter[str]] = Counter()
    operations: Bundle[str] = Bundle("operations")

    def __init__(self) -> None:
        """Start with a fresh ledger; the events of each run are different."""
        super().__init__()
        self.world = next(_worlds)
        self.folder = tempfile.TemporaryDirectory()
        self.network = Network(self.service)
        self.ledger = Ledger(Path(self.folder.name) / "agent.ledger")
        self.known: set[str] = set()
        self.ended: dict[str, str] = {}
        Machine.steps -= 1

    def event(self, number: int, kind: str) -> dict[str, Any]:
        """Return one of a few events."""
        text = f"World {self.world}, lesson {number}."
        if kind == "private":
            text += " Ask mira@orbit-works.dev."
        return lesson(text, scope_id="gemini" if kind == "elsewhere" else "apollo")

    def sender(self, faults: list[Any]) -> Submitter:
        """Return a submitter whose next calls meet these faults."""
        self.network.script = list(faults)
        return Submitter(URL, self.service.token(), self.ledger, transport=self.network, attempts=3)

    @rule(target=operations, number=st.integers(0, 4), kind=KINDS)
    def prepare(self, number: int, kind: str) -> str:
        """Record an event, perhaps a known one."""
        one = self.ledger.prepare(self.event(number, kind))
        self.known.add(one)
        return one

    @rule(one=operations, faults=FAULTS)
    def send(self, one: str, faults: list[Any]) -> None:
        """Send a recorded event."""
        with self.sender(faults) as sender:
            result = outcome_or_error(sender._run(sender._delivery.send(one)))
        assert one == (result.idempotency_key if isinstance(result, Receipt) else result.operation_id)

    @rule(numbers=st.lists(st.integers(0, 4), min_size=1, max_size=4), kind=KINDS, faults=FAULTS)
    def submit_batch(self, numbers: list[int], kind: str, faults: list[Any]) -> None:
        """Submit several at once."""
        with self.sender(faults) as sender:
            results = sender.submit_batch([self.event(number, kind) for number in numbers])
        assert len(results) == len(numbers)
        for one in results:
            self.known.add(str(one.idempotency_key) if isinstance(one, Receipt) else one.operation_id)

    @rule(one=operations, faults=FAULTS)
    def give_up(self, one: str, faults: list[Any]) -> None:
        """Seal an operation's key."""
        with self.sender(faults) as sender:
            sender.seal(one)

    @rule(faults=FAULTS)
    def recover(self, faults: list[Any]) -> None:
        """Settle what can be settled."""
        with self.sender(faults) as sender:
            sender.recover()

    @rule()
    def arrive_late(self) -> None:
        """Deliver the late requests."""
        self.network.script = []
        self.network.let_go()

    @rule()
    def restart_the_agent(self) -> None:
        """Close without cleanup, as a killed process does, and open the ledger again."""
        self.ledger._connection.close()
        held = self.ledger._sessions._held
        assert held is not None
        held.close()
        self.ledger = Ledger(self.ledger.path)
        assert self.ledger.counts()["pending"] == 0

    @rule(one=operations)
    def die_after_sending(self, one: str) -> None:
        """Record and send an attempt whose answer is never received."""
        entry = self.ledger.begin(one)
        if entry.state in {"pending", "uncertain"}:
            headers = {"authorization": f"Bearer {self.service.token()}"}
            self.service.client.post("/v1/submissions", content=entry.body, headers=headers)
        self.restart_the_agent()

    @invariant()
    def the_ledger_says_nothing_that_is_not_so(self) -> None:
        """Each operation has at most one submission, each event one proposal, and each settled state is true."""
        # The invariant is also checked once before the first step.
        Machine.steps += 1
        landed = self.landed()
        held = {key for request in self.network.held for key in _keys_of(request)}
        for entry in self.ledger.entries():
            one, disposition = entry.operation_id, landed.get(entry.operation_id)
            assert self.ended.setdefault(one, entry.state) == entry.state or self.ended[one] == "open"
            self.ended[one] = entry.state if entry.state in {"committed", "failed"} else "open"
            assert entry.state != "needs_review"
            if entry.is_unsent():
                self.seen["unsent after an attempt"] += entry.attempts > 0
                assert disposition is None
                assert one not in held
            self.seen[entry.state] += 1
            if entry.state == "committed":
                assert disposition in ACCEPTED
            if entry.state == "failed":
                assert disposition not in ACCEPTED
                assert disposition is not None or one not in held

    def landed(self) -> dict[str, str]:
        """Return the service's submissions of this run, by key."""
        marks = ", ".join("?" * len(self.known))
        with database(self.service.location) as raw:
            rows = raw.execute(
                f"SELECT idempotency_key, disposition, proposal FROM submissions WHERE idempotency_key IN ({marks})",
                tuple(self.known),
            ).fetchall()
            proposals = raw.execute(
                "SELECT count(*), count(DISTINCT payload) FROM proposals WHERE payload LIKE ?",
                (f"%World {self.world}, %",),
            ).fetchone()
        assert len(rows) == len({key for key, _, _ in rows})
        assert proposals[0] == proposals[1]
        return {key: disposition for key, disposition, _ in rows}

    def teardown(self) -> None:
        """With a working network nothing stays undecided, and late requests change nothing."""
        try:
            self.restart_the_agent()
            with self.sender([]) as sender:
                recovery = sender.recover()
            assert recovery.left == {}
            counts = self.ledger.counts()
            assert counts["uncertain"] == counts["pending"] == counts["needs_review"] == 0
            self.arrive_late()
            self.the_ledger_says_nothing_that_is_not_so()
        finally:
            self.ledger.close()
            self.folder.cleanup()


def _keys_of(request: Any) -> list[str]:
    """Return the keys of a late request; a batch has the keys of its lines."""
    return re.findall(r'"idempotency_key":"([^"]+)"', request.read().decode())


@pytest.mark.timeout(3000)
def test_no_order_of_faults_makes_the_ledger_wrong(service: Service, pytestconfig: pytest.Config) -> None:
    """A few hundred steps by default; --steps sets another number."""
    steps = pytestconfig.getoption("--steps")
    Machine.service, Machine.steps = service, 0
    some = settings(max_examples=20, stateful_step_count=50, deadline=None, database=None)
    while Machine.steps < steps:
        run_state_machine_as_test(Machine, settings=some)
    assert set(Machine.seen) >= {"committed", "failed", "uncertain", "pending", "unsent after an attempt"}
