"""Writes figures in the text formats of Prometheus and OpenMetrics; slow to import, so imported at the first scrape."""

from collections.abc import Iterable, Sequence

from prometheus_client import exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from antechamber.core.metrics.meters import Family


def write(families: Sequence[Family], *, open_metrics: bool) -> tuple[bytes, str]:
    """Return the text and its media type; Litestar adds the character set to a type of text."""
    collected = _Collected(families)
    if open_metrics:
        text = openmetrics.generate_latest(collected)  # type: ignore[no-untyped-call]
        return text, openmetrics.CONTENT_TYPE_LATEST
    return exposition.generate_latest(collected), "text/plain; version=0.0.4"


class _Collected(Collector):
    """Figures in the form that the writers of the formats read."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return map(_metric, self._families)


def _metric(family: Family) -> Metric:
    metric = family.metric
    if family.histogram is not None:
        so_far, buckets = 0, []
        for bound, number in zip([*metric.bounds, None], family.histogram.counts, strict=True):
            so_far += number
            buckets.append(("+Inf" if bound is None else repr(bound), float(so_far)))
        return HistogramMetricFamily(metric.name, metric.text, buckets=buckets, sum_value=family.histogram.total)
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    made = kind(metric.name, metric.text, labels=metric.labels)
    for labels, value in family.values.items():
        made.add_metric(labels, value)
    return made
