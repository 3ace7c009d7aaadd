"""Kill Antechamber under load; count what was lost and what was doubled.

With --engine sqlite one process serves a folder and is killed (kill -9) at random moments. With --engine postgres two
processes serve one PostgreSQL; in turn one of them is killed, a backend of the database is killed (kill -9, after which
PostgreSQL recovers from its log), and a backend's connection is ended (pg_terminate_backend). Meanwhile a dozen agents
submit and retry, and two curators decide. After each kill every process has to acknowledge something new: the time
until ready again.

Lost is an acknowledged receipt that the service does not give back word for word or that the tables do not hold, or a
decision that a curator was told stands and that has no record. Doubled is a key with two different receipts, a content
with more or less than one proposal, a version of a proposal with two decisions, a row that nobody was told of. Wrong is
a memory without an approved proposal, or the other way round.

Status 1 says that something was lost, doubled, wrong, refused or never answered, or that nothing was killed.
"""

import argparse
import contextlib
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil
import psycopg

from crash_desk import CURATORS, Curator, Minutes, judge
from crash_fields import READY_WITHIN, Field, OneFile, OneServer
from crash_load import Client
from rig import postgres, workplace

CLIENTS: Final = 12
KILLS: Final = {"sqlite": 1000, "postgres": 300}
QUICK: Final = {"sqlite": 50, "postgres": 12}
_LOOK_EVERY: Final = 10
"""Kills between two looks at a sample of what was acknowledged."""
_SAMPLE: Final = 100
_BROKEN: Final = ("lost", "doubled", "refused", "unanswered", "broken_files")
_MISJUDGED: Final = ("decisions_lost", "decisions_doubled", "decisions_refused", "decisions_unanswered")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def field_of(engine: str, folder: Path) -> Iterator[Field]:
    """Start what is to be killed, and end it."""
    with contextlib.ExitStack() as stack:
        field = OneFile(folder) if engine == "sqlite" else OneServer(folder, stack.enter_context(postgres(folder)))
        stack.callback(field.close)
        yield field


def fight(field: Field, minutes: Minutes, kills: int) -> dict[str, list[float]]:
    """Kill, one kind after the other, under load; return the seconds until ready by kind."""
    stop, chance, blows = threading.Event(), random.Random(kills), field.blows()  # noqa: S311 -- no secret
    times: dict[str, list[float]] = {kind: [] for kind in blows}
    threads: list[threading.Thread] = [Client(number, field.sender(), field.ledger, stop) for number in range(CLIENTS)]
    for number, name in enumerate(CURATORS):
        threads.append(Curator(number, field.ports, field.application.add_curator(name), minutes, stop))
    for thread in threads:
        thread.start()
    try:
        for number in range(kills):
            time.sleep(chance.uniform(0.02, 0.4))
            kind = list(blows)[number % len(blows)]
            start = time.monotonic()
            _strike(blows[kind], number // len(blows))
            field.until_ready()
            times[kind].append(time.monotonic() - start)
            if (number + 1) % _LOOK_EVERY == 0:
                field.look(field.ledger.sample(_SAMPLE))
                _note(
                    f"{number + 1:>4} kills  {len(field.ledger.receipts):>8,} acknowledged  {len(field.lost)} lost  "
                    f"{len(field.ledger.doubled)} doubled  {len(minutes.acknowledged()):>6,} decisions  "
                    f"ready after {times[kind][-1]:.2f} s ({kind})"
                )
    finally:
        stop.set()
        for thread in threads:
            thread.join(READY_WITHIN)
    return times


def _strike(blow: Callable[[int], None], number: int) -> None:
    """Kill; where the victim was gone already, or the database still recovers, choose again."""
    deadline = time.monotonic() + READY_WITHIN
    while True:
        try:
            blow(number)
        except (psutil.Error, psycopg.Error, ProcessLookupError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def examine(field: Field, minutes: Minutes) -> dict[str, Any]:
    """Hold everything acknowledged against the service and the tables; return what was found of decisions."""
    keys = list(field.ledger.receipts)
    _note(f"Asking every process for {len(keys):,} receipts …")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(field.look, [keys[part::4] for part in range(4)]))
    field.examine()
    records = list(
        field.rows(
            "SELECT r.decision_key, p.proposal_id, r.version, r.decision "
            "FROM review_records AS r JOIN proposals AS p ON p.id = r.proposal"
        )
    )
    approved = Counter(row[0] for row in field.rows("SELECT id FROM proposals WHERE state = 'approved'"))
    memories = Counter(row[0] for row in field.rows("SELECT proposal FROM memories"))
    return judge(minutes, records, approved, memories)


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
        "broken_files": len(field.check()),
        "seconds": round(seconds),
    }


def show(numbers: dict[str, Any]) -> None:
    """Print the closing table."""
    print(f"\n{'':<24}{'kills':>6}{'ready again, median':>22}{'longest':>10}")
    for kind, number in numbers["kills"].items():
        middle, longest = numbers["ready_median_s"].get(kind, 0), numbers["ready_max_s"].get(kind, 0)
        print(f"{kind:<24}{number:>6}{middle:>20.2f} s{longest:>8.2f} s")
    print(f"\n{'':<24}{'submissions':>12}{'decisions':>12}")
    print(f"{'acknowledged':<24}{numbers['acknowledged']:>12,}{numbers['decisions']:>12,}")
    for name in ("lost", "doubled", "refused", "unanswered"):
        print(f"{name:<24}{numbers[name]:>12}{numbers['decisions_' + name]:>12}")
    print(f"\nmemories: {numbers['memories']:,}, wrong: {numbers['memories_wrong']}")
    answers = ", ".join(f"{number:,} times {status}" for status, number in numbers["answers"].items())
    print(f"answers to agents: {answers}")
    if numbers["lost_at_commit"]:
        print(f"connections lost at COMMIT and asked after: {numbers['lost_at_commit']}")
    print(f"found broken in the files: {numbers['broken_files']}, unexpected errors logged: {numbers['tracebacks']}")
    print(f"{numbers['seconds']} s in all")


def holds(numbers: dict[str, Any], kills: int) -> bool:
    """Tell whether the proof was carried through and nothing went wrong."""
    wrong = sum(numbers[name] for name in (*_BROKEN, *_MISJUDGED, "memories_wrong"))
    done = sum(numbers["kills"].values()) == kills and numbers["acknowledged"] > kills and numbers["decisions"] > 0
    return done and not wrong


def main() -> None:
    """Run the proof."""
    parser = argparse.ArgumentParser(
        prog="scripts/crash", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=KILLS, default="sqlite", help="sqlite by default")
    parser.add_argument("--kills", type=int, help="number of kills; 1,000 by default, 300 with postgres")
    parser.add_argument("--quick", action="store_true", help="50 kills, 12 with postgres; about a minute")
    parser.add_argument("--json", action="store_true", help="print the closing numbers as JSON")
    parser.add_argument(
        "--sabotage", action="store_true", help="in the end lose and double something on purpose: the proof must fail"
    )
    arguments = parser.parse_args()
    kills = arguments.kills or (QUICK if arguments.quick else KILLS)[arguments.engine]
    start, minutes = time.monotonic(), Minutes()
    with workplace() as folder, field_of(arguments.engine, folder) as field:
        times = fight(field, minutes, kills)
        if arguments.sabotage:
            field.sabotage(next(iter(minutes.acknowledged()), ""))
        decided = examine(field, minutes)
        numbers = report(field, times, time.monotonic() - start) | decided
    if arguments.json:
        print(json.dumps(numbers))
    else:
        show(numbers)
    sys.exit(0 if holds(numbers, kills) else 1)


if __name__ == "__main__":
    main()
