"""Counting in one process, and joining the figures of several."""

import threading
from collections import Counter

import pytest

from antechamber.core.metrics import definitions as named
from antechamber.core.metrics.definitions import MAX_PRODUCERS, METRICS, OTHER, Labels, Metric
from antechamber.core.metrics.meters import (
    REPEATED,
    REPLAYED,
    HistogramFigures,
    Meters,
    Snapshot,
    families,
    join,
)


def counted(meters: Meters, metric: Metric) -> dict[Labels, int]:
    """Return what a counter holds, by labels."""
    return {labels: number for name, labels, number in meters.snapshot().counters if name == metric.name}


def test_values_fall_into_the_bucket_of_their_upper_bound() -> None:
    """A value equal to a bound belongs to its bucket; one above all bounds to the last."""
    meters = Meters(named.GROUP_SIZE)
    meters.observe(named.GROUP_SIZE, 1, 2, 3, 5000)
    figures = meters.snapshot().histograms[named.GROUP_SIZE.name]
    assert figures.counts == [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert figures.total == 5006


def test_a_histogram_that_was_not_named_is_an_error() -> None:
    """A part of the program observes only the histograms that it named."""
    with pytest.raises(KeyError):
        Meters().observe(named.GROUP_SIZE, 1)


def test_threads_lose_no_count() -> None:
    """Counts of several threads add up."""
    meters = Meters(named.GROUP_SIZE)

    def work() -> None:
        for _ in range(2000):
            meters.count(named.FINDINGS, "github-token")
            meters.observe(named.GROUP_SIZE, 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted(meters, named.FINDINGS) == {("github-token",): 8000}
    assert meters.snapshot().histograms[named.GROUP_SIZE.name].counts[0] == 8000


def test_attempts_are_counted_by_kind_disposition_and_producer() -> None:
    """Replays and duplicates count as duplicates; a repeated event is a write but no task; a conflict is neither."""
    meters = Meters()
    attempts = {
        "accepted-for-review": 10,
        "accepted-as-duplicate": 3,
        REPEATED: 2,
        REPLAYED: 4,
        "rejected-conflict": 1,
    }
    meters.count_attempts(Counter({("worker:one", what): number for what, number in attempts.items()}))
    assert counted(meters, named.ATTEMPTS) == {("worker", "stored"): 16, ("worker", "replayed"): 4}
    assert counted(meters, named.SUBMISSIONS) == {
        ("accepted-for-review", "worker"): 10,
        ("accepted-as-duplicate", "worker"): 5,
        ("rejected-conflict", "worker"): 1,
    }
    assert counted(meters, named.TASK_WRITES) == {("worker",): 15}
    assert counted(meters, named.TASKS) == {("worker",): 13}
    assert counted(meters, named.PRODUCER_ATTEMPTS) == {("worker:one",): 20}
    assert counted(meters, named.PRODUCER_DUPLICATES) == {("worker:one",): 9}


def test_the_number_of_producers_is_bounded() -> None:
    """Producers beyond the maximum are counted together; those seen before keep their own label."""
    meters = Meters()
    meters.count_attempts({(f"tool:{number}", REPLAYED): 1 for number in range(MAX_PRODUCERS + 5)})
    meters.count_attempts({("tool:0", REPLAYED): 1, ("tool:100000", REPLAYED): 1})
    found = counted(meters, named.PRODUCER_ATTEMPTS)
    assert len(found) == MAX_PRODUCERS + 1
    assert (found[("tool:0",)], found[(OTHER,)]) == (2, 6)


def test_processes_are_joined() -> None:
    """Counters and histograms add up, the highest value of a gauge counts, and ended processes keep no gauge."""
    name, alarms = named.GROUP_SIZE.name, named.ALARMS.name
    buckets = len(named.GROUP_SIZE.bounds) + 1
    one = Snapshot(
        counters=[(named.FINDINGS.name, ("a",), 2)],
        gauges=[(alarms, ("store",), 1.0)],
        histograms={name: HistogramFigures([1] * buckets, 5.0)},
    )
    two = Snapshot(
        counters=[(named.FINDINGS.name, ("a",), 3)],
        gauges=[(alarms, ("store",), 0.0), (alarms, ("pin",), 2.0)],
        histograms={name: HistogramFigures([2] * buckets, 7.0)},
    )
    both = join([one, two])
    assert both.counters == [(named.FINDINGS.name, ("a",), 5)]
    assert both.gauges == [(alarms, ("store",), 1.0), (alarms, ("pin",), 2.0)]
    assert both.histograms == {name: HistogramFigures([3] * buckets, 12.0)}
    assert join([one, two], gauges=False).gauges == []


def test_figures_of_another_version_are_left_out() -> None:
    """A metric that this version does not know, or that has other labels or buckets there, is left out."""
    other = Snapshot(
        counters=[("antechamber_new_total", (), 1), (named.FINDINGS.name, (), 1)],
        gauges=[("antechamber_new", (), 1.0), (named.ALARMS.name, (), 1.0)],
        histograms={"antechamber_new": HistogramFigures([1], 1.0), named.GROUP_SIZE.name: HistogramFigures([1], 1.0)},
    )
    assert join([other]) == Snapshot()


def test_closed_lists_of_labels_are_shown_from_the_start() -> None:
    """Without a single event every counter and histogram is there with zeros; a gauge that was not measured is not."""
    shown = {family.metric.name: family for family in families(Snapshot())}
    assert len(shown[named.SUBMISSIONS.name].values) == 20
    assert set(shown[named.SUBMISSIONS.name].values.values()) == {0.0}
    assert shown[named.FAILED_TRANSACTIONS.name].values == {(): 0.0}
    figures = shown[named.COMMIT_SECONDS.name].histogram
    assert figures is not None
    assert sum(figures.counts) == 0
    assert named.QUEUE_DEPTH.name not in shown
    assert named.FINDINGS.name not in shown


def test_names_follow_the_conventions_of_prometheus() -> None:
    """Counters end in `_total`, others do not; each metric has a help text and labels in lower case."""
    for name, metric in METRICS.items():
        assert name.startswith("antechamber_")
        assert name.endswith("_total") == (metric.kind == "counter")
        assert metric.text.endswith(".")
        assert all(label.islower() for label in metric.labels)
        assert bool(metric.bounds) == (metric.kind == "histogram")
        assert list(metric.bounds) == sorted(set(metric.bounds))
        assert all(len(labels) == len(metric.labels) for labels in metric.known_labels())
