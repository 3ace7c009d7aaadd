"""Two curators on the same proposal at the same moment, two thousand times: exactly one decision is made of each pair.

Each race has two forms that were loaded before, sent at once by two persons over connections of their own, on
PostgreSQL to two processes. The kinds are drawn: approve, reject, edit. One answer must be 303 and the
other 409 with who was faster; afterwards every proposal has exactly one review record, and none stands without a 303.
"""

import argparse
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

import httpx
import psycopg

from antechamber.config import DATABASE
from bench_load import body
from crash_desk import fields_of
from rig import Application, end, free_port, postgres, workplace

KINDS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("approve", {}),
    ("reject", {"reason_code": "wrong"}),
    ("edit", {"reason_code": "unclear", "content": "Said more clearly."}),
)
_RECORDS: Final = "SELECT p.proposal_id FROM review_records AS r JOIN proposals AS p ON p.id = r.proposal"


class Curator:
    """One person at a desk."""

    def __init__(self, url: str, link: str) -> None:
        """Sign in by a printed link."""
        self._browser = httpx.Client(base_url=url, timeout=60)
        self._browser.post("/login", data={"link": link.rpartition("=")[2]})

    def form(self, proposal_id: str) -> dict[str, str]:
        """Load a proposal and return the fields of its forms."""
        return fields_of(self._browser.get(f"/review/{proposal_id}").text)

    def seen(self, proposal_id: str, form: dict[str, str]) -> dict[str, str]:
        """Return the form of an edit with the name of the difference that is shown before it is saved."""
        return form | fields_of(self._browser.post(f"/review/{proposal_id}/edit", data=form).text)

    def send(self, proposal_id: str, kind: str, form: dict[str, str], gate: threading.Barrier) -> httpx.Response:
        """Send a form at the moment at which the other does."""
        gate.wait()
        return self._browser.post(f"/review/{proposal_id}/{kind}", data=form)


def main() -> None:
    """Run the races on one engine or both; exit 1 where one did not end as promised."""
    parser = argparse.ArgumentParser(
        prog="scripts/races", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--engine", choices=("sqlite", "postgres"), help="one engine; both unless it is named")
    parser.add_argument("--races", type=int, default=2000, help="how many races on each engine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON line for each engine")
    arguments = parser.parse_args()
    good = True
    with workplace() as folder, contextlib.ExitStack() as stack:
        for engine in [arguments.engine] if arguments.engine else ["sqlite", "postgres"]:
            url = stack.enter_context(postgres(folder)).empty() if engine == "postgres" else None
            found = _raced(folder / engine, url, arguments.races, random.Random(arguments.seed))  # noqa: S311 -- no secret
            good = good and found["wrong"] == 0
            print(json.dumps({"engine": engine, **found}) if arguments.json else _told(engine, found), flush=True)
    sys.exit(0 if good else 1)


def _told(engine: str, found: dict[str, Any]) -> str:
    return (
        f"{engine}: {found['races']:,} races, {found['made']:,} decisions, {found['wrong']} wrong; {found['answers']}"
    )


def _raced(folder: Path, url: str | None, races: int, chance: random.Random) -> dict[str, Any]:
    application = Application(folder, url)
    ports = [free_port() for _ in range(1 if url is None else 2)]
    links = [application.add_curator(name) for name in ("cora", "carl")]
    with contextlib.ExitStack() as stack:
        for port in ports:
            stack.callback(end, application.start(port))
        curators = [Curator(f"http://127.0.0.1:{ports[-number]}", link) for number, link in enumerate(links)]
        ids = _submitted(ports[0], application.token, races)
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
            batch = b"\n".join(body("race", one) for one in range(first, min(first + 500, number)))
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


if __name__ == "__main__":
    main()
