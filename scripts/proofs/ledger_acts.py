"""Acts of an agent during which it, or the service, is killed, and a counter that kills at a boundary.

Run as a program, it performs one act for a tracer that kills at a system call, or serves with a kill at a statement.
"""

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx

from antechamber.cli import main as command_line
from antechamber.client import Ledger, Submitter
from antechamber.client.errors import outcome_or_error
from lib.processes import PRODUCER, SCOPE

Act = Callable[[Submitter, Ledger, str], object]


def event(name: str, **members: Any) -> dict[str, Any]:
    """Return an event with unique content."""
    body: dict[str, Any] = {
        "producer_identity": PRODUCER,
        "submission_scope": "project",
        "scope_id": SCOPE,
        "payload": {"kind": "fact", "content": f"Lesson {name}."},
        "source_span": {"uri": "repo://bench/KILLS.md"},
    }
    return body | members


def private(name: str) -> dict[str, Any]:
    """Return an event with a private value."""
    return event(name, payload={"kind": "fact", "content": f"Lesson {name}: ask mira@orbit-works.dev."})


def _submit(submitter: Submitter, made: dict[str, Any]) -> object:
    return outcome_or_error(submitter._run(submitter._delivery.submit(made, again=False)))  # noqa: SLF001 -- no exception


def _seal(submitter: Submitter, ledger: Ledger, name: str) -> object:
    return submitter.seal(ledger.prepare(event(name)))


ACTS: Final[dict[str, tuple[Act, int]]] = {
    "submit": (lambda submitter, _, name: _submit(submitter, event(name)), 1),
    "private": (lambda submitter, _, name: _submit(submitter, private(name)), 1),
    "refused": (lambda submitter, _, name: _submit(submitter, event(name, scope_id="elsewhere")), 1),
    "batch": (lambda submitter, _, name: submitter.submit_batch([event(f"{name} {one}") for one in range(3)]), 3),
    "recover": (lambda submitter, _, __: submitter.recover(), 2),
    "seal": (_seal, 1),
}
"""Each act, with the number of keys used once it is done, however often it was started."""


def arrange(act: str, path: Path, url: str, token: str, name: str) -> None:
    """Bring a ledger into the initial state of an act."""
    if act == "submit":
        return
    with Ledger(path) as ledger:
        if act != "recover":
            return
        one, two = ledger.prepare(event(f"{name} landed")), ledger.prepare(event(f"{name} lost"))
        ledger.begin(two)
        body = ledger.begin(one).body
        headers = {"authorization": f"Bearer {token}"}
        httpx.post(f"{url}/v1/submissions", content=body, headers=headers).raise_for_status()


def perform(act: str, path: Path, url: str, token: str, name: str) -> None:
    """Perform one act as an agent does: open the ledger, recover, continue."""
    with Ledger(path) as ledger, Submitter(url, token, ledger, attempts=1) as submitter:
        submitter.recover()
        ACTS[act][0](submitter, ledger, name)


class Boundaries:
    """Counts statements and both sides of each request, and kills this process at one of these boundaries."""

    def __init__(self, kill_at: int, flag: Path | None = None) -> None:
        """Count from the start, or from when a file exists."""
        self.number = 0
        self._kill_at, self._flag = kill_at, flag

    def cross(self, *_: object) -> None:
        """Count one boundary, and kill the process if it is the chosen one."""
        if self._flag is not None and not self._flag.exists():
            return
        self.number += 1
        if self.number == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Count the operations of SQLite and httpx from now on."""
        connect, send = sqlite3.connect, httpx.HTTPTransport.handle_request

        def counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection = connect(*arguments, **options)
            connection.set_trace_callback(self.cross)
            return connection

        def sent(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
            self.cross()
            response = send(transport, request)
            self.cross()
            return response

        sqlite3.connect = counted  # type: ignore[assignment]
        httpx.HTTPTransport.handle_request = sent  # type: ignore[method-assign]


def _main(arguments: list[str]) -> None:
    if arguments[0] == "serve":
        Boundaries(int(arguments[1]), Path(arguments[2])).watch()
        sys.argv = ["antechamber", *arguments[3:]]
        command_line()
        return
    act, path, url, token, name = arguments
    perform(act, Path(path), url, token, name)


if __name__ == "__main__":
    _main(sys.argv[1:])
