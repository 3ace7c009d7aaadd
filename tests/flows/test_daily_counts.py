"""Hourly counts added up by day: the same figures from fewer rows, each day added once."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from antechamber import app
from antechamber.core.ports.store import Rows, Store
from antechamber.flows.daily_counts import DailyCounts, count_waiting
from antechamber.flows.direct_writes import HOUR
from antechamber.settings import Location
from support import database

TODAY = 20_600
"""The present day of these tests, counted from 1970 UTC."""
NOW = TODAY * 24 + 9
"""The present hour."""
FIRST = TODAY - 40


def now() -> int:
    """Return the time of these tests."""
    return NOW * HOUR


@pytest.fixture
def stores(location: Location) -> Iterator[list[Store]]:
    """Two stores of one location, with 41 days of two producers' counts, and older ones that retention added up."""
    made = [app.open_store(location), app.open_store(location)]
    with database(location) as raw:
        for number in (1, 2):
            raw.execute(f"INSERT INTO producers (id, producer_identity) VALUES ({number}, 'worker:bot-{number}')")
        hours = range(FIRST * 24 + 5, NOW + 1, 7)
        counted = [
            (hour, producer, name, channel, lane, 1 + (hour + producer) % 5)
            for hour in (0, *hours)
            for producer in (1, 2)
            for lane in (0, 1)
            for name, channel in (("accepted-for-review", "mcp"), ("accepted-as-duplicate", "http"), ("approved", ""))
        ]
        replayed = [(producer, hour, "http", 1 + hour % 3) for hour in hours for producer in (1, 2)]
        raw.execute(f"INSERT INTO tally (hour, producer, name, channel, lane, number) VALUES {values(counted)}")
        raw.execute(f"INSERT INTO replays (producer, hour, channel, attempts) VALUES {values(replayed)}")
    yield made
    for store in made:
        store.close()


def values(rows: list[tuple[Any, ...]]) -> str:
    """Return rows of numbers and names as values of SQL."""
    return ", ".join(str(row) for row in rows)


def figures(tx: Rows, days: int) -> tuple[Any, ...]:
    """Return everything that the dashboard reads of the last days, hours added up by day."""
    since = (TODAY - days + 1) * 24
    by_day: Counter[tuple[int, str]] = Counter()
    for row in tx.reports.counts_by_hour(since):
        by_day[row.hour // 24, row.name] += row.number
    producers = tx.reports.counts_by_producer(since)
    return tx.reports.totals(), by_day, producers, tx.reports.retries(since, NOW, 10)


def read(store: Store) -> list[tuple[Any, ...]]:
    """Return the figures of a month, a week and a day."""
    with store.read() as tx:
        return [figures(tx, days) for days in (30, 7, 1)]


def test_figures_are_the_same_from_added_days(stores: list[Store], location: Location) -> None:
    """A day's row holds what its hours held; the last two days are read by hour, older hours not at all."""
    before = read(stores[0])
    assert all(before[0][1:])
    DailyCounts(stores[0], now).add()
    assert read(stores[0]) == before
    with database(location) as raw:
        assert raw.execute("SELECT max(day) FROM daily_counts").fetchone()[0] == TODAY - 2
        for table in ("tally", "replays"):
            raw.execute(f"DELETE FROM {table} WHERE hour < {(TODAY - 1) * 24}")
    assert read(stores[0]) == before
    DailyCounts(stores[0], lambda: now() + 24 * HOUR).add()
    assert read(stores[0]) == before


def test_a_day_is_added_once(stores: list[Store], location: Location) -> None:
    """Processes that add the same days at the same time, again and again, count nothing twice."""
    before = read(stores[0])
    together = threading.Barrier(2)

    def work(store: Store) -> None:
        for _ in range(3):
            together.wait(30)
            DailyCounts(store, now).add()

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with database(location) as raw:
        raw.execute(f"DELETE FROM tally WHERE hour < {(TODAY - 1) * 24}")
    assert [read(store) for store in stores] == [before, before]


def test_a_store_without_counts_has_nothing_to_add(location: Location) -> None:
    """Nothing is added, and nothing waits, before the first submission."""
    store = app.open_store(location)
    DailyCounts(store, now).add()
    with store.read() as tx:
        assert tx.reports.first_open_day() is None
        assert (tx.reports.totals(), count_waiting(tx.reports.totals())) == ({}, 0)
        store.write(lambda tx: tx.reports.add_days(TODAY, 31)).result()
    with store.read() as tx:
        assert tx.reports.first_open_day() is None
    store.close()


def test_retention_leaves_totals_as_they_are(stores: list[Store], location: Location) -> None:
    """Old days are removed with their hours; what they added to the totals stays."""
    before = read(stores[0])
    DailyCounts(stores[0], now).add()
    stores[0].promote(lambda tx: tx.retention.sum_counts((TODAY - 10) * 24)).result()
    month, week, day = read(stores[0])
    assert month[0] == before[0][0]
    assert (week, day) == (before[1], before[2])
    with database(location) as raw:
        for table in ("daily_counts", "daily_attempts"):
            assert raw.execute(f"SELECT min(day) FROM {table} WHERE day > 0").fetchone()[0] == TODAY - 10
