"""Let two curators decide on the same proposal at the same moment: exactly one decision is made of each pair.

Each race has two forms that were loaded before, sent at once by two persons over connections of their own, on
PostgreSQL to two processes. The kinds are drawn: approve, reject, edit. One answer must be 303 and the
other 409 with who was faster; afterwards every proposal has exactly one review record, and none is there without a 303.
"""

import contextlib
import json
import random
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import click
import httpx
import psycopg

from antechamber.settings import DATABASE
from lib.browser import fields_of
from lib.processes import Application, end, free_port, postgres, workplace
from proofs import closing
from proofs.crash_load import submission

ENGINES: Final = ("sqlite", "postgres")
RACES: Final = 2000
QUICK: Final = 50
KINDS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("approve", {}),
    ("reject", {"reason_code": "wrong"}),
    ("edit", {"reason_code": "unclear", "content": "Said more clearly."}),
)
_RECORDS: Final = "SELECT p.proposal_id FROM review_records AS r JOIN proposals AS p ON p.id = r.proposal"


class Curator:
    """One person with a browser."""

    def __init__(self, url: str, link: str) -> None:
        """Sign in with a printed link."""
        self._browser = httpx.Client(base_url=url, timeout=60)
        self._browser.post("/login", data={"link": link.rpartition("=")[2]})

    def form(self, proposal_id: str) -> dict[str, str]:
        """Load a proposal and return the hidden fields of its forms."""
        return fields_of(self._browser.get(f"/review/{proposal_id}").text)

    def seen(self, proposal_id: str, form: dict[str, str]) -> dict[str, str]:
        """Return the form of an edit with the hash of its preview."""
        return form | fields_of(self._browser.post(f"/review/{proposal_id}/edit", data=form).text)

    def send(self, proposal_id: str, kind: str, form: dict[str, str], gate: threading.Barrier) -> httpx.Response:
        """Send a form at the same moment as the other curator."""
        gate.wait()
        return self._browser.post(f"/review/{proposal_id}/{kind}", data=form)


@click.command(help=__doc__, short_help="let two curators decide on the same proposal at once")
@click.option("--engine", type=click.Choice(ENGINES), help="one engine; both unless it is named")
@click.option("--races", type=click.IntRange(1), help=f"how many races on each engine; {RACES:,} by default")
@click.option("--seed", type=int, default=1, show_default=True)
@closing.options(quick=f"{QUICK} races; a few seconds", sabotage="decide on the first proposal before its race")
def command(engine: str | None, races: int | None, seed: int, form: closing.Form) -> None:
    """Run the races on one engine or both."""
    good, number = True, races or (QUICK if form.quick else RACES)
    scale = form.scale(RACES // QUICK, by_hand=races is not None)
    with workplace() as folder, contextlib.ExitStack() as stack:
        for one in [engine] if engine else ENGINES:
            url = stack.enter_context(postgres(folder)).empty() if one == "postgres" else None
            chance = random.Random(seed)  # noqa: S311 -- no secret
            found = {"engine": one, **_raced(folder / one, url, number, chance, sabotage=form.sabotage)}
            found["too_little"] = closing.too_little(found, {"made": QUICK}, scale)
            good &= closing.settle(found, form, _show, good=found["wrong"] == 0 and found["made"] == number)
    sys.exit(0 if good else 1)


def brief(found: closing.Numbers) -> str:
    """Return the findings in one line."""
    return f"{found['races']:,} races, {found['made']:,} decisions, {found['wrong']} wrong"


def _show(found: closing.Numbers) -> None:
    print(f"{found['engine']}: {brief(found)}; {found['answers']}", flush=True)


def _raced(folder: Path, url: str | None, races: int, chance: random.Random, *, sabotage: bool) -> closing.Numbers:
    application = Application(folder, url)
    ports = [free_port() for _ in range(1 if url is None else 2)]
    links = [application.add_curator(name) for name in ("cora", "carl")]
    with contextlib.ExitStack() as stack:
        for port in ports:
            stack.callback(end, application.start(port))
        curators = [Curator(f"http://127.0.0.1:{ports[-number]}", link) for number, link in enumerate(links)]
        ids = _submitted(ports[0], application.token, races)
        if sabotage:
            curators[0].send(ids[0], "approve", curators[0].form(ids[0]), threading.Barrier(1))
        with ThreadPoolExecutor(2) as pool:
            answers = [_race(pool, curators, one, chance) for one in ids]
    made = Counter(row[0] for row in _records(application, url))
    wrong = sum(sorted(pair) != [303, 409] for pair in answers)
    wrong += sum(made[one] != 1 for one in ids) + (set(made) != set(ids))
    tally = Counter("/".join(map(str, sorted(pair))) for pair in answers)
    return {"races": races, "made": sum(made.values()), "wrong": wrong, "answers": dict(tally)}


def _submitted(port: int, token: str, number: int) -> list[str]:
    ids: list[str] = []
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"authorization": f"Bearer {token}"}) as agent:
        for first in range(0, number, 500):
            batch = b"\n".join(
                submission(f"race-{one}", f"Race {one} begins.") for one in range(first, min(first + 500, number))
            )
            answer = agent.post("/v1/submissions/batch", content=batch, timeout=60)
            ids += [json.loads(line)["proposal_id"] for line in answer.text.splitlines()]
    return ids


def _race(pool: ThreadPoolExecutor, curators: list[Curator], one: str, chance: random.Random) -> tuple[int, ...]:
    gate = threading.Barrier(2)
    drawn = [(curator, *chance.choice(KINDS)) for curator in curators]
    sent = [(curator, kind, curator.form(one) | more) for curator, kind, more in drawn]
    sent = [(who, kind, who.seen(one, form) if kind == "edit" else form) for who, kind, form in sent]
    waiting = [pool.submit(curator.send, one, kind, form, gate) for curator, kind, form in sent]
    return tuple(future.result().status_code for future in waiting)


def _records(application: Application, url: str | None) -> Iterator[tuple[Any, ...]]:
    if url is None:
        with contextlib.closing(sqlite3.connect(application.data / DATABASE)) as file:
            yield from file.execute(_RECORDS).fetchall()
        return
    with psycopg.connect(url, options="-c search_path=antechamber") as connection:
        yield from connection.execute(_RECORDS).fetchall()
