"""A system clock that jumps or stops: order is by sequence, and nothing expires early or late."""

import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from antechamber.flows.clock import SteadyClock
from antechamber.settings import Location
from support import Service, event, running, write_policies

MINUTE = 60
DAY = 24 * 60 * MINUTE
JUMPS = {"a day back": -DAY, "a day forward": DAY, "a minute forward": MINUTE}


class Machine:
    """The two clocks of a machine, the settable wall clock and the monotonic one, both under the test's control."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        wall, passed = time.time_ns, time.clock_gettime_ns
        self.set_by = self.passed = 0.0
        self.frozen: int | None = None
        monkeypatch.setattr(time, "time_ns", lambda: self.frozen or wall() + self._ns(self.set_by + self.passed))
        monkeypatch.setattr(time, "clock_gettime_ns", lambda clock: passed(clock) + self._ns(self.passed))

    @staticmethod
    def _ns(seconds: float) -> int:
        return int(seconds * 1e9)

    def freeze(self) -> None:
        """Stop the wall clock."""
        self.frozen = time.time_ns()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Clocks under the test's control."""
    return Machine(monkeypatch)


@pytest.fixture
def running_service(machine: Machine, location: Location, tmp_path: Path) -> Iterator[Service]:
    """A service started on these clocks; its producers may make three attempts a minute."""
    del machine
    with running(location, write_policies(tmp_path / "policies", scopes="[limits]\nattempts_per_minute = 3\n")) as made:
        yield made


@pytest.mark.parametrize("seconds", JUMPS.values(), ids=JUMPS)
def test_sessions_links_and_tokens_outlive_a_jump(machine: Machine, running_service: Service, seconds: int) -> None:
    """After a jump sessions, links and tokens stay valid."""
    service = running_service
    desk, access = service.sign_in(), service.state.access
    _, secret = access.tokens.issue("worker:release-bot", "producer", [], MINUTE * 1_000_000)
    link = access.sign_in.create_link("bob")
    machine.set_by = seconds
    assert desk.browser.get("/review").status_code == 200
    assert service.client.post("/login", data={"link": link}, follow_redirects=False).status_code == 303
    answer = service.client.post(
        "/v1/submissions", content=msgspec.json.encode(event()), headers={"authorization": f"Bearer {secret}"}
    )
    assert answer.status_code == 201


@pytest.mark.parametrize("seconds", [*JUMPS.values(), None], ids=[*JUMPS, "frozen"])
def test_nothing_lives_longer_for_a_jump(machine: Machine, running_service: Service, seconds: int | None) -> None:
    """Revocation, expiry and idle timeouts depend on elapsed time, not on the wall clock."""
    service = running_service
    access = service.state.access
    desk, spare = service.sign_in(), service.sign_in()
    for name, lifetime in (("worker:release-bot", 5 * MINUTE * 1_000_000), ("tool:watcher", None)):
        _, secret = access.tokens.issue(name, "producer", [], lifetime)
        assert service.client.get("/v1/memories", headers={"authorization": f"Bearer {secret}"}).status_code == 400
        if name == "tool:watcher":
            revoked = secret
        else:
            expiring = secret
    link = access.sign_in.create_link("bob")
    if seconds is None:
        machine.freeze()
    else:
        machine.set_by = seconds
    access.tokens.revoke("tool:watcher")
    machine.passed = 2
    assert service.client.get("/v1/memories", headers={"authorization": f"Bearer {revoked}"}).status_code == 401
    assert desk.browser.get("/review").status_code == 200
    machine.passed = 16 * MINUTE
    assert service.client.get("/v1/memories", headers={"authorization": f"Bearer {expiring}"}).status_code == 401
    assert service.client.post("/login", data={"link": link}, follow_redirects=False).status_code != 303
    # A curator's session lasts twelve hours without use (policies/people.toml).
    machine.passed = 719 * MINUTE
    assert desk.browser.get("/review").status_code == 200
    assert spare.browser.get("/review").status_code == 200
    machine.passed = 1441 * MINUTE
    assert desk.browser.get("/review", follow_redirects=False).status_code in {303, 401}


@pytest.mark.parametrize("seconds", [*JUMPS.values(), None], ids=[*JUMPS, "frozen"])
def test_a_rate_goes_by_what_has_passed(machine: Machine, running_service: Service, seconds: int | None) -> None:
    """A jump neither grants nor removes attempts; an elapsed minute does."""
    service = running_service
    assert [service.submit(event(f"First {n}.")).status_code for n in range(4)] == [201, 201, 201, 429]
    if seconds is None:
        machine.freeze()
    else:
        machine.set_by = seconds
    assert service.submit(event("After the jump.")).status_code == 429
    machine.passed = MINUTE
    assert [service.submit(event(f"Later {n}.")).status_code for n in range(4)] == [201, 201, 201, 429]


@pytest.mark.parametrize("seconds", [*JUMPS.values(), None], ids=[*JUMPS, "frozen"])
def test_order_is_by_sequence(machine: Machine, running_service: Service, seconds: int | None) -> None:
    """Queue, records and memories keep their order, and timestamps never decrease."""
    service, desk, told = running_service, running_service.sign_in(), []
    for number in range(3):
        told.append(service.submit(event(f"Number {number}.")).json())
        machine.passed += 1
        if number == 0 and seconds is None:
            machine.freeze()
        if number == 0 and seconds is not None:
            machine.set_by = seconds
    queue = desk.browser.get("/review").text
    places = [queue.index(answer["proposal_id"]) for answer in told]
    assert places == sorted(places)
    stamps = [datetime.fromisoformat(answer["received_at"]) for answer in told]
    assert stamps == sorted(set(stamps))
    # Far less than the smallest jump, and far more than a busy machine needs for three submissions.
    assert (stamps[-1] - stamps[0]).total_seconds() < MINUTE / 2
    assert [answer["submission_id"] for answer in told] == sorted(answer["submission_id"] for answer in told)
    for answer in told:
        assert desk.decide(answer["proposal_id"], "approve").status_code == 303
    assert [item["content"] for item in service.recall()] == ["Number 2.", "Number 1.", "Number 0."]


def test_a_clock_that_was_set_is_reported_to_operators(machine: Machine, running_service: Service) -> None:
    """The desk and /readyz report a changed clock with the remedy, until both clocks agree again."""
    service = running_service
    assert service.client.get("/readyz").json()["status"] == "ready"
    machine.set_by = -DAY
    assert service.client.get("/readyz").json()["status"] == "degraded"
    assert "set back by 1 day" in service.sign_in("olga", "operator").browser.get("/operations").text
    machine.set_by = DAY
    details = service.sign_in("olga", "operator").browser.get("/readyz").json()
    assert any("set forward by 1 day" in alarm for alarm in details["alarms"])
    machine.set_by = 5
    assert service.client.get("/readyz").json()["status"] == "ready"


def test_a_service_started_on_a_wrong_clock_takes_the_right_one_at_its_next_start(machine: Machine) -> None:
    """The service reads the wall clock only at its start, so a restart adopts a corrected one."""
    machine.set_by = -DAY
    wrong = SteadyClock(lambda: time.time_ns() // 1000, lambda: time.clock_gettime_ns(0) // 1000)
    machine.set_by = 0
    right = SteadyClock(lambda: time.time_ns() // 1000, lambda: time.clock_gettime_ns(0) // 1000)
    assert round((right() - wrong()) / 1e6) == DAY
    assert wrong.alarm
    assert right.alarm is None


def test_a_start_on_a_clock_behind_the_log_is_reported(machine: Machine, location: Location, tmp_path: Path) -> None:
    """The alarm says how far the clock is behind the newest entry, and ends once that time has come."""
    policies = write_policies(tmp_path / "policies")
    with running(location, policies) as service:
        assert service.submit(event("Recorded at the right time.")).status_code == 201
        assert service.client.get("/readyz").json()["status"] == "ready"
    machine.set_by = -DAY
    with running(location, policies) as service:
        assert service.client.get("/readyz").json()["status"] == "degraded"
        (alarm,) = service.sign_in("olga", "operator").browser.get("/readyz").json()["alarms"]
        assert re.match(r"The system's clock is (1 day, 0:00:0|23:59:5)\d behind the newest entry of the log", alarm)
        assert "restart the service" in alarm
        machine.passed = DAY
        assert service.client.get("/readyz").json()["status"] == "ready"
