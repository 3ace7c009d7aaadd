"""The section `lock`: what the log's lock costs when several processes serve one PostgreSQL.

In one side the service takes the lock. In the other a sequence gives the leaves their positions, so that nothing orders
the commits. Such a log may have gaps, so neither side signs it; neither announces what it commits, because PostgreSQL
itself holds a lock over a commit that announces. The lock is looked at 250 times a second to see how long it is held
and waited for.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import psutil
import psycopg

from antechamber.settings import Location
from benchmarks.rounds import FLIGHTS, Measurement, Rounds, Running, Side, Tell, carry_out
from benchmarks.sides import submissions
from lib.processes import Application, Postgres, cpu_of, end, free_port, postgres, workplace

_SERVICE: Final = """
from antechamber.cli import main
from antechamber.store.statements import statements
statements("postgres").update(log_size="SELECT 0 AS size", announce="SELECT 1 AS done")
main()
"""
_FUNCTION: Final = "SELECT pg_get_functiondef('antechamber.append_leaves'::regproc)"
_TAKES_LOCK: Final = "PERFORM pg_advisory_xact_lock(1095648083, 0);"
_POSITION: Final = "(SELECT coalesce(max(l.id) + 1, 0) FROM antechamber.log_leaves AS l) + item.id - 1"
_SEQUENCE: Final = """
CREATE SEQUENCE antechamber.positions MINVALUE 0;
GRANT USAGE ON antechamber.positions TO antechamber_admission;
SELECT setval('antechamber.positions', max(id)) FROM antechamber.log_leaves;
"""
_LOOK: Final = """
SELECT count(*) FILTER (WHERE granted), count(*) FILTER (WHERE NOT granted)
FROM pg_locks WHERE locktype = 'advisory' AND classid = 1095648083
"""
_EVERY: Final = 0.004
_QUIET_CORES: Final = 0.15
_QUIET_SECONDS: Final = 20


class Watch:
    """Counts the commits in a database and, by looking often, how long the log's lock is held and waited for."""

    def __init__(self, server: Postgres, url: str) -> None:
        self._server, self._url = server, url
        self._looks = self._held = self._waiting = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch")
        self._thread.start()

    def _look(self) -> None:
        with psycopg.connect(self._server.url, autocommit=True) as connection:
            while not self._stop.wait(_EVERY):
                for held, waiting in connection.execute(_LOOK):
                    self._looks, self._held, self._waiting = self._looks + 1, self._held + held, self._waiting + waiting

    def counted(self) -> dict[str, float]:
        """Return seconds, commits, looks, and the sums of holders and of waiters over all looks."""
        with psycopg.connect(self._url) as connection:
            row = connection.execute("SELECT sum(commits) FROM antechamber.writers").fetchone()
        seen = {"looks": self._looks, "held": self._held, "waiting": self._waiting}
        return {"seconds": time.monotonic(), "commits": float(row[0] or 0) if row else 0.0, **seen}

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join()


def keep_lock(_url: str) -> None:
    """Leave a database as it is."""


def leave_lock_out(url: str) -> None:
    """Have a database number its leaves by a sequence, without the log's lock.

    Raises RuntimeError if the function is not the one that is known here.
    """
    with psycopg.connect(url) as connection:
        row = connection.execute(_FUNCTION).fetchone()
        made = str(row[0]) if row else ""
        if _TAKES_LOCK not in made or _POSITION not in made:
            message = "append_leaves is another function than this measurement knows"
            raise RuntimeError(message)
        connection.execute(_SEQUENCE)
        connection.execute(
            made.replace(_TAKES_LOCK, "").replace(_POSITION, "nextval('antechamber.positions')").encode()
        )


@contextlib.contextmanager
def _serve(server: Postgres, processes: int, prepare: Callable[[str], None], folder: Path) -> Iterator[Running]:
    url = server.empty()
    application = Application(folder, url, _SERVICE)
    prepare(url)
    server.run("CHECKPOINT")
    location = Location(data=application.data, database_url=url)
    with contextlib.ExitStack() as stack:
        stack.callback(server.drop, url)
        ports = [free_port() for _ in range(processes)]
        found = []
        for port in ports:
            process = application.start(port)
            stack.callback(end, process)
            found.append(psutil.Process(process.pid))
        _until_quiet(found)
        with contextlib.closing(Watch(server, url)) as watch:
            count = partial(submissions, location)
            yield Running(ports, application.token, found, count, server.cpu, watch.counted)


def _until_quiet(processes: Sequence[psutil.Process]) -> None:
    """Wait until the processes have done what they do in the background after their start."""
    time.sleep(2)
    for _ in range(_QUIET_SECONDS):
        used = cpu_of(processes)
        time.sleep(1)
        if cpu_of(processes) - used < _QUIET_CORES:
            return


def shares(made: Sequence[Measurement], processes: int) -> str:
    """Return in words how the lock was used in measurements of one side under one load, by medians."""
    counted = [one.counted for one in made]
    commits = median(one["commits"] / one["seconds"] for one in counted)
    group = median(one.acknowledged / max(one.counted["commits"], 1) for one in made)
    held = median(one["held"] / max(one["looks"], 1) for one in counted)
    waiting = median(one["waiting"] / max(one["looks"], 1) / processes for one in counted)
    return (
        f"{commits:,.0f} commits a second, {group:.1f} submissions in each; the lock is held {held:.0%} of the time; "
        f"a process waits for it {waiting:.1%} of its time"
    )


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every side could be measured."""
    number, seconds = rounds or (1 if quick else 5), 3.0 if quick else 5.0
    done = []
    with workplace() as folder, postgres(folder) as server:
        for processes in (4,) if quick else (1, 2, 4):
            made = Rounds("lock", folder, seconds, tell)
            bare = Side(f"no lock x{processes}", partial(_serve, server, processes, leave_lock_out))
            ours = Side(f"Antechamber x{processes}", partial(_serve, server, processes, keep_lock))
            title = f"Submissions with the log's lock beside the same without: {processes} process(es)"
            done.append(carry_out(made, [bare, ours], number, bare.name, title, as_json=as_json))
            for flight in FLIGHTS:
                own = [one for one in made.made if (one.side, one.in_flight) == (ours.name, flight)]
                if own and not as_json:
                    print(f"{flight} in flight: {shares(own, processes)}")
    return all(done)
