"""OpenTelemetry spans of requests and transactions, sent to a collector by OTLP over HTTP.

A thread of the SDK sends them every five seconds; what exceeds its queue of 2,048 spans is dropped. A span has a
method, a route, a status, the id of a request and amounts, and never an address, a text, a key or a token. The
caller's `traceparent` gives its trace (W3C Trace Context); `tracestate` could hold any text, so it is not read.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from antechamber import __version__
from antechamber.traces import AnsweredRequest, record_to

_METHODS: Final = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
_OTHER_METHOD: Final = "_OTHER"
"""OpenTelemetry's name for all methods that are not in a closed list."""
_SERVER_ERROR: Final = 500
_CLOSE_SECONDS: Final = 2.0
_NANOSECONDS: Final = 1_000_000_000


class SpanSender:
    """Sends spans to the collector at `url`, such as http://127.0.0.1:4318/v1/traces, until it is closed.

    The variables OTEL_* of the SDK apply: name of the service, sampling, headers and certificates of the collector.
    """

    def __init__(self, url: str) -> None:
        name = os.environ.get("OTEL_SERVICE_NAME") or "antechamber"
        resource = Resource.create({"service.name": name, "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._exporter = OTLPSpanExporter(endpoint=url)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("antechamber", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def record_request(self, request: AnsweredRequest) -> None:
        """Send a span of an answered request, as a child of the caller's span if it named one."""
        ended = time.time_ns()
        method = request.method if request.method in _METHODS else _OTHER_METHOD
        carrier = {} if request.traceparent is None else {"traceparent": request.traceparent}
        span = self._tracer.start_span(
            f"{method} {request.route}",
            context=self._propagator.extract(carrier, context=Context()),
            kind=SpanKind.SERVER,
            attributes={
                "http.request.method": method,
                "http.route": request.route,
                "http.response.status_code": request.status,
                "antechamber.request_id": request.request_id,
            },
            start_time=ended - int(request.seconds * _NANOSECONDS),
        )
        if request.status >= _SERVER_ERROR:
            span.set_status(StatusCode.ERROR)
        span.end(ended)

    def record_transaction(self, seconds: float, commit_seconds: float, items: int) -> None:
        """Send a span of a committed transaction, with a child for its commit."""
        ended = time.time_ns()
        span = self._tracer.start_span(
            "transaction",
            context=Context(),
            attributes={"antechamber.items": items},
            start_time=ended - int(seconds * _NANOSECONDS),
        )
        commit = self._tracer.start_span(
            "commit",
            context=set_span_in_context(span, Context()),
            start_time=ended - int(commit_seconds * _NANOSECONDS),
        )
        commit.end(ended)
        span.end(ended)

    def close(self) -> None:
        """Send what waits, and end the thread; retries to reach the collector end after two seconds."""
        impatience = threading.Timer(_CLOSE_SECONDS, self._exporter.shutdown)
        impatience.start()
        self._provider.shutdown()
        impatience.cancel()
        impatience.join()


@contextlib.contextmanager
def sending_spans(url: str) -> Iterator[None]:
    """Send the spans of this process to the collector at `url`; at the end, send what waits."""
    with contextlib.closing(SpanSender(url)) as sender:
        record_to(sender)
        try:
            yield
        finally:
            record_to(None)
