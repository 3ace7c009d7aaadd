"""The composition root: joins store, flows and web, and runs them as one process."""

import asyncio
import contextlib
import gc
import importlib
import importlib.util
import logging
import os
import resource
import signal
import socket
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server
from litestar import Litestar

from antechamber.config import DATABASE, SECRET, Place, Settings, SettingsError, load_secret, secret_check
from antechamber.core.errors import AntechamberError
from antechamber.core.ports import Store
from antechamber.core.roles import Bearer
from antechamber.flows.access import Access
from antechamber.flows.admit import Admission
from antechamber.flows.export import Export
from antechamber.flows.fleet import Fleet
from antechamber.flows.overview import Overview
from antechamber.flows.policies import PolicyKeeper
from antechamber.flows.quarantine import Quarantine
from antechamber.flows.recall import Recall
from antechamber.flows.review import Desk
from antechamber.flows.sorting import Sorter
from antechamber.flows.steady import SteadyClock
from antechamber.flows.tools import Tools
from antechamber.resources import folder
from antechamber.store.sqlite.store import SqliteStore
from antechamber.web.auth import Passwords
from antechamber.web.build import Services, build
from antechamber.web.tools import Application, Start

POLICY_EVERY: Final = 1.0
"""Seconds between two looks at the policy files."""
FLUSH_EVERY: Final = 60.0
"""Seconds between two writes of counters."""
BEAT_EVERY: Final = 5.0
"""Seconds between two signs of life, where several processes share a database."""
_KEPT_WITH: Final = "secret_check"
"""Note in the database that tells the right secret from another one."""
_log: Final = logging.getLogger(__name__)


def clock() -> int:
    """Return the system's time of day, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


def elapsed() -> int:
    """Return microseconds since some moment, which nobody can set; where the system tells, time asleep counts too."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1000


CONNECTIONS: Final = 1024
"""Connections that are served at the same time; further ones wait for the kernel to hand them over."""
HEAD_MILLISECONDS: Final = 10_000
"""How long the head of a request may take, and how long a connection may be idle."""
HEAD_BYTES: Final = 65_536
"""How large the head of a request may be."""


class Chance:
    """Unpredictable bytes of the operating system, drawn many at a time: each draw is a system call."""

    def __init__(self) -> None:
        """Begin with none."""
        self._gate = threading.Lock()
        self._stock = b""
        self._given = 0

    def __call__(self, number: int) -> bytes:
        """Return that many bytes, which nobody else gets."""
        with self._gate:
            if len(self._stock) - self._given < number:
                self._stock, self._given = os.urandom(max(number, 4096)), 0
            self._given += number
            return self._stock[self._given - number : self._given]


def open_store(place: Place, *, serving: bool = False, create: bool = True) -> Store:
    """Open a store, made at first use in the folder where `create` says so; only a server checkpoints.

    Raises AntechamberError where it cannot be used.
    """
    place.check()
    if place.database_url is None and not create and not (place.data / DATABASE).exists():
        message = f"{place.data} holds no data of Antechamber; check the folder's name"
        raise SettingsError(message)
    store = _engine(place, serving=serving)
    try:
        bind_secret(store, place)
    except BaseException:
        store.close()
        raise
    return store


def _engine(place: Place, *, serving: bool = False) -> Store:
    """Open the engine that a place asks for."""
    try:
        place.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if place.database_url is None:
            load_secret(place.data)
    except OSError as error:
        message = f"the data folder {place.data} cannot be used: {error.strerror}"
        raise SettingsError(message) from None
    if place.database_url is None:
        return SqliteStore(place.data / DATABASE, exclusive_checkpoints=serving)
    store: Store = _postgres().PostgresStore(place.database_url)
    return store


def _postgres() -> Any:
    """Import the engine that needs more packages.

    Raises SettingsError where they are not installed.
    """
    try:
        from antechamber.store.postgres import store  # noqa: PLC0415 -- an optional extra
    except ImportError:
        message = "--database-url needs the PostgreSQL driver; install it with: pip install 'antechamber[postgres]'"
        raise SettingsError(message) from None
    return store


def bind_secret(store: Store, place: Place) -> bytes:
    """Return the folder's secret after comparing it with the one that the database was made with.

    Raises SettingsError where they differ: another process would answer differently.
    """
    with store.read() as rows:
        known = rows.meta(_KEPT_WITH)
    secret = load_secret(place.data, begun=known is not None)
    if known is None:
        known = store.write(lambda rows: rows.claim_meta(_KEPT_WITH, secret_check(secret))).result()
    if known != secret_check(secret):
        message = (
            f"{place.data / SECRET} is not the secret that this database was made with; copy the file from the machine "
            "that made it, or restore it from the backup"
        )
        raise SettingsError(message)
    return secret


def migrate(place: Place, tell_moved: Callable[[str, int], None] | None = None) -> list[str]:
    """Make the schema or bring an older one up to date; return the names of the steps that were taken.

    With `tell_moved` what the folder's own database holds is moved along; it hears table and number of rows.

    Raises AntechamberError.
    """
    place.check()
    if place.database_url is not None:
        taken: list[str] = _postgres().migrate(place.database_url)
        if tell_moved is not None:
            _move(place, place.database_url, tell_moved)
    else:
        if not (place.data / DATABASE).exists():
            load_secret(place.data)
        upgraded = SqliteStore(place.data / DATABASE, exclusive_checkpoints=False, upgrade=True)
        taken = upgraded.upgraded
        upgraded.close()
    open_store(place).close()
    return taken


def _move(place: Place, database_url: str, tell: Callable[[str, int], None]) -> None:
    file = place.data / DATABASE
    if not file.exists():
        message = f"{place.data} holds no data of Antechamber; check the folder's name"
        raise SettingsError(message)
    # Opened once as usual: so its schema is today's and its secret the right one.
    open_store(Place(data=place.data)).close()
    _postgres().move(file, database_url, tell)


@contextlib.contextmanager
def opened_access(place: Place, *, create: bool = False) -> Iterator[Access]:
    """Open a store for the command line's work on tokens and people; the first of them may make it."""
    store = open_store(place, create=create)
    try:
        yield Access(store, clock, os.urandom)
    finally:
        store.close()


@contextlib.contextmanager
def opened_export(place: Place) -> Iterator[Export]:
    """Open a store for the command line's exports."""
    store = open_store(place, create=False)
    try:
        yield Export(store, clock)
    finally:
        store.close()


def examine(place: Place) -> list[str]:
    """Check a store and list what is wrong with it."""
    store = open_store(place, create=False)
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
    store = open_store(settings.place, serving=True)
    secret = load_secret(settings.data)
    now = SteadyClock(clock, elapsed)
    fleet = Fleet(store, policies, now, process_id=str(uuid.uuid4()), name=f"{socket.gethostname()}:{settings.port}")
    access = Access(store, now, os.urandom)
    admission = Admission(store, policies, secret, now, Chance())
    services = Services(
        admission=admission,
        recall=Recall(store, policies),
        desk=Desk(store, policies, now, os.urandom),
        quarantine=Quarantine(store, policies, admission, now, os.urandom),
        access=access,
        export=Export(store, now),
        overview=Overview(store, policies, now, fleet),
        passwords=Passwords(),
    )

    sorter = Sorter(store, fleet.leads)

    @contextlib.asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        sorting = threading.Thread(target=sorter.run, name="sorter")
        sorting.start()
        tasks = [
            asyncio.create_task(app.state.uploads.watch(app.state.stopping)),
            asyncio.create_task(_repeat(policies.refresh, POLICY_EVERY)),
            asyncio.create_task(_repeat(admission.flush, FLUSH_EVERY)),
            asyncio.create_task(_repeat(access.flush, FLUSH_EVERY)),
        ]
        if settings.database_url is not None:
            await asyncio.to_thread(fleet.beat)
            tasks.append(asyncio.create_task(_repeat(fleet.beat, BEAT_EVERY)))
        try:
            yield
        finally:
            await app.state.tools.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            sorter.stop()
            await asyncio.to_thread(sorting.join)
            await asyncio.to_thread(_shut, admission, access, fleet, store)

    return build(settings, services, secret, folder("templates"), lifespan, _mcp(services))


def _mcp(services: Services) -> Start | None:
    """Return what starts the MCP server; it is imported when it is first asked for, as it takes its time."""
    if importlib.util.find_spec("mcp") is None:
        return None

    @contextlib.asynccontextmanager
    async def start(bearer_of: Callable[[Any], Bearer]) -> AsyncIterator[Application]:
        server = await asyncio.to_thread(importlib.import_module, "antechamber.mcp_server")
        admission, recall = services.admission, services.recall
        async with server.serving_http(lambda request: Tools(admission, recall, bearer_of(request))) as application:
            yield application

    return start


def _shut(admission: Admission, access: Access, fleet: Fleet, store: Store) -> None:
    """Write the last counters, sign off and finish all accepted work."""
    for flush in (admission.flush, access.flush, fleet.leave):
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
