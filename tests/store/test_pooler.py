"""The real PgBouncer between service and PostgreSQL: session mode works, the other modes are refused at start."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from antechamber.store.errors import StoreError
from antechamber.store.postgres.pooling import POOLED
from antechamber.store.postgres.store import PostgresStore, migrate
from store.faults import Cluster
from support import free_port, quick_folder, until


def program() -> str:
    """Return the path of PgBouncer; scripts/lib/fetch_programs fetches it."""
    beside = Path(sys.executable).parent / "pgbouncer"
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    return found or str(beside)


@contextlib.contextmanager
def pooling(server: Cluster, mode: str) -> Iterator[str]:
    """Run PgBouncer in a mode in front of a server, and yield the address through it."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="antechamber-pooler-") as folder:
        Path(folder).chmod(0o755)
        settings = Path(folder) / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=postgres\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
            f"pool_mode = {mode}\ndefault_pool_size = 30\n",
            encoding="utf-8",
        )
        # It refuses to run as root.
        owner = "nobody" if os.geteuid() == 0 else None
        process = subprocess.Popen([program(), str(settings)], user=owner, stderr=subprocess.DEVNULL)  # noqa: S603 -- the program under test
        address = server.url.replace(f":{server.port}/", f":{port}/")
        try:
            until(lambda: _answers(address), "a connection through PgBouncer")
            yield address
        finally:
            process.terminate()
            process.wait()


def _answers(address: str) -> bool:
    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(address, autocommit=True):
        return True
    return False


def _announced(store: PostgresStore, heard: threading.Event) -> bool:
    store.write(lambda tx: tx.sql.run("announce")).result()
    return heard.is_set()


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A server with a database of Antechamber, over TCP."""
    with quick_folder() as folder:
        made = Cluster(folder)
        migrate(made.url)
        yield made
        made.close()


def test_session_mode_serves_and_wakes(server: Cluster) -> None:
    """Through session mode a store reads what another one wrote, and hears of it."""
    with pooling(server, "session") as address:
        one, other = PostgresStore(address), PostgresStore(address)
        heard = threading.Event()
        other.watch(heard.set)
        one.write(lambda tx: tx.reports.set_meta("test", "pooled")).result()
        with other.read() as tx:
            assert tx.reports.meta("test") == "pooled"
        until(lambda: _announced(one, heard), "a notification through PgBouncer")
        one.close()
        other.close()


@pytest.mark.parametrize(("mode", "reason"), [("transaction", POOLED), ("statement", "cannot be opened")])
def test_other_modes_are_refused_with_the_reason(server: Cluster, mode: str, reason: str) -> None:
    """A pooler that shares sessions is noticed at start, every time."""
    with pooling(server, mode) as address:
        for _ in range(5):
            with pytest.raises(StoreError) as refused:
                PostgresStore(address)
            assert reason in str(refused.value)
