"""The load of a benchmark, in a separate process: wrk with a Lua script, or without wrk a loader over raw sockets.

Both keep a number of connections busy, spread evenly over the ports, and post each body once. Run as a program, this is
the loader over raw sockets; `load` starts the available one.
"""

import asyncio
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec
import uvloop
from blake3 import blake3

from antechamber.core.outgoing import hash_event
from lib.processes import PRODUCER, SCOPE

SHARDS: Final = 4
"""Threads of wrk, and files of bodies: enough to give each of up to four ports the same number of connections."""
PATH: Final = "/v1/submissions"
_BUFFER: Final = 65536


class Load(msgspec.Struct, frozen=True):
    """The results of a load."""

    acknowledged: int
    refused: int
    unavailable: int
    """Refusals with status 503; counted when bodies are posted repeatedly."""
    broken: int
    p50_ms: float
    p99_ms: float
    seconds: float


def loader() -> str:
    """Return the name of the available loader."""
    return "wrk" if shutil.which("wrk") else "asyncio loader"


def body(name: str, number: int, key: str | None = None) -> bytes:
    """Return a submission of about 600 bytes with unique content; without `key`, its key is a UUID, as clients send."""
    event: dict[str, Any] = {
        "payload": {
            "kind": "procedure",
            "content": f"Event {number} of {name}: run the migration before the deploy, never after it; old workers "
            "read the new schema, new workers do not read the old one.",
            "tags": ["database", "deploy"],
            "attributes": {"severity": 2},
        },
        "source_span": {
            "uri": "repo://bench/RUNBOOK.md",
            "start": 10,
            "end": 14,
            "revision": "9f1c2ab",
            "heading": "Deploy",
        },
    }
    head = {
        "idempotency_key": key or str(UUID(bytes=blake3(f"{name}-{number}".encode()).digest(16), version=4)),
        "producer_identity": PRODUCER,
        "submission_scope": "project",
        "scope_id": SCOPE,
        "source_event_hash": hash_event(event),
    }
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return msgspec.json.encode(head | event | {"observed_at": now})


def write_bodies(folder: Path, name: str, number: int, key_of: Callable[[int], str] | None = None) -> Path:
    """Write bodies to as many files as there are shards; return the path without the shard's number.

    `key_of` creates the keys; without it they are UUIDs (RFC 9562, version 4) derived from name and number.
    """
    for shard in range(SHARDS):
        with (folder / f"{name}.{shard}").open("wb") as file:
            for position in range(shard, number, SHARDS):
                file.write(body(name, position, key_of and key_of(position)) + b"\n")
    return folder / f"{name}."


def reshape(source: Path, target: Path, shape: Callable[[bytes], bytes]) -> None:
    """Write the bodies again in another form."""
    for shard in range(SHARDS):
        lines = source.with_name(f"{source.name}{shard}").read_bytes().splitlines()
        target.with_name(f"{target.name}{shard}").write_bytes(b"".join(shape(line) + b"\n" for line in lines))


def load(  # noqa: PLR0913 -- target, content, kind and duration of the load
    bodies: Path,
    ports: Sequence[int],
    token: str,
    connections: int,
    seconds: float,
    *,
    once: bool = False,
    again: bool = False,
    path: str = PATH,
) -> Load:
    """Post bodies for a time, or with `once` each body once within it, and return the results.

    With `again` the bodies are posted repeatedly, so that the later ones are replays.

    wrk can stop only by time, so `once` uses the loader over raw sockets.

    Raises RuntimeError if the bodies ran out or the loader failed.
    """
    told = {"BENCH_BODIES": str(bodies), "BENCH_PORTS": " ".join(map(str, ports)), "BENCH_TOKEN": token}
    told |= {"BENCH_ONCE": "1" if once else "0", "BENCH_AGAIN": "1" if again else "0", "BENCH_PATH": path}
    if (wrk := shutil.which("wrk")) and not once:
        script = str(Path(__file__).with_name("load.lua"))
        # The Lua script replaces this address with each thread's own.
        command = [wrk, f"-t{SHARDS}", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "20s", "-s", script]
        command.append(f"http://127.0.0.1:{ports[0]}")
    else:
        command = [sys.executable, "-m", "benchmarks.load", str(connections), str(seconds)]
    done = subprocess.run(command, env=os.environ | told, capture_output=True, text=True, check=False)  # noqa: S603 -- our own choice
    line = next((one for one in done.stdout.splitlines() if one.startswith("RESULT ")), None)
    if line is None:
        message = f"the loader failed: {done.stdout[-500:]}{done.stderr[-500:]}"
        raise RuntimeError(message)
    answered, refused, unavailable, broken, p50, p99, took = map(float, line.split()[1:])
    return Load(int(answered - refused), int(refused), int(unavailable), int(broken), p50, p99, took)


class Poster:
    """Posts bodies one after another over one connection, and records the time until each answer.

    `bodies` is an iterator shared with other posters.
    """

    def __init__(self, port: int, bodies: Iterator[bytes], token: str) -> None:
        self._port, self._bodies = port, bodies
        self._head = (
            f"POST {os.environ['BENCH_PATH']} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        ).encode()
        self.times: list[float] = []
        self.refused = self.unavailable = 0

    async def post(self, deadline: float) -> None:
        """Post until the time is up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=_BUFFER)
        while (start := time.perf_counter()) < deadline:
            raw = next(self._bodies, b"")
            if not raw and os.environ.get("BENCH_ONCE") == "1":
                break
            writer.write(b"%b%d\r\n\r\n%b" % (self._head, len(raw), raw))
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            if (end := time.perf_counter()) > deadline:
                break
            self.times.append(end - start)
            self.refused += not head.startswith(b"HTTP/1.1 20")
            self.unavailable += head.startswith(b"HTTP/1.1 503")
        writer.close()


async def _post_all(shards: list[Iterator[bytes]], connections: int, seconds: float) -> None:
    ports = [int(port) for port in os.environ["BENCH_PORTS"].split()]
    token = os.environ["BENCH_TOKEN"]
    posters = [Poster(ports[i % len(ports)], shards[i % SHARDS], token) for i in range(connections)]
    start = time.perf_counter()
    results = await asyncio.gather(*(one.post(start + seconds) for one in posters), return_exceptions=True)
    times = sorted(took * 1000 for one in posters for took in one.times) or [0.0, 0.0]
    cuts = statistics.quantiles(times, n=100)
    broken = sum(isinstance(one, BaseException) for one in results)
    refused = sum(one.refused for one in posters)
    unavailable = sum(one.unavailable for one in posters)
    answered = sum(len(one.times) for one in posters)
    print("RESULT", answered, refused, unavailable, broken, cuts[49], cuts[98], time.perf_counter() - start)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        files = [Path(f"{os.environ['BENCH_BODIES']}{shard}") for shard in range(SHARDS)]
        shards = [file.read_bytes().splitlines() for file in files]
        bodies = [itertools.cycle(one) if os.environ["BENCH_AGAIN"] == "1" else iter(one) for one in shards]
        runner.run(_post_all(bodies, int(sys.argv[1]), float(sys.argv[2])))
