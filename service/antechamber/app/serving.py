"""Serving the application as one process, from the open port to the last answer."""

import asyncio
import gc
import resource
import signal
from typing import Final

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server
from litestar import Litestar

from antechamber.app.joined import create_app
from antechamber.config import Settings

CONNECTIONS: Final = 1024
"""Connections that are served at the same time; further ones wait for the kernel to hand them over."""
HEAD_MILLISECONDS: Final = 10_000
"""How long the head of a request may take, and how long a connection may be idle."""
HEAD_BYTES: Final = 65_536
"""How large the head of a request may be."""


def serve(settings: Settings, ready: str) -> None:
    """Serve until SIGINT or SIGTERM, then answer what was accepted and stop.

    Raises AntechamberError where settings, policy or folder cannot be used, or the port is taken.
    """
    app = create_app(settings)
    _allow_files(4 * CONNECTIONS)
    # What is there by now stays; and most of what requests make is gone by itself before a collection would look at it.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(app, settings, ready))


def _allow_files(number: int) -> None:
    """Raise the soft limit of open files, which is often too low for that many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _announce(settings: Settings, ready: str) -> None:
    """Say that the service is ready as soon as its port is open."""
    while True:
        try:
            _, writer = await asyncio.open_connection(settings.host, settings.port)
        except OSError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            print(ready, flush=True)  # noqa: T201 -- the one line an operator waits for
            return


async def _serve(app: Litestar, settings: Settings, ready: str) -> None:
    server = Server(
        app,
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=HEAD_MILLISECONDS, max_buffer_size=HEAD_BYTES),
        backlog=CONNECTIONS,
        backpressure=CONNECTIONS,
        websockets=False,
        log_level=LogLevels.error,
    )
    loop, waiting = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    # The server calls this once the address is its own, a moment before it listens there.
    server.on_startup(lambda: waiting.add(loop.create_task(_announce(settings, ready))))

    def stop() -> None:
        app.state.stopping.set()
        server.stop()  # type: ignore[no-untyped-call]

    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop)
    await server.serve()
