"""Delivery of webhooks by a running service to a real receiver: in order, at least once, and only what is allowed."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antechamber import background, webhook_sender
from antechamber.app import clock, opened_webhooks
from antechamber.app.webhooks import connect_delivery
from antechamber.background import Background
from antechamber.core.errors import UnavailableError
from antechamber.core.ports.store import Store
from antechamber.core.webhooks import schedule
from antechamber.core.webhooks.events import EVENT_TYPES, EventType
from antechamber.core.webhooks.target import TargetError
from antechamber.flows.webhooks import delivery, pending
from antechamber.flows.webhooks.alarms import AlarmEvents
from antechamber.flows.webhooks.endpoints import MAX_WEBHOOKS, WebhookError, Webhooks
from antechamber.settings import Location
from receiver import Receiver
from support import HANG_SECONDS, Service, event, locked, running, until, write_policies

CANARY = "The canary sings at dawn."


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, try again soon, and give no request up that a test keeps waiting."""
    monkeypatch.setattr(webhook_sender, "TOTAL_SECONDS", 2 * HANG_SECONDS)
    monkeypatch.setattr(delivery, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(background, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(schedule, "FIRST_PAUSE", 10_000)
    monkeypatch.setattr(schedule, "LONGEST_PAUSE", 20_000)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that is running."""
    with Receiver().running() as made:
        yield made


def webhooks_of(service: Service) -> Webhooks:
    """Return the flows of webhooks over a service's store."""
    return Webhooks(
        store_of(service), clock, lambda size: threading.get_ident().to_bytes(16, "big")[:size].ljust(size), b"s" * 32
    )


def store_of(service: Service) -> Store:
    """Return the store of a service."""
    found: Store = service.state.desk._store
    return found


def add(service: Service, url: str, *events: EventType) -> tuple[str, str]:
    """Add an endpoint that gets these events, all if none is named; return its id and secret."""
    with opened_webhooks(service.location, grants=True) as webhooks:
        return webhooks.add(url, list(events or EVENT_TYPES), allow_private=True)


def listed(service: Service) -> Any:
    """Return the only endpoint as operators see it."""
    with opened_webhooks(service.location) as webhooks:
        [found] = webhooks.all()
    return found


def submit(service: Service, *contents: str) -> list[dict[str, Any]]:
    """Submit events and return their receipts."""
    return [service.submit(event(content)).json() for content in contents]


def test_each_event_arrives_signed_and_in_order(service: Service, receiver: Receiver) -> None:
    """A proposal's way to a memory and its end are events with ids and links; no text of it is in any message."""
    webhook_id, secret = add(service, receiver.url)
    bob = service.sign_in()
    [receipt] = submit(service, CANARY)
    proposal = receipt["proposal_id"]
    assert bob.write(proposal, "question", "Does the canary sing?").status_code == 303
    assert service.answer(receipt["submission_id"], "The canary does.", "answer-1").status_code == 201
    assert bob.decide(proposal, "approve", reason_text="Canaries sing.").status_code == 303
    memory = service.recall()[0]["memory_id"]
    form = bob.form(proposal)
    assert bob.post(f"/review/{proposal}/retract", form | {"reason_code": "wrong"}).status_code == 303
    AlarmEvents(store_of(service), clock).add(["signer"])
    until(lambda: len(receiver.requests) >= 7, "the events arrived")
    receiver.verify(secret)
    events = receiver.events
    assert [found["type"] for found in events] == [
        "proposal.waiting",
        "proposal.question",
        "proposal.waiting",
        "proposal.decided",
        "memory.admitted",
        "memory.ended",
        "alarm.raised",
    ]
    assert receiver.sequences == sorted(receiver.sequences)
    assert receiver.ids[:6] == [f"msg_{webhook_id}_{sequence}" for sequence in receiver.sequences[:6]]
    assert receiver.ids[6] == f"msg_{webhook_id}_alarm_1"
    for found in events[:6]:
        assert (found["data"]["submission_scope"], found["data"]["scope_id"]) == ("project", "apollo")
    assert events[0]["data"]["link"] == f"{service.settings.url}/review/{proposal}"
    assert events[5]["data"]["link"] == f"{service.settings.url}/memories/{memory}"
    assert events[5]["data"]["state"] == "retracted"
    assert events[6]["data"]["source"] == "signer"
    assert events[6]["data"]["link"] == f"{service.settings.url}/dashboard"
    assert not [body for _, body in receiver.requests if b"anar" in body]
    row = until(lambda: (found := listed(service)).webhook.delivered == 7 and found, "the position was stored")
    assert (row.state, row.backlog.number, row.url) == ("active", 0, receiver.url.partition("?")[0])


def test_a_text_is_sent_only_where_the_policy_allows(tmp_path: Path, receiver: Receiver) -> None:
    """A scope with `webhook_text` sends the present text of proposals and active memories; another scope sends none."""
    policies = write_policies(tmp_path / "policies", scopes="[scope.project]\nwebhook_text = true\n")
    with running(tmp_path / "data", policies) as service:
        bob = service.sign_in()
        [receipt] = submit(service, CANARY)
        service.submit(event("Another canary.", submission_scope="session", scope_id="s1"))
        assert bob.decide(receipt["proposal_id"], "approve").status_code == 303
        [gone] = submit(service, "A canary that is withdrawn.")
        again = event(
            "A canary that is withdrawn, again.", visibility="private", idempotency_key=gone["idempotency_key"]
        )
        assert service.submit(again).status_code == 422
        add(service, receiver.url)
        with opened_webhooks(service.location) as webhooks:
            webhooks.replay(receiver.url, "0")
        until(lambda: len(receiver.requests) >= 5, "the events arrived")
        texts = [found["data"].get("content") for found in receiver.events]
        assert texts == [CANARY, None, CANARY, CANARY, None]
        form = bob.form(receipt["proposal_id"]) | {"reason_code": "wrong"}
        bob.post(f"/review/{receipt['proposal_id']}/retract", form)
        until(lambda: len(receiver.requests) == 6, "the retraction arrived")
        with opened_webhooks(service.location) as webhooks:
            webhooks.replay(receiver.url, "0")
        until(lambda: len(receiver.requests) == 12, "the events arrived again")
        assert [found["data"].get("content") for found in receiver.events[6:]] == [
            CANARY,
            None,
            CANARY,
            None,
            None,
            None,
        ]


@pytest.mark.parametrize("failure", [500, 404, 302, "reset", "garbage"])
def test_a_failure_is_tried_again_before_later_events(
    failure: int | str, tmp_path: Path, policies: Path, receiver: Receiver, log_lines: list[str]
) -> None:
    """The event that failed comes again under its id, later ones wait, and the log has the begin and the end."""
    receiver.answers = [204, failure, failure]
    with running(tmp_path / "data", policies) as service:
        add(service, receiver.url)
        submit(service, "One.", "Two.", "Three.")
        until(lambda: len(receiver.requests) >= 5, "all arrived")
        one, two, three = sorted(set(receiver.sequences))
        assert receiver.sequences == [one, two, two, two, three]
        assert len(set(receiver.ids)) == 3
        until(lambda: listed(service).webhook.delivered == 3, "the position was stored")
        assert listed(service).webhook.last_error is None
    assert (
        sum("webhook fails" in line for line in log_lines)
        == sum("webhook works again" in line for line in log_lines)
        > 0
    )


def test_a_receiver_that_is_gone_gets_nothing_until_a_replay(
    tmp_path: Path, policies: Path, receiver: Receiver, log_lines: list[str]
) -> None:
    """410 disables an endpoint, with a line in the log; its events wait, and a replay brings them."""
    receiver.answers = [410]
    with running(tmp_path / "data", policies) as service:
        add(service, receiver.url)
        submit(service, "One.", "Two.")
        row = until(lambda: (found := listed(service)).state == "disabled" and found, "it was disabled")
        assert (row.backlog.number, row.webhook.last_error) == (2, "the receiver answered 410")
        figures = service.client.get("/metrics", headers=service.bearer("prometheus", "auditor")).text
        assert 'antechamber_webhooks{state="disabled"} 1.0' in figures
        assert "antechamber_webhook_oldest_seconds 0.0" in figures
        assert len(receiver.requests) == 1
        with opened_webhooks(service.location) as webhooks:
            webhooks.replay(row.webhook.webhook_id, str(receiver.sequences[0]))
        until(lambda: len(receiver.requests) >= 3, "the events arrived")
        assert any("webhook disabled" in line for line in log_lines)


def test_a_failing_webhook_is_shown(tmp_path: Path, policies: Path, receiver: Receiver) -> None:
    """The list and the metrics show that it fails, why, what waits, and for how long."""
    receiver.answers = [500] * 10_000
    with running(tmp_path / "data", policies) as service:
        add(service, receiver.url)
        submit(service, "One.", "Two.", "Three.")
        row = until(lambda: (found := listed(service)).webhook.attempts > 2 and found, "it failed")
        assert (row.state, row.backlog.number, row.webhook.last_error) == ("failing", 3, "the receiver answered 500")
        text = service.client.get("/metrics", headers=service.bearer("prometheus", "auditor")).text
        figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("antechamber_webhook"))
        assert figures['antechamber_webhooks{state="failing"}'] == "1.0"
        assert float(figures['antechamber_webhook_attempts_total{result="failed"}']) > 2
        assert figures["antechamber_webhook_backlog"] == "3.0"
        assert float(figures["antechamber_webhook_oldest_seconds"]) > 0


def test_a_hanging_receiver_delays_no_one(tmp_path: Path, policies: Path, receiver: Receiver) -> None:
    """While one receiver hangs, submissions are answered, another one gets its events, and the service stops."""
    receiver.answers = ["hang"]
    with Receiver().running() as other, running(tmp_path / "data", policies) as service:
        add(service, receiver.url)
        add(service, other.url)
        submit(service, "One.")
        until(lambda: receiver.requests, "a request hangs")
        assert [receipt["status"] for receipt in submit(service, "Two.", "Three.")] == [201, 201]
        until(lambda: len(other.requests) == 3, "the other one has all")
    assert len(receiver.requests) == 1
    assert receiver.closed.is_set() or receiver.closed.wait(10)


def test_a_removed_webhook_gets_nothing_more(tmp_path: Path, policies: Path, receiver: Receiver) -> None:
    """A request under way is given up; later events are not sent, and the secret of a new endpoint is another one."""
    receiver.answers = ["hang"]
    with running(tmp_path / "data", policies) as service:
        _, secret = add(service, receiver.url)
        submit(service, "One.")
        until(lambda: receiver.requests, "a request hangs")
        with opened_webhooks(service.location) as webhooks:
            webhooks.remove(receiver.url)
            with pytest.raises(WebhookError, match="no webhook"):
                webhooks.remove(receiver.url)
        assert receiver.closed.wait(10)
        submit(service, "Two.")
        again, other = add(service, receiver.url, "proposal.decided")
        assert other != secret
        assert len(receiver.requests) == 1
        assert listed(service).webhook.webhook_id == again


def test_a_replay_ends_the_delivery_under_way(tmp_path: Path, policies: Path, receiver: Receiver) -> None:
    """A replay while a request hangs begins again from its start at once."""
    with running(tmp_path / "data", policies) as service:
        add(service, receiver.url)
        submit(service, "One.", "Two.")
        until(lambda: len(receiver.requests) == 2, "both arrived")
        receiver.answers = ["hang"]
        submit(service, "Three.")
        until(lambda: len(receiver.requests) == 3, "the third hangs")
        with opened_webhooks(service.location) as webhooks:
            webhooks.replay(receiver.url, str(receiver.sequences[0]))
        until(lambda: len(receiver.requests) == 6, "all arrived again")
        one, two, three = receiver.sequences[:3]
        assert receiver.sequences[3:] == [one, two, three]


def test_the_end_of_one_delivery_leaves_the_others_alone(
    tmp_path: Path, policies: Path, receiver: Receiver, log_lines: list[str]
) -> None:
    """A removal and a replay are no failures of the work: a request to another endpoint goes on."""
    receiver.answers = ["hang"]
    with (
        Receiver().running() as replayed,
        Receiver().running() as removed,
        running(tmp_path / "data", policies) as service,
    ):
        replayed.answers, removed.answers = ["hang"], ["hang"]
        for one in (receiver, replayed, removed):
            add(service, one.url)
        submit(service, "One.")
        until(lambda: receiver.requests and replayed.requests and removed.requests, "three requests hang")
        with opened_webhooks(service.location) as webhooks:
            webhooks.replay(replayed.url, "0")
            webhooks.remove(removed.url)
        assert removed.closed.wait(HANG_SECONDS)
        until(lambda: len(replayed.requests) == 2, "it arrived again")
        submit(service, "Two.")
        until(lambda: len(replayed.requests) == 3, "later events arrive")
        assert not receiver.closed.is_set()
        assert len(receiver.requests) == 1
    assert not any("delivering webhooks" in line for line in log_lines)


def test_a_replay_begins_at_a_sequence_or_a_time(service: Service, receiver: Receiver) -> None:
    """From 0 or an early time all events come again; from the end of the log or a later time none does."""
    submit(service, "One.", "Two.")
    AlarmEvents(store_of(service), clock).add(["clock"])
    add(service, receiver.url, "proposal.waiting")
    with opened_webhooks(service.location) as webhooks:
        for start in ("x", "-1", "1.5", "2026-01-01", "9" * 30, "²"):
            with pytest.raises(WebhookError):
                webhooks.replay(receiver.url, start)
        with pytest.raises(WebhookError, match="no webhook"):
            webhooks.replay("other", "0")
        assert webhooks.replay(receiver.url, "2026-01-01T00:00:00Z") == 0
        until(lambda: len(receiver.requests) == 2, "both arrived")
        size = webhooks.replay(receiver.url, "2200-01-01T00:00:00Z")
        assert webhooks.replay(receiver.url, str(size + 1)) == size + 1


def test_an_endpoint_begins_with_what_comes_after_it(tmp_path: Path, policies: Path, receiver: Receiver) -> None:
    """What happened before an endpoint was added is not sent to it, and it gets only the events that it asked for."""
    with running(tmp_path / "data", policies) as service:
        [before] = submit(service, "Before.")
        add(service, receiver.url, "proposal.decided")
        submit(service, "After.")
        assert service.sign_in().decide(before["proposal_id"], "approve").status_code == 303
        until(lambda: receiver.requests, "the decision arrived")
        assert [found["type"] for found in receiver.events] == ["proposal.decided"]


def test_operators_errors_say_what_to_do(tmp_path: Path, policies: Path, receiver: Receiver) -> None:
    """A URL twice, a private one without permission, and too many endpoints are refused, and nothing is stored."""
    with running(tmp_path / "data", policies) as service:
        add(service, receiver.url)
        webhooks = webhooks_of(service)
        with pytest.raises(WebhookError, match="is an endpoint already") as caught:
            webhooks.add(receiver.url, ["alarm.raised"], allow_private=True)
        assert "key=k" not in str(caught.value)
        with pytest.raises(TargetError):
            webhooks.add(receiver.url, ["alarm.raised"], allow_private=False)
        with opened_webhooks(service.location) as more:
            for number in range(MAX_WEBHOOKS - 1):
                more.add(f"https://hooks.example.org/{number}", ["alarm.raised"], allow_private=False)
            with pytest.raises(WebhookError, match="remove one first"):
                more.add("https://hooks.example.org/x", ["alarm.raised"], allow_private=False)


def test_alarms_wait_while_the_store_accepts_no_writes(location: Location, policies: Path, receiver: Receiver) -> None:
    """An alarm that cannot be stored is stored by a later look; without an endpoint for it, none is."""
    with running(location, policies) as service:
        events = AlarmEvents(store_of(service), clock)
        events.add(["disk"])
        add(service, receiver.url, "alarm.raised")
        with locked(location):
            events.add(["store", "clock"])
        events.add(["signer"])
        events.add([])
        until(lambda: len(receiver.requests) == 3, "all arrived")
        assert [found["data"]["source"] for found in receiver.events] == ["store", "clock", "signer"]


def test_two_processes_deliver_each_event_once(
    postgres: Any, tmp_path: Path, policies: Path, receiver: Receiver
) -> None:
    """Of two services over one database, one delivers at a time; when it stops, the other one goes on."""
    url = postgres.fresh()
    place = Location(data=tmp_path / "data", database_url=url)
    try:
        with running(place, policies) as one:
            with running(place, policies) as two:
                add(one, receiver.url)
                submit(one, *(f"One {number}." for number in range(10)))
                submit(two, *(f"Two {number}." for number in range(10)))
                # Of a service that stops, requests under way are sent again; these have all been noted as delivered.
                until(lambda: listed(one).webhook.delivered == 20, "all are delivered")
            submit(one, "Last.")
            until(lambda: len(set(receiver.ids)) == 21, "the last one arrived")
        assert len(receiver.ids) == len(set(receiver.ids))
        assert receiver.sequences == sorted(receiver.sequences)
    finally:
        postgres.drop(url)


def test_a_store_that_fails_delays_the_delivery(
    tmp_path: Path, policies: Path, receiver: Receiver, log_lines: list[str]
) -> None:
    """While nothing can be written, the work is tried again, and then each event has arrived at least once."""
    with running(tmp_path / "data", policies) as service:
        add(service, receiver.url)
        submit(service, "One.")
        until(lambda: listed(service).webhook.delivered == 1, "the first arrived")
        receiver.answers = ["hang"]
        submit(service, "Two.")
        until(lambda: len(receiver.requests) == 2, "the second hangs")
        with locked(service.location):
            receiver.release.set()
            until(lambda: any("delivering webhooks failed" in line for line in log_lines), "the failure is logged")
        until(lambda: listed(service).webhook.delivered == 2, "the position was stored")
        assert len(set(receiver.ids)) == 2


def test_leaves_without_an_event_are_read_once(
    tmp_path: Path, policies: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endpoint moves along a log in which nothing is for it, and a long backlog is counted in several looks."""
    monkeypatch.setattr(delivery, "UNSAVED", 4)
    monkeypatch.setattr(delivery, "BATCH", 2)
    monkeypatch.setattr(delivery, "SAVE_EVERY", 0)
    monkeypatch.setattr(pending, "SCAN", 3)
    with running(tmp_path / "data", policies) as service:
        add(service, receiver.url, "proposal.decided", "alarm.raised")
        position = listed(service).webhook.next_sequence
        receipts = submit(service, *(f"Text {number}." for number in range(8)))
        until(lambda: listed(service).webhook.next_sequence >= position + 4, "the position was stored")
        assert receiver.requests == []
        bob = service.sign_in()
        AlarmEvents(store_of(service), clock).add(["clock"])
        for receipt in receipts[:3]:
            assert bob.decide(receipt["proposal_id"], "reject", reason_code="unclear").status_code == 303
        until(lambda: len(receiver.requests) == 4, "all arrived")
        receiver.answers = [500] * 10_000
        with opened_webhooks(service.location) as webhooks:
            webhooks.replay(receiver.url, "0")
        assert listed(service).backlog.number == 4
        monkeypatch.setattr(pending, "LOOKS", 0)
        assert listed(service).backlog.number == 1
        monkeypatch.setattr(pending, "MAX_COUNTED", 0)
        assert listed(service).backlog.number == 0
        receiver.answers.clear()
        monkeypatch.setattr(pending, "SCAN", 100)
        with opened_webhooks(service.location) as webhooks:
            webhooks.replay(receiver.url, "0")
        with store_of(service).read() as tx:
            size = tx.log.size()
        until(lambda: listed(service).webhook.next_sequence >= size, "all arrived, in full batches")


def test_the_doctor_finds_a_webhook_that_goes_elsewhere(location: Location, policies: Path, receiver: Receiver) -> None:
    """Adding, replaying and removing have leaves; the log agrees with the rows."""
    with running(location, policies) as service:
        add(service, receiver.url)
        with opened_webhooks(location) as webhooks:
            webhooks.replay(receiver.url, "0")
            webhooks.remove(receiver.url)
        add(service, receiver.url, "alarm.raised")
        with store_of(service).read() as tx:
            assert list(tx.doctor.check()) == []
            leaves = [json.loads(text) for text in tx.log.leaf_texts(0, 100)]
    found = [leaf for leaf in leaves if leaf["action"].endswith("-webhook")]
    assert [leaf["action"] for leaf in found] == ["add-webhook", "replay-webhook", "remove-webhook", "add-webhook"]
    assert receiver.url not in json.dumps(found)
    assert found[0]["subject"]["events"] == " ".join(sorted(EVENT_TYPES))


def test_another_holder_sends_nothing(tmp_path: Path, policies: Path, receiver: Receiver) -> None:
    """A process that lost an endpoint stores and sends nothing, and one that was stopped begins nothing."""
    with running(tmp_path / "data", policies) as service:
        add(service, "https://hooks.example.org/never", "alarm.raised")
        store, live = store_of(service), service.state.desk._policies
        late = connect_delivery(store, service.settings, live, clock, "other", Background())
        late.stop()
        late.run()
        stale = msgspec.structs.replace(listed(service).webhook, version=7, url=receiver.url)
        late._skip(stale, 99)
        asyncio.run(late._deliver(stale))
        assert listed(service).webhook.next_sequence < 99
        assert receiver.requests == []


def test_an_unavailable_error_is_no_defect() -> None:
    """The error on which a delivery gives up is a temporary one, so that it is logged without a traceback."""
    assert UnavailableError.temporary
