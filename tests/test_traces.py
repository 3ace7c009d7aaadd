"""Traces: what is sent to a collector, what never is, and what happens without one."""

from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from antechamber.resources import how_to_install
from antechamber.settings import Settings, SettingsError
from antechamber.span_sender import sending_spans
from antechamber.traces import AnsweredRequest, recorder
from collector import attributes, running_collector
from support import Service, antechamber, event, free_port

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


def test_each_answer_is_a_span_with_its_route_and_id(service: Service) -> None:
    """Submissions, pages and refusals; the span has the id of the answer, and nothing that the caller wrote."""
    text, key = "A text that no span may hold.", "a-key-that-no-span-holds"
    with running_collector() as collector:
        with sending_spans(collector.url):
            headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=canary"}
            sent = service.submit(event(text, idempotency_key=key))
            named = service.client.get(f"/v1/submissions/by-key/{key}", headers=service.bearer() | headers)
            missing = service.client.get("/canary?q=canary")
        assert recorder() is None
        service.client.get("/healthz")
    (first,) = collector.named("POST /v1/submissions")
    assert attributes(first) == {
        "http.request.method": "POST",
        "http.route": "/v1/submissions",
        "http.response.status_code": 201,
        "antechamber.request_id": sent.headers["x-request-id"],
    }
    assert (first.kind, first.parent_span_id) == (Span.SPAN_KIND_SERVER, b"")
    assert 0 < first.end_time_unix_nano - first.start_time_unix_nano < 120e9
    by_id = {attributes(span).get("antechamber.request_id"): span for span in collector.spans}
    child = by_id[named.headers["x-request-id"]]
    assert (child.trace_id.hex(), child.parent_span_id.hex(), child.trace_state) == (TRACE, PARENT, "")
    assert attributes(by_id[missing.headers["x-request-id"]])["http.response.status_code"] == 404
    assert not collector.named("GET /healthz")
    whole = b"".join(collector.bodies)
    token = service.bearer()["authorization"].partition(" ")[2]
    assert [one for one in (text, key, token, "canary") if one.encode() in whole] == []


def test_each_transaction_is_a_span_with_its_commit(service: Service) -> None:
    """The commit is a part of the transaction; both end together."""
    with running_collector() as collector, sending_spans(collector.url):
        assert service.submit(event()).status_code == 201
    transaction, *_ = collector.named("transaction")
    (commit,) = [one for one in collector.named("commit") if one.parent_span_id == transaction.span_id]
    assert attributes(transaction)["antechamber.items"] >= 1
    assert transaction.start_time_unix_nano <= commit.start_time_unix_nano <= commit.end_time_unix_nano
    assert commit.end_time_unix_nano == transaction.end_time_unix_nano


@pytest.mark.parametrize(
    "headers",
    [
        [("traceparent", "nonsense")],
        [("traceparent", f"00-{'0' * 32}-{PARENT}-01")],
        [("traceparent", f"00-{TRACE}-{PARENT}-01"), ("traceparent", f"00-{TRACE}-{PARENT}-01")],
        [("traceparent", "é" * 1000)],
        [("tracestate", "vendor=canary")],
    ],
)
def test_a_header_that_names_no_trace_begins_one(service: Service, headers: list[tuple[str, str]]) -> None:
    """The request is answered as without it."""
    with running_collector() as collector, sending_spans(collector.url):
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        assert service.client.get("/healthz", headers=raw).status_code == 200
    (span,) = collector.named("GET /healthz")
    assert span.parent_span_id == b""
    assert span.trace_id.hex() not in {TRACE, "0" * 32}


def test_errors_of_the_service_are_marked_and_methods_are_a_closed_list() -> None:
    """A status of 500 or more is an error of the span; a method that HTTP does not define has no name."""
    with running_collector() as collector, sending_spans(collector.url):
        sender = recorder()
        assert sender is not None
        sender.record_request(AnsweredRequest("a-1", "BREW", "/healthz", 503, 0.1, None))
    (span,) = collector.named("_OTHER /healthz")
    assert span.status.code == Status.STATUS_CODE_ERROR


def test_without_a_collector_requests_are_answered(service: Service) -> None:
    """A dead collector costs its spans, and nothing else."""
    with sending_spans(f"http://127.0.0.1:{free_port()}/v1/traces"):
        assert service.submit(event()).status_code == 201
    assert service.submit(event("Another text.")).status_code == 201


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("127.0.0.1:4318", "is no address; write it like http://127.0.0.1:4318/v1/traces"),
        ("http://user:canary@127.0.0.1:4318/v1/traces", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("http://127.0.0.1:4318/v1/traces?key=canary", "OTEL_EXPORTER_OTLP_HEADERS"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url: str, text: str) -> None:
    """The text says what to write, and repeats no secret."""
    with pytest.raises(SettingsError, match=text) as refused:
        Settings(data=Path("data"), policies=Path("policies"), trace_url=url).check()
    assert "canary" not in str(refused.value)


def test_without_the_extra_the_text_says_what_to_install(tmp_path: Path) -> None:
    """The SDK is an extra; without it the error names the extra, and no folder is made."""
    (tmp_path / "opentelemetry.py").write_text("raise ImportError\n")
    options = ("--data", str(tmp_path / "data"), "--trace-url", "http://127.0.0.1:4318/v1/traces")
    refused = antechamber("serve", *options, PYTHONPATH=str(tmp_path))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"Error: --trace-url needs OpenTelemetry. {how_to_install('tracing')}\n"
    assert not (tmp_path / "data").exists()
