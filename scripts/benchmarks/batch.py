"""The section `batch`: NDJSON of 1,000 lines over SQLite, compared with single submissions and a bare `executemany`.

The bare side writes the same rows that the batches created into a fresh file of the same schema, in transactions of
1,000 with `synchronous=FULL`, without HTTP, parsing, hashing, detectors, policy or comparisons.
"""

import http.client
import json
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from antechamber.store.sqlite.store import SqliteStore
from benchmarks.load import body, load, loader, write_bodies
from benchmarks.rounds import Tell
from benchmarks.sides import on_sqlite
from lib.processes import workplace

LINES: Final = 1000
CONNECTIONS: Final = 4
_FLIGHT: Final = 128
_TABLES: Final = ("producers", "policies", "proposals", "submissions", "log_leaves")


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print."""
    number, batches = rounds or (1 if quick else 5), 20 if quick else 60
    made: list[dict[str, float]] = []
    with workplace() as folder:
        tell(f"batch: single submissions by {loader()}; making the bodies …")
        singles = write_bodies(folder, "single", 60_000)
        file = folder / "batches"
        file.write_bytes(b"".join(body("batch", line) + b"\n" for line in range(batches * LINES)))
        for count in range(1, number + 1):
            made.append(_round(folder / f"round-{count}", singles, file))
            tell(f"round {count}  " + "  ".join(f"{name} {value:,.0f}" for name, value in made[-1].items()))
            if as_json:
                print(json.dumps({"section": "batch", "round": count, **made[-1]}), flush=True)
    found = {name: median(one[name] for one in made) for name in made[0]}
    ratios = {
        "to single": sorted(one["batch per s"] / one["single per s"] for one in made),
        "to executemany": sorted(one["batch per s"] / one["executemany per s"] for one in made),
    }
    if as_json:
        summary = {f"ratio {name}": median(values) for name, values in ratios.items()}
        print(json.dumps({"section": "batch", "summary": True, "rounds": number, **found, **summary}))
        return True
    print(f"\nBatches of {LINES} lines over {CONNECTIONS} connections, {number} rounds.\n")
    for name, value in found.items():
        print(f"{name:<22}{value:>12,.0f}")
    for name, values in ratios.items():
        print(f"ratio {name:<16}{median(values):>12.2f}  ({values[0]:.2f}-{values[-1]:.2f})")
    return True


def _round(folder: Path, singles: Path, file: Path) -> dict[str, float]:
    with on_sqlite().start(folder / "single") as running:
        seen = load(singles, running.ports, running.token, _FLIGHT, 3.0)
    with on_sqlite().start(folder / "batch") as running:
        command = [sys.executable, "-m", "benchmarks.batch", str(running.ports[0]), running.token, str(file)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603 -- this file
        stored = running.count() if running.count else 0
    if told["accepted"] != stored:
        message = f"{told['accepted']} accepted, {stored} stored"
        raise RuntimeError(message)
    return {
        "single per s": seen.acknowledged / seen.seconds,
        "batch per s": told["accepted"] / told["seconds"],
        "executemany per s": _bare(folder / "batch" / "data" / "antechamber.db", folder / "bare.db"),
        "accepted": told["accepted"],
        "stored": stored,
        "batch p50 ms": told["p50"],
        "batch p99 ms": told["p99"],
    }


def _bare(source: Path, target: Path) -> float:
    """Copy the rows of one file into another and return submissions per second."""
    SqliteStore(target).close()
    with sqlite3.connect(source) as read:
        # Rows of the queue are created later, by the sorter.
        read.execute("UPDATE proposals SET fold = NULL")
        rows = {name: read.execute(f"SELECT * FROM {name} ORDER BY id").fetchall() for name in _TABLES}  # noqa: S608 -- our own names
    write = sqlite3.connect(target, isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "cache_size = -16000"):
        write.execute(f"PRAGMA {setting}")
    inserts = {
        name: f"INSERT INTO {name} VALUES ({', '.join('?' * len(found[0]))})"  # noqa: S608 -- our own names
        for name, found in rows.items()
    }
    for name in ("producers", "policies"):
        write.executemany(inserts[name], rows[name])
    start = time.perf_counter()
    for first in range(0, len(rows["submissions"]), LINES):
        write.execute("BEGIN IMMEDIATE")
        for name in ("proposals", "submissions", "log_leaves"):
            write.executemany(inserts[name], rows[name][first : first + LINES])
        write.execute("COMMIT")
    seconds = time.perf_counter() - start
    write.close()
    return len(rows["submissions"]) / seconds


def _post_all(port: int, token: str, file: Path) -> dict[str, Any]:
    """Post batches over a few connections, in a separate process."""
    lines = file.read_bytes().splitlines(keepends=True)
    batches = iter([b"".join(lines[first : first + LINES]) for first in range(0, len(lines), LINES)])
    gate, accepted, times = threading.Lock(), [0], list[float]()

    def post() -> None:
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"authorization": f"Bearer {token}", "content-type": "application/x-ndjson"}
        while True:
            with gate:
                batch = next(batches, None)
            if batch is None:
                return
            sent = time.perf_counter()
            link.request("POST", "/v1/submissions/batch", batch, headers)
            found = link.getresponse().read().count(b'"status":201')
            with gate:
                accepted[0] += found
                times.append((time.perf_counter() - sent) * 1000)

    threads = [threading.Thread(target=post) for _ in range(CONNECTIONS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, cuts = time.perf_counter() - start, quantiles(times, n=100)
    return {"accepted": accepted[0], "seconds": seconds, "p50": cuts[49], "p99": cuts[98]}


if __name__ == "__main__":
    print(json.dumps(_post_all(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))))
