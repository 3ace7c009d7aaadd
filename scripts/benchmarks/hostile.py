"""How long an agent waits during an attack: hostile connections of several kinds, and concurrent sign-ins.

Each kind runs against a fresh service on 127.0.0.1. One agent submits events one after another, each over a new
connection, first at rest and then during the attack. A hostile connection closed by the service is reopened at once.
The guarantee: p99 during the attack is at most ten times p99 at rest.
"""

import contextlib
import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, NamedTuple

import httpx
import psutil

from antechamber import app
from antechamber.core.outgoing import hash_event
from antechamber.settings import Location
from benchmarks.rounds import Tell
from lib.processes import PRODUCER, SCOPE, free_port, settle, workplace

_HOSTILE: Final = "worker:hostile"
_POLICY: Final = f"""[[producer]]
identity = "{PRODUCER}"
owner = "keeper"
submit = ["project:{SCOPE}"]
read = ["project:{SCOPE}"]

[[producer]]
identity = "{_HOSTILE}"
owner = "mallory"
submit = ["project:{SCOPE}"]
"""
CONNECTIONS: Final = 1100
SIGN_INS: Final = 300
SECONDS: Final = 45
_QUICK_SECONDS: Final = 12
_REST_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 60.0
_RECEIVE_BYTES: Final = 4096
"""Receive buffer of a client that does not read."""
_MAX_P99: Final = 10.0
"""Maximum ratio of the p99 during an attack to the p99 at rest."""


def openings(token: str) -> dict[str, bytes]:
    """Return the bytes that a hostile connection of each kind sends; afterwards it neither sends nor reads."""
    host, bearer = "Host: 127.0.0.1\r\n", f"Authorization: Bearer {token}\r\n"
    half = "Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
    accept = "Accept: application/json, text/event-stream\r\n"
    form = "name=keeper&password=" + "x" * 20
    kinds = {
        "silent": "",
        "half-head": f"GET /healthz HTTP/1.1\r\n{host}X-Half: ",
        "pipelined": f"GET /contract HTTP/1.1\r\n{host}\r\n" * 200,
        "unread": f"GET /contract HTTP/1.1\r\n{host}\r\n",
        "unread-token": f"GET /schema/openapi.json HTTP/1.1\r\n{host}{bearer}\r\n" * 20,
        "half-body": f"POST /v1/submissions HTTP/1.1\r\n{host}{bearer}{half}",
        "half-body-mcp": f"POST /mcp HTTP/1.1\r\n{host}{bearer}{accept}{half}",
        "half-body-nobody": f"POST /mcp HTTP/1.1\r\n{host}{accept}{half}",
        "half-form": f"POST /login HTTP/1.1\r\n{host}Content-Type: application/x-www-form-urlencoded\r\n"
        "Content-Length: 5000\r\n\r\nname=",
        "sign-in": f"POST /login HTTP/1.1\r\n{host}Content-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(form)}\r\nConnection: close\r\n\r\n{form}",
    }
    return {kind: text.encode() for kind, text in kinds.items()}


KINDS: Final = tuple(openings(""))


class Attack(NamedTuple):
    """The attacks to measure, and their size; None is the default."""

    kinds: Sequence[str] = ()
    connections: int | None = None
    sign_ins: int | None = None
    seconds: int | None = None


class Siege:
    """Hostile connections that are held open.

    `reads` reads the answers, as password guessing requires.
    """

    def __init__(self, port: int, opening: bytes, number: int, *, reads: bool) -> None:
        self._port, self._opening, self._number, self._reads = port, opening, number, reads
        self._poll = select.epoll()
        self._links: dict[int, tuple[socket.socket, bytes]] = {}
        self.ended = 0
        """Number of connections that the service closed."""

    def run(self, until: float) -> None:
        """Hold the connections open until a time of the monotonic clock."""
        while time.monotonic() < until:
            for _ in range(min(200, self._number - len(self._links))):
                self._open()
            for number, events in self._poll.poll(0.05):
                try:
                    self._turn(number, events)
                except OSError:
                    self._end(number)
        for link, _ in self._links.values():
            link.close()

    def _open(self) -> None:
        link = socket.socket()
        if not self._reads:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        link.settimeout(0)
        link.connect_ex(("127.0.0.1", self._port))
        self._links[link.fileno()] = (link, self._opening)
        self._poll.register(link, select.EPOLLOUT | select.EPOLLRDHUP)

    def _turn(self, number: int, events: int) -> None:
        link, left = self._links[number]
        if events & (select.EPOLLHUP | select.EPOLLERR | select.EPOLLRDHUP):
            self._end(number)
        elif events & select.EPOLLOUT:
            left = left[link.send(left) if left else 0 :]
            self._links[number] = (link, left)
            if not left:
                self._poll.modify(link, select.EPOLLRDHUP | (select.EPOLLIN if self._reads else 0))
        elif not link.recv(65_536):
            self._end(number)

    def _end(self, number: int) -> None:
        self.ended += 1
        link, _ = self._links.pop(number)
        self._poll.unregister(link)
        link.close()


@contextlib.contextmanager
def _service(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Run the service on a fresh folder; yield its address and the tokens of the agent and of the attacker."""
    location, port = Location(data=folder / "data"), free_port()
    app.open_store(location).close()
    with app.opened_access(location) as access:
        tokens = [access.tokens.issue(name, "producer", [], None)[1] for name in (PRODUCER, _HOSTILE)]
        access.accounts.add("keeper", "curator", None, app.hash_password("a long enough pass phrase"))
    policies = folder / "policies"
    policies.mkdir()
    (policies / "producers.toml").write_text(_POLICY)
    command = [
        sys.executable,
        "-m",
        "antechamber.cli",
        "serve",
        "--data",
        str(location.data),
        "--policies",
        str(policies),
    ]
    process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE)  # noqa: S603 -- our own program
    try:
        assert process.stdout is not None  # noqa: S101 -- it is a pipe
        process.stdout.readline()
        settle([psutil.Process(process.pid)])
        yield f"http://127.0.0.1:{port}", tokens
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            print("the service did not end in 60 s", file=sys.stderr)
            process.kill()


def _agent(url: str, token: str, seconds: float, name: str) -> list[float]:
    """Submit events one after another, each over a new connection; return the seconds until each answer."""
    took, headers, end = [], {"authorization": f"Bearer {token}"}, time.monotonic() + seconds
    number = 0
    while (begun := time.monotonic()) < end:
        number += 1
        body: dict[str, Any] = {
            "idempotency_key": f"{name}-{number}",
            "producer_identity": PRODUCER,
            "submission_scope": "project",
            "scope_id": SCOPE,
            "payload": {"kind": "fact", "content": f"Sentence {number} of {name}."},
            "source_span": {"uri": "repo://bench/a.md"},
        }
        body["source_event_hash"] = hash_event(body)
        with contextlib.suppress(httpx.TransportError):
            answer = httpx.post(f"{url}/v1/submissions", json=body, headers=headers, timeout=_ANSWER_SECONDS)
            answer.raise_for_status()
        took.append(time.monotonic() - begun)
        time.sleep(0.01)
    return took


def _told(took: list[float]) -> dict[str, float]:
    """Return count, p50, p99 and maximum, in ms."""
    cuts = quantiles(took, n=100) if len(took) > 1 else took * 99
    return {"answers": len(took), "p50": cuts[49] * 1000, "p99": cuts[98] * 1000, "max": max(took) * 1000}


def _measure(folder: Path, kind: str, number: int, seconds: float) -> dict[str, Any]:
    folder.mkdir()
    with _service(folder) as (url, (token, hostile)):
        _agent(url, token, 2.0, "warm")
        rest = _told(_agent(url, token, _REST_SECONDS, "rest"))
        port = url.rpartition(":")[2]
        command = [sys.executable, "-m", "benchmarks.hostile", kind, port, hostile, str(number), str(seconds)]
        attack = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 -- our own program
        time.sleep(1.0)
        under = _told(_agent(url, token, seconds - 2, "attack"))
        told, _ = attack.communicate()
    return {"kind": kind, "connections": number, "rest": rest, "attack": under, "ended": int(told)}


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell, attack: Attack | None = None) -> bool:
    """Measure and print; return whether the agent's waits stayed within the guarantee."""
    del rounds  # Each attack lasts long enough for one round.
    asked, missed = attack or Attack(), []
    seconds = asked.seconds or (_QUICK_SECONDS if quick else SECONDS)
    with workplace() as folder:
        for kind in asked.kinds or KINDS:
            number = (asked.sign_ins or SIGN_INS) if kind == "sign-in" else (asked.connections or CONNECTIONS)
            found = _measure(folder / kind, kind, number, seconds)
            ratio = found["attack"]["p99"] / found["rest"]["p99"]
            print(json.dumps({"section": "hostile", **found, "ratio": ratio}) if as_json else _line(found, ratio))
            sys.stdout.flush()
            if ratio > _MAX_P99:
                missed.append(kind)
    if missed:
        tell(f"p99 is more than {_MAX_P99:.0f} times that at rest: {', '.join(missed)}")
    return not missed


def _line(found: dict[str, Any], ratio: float) -> str:
    rest, under = found["rest"], found["attack"]
    return (
        f"{found['kind']:<17}{found['connections']:>5} connections  rest p99 {rest['p99']:>6.1f} ms   "
        f"attack p50 {under['p50']:>8.1f}  p99 {under['p99']:>8.1f}  max {under['max']:>8.1f} ms  "
        f"({under['answers']} answers, {found['ended']} ended)  ratio {ratio:.1f}"
    )


def _besiege(kind: str, port: str, token: str, number: str, seconds: str) -> None:
    """Attack in a separate process, and print how many connections the service closed."""
    siege = Siege(int(port), openings(token)[kind], int(number), reads=kind == "sign-in")
    siege.run(time.monotonic() + float(seconds))
    print(siege.ended)


if __name__ == "__main__":
    _besiege(*sys.argv[1:])
