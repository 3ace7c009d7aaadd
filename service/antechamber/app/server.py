"""Serves the application as one process, from the bound port to the last response."""

import asyncio
import contextlib
import ctypes
import errno
import gc
import logging
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, cast

import uvloop
from litestar import Litestar
from uvicorn import Config, Server

from antechamber import __version__
from antechamber.app.data_folder import alone
from antechamber.app.factory import create_app
from antechamber.app.http_connection import LimitedConnection
from antechamber.app.open_connections import MAX_CONNECTIONS
from antechamber.core.errors import AntechamberError
from antechamber.flows.live_policy import PolicyReloader
from antechamber.logs import describe, note
from antechamber.permanence import permanent
from antechamber.settings import Settings, SettingsError

_log: Final = logging.getLogger(__name__)
_ARENA_MAX: Final = -8
"""M_ARENA_MAX of glibc's malloc.h."""
_LISTENERS: Final = 16
"""Handles of the listening socket: libuv accepts one connection for each in an iteration of the event loop (1.45 on).

Under load an iteration takes some 10 ms, and with one handle the last of 128 new connections would wait for a second.
"""
WAITING_CONNECTIONS: Final = 1024
"""Connections that the kernel queues until they are accepted."""


def serve(settings: Settings, ready: Callable[[], str]) -> None:
    """Serve until SIGINT or SIGTERM, then answer the accepted requests and stop.

    Raises AntechamberError if settings, policy or folder cannot be used, the port is taken, another process serves the
    folder, or the server ends by itself.
    """
    settings.check()
    _share_arenas()
    with permanent():
        policies = PolicyReloader(settings.policies)
    with _bound(settings.host, settings.port) as port, alone(settings.location, settings.url):
        with permanent():
            app = create_app(settings, policies)
        # Half of the open files are reserved for other uses than connections.
        app.state.connections.max_connections = min(MAX_CONNECTIONS, _allow_files(2 * MAX_CONNECTIONS) // 2)
        # Reference counting frees most objects of requests, but pages of the desk leave cycles. With high thresholds
        # those that reach the oldest generation are never collected, and memory grows by 30 MiB an hour; without the
        # permanent objects a collection of all generations takes milliseconds.
        gc.set_threshold(25_000, 1, 1)
        _note_start(app, settings, policies.current.digest)
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(app, settings, port, ready))
        except BaseException as error:
            note(_log, logging.ERROR, "ended by an error", error=describe(error))
            raise
        note(_log, logging.INFO, "stopped", version=__version__, address=f"{settings.host}:{settings.port}")


def _share_arenas() -> None:
    """Let all threads of the process allocate from the same two arenas of malloc (mallopt(3), M_ARENA_MAX).

    glibc otherwise creates up to eight arenas per core, and each keeps the most that its threads ever needed at once.
    Threads rarely wait for an arena, because most of them allocate with the GIL held.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_ARENA_MAX, 2)


def _note_start(app: Litestar, settings: Settings, digest: str) -> None:
    """Log what was started; the address of a database is left out, because it may hold a password."""
    note(
        _log,
        logging.INFO,
        "starting",
        version=__version__,
        folder=settings.data.absolute(),
        engine="sqlite" if settings.database_url is None else "postgres",
        policy=digest,
        mcp="on" if app.state.tools.available else "off",
        address=f"{settings.host}:{settings.port}",
        url=settings.url,
    )


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
    """uvicorn's server without its signal handlers, which would end the process by the signal after the shutdown."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the caller."""
        yield


def _allow_files(wanted_files: int) -> int:
    """Raise the soft limit of open files, often too low for this many connections; return the resulting limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted_files if hard == resource.RLIM_INFINITY else min(wanted_files, hard)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(soft, allowed)


async def _announce(address: tuple[str, int], ready: Callable[[], str]) -> None:
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
            print(ready(), flush=True)  # noqa: T201 -- the one line an operator waits for
            return
        await asyncio.sleep(0.01)


async def _serve(app: Litestar, settings: Settings, port: socket.socket, ready: Callable[[], str]) -> None:
    config = Config(
        app,
        http=cast("Any", partial(LimitedConnection, app.state.connections)),
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=WAITING_CONNECTIONS,
    )
    server = _Server(config)
    try:
        # It fails if another process listens; clients that connect from now on wait until the application has started.
        port.listen(WAITING_CONNECTIONS)
    except OSError as error:
        raise _cannot_listen(settings.host, settings.port, error) from None
    loop = asyncio.get_running_loop()
    announcing = loop.create_task(_announce(port.getsockname()[:2], ready))

    def stop() -> None:
        app.state.stopping.set()
        server.should_exit = True

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop)
    try:
        await server.serve([port, *(port.dup() for _ in range(1, _LISTENERS))])
    finally:
        announcing.cancel()
    if not app.state.stopping.is_set():
        message = "the server ended by itself; the messages above say why"
        raise AntechamberError(message)
