"""The sides of a benchmark: how each is started, and how its rows are counted."""

import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import psutil
import psycopg

from antechamber.settings import DATABASE, Location
from benchmarks.rounds import Running, Side
from lib.processes import Application, Postgres, end, free_port, until_listening

PEERS: Final = Path(__file__).parent / "peers"
_UVICORN: Final = ("--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning")


WITHOUT_LOG: Final = """
from antechamber.store.postgres.statements import PostgresStatements
from antechamber.store.sqlite.statements import SqliteStatements
SqliteStatements.append_leaves = PostgresStatements.append_leaves = lambda *_: None
from antechamber.cli import main
main()
"""
"""The service without a log: leaves are neither built nor written, and no lock is taken."""


WITHOUT_GATE: Final = """
from antechamber.core.privacy import Gate
Gate.is_clean = lambda *_: True
from antechamber.cli import main
main()
"""
"""The service without a scan of submissions."""


WITHOUT_METRICS: Final = """
from antechamber.core.metrics.meters import Meters
Meters.count = Meters.observe = Meters.count_attempts = lambda *_, **__: None
from antechamber.cli import main
main()
"""
"""The service whose meters count and measure nothing."""


def on_sqlite(name: str = "Antechamber SQLite", launcher: str | None = None) -> Side:
    """Return the service over a folder."""
    return Side(name, partial(_ours, 1, None, launcher))


def on_postgres(server: Postgres, processes: int = 1, name: str = "Antechamber", launcher: str | None = None) -> Side:
    """Return the service over a separate database, in one process or more."""
    return Side(f"{name} x{processes}", partial(_ours, processes, server, launcher))


@contextlib.contextmanager
def _ours(processes: int, server: Postgres | None, launcher: str | None, folder: Path) -> Iterator[Running]:
    url = server.empty() if server else None
    if server:
        server.run("CHECKPOINT")
    application, ports = Application(folder, url, launcher), [free_port() for _ in range(processes)]
    location = Location(data=application.data, database_url=url)
    started: list[subprocess.Popen[bytes]] = []
    try:
        started += [application.start(port) for port in ports]
        found = [psutil.Process(one.pid) for one in started]
        yield Running(ports, application.token, found, partial(submissions, location), server.cpu if server else None)
    finally:
        for process in started:
            end(process)
        if server and url:
            server.drop(url)


def submissions(location: Location) -> int:
    """Count the submissions in a store, bypassing the service."""
    count = "SELECT count(*) FROM submissions"
    if location.database_url is not None:
        with psycopg.connect(location.database_url, options="-c search_path=antechamber") as connection:
            row = connection.execute(count).fetchone()
            return int(row[0]) if row else 0
    with contextlib.closing(sqlite3.connect(f"file:{location.data / DATABASE}?mode=ro", uri=True)) as file:
        number: int = file.execute(count).fetchone()[0]
        return number


def no_op() -> Side:
    """Return the framework's baseline, which stores nothing."""
    return Side("no-op Litestar", _no_op)


@contextlib.contextmanager
def _no_op(_folder: Path) -> Iterator[Running]:
    port = free_port()
    process = subprocess.Popen([sys.executable, str(PEERS / "noop" / "app.py"), str(port)])  # noqa: S603 -- of this repository
    try:
        until_listening(port, process)
        yield Running([port], "none", [psutil.Process(process.pid)])
    finally:
        end(process)


def fastapi_postgres(server: Postgres, processes: int = 1) -> Side:
    """Return FastAPI with a unique key and one inserting transaction per request."""
    return Side(f"FastAPI x{processes}", partial(_fastapi_postgres, processes, server))


@contextlib.contextmanager
def _fastapi_postgres(processes: int, server: Postgres, _folder: Path) -> Iterator[Running]:
    url, ports = server.empty(), [free_port() for _ in range(processes)]
    server.run("CHECKPOINT")

    def count() -> int:
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT count(*) FROM events").fetchone()
        return int(row[0]) if row else 0

    with contextlib.ExitStack() as stack:
        stack.callback(server.drop, url)
        told = {"PEER_DATABASE_URL": url}
        started = [stack.enter_context(uvicorn("fastapi_postgres", port, told)) for port in ports]
        yield Running(ports, "none", [psutil.Process(one.pid) for one in started], count, server.cpu)


@contextlib.contextmanager
def uvicorn(
    peer: str,
    port: int,
    told: dict[str, str],
    *,
    python: str = sys.executable,
    application: str = "app:app",
    quiet: bool = False,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a peer in its own environment; each process listens on its own port, as the service's do."""
    program = str(environment_of(peer, python) / "bin" / "python")
    command = [program, "-m", "uvicorn", application, "--app-dir", str(PEERS / peer), "--port", str(port), *_UVICORN]
    errors = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(PEERS)} | told, stderr=errors)  # noqa: S603 -- the peer of this repository
    try:
        until_listening(port, process)
        yield process
    finally:
        end(process)


def environment_of(peer: str, python: str = sys.executable) -> Path:
    """Return a peer's virtual environment, created once per version of its requirements, outside this repository."""
    wanted = PEERS / peer / "requirements.txt"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path(tempfile.gettempdir())) / "antechamber-bench"
    location = cache / f"{peer}-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    if not (location / "ready").exists():
        # Not every Python includes pip, so this environment's pip installs into the other one.
        subprocess.run([python, "-m", "venv", "--clear", "--without-pip", str(location)], check=True)  # noqa: S603
        pip = [sys.executable, "-m", "pip", "--python", str(location / "bin" / "python"), "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", "-r", str(wanted)], check=True, stdout=sys.stderr)  # noqa: S603 -- the peer's own list
        (location / "ready").touch()
    return location
