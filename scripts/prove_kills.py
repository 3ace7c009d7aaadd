"""Kill application processes and PostgreSQL's backends under load; count what was lost and what was doubled.

Two application processes serve one PostgreSQL. In turn one of them is killed (kill -9) and started again, a backend
of the database is killed (kill -9, after which PostgreSQL recovers from its log), and a backend's connection is ended
(pg_terminate_backend). After each kill both processes have to acknowledge something new: the time until ready.

Lost is an acknowledged receipt that one of the processes does not give back word for word, or that the database does
not hold. Doubled is a key with two different receipts, a content with more or less than one proposal, or a row that
nobody was told of. Status 1 says that something was lost, doubled, refused or never answered, or that nothing was
killed.
"""

import argparse
import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import urlsplit

import psutil
import psycopg

from kill_load import Client, Ledger, Sender, submission
from rig import Application, Postgres, end, free_port, postgres, workplace

CLIENTS: Final = 12
PROCESSES: Final = 2
_READY_WITHIN: Final = 120.0
_LOOK_EVERY: Final = 10
"""Kills between two looks at a sample of what was acknowledged."""
_SAMPLE: Final = 100
_BACKENDS: Final = """
SELECT pid FROM pg_stat_activity
WHERE datname = '{database}' AND backend_type = 'client backend'
ORDER BY state = 'idle', random()
"""
"""The backends of the application, those that are in the middle of something first."""


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Field:
    """Two processes, one database, a ledger, and the means to kill."""

    def __init__(self, folder: Path, server: Postgres) -> None:
        """Start both processes."""
        self.url, self._server, self._log = server.empty(), server, folder / "application.log"
        self._database = urlsplit(self.url).path[1:]
        self._application = Application(folder, self.url)
        self.ports = [free_port() for _ in range(PROCESSES)]
        self.processes = [self._application.start(port, self._log) for port in self.ports]
        self.ledger = Ledger()
        self._probes = itertools.count(1)
        self.lost: set[str] = set()

    def sender(self) -> Sender:
        """Return connections to both processes."""
        return Sender(self.ports, self._application.token)

    def kill_application(self, number: int) -> None:
        """Kill one process and start it again."""
        process = number % PROCESSES
        self.processes[process].kill()
        end(self.processes[process])
        self.processes[process] = self._application.start(self.ports[process], self._log)

    def _backend(self) -> int:
        """Return a backend that serves the application."""
        while True:
            if rows := self._server.run(_BACKENDS.format(database=self._database)):
                return int(rows[0][0])
            time.sleep(0.01)

    def kill_backend(self, _number: int) -> None:
        """Kill a backend, and so make PostgreSQL recover."""
        pid = self._backend()
        if psutil.Process(pid).name() == "postgres":
            os.kill(pid, signal.SIGKILL)

    def end_backend(self, _number: int) -> None:
        """End a backend's connection."""
        self._server.run(f"SELECT pg_terminate_backend({self._backend()})")

    def until_ready(self) -> None:
        """Wait until each process acknowledged something new.

        Raises RuntimeError where that takes too long.
        """
        sender, deadline = self.sender(), time.monotonic() + _READY_WITHIN
        for process in range(PROCESSES):
            key = f"probe-{next(self._probes)}"
            raw = submission(key, f"Is anybody there? {key}")
            while not self.ledger.note(key, sender.post(process, raw)):
                if time.monotonic() > deadline:
                    message = f"process {process} is not ready after {_READY_WITHIN} s"
                    raise RuntimeError(message)
                time.sleep(0.01)
        sender.close()

    def look(self, keys: list[str]) -> None:
        """Ask both processes for receipts and note those that are lost."""
        sender = self.sender()
        for key in keys:
            kept = json.loads(self.ledger.receipts[key])
            for process in range(PROCESSES):
                answer = sender.get(process, key) or sender.get(process, key)
                found = json.loads(answer[1]) if answer and answer[0] == 200 else {}  # noqa: PLR2004 -- found
                if {name: found.get(name) for name in kept} != kept:
                    self.lost.add(key)
        sender.close()

    def logged(self, text: str) -> int:
        """Count what the processes said."""
        return self._log.read_text(errors="replace").count(text)

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            end(process)


def fight(field: Field, kills: int) -> dict[str, list[float]]:
    """Kill, one kind after the other, under load; return the seconds until ready by kind."""
    stop, chance = threading.Event(), random.Random(kills)  # noqa: S311 -- no secret
    clients = [Client(number, field.sender(), field.ledger, stop) for number in range(CLIENTS)]
    kinds: dict[str, Callable[[int], None]] = {
        "kill -9 of a process": field.kill_application,
        "kill -9 of a backend": field.kill_backend,
        "pg_terminate_backend": field.end_backend,
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for client in clients:
        client.start()
    try:
        for number in range(kills):
            time.sleep(chance.uniform(0.05, 0.4))
            kind = list(kinds)[number % len(kinds)]
            start = time.monotonic()
            _strike(kinds[kind], number // len(kinds))
            field.until_ready()
            times[kind].append(time.monotonic() - start)
            if (number + 1) % _LOOK_EVERY == 0:
                field.look(field.ledger.sample(_SAMPLE))
                _note(
                    f"{number + 1:>4} kills  {len(field.ledger.receipts):>8,} acknowledged  {len(field.lost)} lost  "
                    f"{len(field.ledger.doubled)} doubled  ready after {times[kind][-1]:.2f} s ({kind})"
                )
    finally:
        stop.set()
        for client in clients:
            client.join(_READY_WITHIN)
    return times


def _strike(blow: Callable[[int], None], number: int) -> None:
    """Kill; where the victim was gone already, or the database still recovers, choose again."""
    deadline = time.monotonic() + _READY_WITHIN
    while True:
        try:
            blow(number)
        except (psutil.Error, psycopg.Error, ProcessLookupError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _rows(url: str, question: str) -> Iterator[Any]:
    """Ask the tables themselves: an index that a crash left wrong would confirm itself."""
    with psycopg.connect(url) as connection:
        for path in ("indexscan", "indexonlyscan", "bitmapscan"):
            connection.execute(f"SET enable_{path} = off")
        connection.execute("SET search_path = antechamber")
        yield from connection.execute(question)


def examine(field: Field) -> None:
    """Hold everything acknowledged against both processes and against the tables."""
    ledger = field.ledger
    keys = list(ledger.receipts)
    _note(f"Asking both processes for {len(keys):,} receipts …")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(field.look, [keys[part::4] for part in range(4)]))
    stored = {}
    rows = Counter[str]()
    for key, receipt in _rows(field.url, "SELECT idempotency_key, receipt FROM submissions"):
        rows[key] += 1
        stored[key] = json.loads(receipt)
    field.lost |= {key for key in keys if stored.get(key) != json.loads(ledger.receipts[key])}
    ledger.doubled |= {key for key, number in rows.items() if number > 1}
    ledger.doubled |= rows.keys() - ledger.receipts.keys() - ledger.unanswered - ledger.refused
    wanted = {json.loads(receipt)["source_event_hash"] for receipt in ledger.receipts.values()}
    proposals = Counter(row[0] for row in _rows(field.url, "SELECT source_event_hash FROM proposals"))
    ledger.doubled |= {event for event in wanted | proposals.keys() if proposals[event] != 1} - _unsure(field)
    _note(f"{len(stored):,} submissions and {sum(proposals.values()):,} proposals in the database.")


def _unsure(field: Field) -> set[str]:
    """Return the contents whose submission is lost: they are counted as that already."""
    return {json.loads(field.ledger.receipts[key])["source_event_hash"] for key in field.lost}


def sabotage(field: Field) -> None:
    """Lose one acknowledged submission and double one proposal, as the owner of the database: the proof must see it."""
    with psycopg.connect(field.url) as connection:
        connection.execute("SET search_path = antechamber")
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "DELETE FROM submissions "
            "WHERE id = (SELECT max(id) FROM submissions WHERE disposition = 'accepted-for-review')"
        )
        constraint = connection.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = 'proposals'::regclass AND contype = 'u' "
            "AND cardinality(conkey) = 3"
        ).fetchone()
        if constraint is None:
            sys.exit("the constraint that makes proposals unique is not there")
        connection.execute(f"ALTER TABLE proposals DROP CONSTRAINT {constraint[0]}")
        connection.execute(
            "INSERT INTO proposals (proposal_id, producer, owner, submission_scope, scope_id, source_event_hash, "
            "payload, source_span, received_at) "
            "SELECT 'twin', producer, owner, submission_scope, scope_id, source_event_hash, payload, source_span, "
            "received_at FROM proposals ORDER BY id LIMIT 1"
        )


def report(field: Field, times: dict[str, list[float]], seconds: float) -> dict[str, Any]:
    """Return the closing numbers."""
    ledger = field.ledger
    return {
        "kills": {kind: len(taken) for kind, taken in times.items()},
        "acknowledged": len(ledger.receipts),
        "lost": len(field.lost),
        "doubled": len(ledger.doubled),
        "refused": len(ledger.refused),
        "unanswered": len(ledger.unanswered),
        "answers": dict(sorted(ledger.statuses.items())),
        "ready_median_s": {kind: round(median(taken), 2) for kind, taken in times.items() if taken},
        "ready_max_s": {kind: round(max(taken), 2) for kind, taken in times.items() if taken},
        "lost_at_commit": field.logged("the connection was lost at COMMIT"),
        "tracebacks": field.logged("Traceback (most recent call last)"),
        "seconds": round(seconds),
    }


def show(numbers: dict[str, Any]) -> None:
    """Print the closing table."""
    print(f"\n{'':<24}{'kills':>6}{'ready again, median':>22}{'longest':>10}")
    for kind, number in numbers["kills"].items():
        middle, longest = numbers["ready_median_s"].get(kind, 0), numbers["ready_max_s"].get(kind, 0)
        print(f"{kind:<24}{number:>6}{middle:>20.2f} s{longest:>8.2f} s")
    for name in ("acknowledged", "lost", "doubled", "refused", "unanswered"):
        print(f"{name:<24}{numbers[name]:>6}")
    answers = ", ".join(f"{number:,} times {status}" for status, number in numbers["answers"].items())
    print(f"answers: {answers}")
    print(f"connections lost at COMMIT and asked after: {numbers['lost_at_commit']}")
    print(f"unexpected errors logged: {numbers['tracebacks']}")
    print(f"{numbers['seconds']} s in all")


def holds(numbers: dict[str, Any], kills: int) -> bool:
    """Tell whether the proof was carried through and nothing went wrong."""
    wrong = sum(numbers[name] for name in ("lost", "doubled", "refused", "unanswered"))
    return not wrong and sum(numbers["kills"].values()) == kills and numbers["acknowledged"] > kills


def main() -> None:
    """Run the proof."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, help="number of kills; 300 by default")
    parser.add_argument("--quick", action="store_true", help="12 kills, less than a minute")
    parser.add_argument("--json", action="store_true", help="print the closing numbers as JSON")
    parser.add_argument(
        "--sabotage", action="store_true", help="in the end lose and double something on purpose: the proof must fail"
    )
    arguments = parser.parse_args()
    kills = arguments.kills or (12 if arguments.quick else 300)
    start = time.monotonic()
    with workplace() as folder, postgres(folder) as server:
        field = Field(folder, server)
        try:
            times = fight(field, kills)
            if arguments.sabotage:
                sabotage(field)
            examine(field)
        finally:
            field.close()
        numbers = report(field, times, time.monotonic() - start)
    if arguments.json:
        print(json.dumps(numbers))
    else:
        show(numbers)
    sys.exit(0 if holds(numbers, kills) else 1)


if __name__ == "__main__":
    main()
