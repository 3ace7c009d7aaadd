"""The section `peers`: single submissions, compared with alternatives that a user could build or install, all durable.

Each peer stores what it acknowledges: Redis with `appendfsync always`, PostgreSQL with fsync and synchronous_commit on,
SQLite with `synchronous=FULL`, files with fsync. Peers in this repository validate the body and the hash as the
contract requires. mcp-memory-service and data-olympus are installed unchanged and get the same text, tags and key in
the form of their own routes; neither keeps idempotency keys, and the former computes its cheapest embeddings, by
hashing.
"""

import contextlib
import functools
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import psutil

from benchmarks.rounds import Measurement, Rounds, Running, Side, Tell, carry_out
from benchmarks.sides import environment_of, fastapi_postgres, on_postgres, on_sqlite, uvicorn
from lib.processes import Postgres, end, free_port, postgres, until_listening, workplace

_LOADABLE = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"
_THIRTEEN = "import sys; sys.exit(sys.version_info < (3, 13))"


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every peer could be measured."""
    number, seconds = rounds or (1 if quick else 5), 2.0 if quick else 4.0
    with workplace() as folder, postgres(folder) as server:
        ours, made = on_sqlite(), Rounds("peers", folder, seconds, tell)
        sides = [ours, fastapi_redis(), fastapi_postgres(server), on_postgres(server), dbos_sqlite()]
        sides += [dbos_postgres(server), mcp_memory_service(), data_olympus()]
        title = "Single submissions beside what else one would pick"
        done = carry_out(made, sides, number, ours.name, title, as_json=as_json)
        if not as_json:
            print("\n" + "\n".join(_times(made.made, ours.name, [side.name for side in sides[1:]])))
        return done


def _times(made: Sequence[Measurement], ours: str, others: Sequence[str]) -> Iterator[str]:
    """Return the ratios of the service to each peer, as medians of the same rounds."""
    rates = {(one.side, one.in_flight, one.round): one.rate for one in made}
    flights = sorted({one.in_flight for one in made})
    for name in others:
        told = []
        for flight in flights:
            ratios = sorted(
                rates[ours, flight, number] / rate
                for (side, its, number), rate in rates.items()
                if (side, its) == (name, flight) and (ours, flight, number) in rates
            )
            if ratios:
                middle = ratios[len(ratios) // 2]
                told.append(f"{middle:.1f} times at {flight} in flight ({ratios[0]:.1f}-{ratios[-1]:.1f})")
        if told:
            yield f"{ours} takes what {name} does " + ", ".join(told)


def fastapi_redis() -> Side:
    """Return FastAPI with the common recipe over Redis."""
    return Side("FastAPI + Redis", _fastapi_redis)


@contextlib.contextmanager
def _fastapi_redis(folder: Path) -> Iterator[Running]:
    program = _program("redis-server", "redis-server (Debian: apt-get install redis-server)")
    folder.mkdir(parents=True)
    ports = free_port(), free_port()
    durable = ("--appendonly", "yes", "--appendfsync", "always", "--save", "", "--logfile", "redis.log")
    where = ("--bind", "127.0.0.1", "--port", str(ports[0]), "--dir", str(folder))
    redis = subprocess.Popen([program, *where, *durable])  # noqa: S603 -- a server of this run
    try:
        until_listening(ports[0], redis)

        def count() -> int:
            asked = [_program("redis-cli", "redis-cli"), "-p", str(ports[0]), "LLEN", "events"]
            return int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)  # noqa: S603

        server = psutil.Process(redis.pid)
        told = {"PEER_REDIS_URL": f"redis://127.0.0.1:{ports[0]}"}
        with uvicorn("fastapi_redis", ports[1], told) as process:
            cpu = functools.partial(_cpu, server)
            yield Running([ports[1]], "none", [psutil.Process(process.pid)], count, cpu)
    finally:
        end(redis)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def dbos_sqlite() -> Side:
    """Return DBOS over a SQLite file."""
    return Side("DBOS SQLite", _dbos_sqlite)


@contextlib.contextmanager
def _dbos_sqlite(folder: Path) -> Iterator[Running]:
    folder.mkdir(parents=True)
    file, port = folder / "dbos.sqlite", free_port()
    count = functools.partial(_count, file, "SELECT count(*) FROM workflow_status WHERE status = 'SUCCESS'")
    with uvicorn("dbos", port, {"PEER_DATABASE_URL": f"sqlite:///{file}"}) as process:
        yield Running([port], "none", [psutil.Process(process.pid)], count)


def dbos_postgres(server: Postgres) -> Side:
    """Return DBOS over PostgreSQL."""
    return Side("DBOS PostgreSQL", functools.partial(_dbos_postgres, server))


@contextlib.contextmanager
def _dbos_postgres(server: Postgres, _folder: Path) -> Iterator[Running]:
    url, port = server.empty(), free_port()

    def count() -> int:
        import psycopg  # noqa: PLC0415 -- beside the others of its kind

        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT count(*) FROM dbos.workflow_status WHERE status = 'SUCCESS'").fetchone()
        return int(row[0]) if row else 0

    try:
        with uvicorn("dbos", port, {"PEER_DATABASE_URL": url}) as process:
            yield Running([port], "none", [psutil.Process(process.pid)], count, server.cpu)
    finally:
        server.drop(url)


def mcp_memory_service() -> Side:
    """Return mcp-memory-service over HTTP."""

    def shape(raw: bytes) -> bytes:
        body = msgspec.json.decode(raw)
        payload, key = body.pop("payload"), body.pop("idempotency_key")
        # A separate conversation id avoids its search for semantic duplicates, which would match all these bodies.
        made = {"content": payload["content"], "tags": payload["tags"], "conversation_id": key}
        return msgspec.json.encode(made | {"metadata": {"attributes": payload["attributes"], **body}})

    return Side("mcp-memory-service", _mcp_memory_service, path="/api/memories", shape=shape)


@contextlib.contextmanager
def _mcp_memory_service(folder: Path) -> Iterator[Running]:
    folder.mkdir(parents=True)
    file, port = folder / "memories.db", free_port()
    told = {
        "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
        "MCP_MEMORY_BASE_DIR": str(folder),
        "MCP_MEMORY_BACKUPS_PATH": str(folder / "backups"),
        "MCP_MEMORY_SQLITE_PATH": str(file),
        "MCP_MEMORY_SQLITE_PRAGMAS": "journal_mode=WAL,synchronous=FULL",
        "MCP_MEMORY_ALLOW_HASH_EMBEDDINGS": "1",
        "MCP_API_KEY": "bench",
        "MCP_CONSOLIDATION_ENABLED": "false",
        "MCP_MDNS_ENABLED": "false",
        "HF_HUB_OFFLINE": "1",
    }
    need = "a Python whose sqlite3 loads extensions"
    with uvicorn(
        "mcp_memory_service",
        port,
        told,
        python=_python(_LOADABLE, need),
        application="mcp_memory_service.web.app:app",
        quiet=True,
    ) as process:
        count = functools.partial(_count, file, "SELECT count(*) FROM memories")
        yield Running([port], "bench", [psutil.Process(process.pid)], count)


def data_olympus() -> Side:
    """Return data-olympus, the most similar governed peer."""

    def shape(raw: bytes) -> bytes:
        body = msgspec.json.decode(raw)
        made = {"text": body["payload"]["content"], "tags": body["payload"]["tags"], "confidence": 0.5}
        source = [msgspec.json.encode(body["source_span"]).decode()]
        made |= {"source_session": body["idempotency_key"], "agent_identity": body["producer_identity"]}
        return msgspec.json.encode(made | {"evidence": source})

    return Side("data-olympus", _data_olympus, path="/api/v1/propose/memory", shape=shape)


@contextlib.contextmanager
def _data_olympus(folder: Path) -> Iterator[Running]:
    python = _python(_THIRTEEN, "Python 3.13")
    program = str(environment_of("data_olympus", python) / "bin" / "data-olympus")
    bundle, remote, port = folder / "bundle", folder / "remote.git", free_port()
    folder.mkdir(parents=True)
    git = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for command in (
        [program, "init", str(bundle)],
        ["git", "init", "--quiet", "--initial-branch", "main", str(bundle)],
        [*git, "-C", str(bundle), "add", "--all"],
        [*git, "-C", str(bundle), "commit", "--quiet", "--message", "The bundle"],
        ["git", "clone", "--quiet", "--bare", str(bundle), str(remote)],
        ["git", "-C", str(bundle), "remote", "add", "origin", remote.as_uri()],
    ):
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 -- our own command
    names = ("worktree_root", "pending_root", "push_queue_root", "audit_log_path", "ledger_path", "index_path")
    told = {f"KB_{name.upper()}": str(folder / name) for name in names}
    told |= {"KB_MAIN_PATH": str(bundle), "KB_REMOTE_URL": remote.as_uri(), "KB_GIT_BRANCH": "main"}
    told |= {"KB_RATE_LIMIT_PER_HOUR": str(10**9), "KB_PENDING_QUEUE_CAP": str(10**9)}
    told |= {"KB_DISABLE_VERSION_CHECK": "true"}
    waiting = folder / "pending_root"
    with uvicorn("data_olympus", port, told, python=python, quiet=True) as process:
        yield Running(
            [port],
            "none",
            [psutil.Process(process.pid)],
            lambda: sum(1 for _ in waiting.glob("*.json")),
        )


def _count(file: Path, question: str) -> int:
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=10)) as connection:
        return int(connection.execute(question).fetchone()[0])


def _program(name: str, what: str) -> str:
    """Return the path of a program.

    Raises RuntimeError with installation advice if there is none.
    """
    found = shutil.which(name)
    if found is None:
        message = f"needs {what}, which is not here"
        raise RuntimeError(message)
    return found


@functools.cache
def _python(check: str, what: str) -> str:
    """Return a Python interpreter that passes a check.

    Raises RuntimeError with the requirement if there is none.
    """
    names = ["python3", "python3.11", "python3.12", "python3.13", "python3.14", "/usr/bin/python3"]
    for candidate in [sys.executable, *filter(None, map(shutil.which, names))]:
        if subprocess.run([candidate, "-c", check], capture_output=True, check=False).returncode == 0:  # noqa: S603
            return candidate
    message = f"needs {what}, which is not here"
    raise RuntimeError(message)
