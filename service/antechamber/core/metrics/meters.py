"""Counting inside one process, and joining the figures of several processes."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from antechamber.core.metrics import definitions as named
from antechamber.core.metrics.definitions import METRICS, OTHER, Labels, Metric

Attempt = tuple[str, str]
"""A producer, and what an attempt was: a disposition, `REPLAYED` or `REPEATED`."""
REPLAYED: Final = "replayed"
REPEATED: Final = "repeated"
"""An event that the same producer had submitted under another key."""


class HistogramFigures(Struct, frozen=True):
    """Number of values in each bucket, the last one without a bound, and the sum of all values."""

    counts: list[int]
    total: float


class Snapshot(Struct, frozen=True, kw_only=True):
    """The figures of one process, or of several that were joined."""

    counters: list[tuple[str, Labels, int]] = []
    gauges: list[tuple[str, Labels, float]] = []
    histograms: dict[str, HistogramFigures] = {}


class Meters:
    """Counters and histograms of one part of a process; thread-safe."""

    def __init__(self, *histograms: Metric) -> None:
        self._gate = threading.Lock()
        self._counters: Counter[tuple[str, Labels]] = Counter()
        self._bounds = {metric.name: metric.bounds for metric in histograms}
        self._counts = {metric.name: [0] * (len(metric.bounds) + 1) for metric in histograms}
        self._totals = dict.fromkeys(self._counts, 0.0)
        self._producers: dict[str, str] = {}

    def count(self, metric: Metric, *labels: str, number: int = 1) -> None:
        """Add to a counter."""
        with self._gate:
            self._counters[metric.name, labels] += number

    def observe(self, metric: Metric, *values: float) -> None:
        """Add values to a histogram."""
        name = metric.name
        bounds, counts = self._bounds[name], self._counts[name]
        with self._gate:
            for value in values:
                counts[bisect_left(bounds, value)] += 1
            self._totals[name] += sum(values)

    def count_attempts(self, attempts: Mapping[Attempt, int]) -> None:
        """Count answered attempts of producers."""
        with self._gate:
            for (producer, what), number in attempts.items():
                self._count_attempts(producer, what, number)

    def _count_attempts(self, producer: str, what: str, number: int) -> None:
        kind, counters = producer.partition(":")[0], self._counters
        name = self._producers.get(producer)
        if name is None:
            name = producer if len(self._producers) < named.MAX_PRODUCERS else OTHER
            if name != OTHER:
                self._producers[producer] = name
        replayed, repeated = what == REPLAYED, what == REPEATED
        disposition = "accepted-as-duplicate" if repeated else what
        counters[named.ATTEMPTS.name, (kind, "replayed" if replayed else "stored")] += number
        counters[named.PRODUCER_ATTEMPTS.name, (name,)] += number
        if replayed or disposition == "accepted-as-duplicate":
            counters[named.PRODUCER_DUPLICATES.name, (name,)] += number
        if replayed:
            return
        counters[named.SUBMISSIONS.name, (disposition, kind)] += number
        if disposition != "rejected-conflict":
            counters[named.TASK_WRITES.name, (kind,)] += number
            if not repeated:
                counters[named.TASKS.name, (kind,)] += number

    def snapshot(self) -> Snapshot:
        """Return all figures as they are now."""
        with self._gate:
            return Snapshot(
                counters=[(name, labels, number) for (name, labels), number in self._counters.items()],
                histograms={
                    name: HistogramFigures(list(counts), self._totals[name]) for name, counts in self._counts.items()
                },
            )


def join(snapshots: Iterable[Snapshot], *, gauges: bool = True) -> Snapshot:
    """Join the figures of several processes: counters and histograms add up, of a gauge the highest value counts.

    Figures that this version does not know, or counts in other buckets, are left out: processes of two versions may
    run side by side during an upgrade.
    """
    counters: Counter[tuple[str, Labels]] = Counter()
    highest: dict[tuple[str, Labels], float] = {}
    histograms: dict[str, HistogramFigures] = {}
    for snapshot in snapshots:
        for name, labels, number in snapshot.counters:
            counters[name, labels] += number
        for name, labels, value in snapshot.gauges if gauges else ():
            highest[name, labels] = max(value, highest.get((name, labels), value))
        for name, figures in snapshot.histograms.items():
            if _fits(name, figures):
                histograms[name] = _add(histograms.get(name), figures)
    return Snapshot(
        counters=[(name, labels, number) for (name, labels), number in counters.items() if _is_labelled(name, labels)],
        gauges=[(name, labels, value) for (name, labels), value in highest.items() if _is_labelled(name, labels)],
        histograms=histograms,
    )


def _fits(name: str, figures: HistogramFigures) -> bool:
    metric = METRICS.get(name)
    return metric is not None and len(figures.counts) == len(metric.bounds) + 1


def _is_labelled(name: str, labels: Labels) -> bool:
    metric = METRICS.get(name)
    return metric is not None and len(labels) == len(metric.labels)


def _add(sum_so_far: HistogramFigures | None, figures: HistogramFigures) -> HistogramFigures:
    if sum_so_far is None:
        return figures
    counts = [ours + theirs for ours, theirs in zip(sum_so_far.counts, figures.counts, strict=True)]
    return HistogramFigures(counts, sum_so_far.total + figures.total)


class Family(Struct, frozen=True):
    """One metric with its values: by labels, or the buckets of a histogram."""

    metric: Metric
    values: dict[Labels, float]
    histogram: HistogramFigures | None = None


def families(snapshot: Snapshot) -> Sequence[Family]:
    """Return every metric with its values; a counter or gauge with closed lists of labels has a value for each.

    A gauge without labels that was not measured is left out.
    """
    values: dict[str, dict[Labels, float]] = {
        name: dict.fromkeys(metric.known_labels(), 0.0) if metric.labels or metric.kind == "counter" else {}
        for name, metric in METRICS.items()
    }
    for name, labels, number in [*snapshot.counters, *snapshot.gauges]:
        values[name][labels] = number
    empty = {name: HistogramFigures([0] * (len(one.bounds) + 1), 0.0) for name, one in METRICS.items()}
    return [
        Family(
            metric, values[name], (snapshot.histograms.get(name) or empty[name]) if metric.kind == "histogram" else None
        )
        for name, metric in METRICS.items()
        if values[name] or metric.kind == "histogram"
    ]
