"""`/metrics`: the figures of all processes of this host, in the text formats of Prometheus and OpenMetrics."""

from typing import Any, Final

from litestar import Request, Response, get
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler

from antechamber.core.access.callers import Account, Bearer, Caller
from antechamber.core.contract import Reason
from antechamber.core.errors import RequestRefusedError
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
    from antechamber.web import exposition  # noqa: PLC0415 -- slow to import, and not every service is scraped

    open_metrics = _OPENMETRICS in request.headers.get("accept", "")
    text, kind = exposition.write(metrics.collect(), open_metrics=open_metrics)
    return Response(text, media_type=kind, headers=NO_STORE)
