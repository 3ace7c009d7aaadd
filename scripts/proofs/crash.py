"""Kill Antechamber under load; count what was lost and what was doubled.

With --engine sqlite one process serves a folder and is killed (kill -9) at random moments. With --engine postgres two
processes serve one PostgreSQL; in turn one of them is killed, a backend of the database is killed (kill -9, after which
PostgreSQL recovers from its log), and a backend's connection is ended (pg_terminate_backend). Meanwhile a dozen agents
submit and retry, and two curators decide. After each kill every process has to acknowledge something new: the time
until ready again.

Lost is an acknowledged receipt that the service does not give back word for word or that the tables do not hold, or an
acknowledged decision that has no record. Doubled is a key with two different receipts, a content with more or less than
one proposal, a version of a proposal with two decisions, a row that no answer spoke of. Wrong is a memory without an
approved proposal, or the other way round.

Status 1 says that something was lost, doubled, wrong, refused or never answered, that the service logged an unexpected
error or ended by itself, or that too little was killed, acknowledged or decided.
"""

import contextlib
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

import click
import psutil
import psycopg

from lib.processes import postgres, workplace
from proofs import closing
from proofs.crash_desk import CURATORS, Curator, Minutes, judge
from proofs.crash_fields import READY_WITHIN, Field, OneFile, OneServer
from proofs.crash_load import Client

CLIENTS: Final = 12
KILLS: Final = {"sqlite": 1000, "postgres": 300}
QUICK: Final = {"sqlite": 50, "postgres": 12}
ENGINES: Final = tuple(KILLS)
_PROCESS: Final = "kill -9 of a process"
KINDS: Final = {
    "sqlite": (_PROCESS,),
    "postgres": (_PROCESS, "kill -9 of a backend", "pg_terminate_backend"),
}
LEAST: Final = {"acknowledged": 101, "decisions": 11, "memories": 6, "no answer": 1}
"""Minimum counts of the quick form; the full form needs as many times more as it kills more often."""
_MEMORIES: Final = """
SELECT m.proposal FROM memories AS m JOIN proposals AS p ON p.id = m.proposal
WHERE m.state = 'active' OR p.state = 'approved' AND m.version = (
    SELECT max(latest.version) FROM memories AS latest WHERE latest.proposal = m.proposal
) OR NOT EXISTS (SELECT 1 FROM review_records AS r WHERE r.proposal = p.id AND r.decision = 'undo')
"""
"""Memories, without those that an undo of their approval ended."""
_LOOK_EVERY: Final = 10
"""Number of kills between two checks of a sample of acknowledged keys."""
_SAMPLE: Final = 100
_BROKEN: Final = ("lost", "doubled", "refused", "unanswered", "broken_files")
_MISJUDGED: Final = ("decisions_lost", "decisions_doubled", "decisions_refused", "decisions_unanswered")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def field_of(engine: str, folder: Path) -> Iterator[Field]:
    """Start the processes to be killed, and stop them at the end."""
    with contextlib.ExitStack() as stack:
        field = OneFile(folder) if engine == "sqlite" else OneServer(folder, stack.enter_context(postgres(folder)))
        stack.callback(field.close)
        yield field


def fight(field: Field, minutes: Minutes, kills: int) -> dict[str, list[float]]:
    """Kill under load, cycling through the kinds; return the seconds until ready by kind."""
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
        # On a busy machine a short run may end before the first decision is answered, and would prove nothing of any.
        deadline = time.monotonic() + READY_WITHIN
        while not minutes.acknowledged() and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        stop.set()
        for thread in threads:
            thread.join(READY_WITHIN)
    return times


def _strike(blow: Callable[[int], None], number: int) -> None:
    """Kill once; choose another victim if it is already gone or the database is still recovering."""
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


def examine(field: Field, minutes: Minutes, most: int = 1 << 40) -> dict[str, Any]:
    """Check every acknowledgment against the tables, and a sample of at most `most` also against every process.

    Returns the findings about decisions.
    """
    keys = field.ledger.sample(most)
    _note(f"Asking every process for {len(keys):,} receipts …")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(field.look, [keys[part::4] for part in range(4)]))
    field.examine()
    records = list(
        field.rows(
            "SELECT r.decision_key, p.proposal_id, r.version, r.decision, r.approvals_required "
            "FROM review_records AS r JOIN proposals AS p ON p.id = r.proposal ORDER BY r.id"
        )
    )
    approved = Counter(row[0] for row in field.rows("SELECT id FROM proposals WHERE state = 'approved'"))
    memories = Counter(row[0] for row in field.rows(_MEMORIES))
    return judge(minutes, records, approved, memories)


def report(field: Field, times: dict[str, list[float]], seconds: float) -> dict[str, Any]:
    """Return the final counts."""
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
        "tracebacks": field.report_errors(),
        "broken_files": len(field.check()),
        "seconds": round(seconds),
    }


def show(numbers: dict[str, Any]) -> None:
    """Print the final table."""
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
    print(f"found broken in the files: {numbers['broken_files']}, unexpected errors: {numbers['tracebacks']}")
    print(f"{numbers['seconds']} s in all")


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    return (
        f"{sum(numbers['kills'].values()):,} kills, {numbers['acknowledged']:,} submissions and "
        f"{numbers['decisions']:,} decisions acknowledged, {numbers['lost'] + numbers['decisions_lost']} lost, "
        f"{numbers['doubled'] + numbers['decisions_doubled']} doubled"
    )


def holds(numbers: closing.Numbers, kills: int) -> bool:
    """Return whether the proof was complete and found no fault."""
    wrong = sum(numbers[name] for name in (*_BROKEN, *_MISJUDGED, "memories_wrong", "tracebacks"))
    done = sum(numbers["kills"].values()) == kills and numbers["acknowledged"] > kills and numbers["decisions"] > 0
    return done and not wrong


def too_little(numbers: closing.Numbers, engine: str, scale: int) -> list[str]:
    """Return the kills and events that were too few."""
    kinds = dict.fromkeys(KINDS[engine], QUICK[engine] // len(KINDS[engine]))
    seen = numbers | numbers["kills"] | {"no answer": numbers["answers"].get("no answer", 0)}
    return closing.too_little(seen, kinds | LEAST, scale)


@click.command(help=__doc__, short_help="kill the service under load and count what was lost")
@click.option("--engine", type=click.Choice(ENGINES), default="sqlite", show_default=True)
@click.option("--kills", type=click.IntRange(1), help="number of kills; 1,000 by default, 300 with postgres")
@closing.options(
    quick="50 kills, 12 with postgres; about a minute", sabotage="in the end lose and double something on purpose"
)
def command(engine: str, kills: int | None, form: closing.Form) -> None:
    """Run the proof."""
    number = kills or (QUICK if form.quick else KILLS)[engine]
    start, minutes = time.monotonic(), Minutes()
    with workplace() as folder, field_of(engine, folder) as field:
        times = fight(field, minutes, number)
        if form.sabotage:
            field.sabotage(next(iter(minutes.acknowledged()), ""))
        decided = examine(field, minutes)
        numbers = report(field, times, time.monotonic() - start) | decided
    scale = form.scale(KILLS[engine] // QUICK[engine], by_hand=kills is not None)
    numbers["too_little"] = too_little(numbers, engine, scale)
    closing.finish(numbers, form, show, good=holds(numbers, number))
