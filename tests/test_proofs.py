"""What the proofs count, and which findings or too few attempts fail them."""

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient

from antechamber.core.errors import UnavailableError
from antechamber.core.log.merkle import EMPTY_ROOT, leaf_hash, node_hash
from lib.processes import SCOPE
from proofs import failover, operate, soak
from proofs.crash_fields import OneFile, unexpected_errors
from proofs.failover_load import branches
from proofs.operate_site import BrokenError, demand
from proofs.operate_work import Work
from proofs.soak_disturbances import KINDS, Outages, in_turn
from proofs.soak_resources import Resources, Sample, Series, growth
from proofs.watched import Manners
from proving import prove, run
from support import PRODUCERS, Service, running, write_policies
from test_logs import line as logged
from test_logs import raised

UNHARMED: dict[str, Any] = dict.fromkeys(
    ("lost", "doubled", "decisions_lost", "decisions_doubled", "direct_lost", "refused", "unanswered"), 0
) | dict.fromkeys(("decisions_refused", "decisions_unanswered", "memories_wrong", "branches", "tracebacks"), 0)
UNHARMED |= {"improper": {}, "doctor": [], "paused_max_s": {"HAProxy restart": 15.0}}


@pytest.mark.parametrize(
    "found",
    [
        *({name: 1} for name, number in UNHARMED.items() if number == 0),
        {"improper": {"500": 1}},
        {"doctor": ["the log has a gap"]},
        {"paused_max_s": {"HAProxy restart": 15.1}},
    ],
)
def test_each_finding_of_a_failover_fails_its_proof(found: dict[str, Any]) -> None:
    """A loss, another answer or a long pause fails it, otherwise it holds; the quick form permits the pause."""
    assert failover.holds(UNHARMED, timed=True)
    assert not failover.holds(UNHARMED | found, timed=True)
    assert failover.holds(UNHARMED | found, timed=False) == ("paused_max_s" in found)


SOAKED: dict[str, Any] = dict.fromkeys(soak.COUNTED, 0) | {name: [] for name in soak.LISTED} | {"quiet": True}
GROWTH = {"process": "host 0", "flat": True}
SOAKED |= {"series": [GROWTH], "processes": {"host 0": 1}, "disturbances": dict.fromkeys(KINDS, 1)}
SOAKED |= {"acknowledged": 200, "decisions": 10, "exports": 1}


@pytest.mark.parametrize(
    "found",
    [
        *({name: 1} for name in soak.COUNTED),
        *({name: ["something"]} for name in soak.LISTED),
        {"quiet": False},
        {"series": [GROWTH, GROWTH | {"flat": False}]},
    ],
)
def test_each_finding_of_a_soak_fails_its_proof(found: dict[str, Any]) -> None:
    """A loss, another answer, an alarm that stays, or a process that grows fails it; otherwise it holds."""
    assert soak.findings(SOAKED) == []
    assert len(soak.findings(SOAKED | found)) == 1


def test_a_soak_needs_each_disturbance_and_a_long_look_at_each_process() -> None:
    """What was not disturbed, or not seen for long enough, proves nothing."""
    assert soak.too_little(SOAKED, "sqlite", 1) == []
    assert soak.too_little(SOAKED, "postgres", 1) == ["faults 0 instead of at least 2"]
    assert len(soak.too_little(SOAKED | {"disturbances": {KINDS[0]: 1}}, "sqlite", 1)) == len(KINDS) - 1
    unseen = SOAKED | {"processes": {"host 0": 3, "host 1": 1}}
    assert soak.too_little(unseen, "sqlite", 1) == ["no series of host 1 was long enough"]


def series(memory: Callable[[float], float], files: Callable[[float], float]) -> Series:
    """Return an hour of samples, memory in MiB."""
    return Series("host 0", 1, [Sample(at, int(memory(at) * (1 << 20)), int(files(at))) for at in range(0, 3600, 10)])


@pytest.mark.parametrize(
    ("grown", "flat", "slopes"),
    [
        (series(lambda _: 150, lambda _: 40), True, (0, 0)),
        # It grows while it warms up, and peaks now and then.
        (series(lambda at: 100 + min(at, 800) / 10, lambda at: 40 + 200 * (at % 600 < 30)), True, None),
        (series(lambda at: 150 + at / 90, lambda _: 40), False, (40, 0)),
        (series(lambda _: 150, lambda at: 40 + at / 60), False, (0, 60)),
        (series(lambda at: 400 + at / 90, lambda _: 40), True, (40, 0)),
    ],
)
def test_a_process_that_grows_is_not_flat(grown: Series, flat: bool, slopes: tuple[int, int] | None) -> None:  # noqa: FBT001 -- a parameter of the test
    """The last quarter is compared with the second one: at most a tenth, 16 MiB or 16 files more."""
    found = growth(grown)
    assert found["flat"] is flat
    if slopes is not None:
        assert (round(found["memory_slope_mib_h"]), round(found["files_slope_h"])) == slopes


def test_a_soak_kills_no_process_twice_once_it_is_late_but_leaves_no_kind_out() -> None:
    """Kinds that were never made come even when it is late; without them a soak would not end."""
    kills = KINDS[:2]
    early = list(itertools.islice(in_turn(KINDS, ("failover",), made=KINDS, late=lambda: False), 12))
    assert early == [*kills, "failover", *KINDS[2:4], "failover", *KINDS[4:6], "failover", *KINDS[6:], "failover"]
    late = list(itertools.islice(in_turn(KINDS, (), made={kills[0]}, late=lambda: True), len(KINDS)))
    assert late == [*KINDS[1:], kills[1]]
    assert not set(kills) & set(itertools.islice(in_turn(KINDS, (), made=KINDS, late=lambda: True), 60))


def test_a_soak_judges_a_process_that_it_watched_for_long_enough() -> None:
    """A tenth of an hour is too short in an hour, and long enough in a run of ten minutes; few samples never are."""
    watched = Resources(dict, 3600)
    assert watched.suffices(3600)
    watched.series = [
        series(lambda _: 150, lambda _: 40),
        Series("host 1", 2, [Sample(at, 1, 1) for at in range(0, 360, 10)]),
    ]
    assert [one["process"] for one in watched.judged(3600)] == ["host 0"]
    assert not watched.suffices(3600)
    assert watched.suffices(600)
    watched.series.append(Series("host 1", 3, [Sample(0, 1, 1), Sample(3600, 1, 1)]))
    assert not watched.suffices(600)


def test_only_requests_to_a_killed_process_may_lack_their_answer() -> None:
    """A request that began before its process was ready again is excused, any other silence counts."""
    outages, now = Outages(), time.monotonic()
    manners = Manners(outages.excused)
    manners.note_silence(1, now)
    assert manners.improper == {"no answer": 1}
    outages.killed(1)
    manners.note_silence(1, now + 1)
    manners.note_silence(2, now + 1)
    assert manners.improper == {"no answer": 2}
    outages.ready(1)
    manners.note_silence(1, time.monotonic())
    manners.note_silence(1, time.monotonic() + 60)
    assert manners.improper == {"no answer": 3}


def test_unexpected_errors_of_the_service_are_found_in_its_log() -> None:
    """An entry with a traceback is unexpected, unless it is an answer that was cut off because its store is gone."""
    errors = (RuntimeError("x"), UnavailableError("the store cannot commit now"))
    texts = ("unexpected error on GET /", "Exception in ASGI application\n")
    entries = [logged("human", text, raised(error)) for error in errors for text in texts]
    log = "\n".join([logged("human", "signed in"), *entries, logged("human", "alarm: 1\n2")])
    assert unexpected_errors(log) == [f"{entry}\n" for entry in entries[:3]]
    assert len(unexpected_errors("Traceback (most recent call last):\n  File x\nValueError\n")) == 1


def test_a_process_that_ends_by_itself_is_an_unexpected_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A crash between two kills is counted, although the next kill starts the process again; a kill is none."""
    field = OneFile(tmp_path)
    try:
        field.kill_application(0)
        assert field.errors() == []
        for _ in range(2):
            os.kill(field.processes[0].pid, signal.SIGSEGV)
            field.processes[0].wait()
            field.kill_application(0)
        os.kill(field.processes[0].pid, signal.SIGABRT)
        field.processes[0].wait()
        ended = "process 0 ended by itself with status"
        assert field.errors() == [f"{ended} -11", f"{ended} -11", f"{ended} -6"]
        assert field.report_errors() == 3
        assert capsys.readouterr().err.splitlines() == field.errors()
    finally:
        field.close()


def test_a_log_that_was_signed_otherwise_has_a_branch() -> None:
    """A signed root that the final leaves do not have is found, and so is a size that the log no longer has."""
    roots = {0: {EMPTY_ROOT}, 1: {leaf_hash(b"a")}, 2: {node_hash(leaf_hash(b"a"), leaf_hash(b"b"))}}
    assert branches(roots, ["a", "b"]) == []
    assert branches(roots, ["a", "x"]) == [2]
    assert branches(roots, ["a"]) == [2]
    assert branches(roots | {1: {leaf_hash(b"a"), leaf_hash(b"x")}}, ["a", "b"]) == [1]


def test_a_machine_without_namespaces_says_so_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the programs cannot be had, the proof is not run; CI counts that as a failure."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CI", raising=False)
    for status, proof in ((0, "failover"), (0, "soak"), (1, "failover"), (1, "soak")):
        done = run(proof, "--json")
        if proof == "soak":
            monkeypatch.setenv("CI", "1")
        assert "not_run" in msgspec.json.decode(done.stdout)
        assert done.returncode == status


def test_a_small_proof_holds_and_a_strict_one_says_that_too_little_was_tried() -> None:
    """A small explicit number is accepted, unless the minimum of the quick form is required."""
    few = ("races", "--engine", "sqlite", "--races", "3")
    status, numbers = prove(*few)
    assert (status, numbers["made"], numbers["too_little"]) == (0, 3, [])
    done = run(*few, "--strict")
    assert done.returncode == 1
    assert "too little was tried: made 3 instead of at least 50" in done.stderr


class Door:
    """The way of an operator's agents to a service in this process, instead of nginx."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def client(self, token: str) -> contextlib.AbstractContextManager[TestClient[Any]]:
        """Return the client of an agent; the service goes on when it is closed."""
        self._service.client.headers["authorization"] = f"Bearer {token}"
        return contextlib.nullcontext(self._service.client)


def test_the_journey_of_an_operator_notices_a_lost_answer_and_a_lost_memory(tmp_path: Path) -> None:
    """What was acknowledged is looked for: all of it is found, then one answer and one memory are missing."""
    policies = write_policies(tmp_path / "policies", PRODUCERS.replace("release-bot", "bench").replace("apollo", SCOPE))
    work = Work()
    with running(tmp_path / "data", policies) as service:
        door: Any = Door(service)
        token = service.token("worker:bench")
        work.submit(door, token, "event", 6)
        work.decide(service.sign_in("bob").browser, 3)
        assert len(work.ledger.receipts) == 6
        work.check(door, token, frozenset(work.ledger.receipts))
        work.approved.add("A text that no one proposed.")
        with pytest.raises(BrokenError, match="2 memories instead of 3"):
            work.check(door, token, frozenset(work.ledger.receipts))
        work.ledger.receipts["never-sent"] = b"{}"
        with pytest.raises(BrokenError, match="never-sent is missing: 404"):
            work.check(door, token, frozenset({"never-sent"}))


def test_the_journey_of_an_operator_ends_at_the_step_that_broke(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The step is named with its reason, and no later step is taken."""

    def broken(_journey: operate.Journey) -> None:
        demand(condition=False, message="the backup is empty")

    steps = {"begin": lambda _: None, "back up": broken, "restore": lambda _: pytest.fail("it went on")}
    monkeypatch.setattr(operate, "STEPS", steps)
    numbers = operate.prove("sqlite", 1, sabotage=False)
    assert (list(numbers["steps"]), numbers["broken"]) == (["begin", "back up"], "back up: the backup is empty")
    assert "back up  BROKEN" in capsys.readouterr().err
