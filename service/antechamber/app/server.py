"""Serves the application as one process, from the bound port to the last response."""

import asyncio
import contextlib
import errno
import gc
import resource
import signal
import socket
from collections.abc import Iterator
from typing import Final

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.net import SocketHolder  # type: ignore[attr-defined]
from granian.server.embed import Server
from litestar import Litestar

from antechamber.app.data_folder import alone
from antechamber.app.factory import create_app
from antechamber.core.errors import AntechamberError
from antechamber.flows.live_policy import PolicyReloader
from antechamber.settings import Settings, SettingsError

CONNECTIONS: Final = 4096
"""Connections served at the same time; the kernel queues further ones."""
WAITING_CONNECTIONS: Final = 1024
"""Connections that the kernel queues until they are accepted."""
HEAD_MILLISECONDS: Final = 10_000
"""Timeout of a request's head, and of an idle connection."""
HEAD_BYTES: Final = 65_536
"""Maximum size of a request's head."""


def serve(settings: Settings, ready: str) -> None:
    """Serve until SIGINT or SIGTERM, then answer the accepted requests and stop.

    Raises AntechamberError if settings, policy or folder cannot be used, the port is taken, another process serves the
    folder, or the server ends by itself.
    """
    settings.check()
    policies = PolicyReloader(settings.policies)
    with _bound(settings.host, settings.port) as port, alone(settings.location, settings.url):
        app = create_app(settings, policies)
        # Half of the open files are reserved for other uses than connections.
        connections = min(CONNECTIONS, _allow_files(2 * CONNECTIONS) // 2)
        # Objects that exist now are permanent, and reference counting frees most objects of requests before a
        # collection.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(app, settings, port, ready, connections))


@contextlib.contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """Bind a socket that shares its address with no other listener; close it at the end.

    Without SO_REUSEPORT the kernel permits one listening socket per address. SO_REUSEADDR on Linux only ignores closed
    connections of an earlier process, so that a restart does not have to wait for them.

    Raises SettingsError.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise _cannot_listen(host, port, error) from None
    with listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError as error:
            raise _cannot_listen(host, port, error) from None
        yield listener


def _cannot_listen(host: str, port: int, error: Exception) -> SettingsError:
    why = getattr(error, "strerror", None) or str(error)
    advice = {
        errno.EADDRINUSE: "stop the program that uses this port, or choose another one with --port",
        errno.EACCES: "choose a port above 1023 with --port",
    }.get(getattr(error, "errno", None) or 0, "check --host and --port")
    where = f"[{host}]" if ":" in host else host
    return SettingsError(f"cannot listen on {where}:{port}: {why}; {advice}")


class _Server(Server):
    """Granian on a socket bound by us; its own socket would let other processes of this user bind the same port.

    It serves up to `connections` connections at a time.
    """

    def __init__(self, app: Litestar, port: socket.socket, settings: Settings, connections: int) -> None:
        super().__init__(
            app,
            address=settings.host,
            port=settings.port,
            interface=Interfaces.ASGI,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=HEAD_MILLISECONDS, max_buffer_size=HEAD_BYTES),
            backlog=WAITING_CONNECTIONS,
            backpressure=connections,
            websockets=False,
            log_level=LogLevels.error,
        )
        self._port = port

    def _init_shared_socket(self) -> None:
        """Start to listen, which fails if another process does, and hand the socket over: Granian closes it."""
        try:
            self._port.listen(WAITING_CONNECTIONS)
        except OSError as error:
            raise _cannot_listen(self.bind_addr, self.bind_port, error) from None
        unix = False
        self._shd: SocketHolder | None = SocketHolder(self._port.detach(), unix, WAITING_CONNECTIONS)  # type: ignore[assignment, call-arg]


def _allow_files(wanted_files: int) -> int:
    """Raise the soft limit of open files, often too low for this many connections; return the resulting limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted_files if hard == resource.RLIM_INFINITY else min(wanted_files, hard)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(soft, allowed)


async def _announce(address: tuple[str, int], ready: str) -> None:
    """Print that the service is ready as soon as it answers a request; until then the kernel queues it."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answered = await reader.read(1)
            writer.close()
        except OSError:
            answered = b""
        if answered:
            print(ready, flush=True)  # noqa: T201 -- the one line an operator waits for
            return
        await asyncio.sleep(0.01)


async def _serve(app: Litestar, settings: Settings, port: socket.socket, ready: str, connections: int) -> None:
    address = port.getsockname()[:2]
    server = _Server(app, port, settings, connections)
    loop, waiting = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    # The server calls this once it listens, shortly before it answers.
    server.on_startup(lambda: waiting.add(loop.create_task(_announce(address, ready))))

    def stop() -> None:
        app.state.stopping.set()
        server.stop()  # type: ignore[no-untyped-call]

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop)
    await server.serve()
    if not app.state.stopping.is_set():
        message = "the server ended by itself; the messages above say why"
        raise AntechamberError(message)
