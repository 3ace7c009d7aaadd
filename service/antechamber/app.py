"""The composition root: joins store, flows and web, and runs them as one process."""

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import uvloop
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server.embed import Server
from litestar import Litestar

from antechamber.config import DATABASE, Settings, SettingsError, load_secret
from antechamber.core.errors import AntechamberError
from antechamber.flows.access import Access
from antechamber.flows.admit import Admission
from antechamber.flows.export import Export
from antechamber.flows.overview import Overview
from antechamber.flows.policies import PolicyKeeper
from antechamber.flows.recall import Recall
from antechamber.flows.review import Desk
from antechamber.resources import folder
from antechamber.store.sqlite import SqliteStore
from antechamber.web.auth import Passwords
from antechamber.web.build import Services, build

POLICY_EVERY: Final = 1.0
"""Seconds between two looks at the policy files."""
FLUSH_EVERY: Final = 60.0
"""Seconds between two writes of counters."""
_log: Final = logging.getLogger(__name__)


def clock() -> int:
    """Return the time now, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def open_store(data: Path, *, serving: bool = False, create: bool = True) -> SqliteStore:
    """Open the data folder's store, made at first use where `create` says so; only a server checkpoints.

    Raises AntechamberError where the folder cannot be used.
    """
    if not create and not (data / DATABASE).exists():
        message = f"{data} holds no data of Antechamber; check the folder's name"
        raise SettingsError(message)
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        load_secret(data)
    except OSError as error:
        message = f"the data folder {data} cannot be used: {error.strerror}"
        raise SettingsError(message) from None
    return SqliteStore(data / DATABASE, exclusive_checkpoints=serving)


@contextlib.contextmanager
def opened_access(data: Path, *, create: bool = False) -> Iterator[Access]:
    """Open a data folder for the command line's work on tokens and people; the first of them may make it."""
    store = open_store(data, create=create)
    try:
        yield Access(store, clock, os.urandom)
    finally:
        store.close()


@contextlib.contextmanager
def opened_export(data: Path) -> Iterator[Export]:
    """Open a data folder for the command line's exports."""
    store = open_store(data, create=False)
    try:
        yield Export(store, clock)
    finally:
        store.close()


def examine(data: Path) -> list[str]:
    """Check a data folder and list what is wrong with it."""
    store = open_store(data, create=False)
    try:
        with store.read() as rows:
            return list(rows.check())
    finally:
        store.close()


def hash_password(password: str) -> str:
    """Hash a password for an account made on the command line."""
    return Passwords().hash(password)


def create_app(settings: Settings) -> Litestar:
    """Join everything for one data folder; the application closes it when it stops.

    Raises AntechamberError where settings, policy or folder cannot be used.
    """
    settings.check()
    policies = PolicyKeeper(settings.policies)
    store = open_store(settings.data, serving=True)
    secret = load_secret(settings.data)
    access = Access(store, clock, os.urandom)
    admission = Admission(store, policies, secret, clock, os.urandom)
    services = Services(
        admission=admission,
        recall=Recall(store, policies),
        desk=Desk(store, policies, clock, os.urandom),
        access=access,
        export=Export(store, clock),
        overview=Overview(store, policies, clock),
        passwords=Passwords(),
    )

    @contextlib.asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        tasks = [
            asyncio.create_task(_repeat(policies.refresh, POLICY_EVERY)),
            asyncio.create_task(_repeat(admission.flush, FLUSH_EVERY)),
            asyncio.create_task(_repeat(access.flush, FLUSH_EVERY)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(_shut, admission, access, store)

    return build(settings, services, secret, folder("templates"), lifespan)


def _shut(admission: Admission, access: Access, store: SqliteStore) -> None:
    """Write the last counters and finish all accepted work."""
    for flush in (admission.flush, access.flush):
        with contextlib.suppress(AntechamberError):
            flush()
    store.close()


async def _repeat(work: object, seconds: float) -> None:
    """Run work in a thread again and again; a failure is logged and tried again next time."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await asyncio.to_thread(work)  # type: ignore[arg-type]
        except AntechamberError as error:
            _log.warning("periodic work failed: %s", error)


def serve(settings: Settings, ready: str) -> None:
    """Serve until SIGINT or SIGTERM, then answer what was accepted and stop.

    Raises AntechamberError where settings, policy or folder cannot be used, or the port is taken.
    """
    app = create_app(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(app, settings, ready))


async def _serve(app: Litestar, settings: Settings, ready: str) -> None:
    server = Server(
        app,
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        websockets=False,
        log_level=LogLevels.error,
    )
    server.on_startup(lambda: print(ready, flush=True))  # noqa: T201 -- the one line an operator waits for
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, server.stop)
    await server.serve()
