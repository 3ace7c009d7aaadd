"""The section `growth`: the same load on stores of thousands, one million and ten million submissions.

Each file is filled directly with copies of one real submission, each with its own key, content, hash, ids and leaf of
the log, in the service's own tables and indexes, once with time-ordered keys (UUIDv7) and once with random ones. The
log is signed; then the service is started on the file, loaded and stopped, and every round visits every size. The first
access is to a cold file: rounds start right after filling, and the warm-up lasts a second.
"""

import contextlib
import http.client
import itertools
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
import psutil

from antechamber.core.admission.canonical import canonical, digest, join_event
from antechamber.core.ids import uuid7
from antechamber.store.hashes import with_bytes
from antechamber.store.sqlite.packed_leaf import pack, unpack
from benchmarks.load import body, load, loader, write_bodies
from benchmarks.rounds import FLIGHTS, Tell, at_rest
from lib.processes import Application, end, free_port, settle, workplace

ROWS: Final = (10_000, 1_000_000)
QUICK: Final = (10_000, 50_000)
KEYS: Final = ("uuid7", "random")
_CHUNK: Final = 20_000
_NEEDED: Final = 3_200
"""Free disk bytes required per submission, including the write-ahead log beside the file."""
_MAX_A_SECOND: Final = 16_000
_DAY_ONE: Final = 1_767_225_600_000_000
"""The start time of the filling, in microseconds since 1970 UTC."""


def key_of(kind: str) -> Callable[[int], str]:
    """Return a function that creates the key for a number: time-ordered or random."""
    if kind == "uuid7":
        return lambda number: uuid7(_DAY_ONE + number * 1000, os.urandom(10))
    return lambda _number: os.urandom(16).hex()


class Grown:
    """A store of a given size, and the service on top."""

    def __init__(self, folder: Path, rows: int, kind: str, tell: Tell) -> None:
        """Fill the file."""
        self.rows, self.kind, self._folder = rows, kind, folder
        self._application = Application(folder, None)
        self._file = self._application.data / "antechamber.db"
        self._first(body("grown", 0))
        start = time.monotonic()
        self._fill(tell)
        self.bytes_each = round(self._file.stat().st_size / rows)
        tell(f"{rows:,} submissions with {kind} keys: {self.bytes_each:,} bytes each, {time.monotonic() - start:.0f} s")

    def _first(self, raw: bytes) -> None:
        """Have the service itself store the submission that is copied."""
        port = free_port()
        process = self._application.start(port)
        link = http.client.HTTPConnection("127.0.0.1", port)
        link.request("POST", "/v1/submissions", raw, {"authorization": f"Bearer {self._application.token}"})
        status = link.getresponse().status
        end(process)
        if status != 201:  # noqa: PLR2004 -- created
            message = f"the first submission was answered {status}"
            raise RuntimeError(message)

    def _fill(self, tell: Tell) -> None:
        target = sqlite3.connect(self._file, isolation_level=None)
        # Durability is unnecessary here: after a crash the file is filled again.
        for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -6000000", "locking_mode = EXCLUSIVE"):
            target.execute(f"PRAGMA {setting}")
        copies = [_Copies(target, "proposals"), _Copies(target, "submissions"), _Leaves(target)]
        for first in range(1, self.rows, _CHUNK):
            made = list(_events(range(first, min(first + _CHUNK, self.rows)), key_of(self.kind)))
            target.execute("BEGIN")
            for one in copies:
                target.executemany(one.insert, map(one.row, made))
            target.execute("COMMIT")
            if first // _CHUNK % 25 == 0:
                tell(f"filling with {self.kind} keys: {first:,} of {self.rows:,}")
        target.execute("PRAGMA journal_mode = WAL")
        target.close()
        self._application._run("log", "checkpoint")  # noqa: SLF001 -- one more command

    def _stored(self) -> int:
        """Return the number of submissions; those of the filling have the first integer keys."""
        with contextlib.closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True)) as reader:
            found: int = reader.execute("SELECT count(*) FROM submissions WHERE id > ?", [self.rows]).fetchone()[0]
        return found

    def measure(self, count: int, flights: Sequence[int], seconds: float) -> Iterator[dict[str, Any]]:
        """Start the service, warm it up, load it, and return the results."""
        port, start = free_port(), time.monotonic()
        process = self._application.start(port)
        ready = time.monotonic() - start
        name, make = f"{self.kind}-{self.rows}-{count}", key_of(self.kind)
        try:
            warm = write_bodies(self._folder, f"{name}-warm", _MAX_A_SECOND, make)
            load(warm, [port], self._application.token, FLIGHTS[0], 1.0)
            settle([psutil.Process(process.pid)])
            for flight in flights:
                bodies = write_bodies(self._folder, f"{name}-{flight}", int(_MAX_A_SECOND * seconds), make)
                before = at_rest(self._stored)
                seen = load(bodies, [port], self._application.token, flight, seconds)
                stored = at_rest(self._stored) - before
                if seen.refused or seen.broken or not 0 <= stored - seen.acknowledged <= flight:
                    message = f"{seen.refused} refused, {seen.broken} broken, stored {stored} of {seen.acknowledged}"
                    raise RuntimeError(message)
                yield {
                    "section": "growth",
                    "round": count,
                    "keys": self.kind,
                    "rows": self.rows,
                    "in_flight": flight,
                    "acknowledged": seen.acknowledged,
                    "stored": stored,
                    "rate": round(seen.acknowledged / seen.seconds),
                    "p50_ms": seen.p50_ms,
                    "p99_ms": seen.p99_ms,
                    "ready_s": round(ready, 2),
                    "memory_mb": round(_memory(process.pid) / 1e6, 1),
                    "bytes_each": self.bytes_each,
                }
        finally:
            end(process)
            for left in self._folder.glob(f"{name}-*"):
                left.unlink()

    def remove(self) -> None:
        """Delete the files."""
        shutil.rmtree(self._folder)


class _Copies:
    """Rows of one table: copies of the first submission's row with its unique values replaced."""

    def __init__(self, target: sqlite3.Connection, table: str) -> None:
        found = target.execute(f"SELECT * FROM {table}")  # noqa: S608 -- our own names
        self._names = [column[0] for column in found.description]
        self._row = dict(zip(self._names, found.fetchone(), strict=True))
        self.insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(self._names))})"  # noqa: S608

    def row(self, event: dict[str, Any]) -> list[Any]:
        """Return the values of a copy."""
        own = with_bytes({name: event[name] for name in self._names if name in event})
        return list({**self._row, **own}.values())


class _Leaves:
    """Leaves of the log: copies of the first submission's with other ids and random commitments."""

    insert = "INSERT INTO log_leaves (id, leaf, submission, salt) VALUES (?, ?, ?, ?)"

    def __init__(self, target: sqlite3.Connection) -> None:
        found = "SELECT leaf, (SELECT max(id) FROM log_leaves) FROM log_leaves WHERE submission IS NOT NULL"
        stored, last = target.execute(found).fetchone()
        self._leaf = unpack(stored)
        members = msgspec.json.decode(self._leaf)
        self._told, self._commitment = members["subject"], members["payload_commitment"]
        self._places = itertools.count(last + 1)

    def row(self, event: dict[str, Any]) -> list[Any]:
        """Return the values of the next leaf."""
        leaf = self._leaf
        for name, value in self._told.items():
            leaf = leaf.replace(value, event[name])
        leaf = leaf.replace(self._commitment, "sha256:" + os.urandom(32).hex())
        return [next(self._places), pack(leaf), event["id"], os.urandom(32)]


def _events(numbers: range, make_key: Callable[[int], str]) -> Iterator[dict[str, Any]]:
    """Yield the values in which submissions differ."""
    event = msgspec.json.decode(body("grown", 0))
    payload, span = canonical(event["payload"]), canonical(event["source_span"])
    for number in numbers:
        own, received = payload.replace(b"Event 0", b"Event %d" % number), _DAY_ONE + number * 1000
        yield {
            "id": number + 1,
            "proposal": number + 1,
            "submission_id": uuid7(received, os.urandom(10)),
            "proposal_id": uuid7(received, os.urandom(10)),
            "idempotency_key": make_key(number),
            "payload": own.decode(),
            "source_event_hash": digest(join_event(own, span)),
            "fingerprint": os.urandom(16),
            "received_at": received,
        }


def _memory(pid: int) -> int:
    """Return the resident bytes of a process and its children."""
    process = psutil.Process(pid)
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell, rows: Sequence[int] = ()) -> bool:
    """Measure and print."""
    sizes = sorted(rows or (QUICK if quick else ROWS))
    number, seconds = rounds or (1 if quick else 5), 2.0 if quick else 4.0
    flights = FLIGHTS
    made: list[dict[str, Any]] = []
    with workplace() as folder:
        free = shutil.disk_usage(folder).free
        if (needed := sum(sizes) * _NEEDED) > free:
            tell(f"growth: {needed / 1e9:.0f} GB are needed and {free / 1e9:.0f} GB are free; leave a size out")
            return False
        tell(f"growth: load by {loader()}; filling …")
        for kind in KEYS[:1] if quick else KEYS:
            grown = [Grown(folder / f"{kind}-{size}", size, kind, tell) for size in sizes]
            for count in range(1, number + 1):
                for one in grown if count % 2 else grown[::-1]:
                    for found in one.measure(count, flights, seconds):
                        made.append(found)
                        tell("  ".join(f"{name} {value}" for name, value in found.items() if name != "section"))
                        if as_json:
                            print(json.dumps(found), flush=True)
            for one in grown:
                one.remove()
    _report(made, sizes[0], as_json=as_json)
    return True


def _report(made: Sequence[dict[str, Any]], base: int, *, as_json: bool) -> None:
    """Print medians, and ratios to the smallest size in the same round."""
    rates = {(one["keys"], one["round"], one["in_flight"]): one for one in made if one["rows"] == base}
    if not as_json:
        print(f"\nGrowth, load by {loader()}, {os.cpu_count()} cores; ratios are to {base:,} rows in the same round.\n")
        print(
            f"{'keys':<8}{'rows':>12}{'in flight':>10}{'per s':>8}{'ratio':>7}{'spread':>12}{'p50 ms':>8}{'p99 ms':>8}"
            f"{'p99 ratio':>11}{'bytes each':>12}{'memory MB':>11}{'ready s':>9}"
        )
    for kind, size, flight in dict.fromkeys((one["keys"], one["rows"], one["in_flight"]) for one in made):
        own = [one for one in made if (one["keys"], one["rows"], one["in_flight"]) == (kind, size, flight)]
        bases = [rates[kind, one["round"], flight] for one in own]
        ratios = sorted(one["rate"] / other["rate"] for one, other in zip(own, bases, strict=True))
        slower = median(one["p99_ms"] / other["p99_ms"] for one, other in zip(own, bases, strict=True))
        middle = {name: median(one[name] for one in own) for name in ("rate", "p50_ms", "p99_ms", "bytes_each")}
        most = {name: max(one[name] for one in own) for name in ("memory_mb", "ready_s")}
        found = {"keys": kind, "rows": size, "in_flight": flight, **middle, **most}
        found |= {"ratio": round(median(ratios), 3), "p99_ratio": round(slower, 2)}
        if as_json:
            print(json.dumps({"section": "growth", "summary": True, "rounds": len(own), **found}))
            continue
        print(
            f"{kind:<8}{size:>12,}{flight:>10}{middle['rate']:>8.0f}{median(ratios):>7.2f}"
            f"{f'{ratios[0]:.2f}-{ratios[-1]:.2f}':>12}{middle['p50_ms']:>8.1f}{middle['p99_ms']:>8.1f}{slower:>11.2f}"
            f"{middle['bytes_each']:>12.0f}{most['memory_mb']:>11.1f}{most['ready_s']:>9.2f}"
        )
