"""Groups: near duplicates, or one producer's last hour, decided together and recorded one by one."""

import html
import json
import re
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

import pytest

from antechamber.core.access.callers import Account
from antechamber.core.errors import ForbiddenDecisionError
from antechamber.core.ports.store import Rows
from antechamber.core.review.decision import Decision
from antechamber.flows.write_gate import WriteGate
from support import Desk, Service, database, event
from web.test_checkpoints import owner_does

T = TypeVar("T")
COPY = "The staging host is rebuilt every night at two, so keep no files there. Copy {}."


def flood(service: Service, number: int) -> list[str]:
    """Submit near duplicates and return their proposals."""
    made = [service.submit(event(COPY.format(one))).json()["proposal_id"] for one in range(number)]
    service.wait_until_sorted()
    return made


def form(page: str) -> dict[str, str]:
    """Return the fields of a group's form with every box checked."""
    return dict(re.findall(r'name="(csrf|decision_key|item-\d+)" value="([^"]*)"', page.partition("<main")[2]))


def decide(desk: Desk, location: str, kind: str, fields: dict[str, str]) -> str:
    """Send a group's form and return the visible text of the answer."""
    response = desk.post(f"/review/group/{kind}?{location}", fields)
    assert response.status_code in {200, 400}
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", "", response.text.partition("<main")[2])))


def records(service: Service) -> list[dict[str, Any]]:
    """Return all review records as an auditor exports them."""
    answer = service.client.get("/v1/audit/review-records", headers=service.bearer("auditing", "auditor"))
    return [record for line in answer.text.splitlines() if (record := json.loads(line))["record"] == "review"]


def test_a_flood_is_rejected_a_hundred_at_a_time_and_the_rest_sinks(service: Service) -> None:
    """Each proposal has its own record; the remaining ones of the flood move to the end of the queue."""
    copies = flood(service, 130)
    other = service.submit(event("Prefer short branches to long ones.")).json()["proposal_id"]
    service.wait_until_sorted()
    desk, location = service.sign_in(), f"like={copies[0]}"
    page = desk.browser.get(f"/review/group?{location}").text
    assert page.count("<article") == 100
    assert "and more behind them" in page
    answer = decide(desk, location, "reject", form(page) | {"reason_code": "duplicate", "reason_text": "A flood."})
    assert "100 recorded." in answer
    made = records(service)
    assert (len(made), {record["reason_code"] for record in made}) == (100, {"duplicate"})
    assert len({record["review_record_id"] for record in made}) == 100
    queue = desk.browser.get("/review").text
    assert re.findall(r'class="whole" dir="auto" href="/review/([^"]+)"', queue) == [other, copies[100]]
    assert "others like it were rejected" in queue
    service.submit(event(COPY.format("again")))
    service.wait_until_sorted()
    assert re.findall(r'class="whole" dir="auto" href="/review/([^"]+)"', desk.browser.get("/review").text)[0] == other


def test_only_what_is_ticked_and_unchanged_is_decided(service: Service) -> None:
    """A proposal that was decided meanwhile or whose text changed is reported; the others are decided."""
    copies = flood(service, 4)
    bob, eve, location = service.sign_in("bob"), service.sign_in("eve"), f"like={copies[0]}"
    fields = form(bob.browser.get(f"/review/group?{location}").text)
    assert eve.decide(copies[1], "approve").status_code == 303
    changed = fields | {"item-3": fields["item-3"][:-1] + "?", "reason_code": "wrong"}
    del changed["item-4"]
    answer = decide(bob, location, "reject", changed)
    assert "1 recorded. 2 not recorded:" in answer
    assert "this proposal was approved meanwhile" in answer
    assert "the text or its findings changed" in answer
    again = decide(bob, location, "reject", changed)
    assert "0 recorded" in again
    assert len(records(service)) == 2


def test_a_form_without_reason_choice_or_known_decision_records_nothing(service: Service) -> None:
    """The error names the missing part, and nothing is recorded."""
    copies = flood(service, 2)
    desk, location = service.sign_in(), f"like={copies[0]}"
    fields = form(desk.browser.get(f"/review/group?{location}").text)
    assert "Choose a reason" in decide(desk, location, "reject", fields)
    nothing = {name: value for name, value in fields.items() if not name.startswith("item-")}
    assert "Choose between 1 and 100" in decide(desk, location, "reject", nothing | {"reason_code": "wrong"})
    many = nothing | {f"item-{number}": f"x 1 {number}" for number in range(101)}
    assert "Choose between 1 and 100" in decide(desk, location, "reject", many | {"reason_code": "wrong"})
    for kind in ("merge", "edit", "promote"):
        assert "Nothing was recorded" in decide(desk, location, kind, fields | {"reason_code": "wrong"})
    broken = nothing | {"item-1": "", "item-2": "a b c d", "reason_code": "wrong"}
    assert "0 recorded" in decide(desk, location, "reject", broken)
    assert records(service) == []


def test_a_group_is_approved_only_if_the_policy_allows_it_and_no_text_needs_care(
    service: Service, policies: Any
) -> None:
    """Group approval is off by default; when it is on, flagged texts must be decided one by one."""
    copies = [service.submit(event(COPY.format(one))).json()["proposal_id"] for one in ("red", "blue", "green")]
    odd = service.submit(event(COPY.format("\u202e3"))).json()["proposal_id"]
    service.wait_until_sorted()
    desk, location = service.sign_in(), f"like={copies[0]}"
    fields = form(desk.browser.get(f"/review/group?{location}").text)
    assert "Bulk approval is off (policy)." in decide(desk, location, "approve", fields)
    assert service.recall() == []
    (policies / "scopes.toml").write_text("[limits]\nbulk_approve = true\n")
    service.state.dashboard._policies.refresh()
    fields = form(desk.browser.get(f"/review/group?{location}").text)
    answer = decide(desk, location, "approve", fields)
    assert "3 recorded. 1 not recorded:" in answer
    assert "It has warnings" in answer
    assert len(service.recall()) == 3
    assert desk.browser.get(f"/review/{odd}").text.count("pending</span>") == 1


def test_the_last_hour_of_one_producer_is_a_group(service: Service) -> None:
    """Events of other producers, or from before the hour, are not in the group; owners cannot judge it."""
    own = [service.submit(event(f"{word} is what failed.")).json()["proposal_id"] for word in ("Alpha", "Bravo")]
    service.submit(event("Delta is what failed.", producer_identity="tool:watcher"))
    location = "producer=worker:release-bot"
    page = service.sign_in().browser.get(f"/review/group?{location}").text
    assert re.findall(r'name="item-\d" value="([^ ]+) ', page) == own
    ada = service.sign_in("ada")
    own_page = ada.browser.get(f"/review/group?{location}").text
    assert "item-" not in own_page
    assert own_page.count("You own or owned this producer") == 2
    items = {name: value for name, value in form(page).items() if name.startswith("item-")}
    fields = form(own_page) | items | {"reason_code": "wrong"}
    assert "0 recorded. 2 not recorded:" in decide(ada, location, "reject", fields)
    assert "No proposal of this group is waiting" in ada.browser.get("/review/group?producer=worker:nobody").text
    for other in ("", "?like=nothing", "?source=nothing"):
        assert "No proposal of this group is waiting" in ada.browser.get(f"/review/group{other}").text


class Shrinking(WriteGate):
    """A wrapper of a service's store and signed log that loses the last leaves after a group's first decision."""

    def __init__(self, service: Service) -> None:
        guarded: WriteGate = service.state.groups._store
        super().__init__(guarded._store, guarded._checkpoints)
        self._place, self._size = service.location, service.state.checkpoints.checkpoint().size

    def promote(self, work: Callable[[Rows], T]) -> Future[T]:
        """Wait for each decision, then delete the last leaves unless that was detected already."""
        future = super().promote(work)
        wait([future])
        if self._checkpoints.doubt is None:
            owner_does(self._place, f"DELETE FROM log_leaves WHERE id >= {self._size - 1}", "DELETE FROM checkpoints")
        return future


def test_a_log_that_fails_amid_a_group_leaves_each_item_with_its_result(service: Service) -> None:
    """Decisions recorded before the failure are reported as such, and all others with the remedy for an operator."""
    copies = flood(service, 4)
    desk, location = service.sign_in(), f"like={copies[0]}"
    fields = form(desk.browser.get(f"/review/group?{location}").text) | {"reason_code": "wrong"}
    service.state.groups._store = Shrinking(service)
    answer = decide(desk, location, "reject", fields)
    assert "1 recorded. 3 not recorded:" in answer
    assert answer.count("an operator has to act") == 3
    with database(service.location) as raw:
        assert raw.execute("SELECT count(*) FROM review_records").fetchone()[0] == 1


def test_only_a_curator_decides_on_a_group(service: Service) -> None:
    """The flow itself refuses other roles, whatever calls it."""
    (one,) = flood(service, 1)
    auditor = Account(id=1, name="una", person="una", role="auditor", session="")
    with pytest.raises(ForbiddenDecisionError, match="Only a curator decides"):
        service.state.groups.decide(
            [(one, Decision(kind="reject", version=1, shown_hash="", decision_key=""))], auditor
        )
    curator = Account(id=1, name="bob", person="bob", role="curator", session="")
    with pytest.raises(ForbiddenDecisionError, match="approved, rejected or undone, nothing else"):
        service.state.groups.decide([(one, Decision(kind="merge", version=1, shown_hash="", decision_key=""))], curator)
    with pytest.raises(ForbiddenDecisionError, match="Only a curator decides"):
        service.state.desk.decide(one, Decision(kind="reject", version=1, shown_hash="", decision_key=""), auditor)
