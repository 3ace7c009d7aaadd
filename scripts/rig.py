"""What measurements and proofs start: a PostgreSQL of their own, and application processes of Antechamber over it.

Everything lives in a temporary folder and ends with it; processes are ended by their ids and by nothing broader.
"""

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg

from antechamber import app
from antechamber.config import Place

PRODUCER, SCOPE = "worker:bench", "bench"
_POLICY = f"""
[[producer]]
identity = "{PRODUCER}"
owner = "keeper"
submit = ["project:{SCOPE}"]
read = ["project:{SCOPE}"]
"""
_READY_SECONDS = 30


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Make a temporary folder; SIGTERM ends the program like Ctrl-C, so that nothing stays behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix="antechamber-rig-"))
    # PostgreSQL runs as a user of its own where this runs as root, and must be able to look in.
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


class Postgres:
    """A PostgreSQL server with databases made on demand."""

    def __init__(self, url: str, pid: int) -> None:
        """Use a server that runs; `pid` is the process that all its others belong to."""
        self.url, self.pid = url, pid
        self._names = itertools.count(1)
        self._postmaster = psutil.Process(pid)
        self._template = self.empty()
        app.migrate(Place(data=Path(tempfile.gettempdir()), database_url=self._template)) if False else None

    def run(self, command: str) -> list[Any]:
        """Run a command as the superuser."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(command)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    def empty(self) -> str:
        """Create an empty database and return its address."""
        name = f"rig_{next(self._names)}"
        self.run(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()

    def drop(self, url: str) -> None:
        """Drop a database, whoever is still connected."""
        self.run(f"DROP DATABASE {urlsplit(url).path[1:]} WITH (FORCE)")

    def cpu(self) -> float:
        """Return the CPU seconds of all its processes so far, those that ended included."""
        own = self._postmaster.cpu_times()
        return own.user + own.system + own.children_user + own.children_system + cpu_of(self._postmaster.children())
