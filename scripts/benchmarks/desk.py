"""The section `desk`: the queue with a million pending proposals, on both engines.

A store is filled directly with copies of one real proposal, each with its own fold, id and position in the queue, and
with the hourly counts of twenty producers over a year. Then a curator signs in and requests the first, a middle and the
last page, filters, a proposal and the dashboard. Times are those of the server's answers on one connection; pages are
also compressed, as a proxy in front would send them.
"""

import contextlib
import gzip
import json
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import httpx
import psutil
import psycopg

from antechamber.app import open_store
from antechamber.core.outgoing import hash_event
from antechamber.flows.daily_counts import DailyCounts
from antechamber.settings import DATABASE, Location
from benchmarks.rounds import Tell
from lib.processes import PRODUCER, SCOPE, Application, end, free_port, postgres, settle, workplace

ROWS: Final = 1_000_000
QUICK: Final = 20_000
_ASKED: Final = 100
"""Requests per page."""
_WITHOUT_ROWS: Final = {"mine", "conflict", "no tag", "no owner", "no word", "proposal", "in a view", "dashboard"}
_SERIES: Final = {
    "sqlite": "WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < {number}) {insert}",
    "postgres": "WITH series (i) AS (SELECT generate_series(1, {number})) {insert}",
}
_FOLDS: Final = """INSERT INTO folds
    (id, submission_scope, scope_id, producer, owner, kind, content, tags, marks, pending, rank, turn)
SELECT f.id + s.i, f.submission_scope, f.scope_id, f.producer, f.owner, f.kind, f.content || ' ' || s.i, f.tags,
    f.marks, 1, CASE WHEN s.i % 50 = 0 THEN 1 ELSE 3 END, s.i / 10 FROM series AS s, folds AS f WHERE f.id = {fold}"""
_PRODUCERS: Final = (
    "INSERT INTO producers (id, producer_identity) SELECT 1000 + s.i, 'worker:bench-' || s.i FROM series AS s"
)
_COUNTS: Final = """INSERT INTO tally (hour, producer, name, channel, lane, number)
SELECT {hour} - s.i, p.id, '{name}', '{channel}', 0, 3 FROM series AS s, producers AS p"""
_COUNTED: Final = {"accepted-for-review": "http", "accepted-as-duplicate": "http", "approved": ""}
_YEAR: Final = 365 * 24
_OWN: Final = {
    "id": "{table}.id + s.i",
    "proposal": "{table}.id + s.i",
    "proposal_id": "substr({table}.{column}, 1, 26) || substr('0000000000' || s.i, -10)",
    "submission_id": "substr({table}.{column}, 1, 26) || substr('0000000000' || s.i, -10)",
    "idempotency_key": "'copy-' || s.i",
    "source_event_hash": "CAST('copy-' || s.i AS {blob})",
    "fold": "{fold} + s.i",
}
"""Columns in which copies differ."""


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print."""
    del rounds  # Each page is requested a hundred times instead.
    number = QUICK if quick else ROWS
    made: list[dict[str, Any]] = []
    with workplace() as folder:
        made += _measured(folder / "sqlite", None, number, tell)
        with postgres(folder) as server:
            made += _measured(folder / "postgres", server.empty(), number, tell)
    if as_json:
        for one in made:
            print(json.dumps({"section": "desk", **one}))
        return True
    print(f"\nThe queue with {number:,} that wait, {_ASKED} requests of each page.\n")
    print(f"{'engine':<10}{'page':<12}{'p50 ms':>8}{'p95 ms':>8}{'kB gzip':>9}{'rows':>6}")
    for one in made:
        print(
            f"{one['engine']:<10}{one['page']:<12}{one['p50_ms']:>8.1f}{one['p95_ms']:>8.1f}{one['kb_gzip']:>9.1f}"
            f"{one['rows']:>6}"
        )
    return all(one["rows"] for one in made)


def _measured(folder: Path, database_url: str | None, number: int, tell: Tell) -> list[dict[str, Any]]:
    application, port = Application(folder, database_url), free_port()
    engine = "sqlite" if database_url is None else "postgres"
    link = application.add_curator("cora")
    process = application.start(port)
    try:
        _first(port, application.token)
    finally:
        end(process)
    start = time.monotonic()
    with _database(application, database_url) as raw:
        _fill(raw, engine, number)
        _count(raw, engine, number)
    store = open_store(Location(data=application.data, database_url=database_url))
    DailyCounts(store, lambda: time.time_ns() // 1000).add()
    store.close()
    tell(f"{engine}: {number:,} proposals in {time.monotonic() - start:.0f} s")
    process = application.start(port)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as browser:
            browser.post("/login", data={"link": link.rpartition("=")[2]})
            settle([psutil.Process(process.pid)])
            return [_asked(browser, engine, name, path) for name, path in _pages(browser, number).items()]
    finally:
        end(process)


def _first(port: int, token: str) -> None:
    """Submit the proposal that is copied, and wait until it is sorted."""
    event: dict[str, Any] = {
        "payload": {"kind": "procedure", "content": "Run the migration before the deploy, never after it."},
        "source_span": {"uri": "repo://bench/RUNBOOK.md"},
    }
    head = {"idempotency_key": "first", "producer_identity": PRODUCER, "submission_scope": "project", "scope_id": SCOPE}
    body = head | event | {"source_event_hash": hash_event(event)}
    url, headers = f"http://127.0.0.1:{port}/v1/submissions", {"authorization": f"Bearer {token}"}
    httpx.post(url, json=body, headers=headers).raise_for_status()
    time.sleep(1)


@contextlib.contextmanager
def _database(application: Application, database_url: str | None) -> Iterator[Any]:
    if database_url is None:
        with contextlib.closing(sqlite3.connect(application.data / DATABASE, isolation_level=None)) as file:
            for setting in ("journal_mode = WAL", "synchronous = OFF", "cache_size = -1000000"):
                file.execute(f"PRAGMA {setting}")
            yield file
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SET search_path = antechamber")
        yield connection
        connection.execute("ANALYZE")


def _fill(raw: Any, engine: str, number: int) -> None:
    """Copy the existing fold, proposal and submission."""
    (fold,) = raw.execute("SELECT max(id) FROM folds").fetchone()
    raw.execute(_SERIES[engine].format(number=number, insert=_FOLDS.format(fold=fold)))
    blob = {"sqlite": "BLOB", "postgres": "BYTEA"}[engine]
    for table in ("proposals", "submissions"):
        names = [column[0] for column in raw.execute(f"SELECT * FROM {table} LIMIT 0").description]  # noqa: S608 -- our own names
        values = [
            _OWN.get(name, "{table}.{column}").format(table=table, column=name, fold=fold, blob=blob) for name in names
        ]
        insert = f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM series AS s, {table}"  # noqa: S608
        insert += f" WHERE {table}.id = (SELECT min(id) FROM {table})"  # noqa: S608
        raw.execute(_SERIES[engine].format(number=number, insert=insert))


def _count(raw: Any, engine: str, number: int) -> None:
    """Count the copies, and a year of other producers' submissions, as many of them decided as submitted."""
    (hour,) = raw.execute("SELECT max(hour) FROM tally").fetchone()
    raw.execute(f"UPDATE tally SET number = number + {number} WHERE name = 'accepted-for-review'")  # noqa: S608 -- an integer
    raw.execute(_SERIES[engine].format(number=20, insert=_PRODUCERS))
    for name, channel in _COUNTED.items():
        insert = _COUNTS.format(hour=hour, name=name, channel=channel)
        raw.execute(_SERIES[engine].format(number=_YEAR, insert=insert))


def _pages(browser: httpx.Client, number: int) -> dict[str, str]:
    """Return the requested pages."""
    first = browser.get("/review").text
    proposal = re.search(r'class="whole" dir="auto" href="([^"]+)"', first)
    return {
        "first": "/review",
        "middle": f"/review?after=3.{number // 20}.0.0",
        "last": f"/review?after=3.{number // 10 - 5}.0.0",
        "filtered": "/review?q=warning:yes",
        "scope": f"/review?q=scope:project:{SCOPE}",
        "age": "/review?q=age:<1h",
        "mine": "/review?q=mine:yes",
        "conflict": "/review?q=conflict:yes",
        "no tag": "/review?q=tag:nowhere",
        "no owner": "/review?q=owner:nobody",
        "no word": "/review?q=nowhere",
        "proposal": proposal[1] if proposal else "/nowhere",
        "in a view": f"{proposal[1]}?q=scope:project:{SCOPE}" if proposal else "/nowhere",
        "dashboard": "/dashboard?days=30",
    }


def _asked(browser: httpx.Client, engine: str, name: str, path: str) -> dict[str, Any]:
    times, page = [], browser.get(path)
    for _ in range(_ASKED):
        start = time.perf_counter()
        page = browser.get(path)
        times.append((time.perf_counter() - start) * 1000)
        page.raise_for_status()
    return {
        "engine": engine,
        "page": name,
        "p50_ms": round(median(times), 1),
        "p95_ms": round(quantiles(times, n=20)[18], 1),
        "kb_gzip": round(len(gzip.compress(page.content)) / 1000, 1),
        "rows": page.text.count('class="whole"') + (name in _WITHOUT_ROWS),
    }
