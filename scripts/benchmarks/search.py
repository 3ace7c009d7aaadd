"""The section `search`: what search finds on the labelled set, beside exact words joined by AND, and how fast it is.

Quality is measured on the half of the questions that was unseen while the ranking was tuned, and on the other half for
comparison: recall@5 (an answer is among the first five), MRR (mean of 1 / rank of the first answer) and how many of the
questions without an answer return nothing. `all words` is the search that the desk has, newest first.

Speed is measured on both engines, with 100,000 memories in one scope and a million in a thousand scopes, on a generated
store: texts of 8 to 34 words from a vocabulary by Zipf's law, questions of two to six words, a fifth of them with a
typing error. A hundred scopes have texts of their own, which the other scopes repeat. Times are CPU times,
those of PostgreSQL's processes included (from Linux's schedstat), so that other work of the machine does not count.

Similar memories, which the page of a proposal shows, are measured in the largest scope on SQLite: texts that differ
from a memory by one to three words changed, left out or misspelled, and how often that memory is among the ten found.
"""

import itertools
import json
import os
import random
import shutil
import time
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, NamedTuple

import psycopg

from antechamber.app import open_store
from antechamber.core.ports.store import Rows
from antechamber.core.search_terms import words_of
from antechamber.flows.answer_question import answer_question
from antechamber.flows.similar_memories import find_alike
from antechamber.settings import Location
from benchmarks.rounds import Tell
from lib.processes import Postgres, postgres, workplace
from lib.search_set import LabelledSet, load
from lib.search_store import fill, index_words

SIZES: Final = ((100_000, 1), (1_000_000, 1_000))
"""Memories and scopes."""
QUICK: Final = ((10_000, 1), (20_000, 20))
GOALS_MS: Final = {1: 50}
"""Goal for p95 in one large scope; in many scopes of a thousand memories it is `_GOAL_MS`."""
_GOAL_MS: Final = 20
_ALIKE_GOAL_MS: Final = 50
"""Goal for p95 of similar memories."""
_LEAST_ALIKE: Final = 0.95
"""Share of near duplicates of which the memory has to be found."""
_ASKED: Final = 400
_WARM: Final = 20
"""Questions before the first that counts."""
_FIRST: Final = 5
_VOCABULARY: Final = 60_000
_TEXTS: Final = 100
"""Scopes with texts of their own."""
_SCOPE: Final = [("project", "apollo")]
_ONE_SCOPE: Final = ("project", "scope-0")
Answers = Callable[[Rows, str], list[int]]


class Quality(NamedTuple):
    """What a search finds of one half of the labelled set; each is a share of 1."""

    recall: float
    mrr: float
    silent: float


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every goal is reached."""
    del rounds  # Each size is asked several hundred questions instead.
    halves = {"seen": load(unseen=False), "unseen": load(unseen=True)}
    labelled_memories = halves["seen"].memories
    lines: list[dict[str, Any]] = []
    with workplace() as folder:
        location = Location(data=folder / "labelled")
        fill(location, {"apollo": list(labelled_memories.values())})
        index_words(location, list(labelled_memories.values()))
        with closing(open_store(location)) as store, store.read() as tx:
            for name, search in (("all words", _all_words), ("search", _search)):
                for half, labelled in halves.items():
                    found = _quality(labelled, tx, search)
                    lines.append({"search": name, "half": half, **found._asdict()})
        with postgres(folder) as server:
            for engine in ("sqlite", "postgres"):
                for memories, scopes in QUICK if quick else SIZES:
                    with _location(folder, engine, server) as location:
                        lines += _measured(location, engine, memories, scopes, tell)
    _print(lines, as_json=as_json)
    best = lines[3]
    slow = [line for line in lines if line.get("p95_ms", 0) > GOALS_MS.get(line.get("scopes", 0), _GOAL_MS)]
    alike = [line for line in lines if "planted" in line]
    missed = [line for line in alike if line["found"] < _LEAST_ALIKE or line["alike_p95_ms"] > _ALIKE_GOAL_MS]
    good = best["recall"] >= 0.9 and best["mrr"] >= 0.75 and best["silent"] >= 0.9  # noqa: PLR2004 -- goals
    return good and not slow and not missed


def _print(lines: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        for line in lines:
            print(json.dumps({"section": "search"} | line))
        return
    print(f"\n{'search':<12}{'half':<10}{'recall@5':>10}{'MRR':>8}{'unanswerable that return nothing':>36}")
    for line in lines:
        if "half" in line:
            print(
                f"{line['search']:<12}{line['half']:<10}{line['recall']:>10.2f}{line['mrr']:>8.2f}{line['silent']:>36.2f}"
            )
    print(f"\n{'engine':<10}{'memories':>10}{'scopes':>8}", end="")
    print(f"{'p50 ms':>8}{'p95 ms':>8}{'worst ms':>10}{'by the clock, p95':>19}{'MB':>8}{'load':>6}")
    for line in lines:
        if "memories" in line:
            print(
                f"{line['engine']:<10}{line['memories']:>10,}{line['scopes']:>8,}{line['p50_ms']:>8.1f}{line['p95_ms']:>8.1f}"
                f"{line['worst_ms']:>10.1f}{line['clock_p95_ms']:>19.1f}{line['mb']:>8.0f}{line['load']:>6.1f}"
            )
    _print_alike([line for line in lines if "planted" in line])


def _print_alike(lines: list[dict[str, Any]]) -> None:
    print(f"\n{'near duplicates':<18}{'of':>10}{'found in 10':>12}{'p50 ms':>8}{'p95 ms':>8}{'worst ms':>10}")
    for line in lines:
        print(
            f"{line['planted']:<18}{line['among']:>10,}{line['found']:>12.3f}{line['alike_p50_ms']:>8.1f}"
            f"{line['alike_p95_ms']:>8.1f}{line['alike_worst_ms']:>10.1f}"
        )


def _search(tx: Rows, question: str) -> list[int]:
    return [hit.id for hit in answer_question(tx, _SCOPE, question, every_word=False, after=None, number=_FIRST)]


def _all_words(tx: Rows, question: str) -> list[int]:
    """Return the newest memories that contain all words, as search was before."""
    rows = tx.sql._connection.execute(  # type: ignore[attr-defined]  # noqa: SLF001 -- SQLite only
        "SELECT rowid FROM memories_search WHERE memories_search MATCH ? ORDER BY rowid DESC LIMIT ?",
        [" ".join(words_of(question)), _FIRST],
    )
    return [row["rowid"] for row in rows]


def _quality(labelled: LabelledSet, tx: Rows, search: Answers) -> Quality:
    names = dict(enumerate(labelled.memories, 1))
    ranks = []
    for question in labelled.answerable:
        found = [names[number] for number in search(tx, question.text)]
        ranks.append(next((rank for rank, name in enumerate(found, 1) if name in question.answers), 0))
    silent = sum(not search(tx, question.text) for question in labelled.unanswerable)
    return Quality(
        recall=sum(rank > 0 for rank in ranks) / len(ranks),
        mrr=sum(1 / rank for rank in ranks if rank) / len(ranks),
        silent=silent / len(labelled.unanswerable),
    )


class _Texts:
    """Texts of words by Zipf's law; the same seed makes the same texts."""

    def __init__(self) -> None:
        self._chance = random.Random(1)  # noqa: S311 -- reproducible
        syllables = [consonant + vowel for consonant in "bcdfghklmnprstvw" for vowel in "aeiou"]
        made: set[str] = set()
        while len(made) < _VOCABULARY:
            made.add("".join(self._chance.choices(syllables, k=self._chance.randint(2, 5))))
        self._words = sorted(made)
        self._chance.shuffle(self._words)
        self._sums = list(itertools.accumulate(1 / (rank + 20) for rank in range(_VOCABULARY)))

    def words(self, number: int) -> list[str]:
        """Return this many words."""
        chance = self._chance
        return [self._words[bisect(self._sums, chance.random() * self._sums[-1])] for _ in range(number)]

    def payloads(self, number: int) -> list[dict[str, Any]]:
        """Return the payloads of this many memories."""
        lengths = (self._chance.randint(8, 34) for _ in range(number))
        return [{"kind": "fact", "content": " ".join(self.words(length))} for length in lengths]

    def question(self) -> str:
        """Return a question of two to six words, a fifth of them with a typing error."""
        words = self.words(self._chance.randint(2, 6))
        if self._chance.random() < 1 / 5:
            words[0] = words[0][:2] + "x" + words[0][3:]
        return " ".join(words)


@contextmanager
def _location(folder: Path, engine: str, server: Postgres) -> Iterator[Location]:
    """Yield an empty location and remove it afterwards."""
    url = server.empty() if engine == "postgres" else None
    # The log of the filling need not be kept.
    server.run("ALTER SYSTEM SET max_wal_size = '128MB'")
    server.run("SELECT pg_reload_conf()")
    try:
        yield Location(data=folder / "large", database_url=url)
    finally:
        shutil.rmtree(folder / "large", ignore_errors=True)
        if url is not None:
            server.drop(url)


def _measured(location: Location, engine: str, memories: int, scopes: int, tell: Tell) -> list[dict[str, Any]]:
    """Fill a location with memories and measure questions, and on SQLite near duplicates in one scope."""
    texts, begun = _Texts(), time.monotonic()
    own = [texts.payloads(memories // scopes) for _ in range(min(scopes, _TEXTS))]
    fill(location, {f"scope-{number}": own[number % len(own)] for number in range(scopes)})
    tell(f"{engine}: {memories:,} memories in {scopes:,} scopes after {time.monotonic() - begun:.0f} s")
    lines = [{"engine": engine, "memories": memories, "scopes": scopes, **_speed(location, texts, scopes)}]
    tell(json.dumps(lines[0]))
    if engine == "sqlite" and scopes == 1:
        tell(f"looking for near duplicates among {memories:,}")
        lines.append(_near_duplicates(location, memories))
    return lines


def _speed(location: Location, texts: _Texts, scopes: int) -> dict[str, Any]:
    """Ask questions of two to six words in one scope after another, and read the items found."""
    taken, waited, processes = list[float](), list[float](), list[int]()
    with closing(open_store(location)) as store:
        for number in range(-_WARM, _ASKED):
            if number == 0:
                processes = _backends(location)
            question, scope = texts.question(), [("project", f"scope-{number % scopes}")]
            begun, start = _used(processes) if number >= 0 else 0.0, time.monotonic()
            with store.read() as tx:
                hits = answer_question(tx, scope, question, every_word=False, after=None, number=50)
                tx.memories.items([hit.id for hit in hits])
            if number >= 0:
                waited.append((time.monotonic() - start) * 1000)
                taken.append((_used(processes) - begun) * 1000)
    cuts = quantiles(taken, n=20)
    return {
        "p50_ms": cuts[9],
        "p95_ms": cuts[18],
        "worst_ms": max(taken),
        "clock_p95_ms": quantiles(waited, n=20)[18],
        "mb": _size(location) / 1e6,
        "load": os.getloadavg()[0],
    }


def _backends(location: Location) -> list[int]:
    """Return the processes of PostgreSQL that serve the store; none on SQLite."""
    if location.database_url is None:
        return []
    with psycopg.connect(location.database_url) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return [int(pid) for (pid,) in rows.fetchall()]


def _used(processes: list[int]) -> float:
    """Return the CPU seconds of this thread and of other processes."""
    there = sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in processes)
    return time.thread_time() + there / 1e9


def _size(location: Location) -> int:
    """Return the bytes of a store on disk."""
    if location.database_url is None:
        return sum(file.stat().st_size for file in location.data.iterdir() if file.is_file())
    with psycopg.connect(location.database_url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return int(row[0]) if row else 0


def _near_duplicates(location: Location, memories: int) -> dict[str, Any]:
    """Measure how often a memory is among the ten most similar ones of a text that is nearly the same."""
    chance = random.Random(2)  # noqa: S311 -- reproducible
    taken, found = [], 0
    with closing(open_store(location)) as store, store.read() as tx:
        for number in sorted(chance.sample(range(1, memories + 1), _ASKED)):
            [memory] = tx.review.memories_near([number])
            payload = {"kind": "fact", "content": _edit(memory.payload["content"], chance)}
            begun = time.thread_time()
            alike = find_alike(tx, _ONE_SCOPE, payload, 10)
            taken.append((time.thread_time() - begun) * 1000)
            found += any(other.memory_id == memory.memory_id for other, _ in alike)
    cuts = quantiles(taken, n=20)
    return {
        "planted": _ASKED,
        "among": memories,
        "found": found / _ASKED,
        "alike_p50_ms": cuts[9],
        "alike_p95_ms": cuts[18],
        "alike_worst_ms": max(taken),
    }


def _edit(text: str, chance: random.Random) -> str:
    """Return a text with one to three words changed, left out or misspelled; a short one keeps most of its words."""
    words = text.split(" ")
    for _ in range(chance.randint(1, 1 if len(words) < 16 else 3)):  # noqa: PLR2004 -- a short text
        place = chance.randrange(len(words))
        match chance.randrange(3):
            case 0:
                words[place] = "another"
            case 1:
                words[place : place + 1] = []
            case _:
                words[place] = words[place][:1] + "y" + words[place][2:]
    return " ".join(words)
