"""Rows of webhooks on both engines: who delivers, what a replay voids, alarms in order, and what cannot be changed."""

import sqlite3
import threading
from typing import Any

import psycopg
import pytest

from antechamber.app import open_store
from antechamber.core.ports.store import Store
from antechamber.core.rows.webhooks import Webhook, WebhookReplay
from antechamber.settings import Location
from antechamber.store.webhooks import KEPT
from support import HANG_SECONDS, database

NOW = 1_795_000_000_000_000
URL = "https://hooks.example.org/one"


def webhook(url: str = URL, webhook_id: str = "w1", **members: Any) -> Webhook:
    """Return a new endpoint."""
    values: dict[str, Any] = {
        "id": 0,
        "webhook_id": webhook_id,
        "url": url,
        "events": ["alarm.raised", "proposal.waiting"],
        "allow_private": False,
        "state": "active",
        "next_sequence": 0,
        "last_alarm": 0,
        "version": 0,
        "attempts": 0,
        "next_at": 0,
        "failing_since": None,
        "last_error": None,
        "delivered": 0,
        "delivered_at": None,
        "created_at": NOW,
    }
    return Webhook(**values | members)


def added(store: Store, *webhooks: Webhook) -> list[Webhook]:
    """Store endpoints and return their rows."""
    for one in webhooks:
        store.write(lambda tx, one=one: tx.webhooks.add(one)).result()  # type: ignore[misc]
    return rows(store)


def rows(store: Store) -> list[Webhook]:
    """Return all endpoints."""
    with store.read() as tx:
        return tx.webhooks.all()


def take(store: Store, one: Webhook, holder: str, now: int = NOW) -> bool:
    """Take an endpoint for a second."""
    return store.write(lambda tx: tx.webhooks.take(one, holder, now, now + 1_000_000)).result()


def note(store: Store, one: Webhook, holder: str, until: int = NOW + 1_000_000) -> bool:
    """Store how far an endpoint got."""
    return store.write(lambda tx: tx.webhooks.note(one, holder, until)).result()


def moved(one: Webhook, **members: Any) -> Webhook:
    """Return an endpoint that got further."""
    return webhook(**{name: getattr(one, name) for name in Webhook.__struct_fields__} | members)


def test_a_row_is_kept_as_it_was_added(store: Store) -> None:
    """All values come back, and nothing in the database is a secret."""
    [one] = added(store, webhook(allow_private=True, next_sequence=3, last_alarm=2))
    assert one == webhook(allow_private=True, next_sequence=3, last_alarm=2, id=one.id)


def test_one_process_at_a_time_delivers(store: Store) -> None:
    """Another process may take an endpoint when the holder lets it go, or has not stored anything for too long."""
    [one] = added(store, webhook())
    assert take(store, one, "a")
    assert take(store, one, "a")
    assert not take(store, one, "b")
    assert not note(store, moved(one, next_sequence=5), "b")
    assert take(store, one, "b", NOW + 1_000_001)
    assert not note(store, moved(one, next_sequence=5), "a")
    assert note(store, moved(one, next_sequence=6, delivered=1, delivered_at=NOW), "b", 0)
    [after] = rows(store)
    assert (after.next_sequence, after.delivered, after.delivered_at, after.holder) == (6, 1, NOW, "b")
    assert take(store, after, "a")


@pytest.mark.parametrize("members", [{"next_sequence": 6}, {"last_alarm": 1}, {"attempts": 1}, {"next_at": NOW + 9}])
def test_a_process_takes_no_endpoint_that_another_one_moved_meanwhile(store: Store, members: dict[str, int]) -> None:
    """It would send again what the other one delivered, or try before the pause after a failure is over."""
    [read] = added(store, webhook())
    assert take(store, read, "a")
    assert note(store, moved(read, **members), "a", 0)
    assert not take(store, read, "b")
    [again] = rows(store)
    assert take(store, again, "b")


def test_a_replay_voids_a_delivery_under_way(store: Store) -> None:
    """After a replay the old position cannot be stored, and a disabled endpoint is active."""
    [one] = added(store, webhook())
    take(store, one, "a")
    failed = moved(one, state="disabled", attempts=3, next_at=NOW, failing_since=NOW, last_error="x", next_sequence=9)
    assert note(store, failed, "a")
    assert not take(store, one, "a")
    write = WebhookReplay(replay_id="r1", webhook_id="w1", sequence=2, replayed_at=NOW)
    assert store.write(lambda tx: tx.webhooks.replay(write)).result()
    assert not note(store, moved(one, next_sequence=9), "a")
    assert not take(store, one, "a")
    [after] = rows(store)
    assert after == moved(one, version=1, next_sequence=2, held_until=after.held_until)
    assert take(store, after, "b")
    unknown = WebhookReplay(replay_id="r2", webhook_id="w2", sequence=2, replayed_at=NOW)
    assert not store.write(lambda tx: tx.webhooks.replay(unknown)).result()


def test_a_removed_endpoint_is_over(store: Store) -> None:
    """It is not listed, taken, moved or removed again; its URL may be added again under another id."""
    [one] = added(store, webhook())
    take(store, one, "a")
    assert store.write(lambda tx: tx.webhooks.remove("w1", NOW)).result()
    assert not store.write(lambda tx: tx.webhooks.remove("w1", NOW)).result()
    assert rows(store) == []
    assert not note(store, moved(one, next_sequence=5), "a")
    assert not take(store, one, "a")
    [two] = added(store, webhook(webhook_id="w2"))
    assert two.webhook_id == "w2"
    with store.read() as tx:
        assert list(tx.doctor.check()) == []


def test_alarms_have_numbers_without_gaps(location: Location, store: Store) -> None:
    """Two stores that raise alarms at once number them one after the other, so that no reader skips one."""
    other = open_store(location)
    gate = threading.Barrier(2)

    def add(own: Store, name: str) -> None:
        gate.wait(HANG_SECONDS)
        for number in range(20):
            own.write(lambda tx, number=number: tx.webhooks.add_alarms([name] * 2, NOW + number)).result()  # type: ignore[misc]

    threads = [threading.Thread(target=add, args=one) for one in ((store, "a"), (other, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as tx:
        alarms = tx.webhooks.alarms(0, 1000)
        assert [alarm.id for alarm in alarms] == list(range(1, 81))
        assert [alarm.id for alarm in tx.webhooks.alarms(78, 1)] == [79]
        size = tx.log.size()
        assert {alarm.sequence for alarm in alarms} == {size}
        assert (tx.webhooks.last_alarm(size), tx.webhooks.last_alarm(size + 1)) == (0, 80)
    other.close()


def test_an_alarm_is_kept_until_every_endpoint_has_it(store: Store) -> None:
    """Old alarms are deleted once they were delivered; numbers are never given again."""
    [one] = added(store, webhook())
    for moment in (NOW, NOW + KEPT, NOW + 2 * KEPT):
        store.write(lambda tx, moment=moment: tx.webhooks.add_alarms(["x"], moment)).result()  # type: ignore[misc]

    def numbers() -> list[int]:
        with store.read() as tx:
            return [alarm.id for alarm in tx.webhooks.alarms(0, 10)]

    assert numbers() == [1, 2, 3]
    take(store, one, "a")
    assert note(store, moved(one, last_alarm=3), "a")
    store.write(lambda tx: tx.webhooks.add_alarms([], NOW + 4 * KEPT)).result()
    assert numbers() == [3]
    store.write(lambda tx: tx.webhooks.add_alarms(["x"], NOW + 4 * KEPT)).result()
    assert numbers() == [4]


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE webhooks SET url = 'https://elsewhere.example.org'",
        "UPDATE webhooks SET events = '[]'",
        "UPDATE webhooks SET allow_private = 1",
        "UPDATE webhooks SET removed_at = NULL WHERE removed_at IS NOT NULL",
        "DELETE FROM webhooks",
        "UPDATE webhook_replays SET sequence = 0",
        "DELETE FROM webhook_replays",
    ],
)
def test_what_the_log_says_of_webhooks_cannot_be_changed(sql: str, location: Location, store: Store) -> None:
    """Where events go, and that an endpoint was replayed or removed, stays."""
    added(store, webhook(), webhook("https://hooks.example.org/two", "w2"))
    write = WebhookReplay(replay_id="r1", webhook_id="w1", sequence=0, replayed_at=NOW)
    store.write(lambda tx: tx.webhooks.replay(write)).result()
    store.write(lambda tx: tx.webhooks.remove("w2", NOW)).result()
    with database(location) as raw, pytest.raises((sqlite3.Error, psycopg.Error), match="webhook"):
        raw.execute(sql)


@pytest.mark.parametrize("change", ["url = 'https://elsewhere.example.org'", "events = 'x'", "allow_private = 1"])
def test_the_doctor_finds_an_endpoint_that_was_changed(change: str, location: Location, store: Store) -> None:
    """An owner of the database who switches the triggers off cannot hide where events go."""
    added(store, webhook())
    with database(location) as raw:
        if location.database_url is None:
            raw.execute("DROP TRIGGER webhooks_go_where_they_went")
        else:
            raw.execute("ALTER TABLE webhooks DISABLE TRIGGER webhooks_go_where_they_went")
        raw.execute(f"UPDATE webhooks SET {change}")
    with store.read() as tx:
        assert "webhook w1 has another URL or other events than its leaf" in list(tx.doctor.check())
