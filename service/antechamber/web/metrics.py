"""`/metrics`: the figures of all processes of this host, in the text formats of Prometheus and OpenMetrics."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from litestar import Request, Response, get
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from prometheus_client import exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from antechamber.core.access.callers import Account, Bearer, Caller
from antechamber.core.contract import Reason
from antechamber.core.errors import RequestRefusedError
from antechamber.core.metrics.meters import Family
from antechamber.flows.metrics import Metrics
from antechamber.web.auth import unauthorized
from antechamber.web.pages import NO_STORE

_OPENMETRICS: Final = "application/openmetrics-text"


async def may_read_metrics(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Guard the metrics: they need an auditor's token, or the session of an operator.

    Raises RequestRefusedError.
    """
    caller: Caller | None = connection.scope["user"]
    if caller is None:
        raise unauthorized()
    if (type(caller), caller.role) not in {(Bearer, "auditor"), (Account, "operator")}:
        message = "only an auditor's token or an operator who is signed in may read the metrics"
        raise RequestRefusedError([Reason(code="scope-not-granted", message=message)])


@get("/metrics", guards=[may_read_metrics], sync_to_thread=True)
def show_metrics(request: Request[Any, Any, Any], metrics: NamedDependency[Metrics]) -> Response[bytes]:
    """Return all metrics; scrapers that accept OpenMetrics get that format."""
    collected = _Collected(metrics.collect())
    if _OPENMETRICS in request.headers.get("accept", ""):
        text = openmetrics.generate_latest(collected)  # type: ignore[no-untyped-call]
        kind = openmetrics.CONTENT_TYPE_LATEST
    else:
        # Litestar adds the character set to a text type.
        text, kind = exposition.generate_latest(collected), "text/plain; version=0.0.4"
    return Response(text, media_type=kind, headers=NO_STORE)


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
