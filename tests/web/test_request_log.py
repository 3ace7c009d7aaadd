"""Ids of requests, slow requests, and the access log."""

import asyncio
import logging
import threading
from typing import Any, cast

import pytest
from litestar.types import Message, Scope

from antechamber.app import clock
from antechamber.core.access.secret_format import mint
from antechamber.flows.alarm_log import AlarmLog
from antechamber.flows.webhooks.alarms import AlarmEvents
from antechamber.logs import LineFormatter
from antechamber.web import request_log
from antechamber.web.request_log import MAX_LINES, RequestLog
from support import Service, event, until

SCOPE = cast("Scope", {"type": "http", "method": "GET", "path_template": "/v1/submissions/{submission_id}"})


def messages(lines: list[str], word: str) -> list[str]:
    """Return the lines for people that hold a word."""
    return [line for line in lines if word in line and not line.startswith("{")]


def test_each_answer_has_an_id_of_its_own(service: Service) -> None:
    """Submissions, pages, refusals and files each carry another id; one that the caller sends is ignored."""
    asked: list[tuple[str, dict[str, str]]] = [
        ("/healthz", {"x-request-id": "mine"}),
        ("/login", {}),
        ("/nothing", {}),
        ("/v1/token", {}),
        ("/assets/antechamber.css", {}),
        ("/login", {"host": "evil.example"}),
    ]
    answers = [service.client.get(path, headers=headers) for path, headers in asked]
    answers += [service.submit(event()), service.submit(event("Another text.")), service.submit(b"{")]
    ids = [answer.headers.get_list("x-request-id") for answer in answers]
    assert all(len(one) == 1 for one in ids)
    assert len({one[0] for one in ids}) == len(ids)
    assert ["mine"] not in ids


def test_an_unexpected_error_is_logged_with_the_id_of_its_answer(
    service: Service, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    """The operator finds the traceback by the id; the line names the route and holds no key."""

    def fail(*_: object) -> None:
        message = "a text that was sent"
        raise ValueError(message)

    monkeypatch.setattr(type(service.state.dashboard), "health", fail)
    answer = service.client.get("/readyz?q=private")
    assert answer.status_code == 500
    (line,) = messages(log_lines, "unexpected error on GET /readyz")
    assert f"request={answer.headers['x-request-id']}" in line
    assert "a text that was sent" not in line
    assert "private" not in line


def test_slow_requests_are_logged_by_their_route(
    service: Service, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    """A slow submission and a slow page have a line with status and time; a route that waits on purpose has none."""
    monkeypatch.setattr(request_log, "SLOW_SECONDS", -1.0)
    receipt = service.submit(event()).json()
    service.submit(event("Another text."))
    service.client.get(f"/v1/submissions/{receipt['submission_id']}", headers=service.bearer())
    service.client.get("/v1/changes", params={"scope": "project:apollo"}, headers=service.bearer())
    lines = messages(log_lines, "slow request")
    assert sum("route=/v1/submissions status=201" in line for line in lines) == 2
    (own,) = [line for line in lines if "route=/v1/submissions/{submission_id}" in line]
    assert "status=200" in own
    assert receipt["submission_id"] not in own
    assert not any("/v1/changes" in line for line in lines)


def test_a_fast_request_has_no_line_without_the_access_log(service: Service, log_lines: list[str]) -> None:
    """By default the log is quiet."""
    service.client.get("/healthz")
    assert messages(log_lines, "route=/healthz") == []


def test_the_access_log_is_written_by_a_thread_until_it_is_stopped(log_lines: list[str]) -> None:
    """Each request has one line; what waits at the stop is written, too."""
    log = RequestLog(access=True)
    thread = threading.Thread(target=log.run)
    thread.start()
    log.end("abc-1", SCOPE, 200, 0.0125)
    until(lambda: messages(log_lines, "request=abc-1"), "the line is written")
    log.stop()
    thread.join()
    log.end("abc-2", SCOPE, 404, 0.5)
    log.stop()
    log.end("abc-3", SCOPE, 404, 0.5)
    log.stop()
    log.run()
    (line,) = messages(log_lines, "request=abc-1")
    assert "method=GET route=/v1/submissions/{submission_id} status=200 milliseconds=12.5" in line
    assert len(messages(log_lines, "status=404")) == 2


def test_a_log_that_cannot_be_written_fast_enough_leaves_lines_out(log_lines: list[str]) -> None:
    """The number of waiting lines is bounded, and the log says how many it lost."""
    log = RequestLog(access=True)
    for number in range(MAX_LINES + 7):
        log.end(f"abc-{number:x}", SCOPE, 200, 0.001)
    thread = threading.Thread(target=log.run)
    thread.start()
    until(lambda: messages(log_lines, "left out"), "the loss is logged")
    log.stop()
    thread.join()
    (line,) = messages(log_lines, "left out")
    assert "number=7" in line
    assert len(messages(log_lines, " request method=")) == MAX_LINES


def test_a_streamed_answer_ends_with_its_last_part(log_lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The status is that of the first message, and the line comes after the last one."""
    monkeypatch.setattr(request_log, "SLOW_SECONDS", -1.0)
    sent: list[dict[str, Any]] = []

    async def send(message: Message) -> None:
        sent.append(dict(message))

    async def work() -> None:
        watched = RequestLog(access=False).watch("abc-1", cast("Scope", {"method": "GET"}), send)
        await watched({"type": "http.response.start", "status": 202, "headers": []})
        await watched({"type": "http.response.body", "body": b"1", "more_body": True})
        assert messages(log_lines, "slow request") == []
        await watched({"type": "http.response.body", "body": b"2", "more_body": False})

    asyncio.run(work())
    assert len(sent) == 3
    (line,) = messages(log_lines, "slow request")
    assert "route=unknown status=202" in line


def test_refused_tokens_are_logged_by_their_id_only(service: Service, log_lines: list[str]) -> None:
    """A revoked and an expired token are named by their ids; unknown ones, well-formed or not, have no line."""
    tokens = service.state.access.tokens
    revoked_id, revoked = tokens.issue("worker:release-bot", "producer", [], None)
    tokens.revoke(revoked_id)
    expired_id, expired = tokens.issue("worker:release-bot", "producer", [], 0)
    for secret in (revoked, expired, revoked[:-1], mint("producer", bytes(24))):
        assert service.client.get("/v1/token", headers={"authorization": f"Bearer {secret}"}).status_code == 401
    found = messages(log_lines, "refused a token")
    assert [
        f"token_id={revoked_id} reason=revoked" in found[0],
        f"token_id={expired_id} reason=expired" in found[1],
    ] == [
        True,
        True,
    ]
    assert len(found) == 2


def test_alarms_are_logged_when_they_begin_and_end(service: Service, log_lines: list[str]) -> None:
    """Each alarm has one line for its begin and one for its end, however often it is looked at."""
    alarms, checkpoints = (
        AlarmLog(service.state.dashboard, AlarmEvents(service.state.desk._store, clock)),
        service.state.checkpoints,
    )
    before = checkpoints.pin_alarm
    checkpoints.pin_alarm = "The log's last checkpoint could not be pinned."
    alarms.look()
    alarms.look()
    checkpoints.pin_alarm = before
    alarms.look()
    found = messages(log_lines, "could not be pinned")
    assert ["ERROR alarm: " in found[0], "INFO alarm ended: " in found[1]] == [True, True]
    assert all(line.partition(" request=")[0].endswith("source=pin") for line in found)
    assert len(found) == 2


def test_every_level_has_a_name_in_the_line() -> None:
    """The level of a record is the second word of its line."""
    record = logging.LogRecord("antechamber", logging.CRITICAL, "f.py", 1, "x", None, None)
    assert LineFormatter("human").format(record).split()[1] == "CRITICAL"
