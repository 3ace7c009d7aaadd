"""Serving the application as one process, from the open port to the last answer."""

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
"""Connections that are served at the same time; further ones wait for the kernel to hand them over."""
WAITING_CONNECTIONS: Final = 1024
"""Connections that the kernel keeps until they are served."""
HEAD_MILLISECONDS: Final = 10_000
"""How long the head of a request may take, and how long a connection may be idle."""
HEAD_BYTES: Final = 65_536
"""How large the head of a request may be."""


def serve(settings: Settings, ready: str) -> None:
    """Serve until SIGINT or SIGTERM, then answer what was accepted and stop.

    Raises AntechamberError where settings, policy or folder cannot be used, the port is taken, another process serves
    the folder, or the server ends by itself.
    """
    settings.check()
    policies = PolicyReloader(settings.policies)
    with _bound(settings.host, settings.port) as port, alone(settings.location, settings.url):
        app = create_app(settings, policies)
        # Half of the files are for what is not a connection.
        connections = min(CONNECTIONS, _allow_files(2 * CONNECTIONS) // 2)
        # What is there by now stays; and most of what requests make is gone by itself before a collection would look at
        # it.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(app, settings, port, ready, connections))


@contextlib.contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    """Bind a socket that shares its address with no other listener; close it at the end.

    Without SO_REUSEPORT the kernel lets one socket listen at an address. SO_REUSEADDR on Linux only ignores the closed
    connections of an earlier process, so that a restart need not wait for them.

    Raises SettingsError.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise _cannot_listen(host, port, error) from None
    with made:
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
        except OSError as error:
            raise _cannot_listen(host, port, error) from None
        yield made


def _cannot_listen(host: str, port: int, error: Exception) -> SettingsError:
    why = getattr(error, "strerror", None) or str(error)
    advice = {
        errno.EADDRINUSE: "stop the program that uses this port, or choose another one with --port",
        errno.EACCES: "choose a port above 1023 with --port",
    }.get(getattr(error, "errno", None) or 0, "check --host and --port")
    where = f"[{host}]" if ":" in host else host
    return SettingsError(f"cannot listen on {where}:{port}: {why}; {advice}")


class _Server(Server):
    """Granian on a socket of ours; its own would be open to every process of this user that asks for the same port."""

    def __init__(self, app: Litestar, port: socket.socket, settings: Settings, connections: int) -> None:
        """Serve an application on a bound socket, over so many connections at a time."""
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
        """Begin to listen, which fails where another process does, and hand the socket over: Granian closes it."""
        try:
            self._port.listen(WAITING_CONNECTIONS)
        except OSError as error:
            raise _cannot_listen(self.bind_addr, self.bind_port, error) from None
        unix = False
        self._shd: SocketHolder | None = SocketHolder(self._port.detach(), unix, WAITING_CONNECTIONS)  # type: ignore[assignment, call-arg]


def _allow_files(number: int) -> int:
    """Raise the soft limit of open files, which is often too low for that many connections; return what it is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


async def _announce(address: tuple[str, int], ready: str) -> None:
    """Say that the service is ready as soon as it answers; until then the kernel keeps the request."""
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
    # The server calls this once it listens, a moment before it answers.
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
