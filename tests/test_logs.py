"""Lines of the log: their form, and what a running service writes."""

import contextlib
import io
import json
import logging
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from antechamber.core.errors import UnavailableError
from antechamber.logs import REQUEST, LineFormatter, LogFormat, configure, note
from antechamber.settings import DATABASE
from antechamber.store.statements import migrations
from collector import running_collector
from lib.released import Released
from support import HANG_SECONDS, antechamber, event, free_port, texts_in_log, until, where

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def line(form: LogFormat, message: str, error: BaseException | None = None, **fields: Any) -> str:
    """Return the line of a record."""
    exc_info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("antechamber.test", logging.WARNING, "file.py", 1, message, None, exc_info)
    record.fields = fields
    return LineFormatter(form).format(record)


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """Return an error with a traceback."""
    try:
        if cause is not None:
            error.__cause__ = cause
        raise error
    except type(error) as caught:
        return caught


def test_a_line_has_time_level_message_and_fields() -> None:
    """A line for people is plain text; one for programs is a JSON object with the same members."""
    human = line("human", "signed in", account="ada", note="two words", empty="", number=3)
    assert re.fullmatch(rf'{TIME} WARNING signed in account=ada note="two words" empty="" number=3', human)
    found = json.loads(line("json", "signed in", account="ada", number=3))
    assert re.fullmatch(TIME, found.pop("time"))
    assert found == {
        "level": "warning",
        "logger": "antechamber.test",
        "message": "signed in",
        "account": "ada",
        "number": 3,
    }


@pytest.mark.parametrize(
    "hostile", ["\r", "\x1b[2J", "\x00", "\x85", "\x9b2J", "\u2028", "\u2029", "\u202e", "\u2066", "\x7f"]
)
def test_no_text_can_change_how_a_terminal_shows_a_line(hostile: str) -> None:
    """Control characters and unusual line ends are written as escapes, in messages and fields."""
    human = line("human", f"before{hostile}after", name=f"x{hostile}y")
    assert hostile not in human
    assert len(human.splitlines()) == 1
    assert len(line("json", f"before{hostile}after", name=f"x{hostile}y").splitlines()) == 1


def test_no_text_can_imitate_a_line() -> None:
    """Further lines of a message are indented."""
    human = line("human", "first\n2026-01-01T00:00:00.000Z INFO signed in", name="x\ny")
    first, second = human.splitlines()
    assert second.startswith("    2026-01-01")
    assert first.endswith("first")
    assert second.endswith('name="x\\ny"')


@pytest.mark.parametrize("form", ["human", "json"])
def test_a_traceback_has_places_and_types_but_no_quoted_text(form: LogFormat) -> None:
    """The message of an unexpected error may quote what a caller sent, so it is left out; causes come first."""
    error = raised(ValueError("the secret text"), raised(KeyError("another secret")))
    found = line(form, "failed", error)
    assert "secret" not in found
    assert found.index("KeyError") < found.index("ValueError")
    assert found.count("test_logs.py") == 2


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UnavailableError("the store cannot commit now"), "UnavailableError: the store cannot commit now"),
        (OSError(28, "No space left on device"), "OSError: [Errno 28] No space left on device"),
        (sqlite3.OperationalError("disk I/O\nerror"), "OperationalError: disk I/O error"),
    ],
)
def test_messages_that_cannot_quote_a_caller_are_kept(error: Exception, text: str) -> None:
    """Our own errors, those of the operating system and of SQLite say what is wrong."""
    assert text in line("human", "failed", raised(error))


def test_the_errors_of_a_group_are_shown_before_it() -> None:
    """The errors that a group joins say what happened; one that refers back to the group ends there."""
    member = raised(UnavailableError("the store cannot commit now"), raised(KeyError("a secret")))
    group = raised(ExceptionGroup("two at once", [member, raised(ValueError("a secret"))]))
    member.__cause__.__context__ = group  # type: ignore[union-attr]
    found = line("human", "failed", group)
    assert "secret" not in found
    places = [found.index(name) for name in ("KeyError", "UnavailableError: the store", "ValueError", "ExceptionGroup")]
    assert places == sorted(places)


def test_an_error_during_another_shows_both_unless_it_is_suppressed() -> None:
    """The context of an error is shown, except where the code suppressed it; a circle ends."""
    shown = raised(TypeError())
    shown.__context__ = KeyError("x")
    assert "KeyError" in line("json", "failed", shown)
    hidden = raised(RuntimeError("y"))
    hidden.__context__, hidden.__suppress_context__ = KeyError("x"), True
    assert "KeyError" not in line("json", "failed", hidden)
    circular = raised(RuntimeError("y"))
    circular.__cause__ = circular
    assert line("json", "failed", circular).count("RuntimeError") == 1


def test_lines_within_a_request_have_its_id() -> None:
    """The id comes from the context, or from the line itself where another thread writes it."""
    token = REQUEST.set("abc-1")
    try:
        assert line("human", "x").endswith(" request=abc-1")
        assert json.loads(line("json", "x", request="abc-2"))["request"] == "abc-2"
    finally:
        REQUEST.reset(token)
    assert "request" not in line("human", "x")


def test_a_process_writes_one_form_from_a_level_on() -> None:
    """`configure` replaces earlier handlers; fields without a value are left out."""
    root, ours, stream = logging.getLogger(), logging.getLogger("antechamber"), io.StringIO()
    handlers, level, own = root.handlers[:], root.level, ours.level
    try:
        configure("json", logging.INFO, stream)
        note(logging.getLogger("antechamber.test"), logging.INFO, "here", account=None, role="curator")
        logging.getLogger("antechamber.test").debug("not here")
        logging.getLogger("other").info("nor this")
    finally:
        for handler in root.handlers[:]:
            root.removeHandler(handler)
        for handler in handlers:
            root.addHandler(handler)
        root.setLevel(level)
        ours.setLevel(own)
    (found,) = map(json.loads, stream.getvalue().splitlines())
    assert (found["message"], found["role"]) == ("here", "curator")
    assert "account" not in found


@contextlib.contextmanager
def logged(data: Path, policies: Path, errors: Path, *options: str) -> Iterator[tuple[str, bytes]]:
    """Run the service, with its log in a file; yield its address and its first line on standard output."""
    port = free_port()
    command = [sys.executable, "-m", "antechamber.cli", "serve", "--data", str(data), "--policies", str(policies)]
    with errors.open("wb") as file:
        process = subprocess.Popen([*command, "--port", str(port), *options], stdout=subprocess.PIPE, stderr=file)  # noqa: S603 -- our own program
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{port}", process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANG_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_service_logs_its_life_as_json(tmp_path: Path, policies: Path) -> None:
    """Start, schema, sign-ins, refused tokens, requests, alarms and stop have a line; no line or span has a text."""
    data, errors = tmp_path / "data", tmp_path / "log"
    options = ("--log-format", "json", "--access-log", "--trace-url")
    with running_collector() as collector, logged(data, policies, errors, *options, collector.url) as (url, ready):
        assert json.loads(ready)["url"] == url
        issued = antechamber("token", "issue", "worker:release-bot", "--json", *where(data))
        token, token_id = _issued(issued.stdout, data)
        sent = event("A text that no line of the log may hold.", idempotency_key="a-key-that-no-line-holds")
        headers = {"authorization": f"Bearer {token}"}
        answer = httpx.post(f"{url}/v1/submissions", json=sent, headers=headers, timeout=HANG_SECONDS)
        assert answer.status_code == 201
        key = sent["idempotency_key"]
        httpx.get(f"{url}/v1/submissions/by-key/{key}?q={key}", headers=headers, timeout=HANG_SECONDS)
        antechamber(
            "user", "add", "ada", "--role", "curator", "--password-stdin", *where(data), stdin="pass word 1234\n"
        )
        for name, password in (("ada", "pass word 1234"), ("ada", "wrong"), ("a password typed as a name", "x")):
            httpx.post(f"{url}/login", data={"name": name, "password": password}, timeout=HANG_SECONDS)
        antechamber("token", "revoke", token_id, *where(data))
        until(
            lambda: httpx.get(f"{url}/v1/token", headers=headers, timeout=HANG_SECONDS).status_code == 401,
            "the token is revoked",
        )
        (policies / "producers.toml").write_text("[[producer]]\n")
        until(lambda: "alarm: " in errors.read_text(), "the broken policy is an alarm")
    (span,) = collector.named("POST /v1/submissions")
    assert span.trace_id
    sent_spans = [body.decode("latin-1") for body in collector.bodies]
    assert texts_in_log(sent_spans) == []
    assert [one for one in (sent["idempotency_key"], token, "pass word") if one in "".join(sent_spans)] == []
    lines = errors.read_text().splitlines()
    found = [json.loads(one) for one in lines]
    assert all(re.fullmatch(TIME, one["time"]) for one in found)
    by_message: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        by_message.setdefault(one["message"], []).append(one)
    (start,), (stop,) = by_message["starting"], by_message["stopped"]
    assert (start["engine"], start["folder"], start["mcp"]) == ("sqlite", str(data), "on")
    assert start["policy"].startswith("blake3:")
    assert start["version"] == stop["version"]
    assert url.endswith(stop["address"])
    (made,) = by_message["made the schema"]
    assert made["new"].startswith("00")
    assert made["steps"] > 1
    assert [(one["account"], one["by"]) for one in by_message["signed in"]] == [("ada", "password")]
    assert [one.get("account") for one in by_message["sign-in failed"]] == ["ada", None]
    assert {one["token_id"] for one in by_message["refused a token"]} == {token_id}
    routes = {one["route"]: one for one in by_message["request"]}
    assert routes["/v1/submissions"]["request"] == answer.headers["x-request-id"]
    assert "/v1/submissions/by-key/{idempotency_key}" in routes
    assert any(message.startswith("alarm: ") for message in by_message)
    assert texts_in_log(lines) == []
    for hidden in ("a password typed", "pass word", key):
        assert hidden not in "\n".join(lines)


def _issued(output: str, data: Path) -> tuple[str, str]:
    """Return the secret that was printed, and the id that the list shows."""
    (secret,) = re.findall(r"antp_[0-9A-Za-z]{36}", output)
    (token_id,) = re.findall(r"[0-9a-f-]{36}", antechamber("token", "list", *where(data)).stdout)
    return secret, token_id


def test_a_migration_is_one_line_of_the_log(tmp_path: Path) -> None:
    """The verb that makes or upgrades a schema says with a time from which step to which, and no more."""
    place = where(tmp_path / "data")
    steps = [name for name, _ in migrations("sqlite")]
    done = antechamber("migrate", *place)
    assert re.fullmatch(rf"{TIME} INFO made the schema new={steps[-1]} steps={len(steps)}\n", done.stderr)
    assert antechamber("migrate", *place).stderr == ""
    fixture = Released("0.1.0", "sqlite")
    known = fixture.expected()["steps"]
    fixture.unpack_keys(tmp_path / "older")
    (tmp_path / "older" / DATABASE).write_bytes(fixture.database())
    upgraded = antechamber("migrate", *where(tmp_path / "older"))
    fields = f"old={known[-1]} new={steps[-1]} steps={len(steps) - len(known)}"
    assert re.findall(rf"^{TIME} INFO (.*)$", upgraded.stderr, re.MULTILINE) == [f"upgraded the schema {fields}"]
