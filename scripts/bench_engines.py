"""The section `engines`: one, two and four application processes over one PostgreSQL, beside FastAPI with a unique key.

Every side gets a fresh database on the same server, the same bodies and the same loads, one after another, round after
round, every second round in the opposite order. A side is warmed up for a second. Rates count acknowledged submissions;
rows are counted in the database afterwards, and a side that stored fewer than it acknowledged fails the run.
CPU is that of all application processes, and apart from it that of all processes of PostgreSQL.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
import psutil
import psycopg

from antechamber import app
from antechamber.config import Place
from bench_load import Load, load, loader, write_bodies
from rig import Application, Postgres, cpu_of, end, free_port, postgres, until_listening, workplace

FLIGHTS: Final = (32, 128)
BASE: Final = "FastAPI x1"
_MOST_A_SECOND: Final = 12_000
"""Bodies that are made for each second of load."""
_WARM_SECONDS: Final = 1.0
_PEER: Final = Path(__file__).parent / "bench_peers" / "fastapi_postgres"
Tell = Callable[[str], None]


class Side(msgspec.Struct, frozen=True):
    """Something that is measured."""

    name: str
    processes: int
    ours: bool
    engine: str = "postgres"


class Measurement(msgspec.Struct, frozen=True):
    """One side under one load in one round."""

    section: str
    round: int
    side: str
    in_flight: int
    loader: str
    acknowledged: int
    stored: int
    refused: int
    broken: int
    rate: float
    p50_ms: float
    p99_ms: float
    app_cpu_us: float
    postgres_cpu_us: float


class Running(msgspec.Struct, frozen=True):
    """A side that serves."""

    ports: list[int]
    token: str
    processes: list[psutil.Process]
    count: Callable[[], int]


def sides(*, quick: bool) -> list[Side]:
    """Return what is compared."""
    one = Side("Antechamber x1", 1, ours=True)
    sqlite = Side("Antechamber SQLite", 1, ours=True, engine="sqlite")
    peer = Side(BASE, 1, ours=False)
    if quick:
        return [peer, one, sqlite]
    more = [Side(f"Antechamber x{number}", number, ours=True) for number in (2, 4)]
    return [peer, Side("FastAPI x2", 2, ours=False), one, *more, sqlite]


@contextlib.contextmanager
def ours(side: Side, folder: Path, server: Postgres) -> Iterator[Running]:
    """Start our side on a database or a folder of its own."""
    url = server.empty() if side.engine == "postgres" else None
    application, ports = Application(folder, url), [free_port() for _ in range(side.processes)]
    place = Place(data=application.data, database_url=url)
    started: list[subprocess.Popen[bytes]] = []
    try:
        started += [application.start(port) for port in ports]
        yield Running(ports, application.token, [psutil.Process(one.pid) for one in started], lambda: stored(place))
    finally:
        for process in started:
            end(process)
        if url:
            server.drop(url)


def stored(place: Place) -> int:
    """Count the submissions in a database."""
    store = app.open_store(place)
    try:
        with store.read() as rows:
            return sum(rows.counts()["dispositions"].values())
    finally:
        store.close()


def at_rest(count: Callable[[], int]) -> int:
    """Count the rows once those that were in flight when a load ended are all there."""
    before = -1
    while before != (now := count()):
        before = now
        time.sleep(0.1)
    return now


@contextlib.contextmanager
def peer(side: Side, _folder: Path, server: Postgres) -> Iterator[Running]:
    """Start the peer on a database of its own; each process listens on its own port, like ours."""
    url, uvicorn = server.empty(), str(peer_environment() / "bin" / "uvicorn")
    ports = [free_port() for _ in range(side.processes)]
    options = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning"]
    started: list[subprocess.Popen[bytes]] = []

    def count() -> int:
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT count(*) FROM events").fetchone()
        return int(row[0]) if row else 0

    try:
        for port in ports:
            command = [uvicorn, "app:app", "--app-dir", str(_PEER), "--port", str(port), *options]
            started.append(subprocess.Popen(command, env=os.environ | {"PEER_DATABASE_URL": url}))  # noqa: S603 -- the peer of this repository
            until_listening(port, started[-1])
        yield Running(ports, "none", [psutil.Process(one.pid) for one in started], count)
    finally:
        for process in started:
            end(process)
        server.drop(url)


def peer_environment() -> Path:
    """Return the peer's virtual environment, made once for each state of its requirements, outside this repository."""
    wanted = _PEER / "requirements.txt"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path(tempfile.gettempdir())) / "antechamber-bench"
    place = cache / f"{_PEER.name}-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    if not (place / "ready").exists():
        venv.create(place, with_pip=True, clear=True)
        command = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, "-r", str(wanted)], check=True)  # noqa: S603 -- pip with the peer's own list
        (place / "ready").touch()
    return place


class Section:
    """Runs the rounds."""

    def __init__(self, server: Postgres, folder: Path, seconds: float, tell: Tell) -> None:
        """Make the bodies that all sides post."""
        self._server, self._folder, self._seconds, self._tell = server, folder, seconds, tell
        tell(f"Load by {loader()}; making the bodies …")
        number = int(_MOST_A_SECOND * seconds)
        self._bodies = {flight: write_bodies(folder, f"load-{flight}", number) for flight in FLIGHTS}
        self._warm = write_bodies(folder, "warm", int(_MOST_A_SECOND * _WARM_SECONDS))
        self.failed: dict[str, str] = {}
        self._made = 0

    def measure(self, side: Side, number: int) -> list[Measurement]:
        """Start a side, load it, stop it; one that cannot start or breaks is reported and passed over from then on."""
        if side.name in self.failed:
            return []
        self._made += 1
        self._server.run("CHECKPOINT")
        try:
            with (ours if side.ours else peer)(side, self._folder / f"side-{self._made}", self._server) as running:
                load(self._warm, running.ports, running.token, FLIGHTS[0], _WARM_SECONDS)
                return [self._measure(side, number, flight, running) for flight in FLIGHTS]
        except (RuntimeError, OSError, subprocess.SubprocessError, psycopg.Error) as error:
            self.failed[side.name] = str(error)
            self._tell(f"{side.name} FAILED: {error}")
            return []

    def _measure(self, side: Side, number: int, flight: int, running: Running) -> Measurement:
        rows, app_cpu, server_cpu = at_rest(running.count), cpu_of(running.processes), self._server.cpu()
        seen = load(self._bodies[flight], running.ports, running.token, flight, self._seconds)
        app_cpu, server_cpu = cpu_of(running.processes) - app_cpu, self._server.cpu() - server_cpu
        made = _measurement(side, number, flight, seen, (at_rest(running.count) - rows, app_cpu, server_cpu))
        self._tell(
            f"round {number}  {side.name:<20}{flight:>4} in flight  {made.rate:>7,.0f}/s  p50 {made.p50_ms:.1f} ms  "
            f"p99 {made.p99_ms:.1f} ms  acknowledged {made.acknowledged:,}  stored {made.stored:,}"
        )
        if made.refused or made.broken or not 0 <= made.stored - made.acknowledged <= flight:
            message = f"{made.refused} refused, {made.broken} broken, stored {made.stored} of {made.acknowledged}"
            raise RuntimeError(message)
        return made


def _measurement(side: Side, number: int, flight: int, seen: Load, counted: tuple[int, float, float]) -> Measurement:
    rows, app_cpu, server_cpu = counted
    each = 1e6 / max(seen.acknowledged, 1)
    return Measurement(
        section="engines",
        round=number,
        side=side.name,
        in_flight=flight,
        loader=loader(),
        acknowledged=seen.acknowledged,
        stored=rows,
        refused=seen.refused,
        broken=seen.broken,
        rate=round(seen.acknowledged / seen.seconds, 1),
        p50_ms=seen.p50_ms,
        p99_ms=seen.p99_ms,
        app_cpu_us=round(app_cpu * each, 1),
        postgres_cpu_us=round(server_cpu * each, 1) if side.engine == "postgres" else 0.0,
    )


def summarize(made: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Return medians over the rounds, and the ratios to the base of the same round with their spread."""
    base = {(one.round, one.in_flight): one.rate for one in made if one.side == BASE}
    found = []
    for side, flight in dict.fromkeys((one.side, one.in_flight) for one in made):
        own = [one for one in made if (one.side, one.in_flight) == (side, flight)]
        ratios = sorted(one.rate / base[one.round, flight] for one in own if base.get((one.round, flight)))
        middle = {
            name: median(getattr(one, name) for one in own)
            for name in ("rate", "p50_ms", "p99_ms", "app_cpu_us", "postgres_cpu_us")
        }
        spread = {"ratio": median(ratios), "lowest": ratios[0], "highest": ratios[-1]} if ratios else {}
        counts = {name: sum(getattr(one, name) for one in own) for name in ("acknowledged", "stored")}
        found.append({"section": "engines", "side": side, "in_flight": flight, "rounds": len(own), **middle, **spread})
        found[-1] |= counts
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the summary as text."""
    head = (
        f"{'':<20}{'in flight':>10}{'ratio':>7}{'spread':>13}{'per s':>8}{'p50 ms':>8}{'p99 ms':>8}"
        f"{'app us':>8}{'pg us':>7}{'acknowledged':>14}{'stored':>9}"
    )
    lines = [head]
    for row in sorted(rows, key=lambda row: row["in_flight"]):
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else "-"
        spread = f"{row['lowest']:.2f}-{row['highest']:.2f}" if "ratio" in row else "-"
        lines.append(
            f"{row['side']:<20}{row['in_flight']:>10}{ratio:>7}{spread:>13}{row['rate']:>8.0f}{row['p50_ms']:>8.1f}"
            f"{row['p99_ms']:>8.1f}{row['app_cpu_us']:>8.0f}{row['postgres_cpu_us']:>7.0f}{row['acknowledged']:>14}"
            f"{row['stored']:>9}"
        )
    return "\n".join(lines)


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; tell whether every side could be measured."""
    rounds, seconds = rounds or (1 if quick else 5), 3.0 if quick else 5.0
    made: list[Measurement] = []
    with workplace() as folder, postgres(folder) as server:
        section, compared = Section(server, folder, seconds, tell), sides(quick=quick)
        for number in range(1, rounds + 1):
            for side in compared if number % 2 else compared[::-1]:
                for one in section.measure(side, number):
                    made.append(one)
                    if as_json:
                        print(msgspec.json.encode(one).decode(), flush=True)
        version = server.run("SHOW server_version")[0][0]
    rows = summarize(made)
    if as_json:
        for row in rows:
            print(json.dumps({"summary": True, **row}))
        return not section.failed
    print(f"\nSubmissions over PostgreSQL {version}, {rounds} rounds, load by {loader()}, {os.cpu_count()} cores.")
    print(f"Ratios are to {BASE} in the same round; CPU is microseconds per acknowledged submission.\n")
    print(table(rows))
    for name, why in section.failed.items():
        print(f"{name} could not be measured: {why}", file=sys.stderr)
    return not section.failed
