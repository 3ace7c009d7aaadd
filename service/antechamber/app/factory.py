"""Connects store, flows and web into one application."""

import asyncio
import contextlib
import importlib
import importlib.util
import os
import socket
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from litestar import Litestar

from antechamber.app.connection_limits import LOOK_EVERY_SECONDS, ConnectionWatch
from antechamber.app.maintenance import clock, open_log, open_store
from antechamber.background import Background
from antechamber.core.access.callers import Bearer
from antechamber.core.errors import AntechamberError
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.flows.access import Access
from antechamber.flows.admit import Admission
from antechamber.flows.clock import SteadyClock
from antechamber.flows.dashboard import Dashboard
from antechamber.flows.export import Export
from antechamber.flows.heartbeat import Heartbeat
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.log_proofs import Log
from antechamber.flows.mcp_tools import InProcessTools
from antechamber.flows.quarantine import Quarantine
from antechamber.flows.queue_sorter import QueueSorter
from antechamber.flows.recall import Recall
from antechamber.flows.review import Desk
from antechamber.flows.seal import KeySealer
from antechamber.flows.write_gate import WriteGate
from antechamber.resources import folder
from antechamber.secret_key import load_secret
from antechamber.settings import Settings
from antechamber.web import thread_pools
from antechamber.web.application import Services, build
from antechamber.web.mcp import AsgiApplication, Start
from antechamber.web.passwords import Passwords

WORKERS: Final = 32
"""Threads for decisions and periodic work; the same number on any machine, as most of them wait for the store."""
POLICY_EVERY: Final = 1.0
"""Seconds between two checks of the policy files."""
PIN_EVERY: Final = 5.0
"""Seconds between two checks whether the last checkpoint is pinned."""
SIGN_LOOK_EVERY: Final = 1.0
"""Seconds between two checks whether the log needs a signature."""
FLUSH_EVERY: Final = 60.0
"""Seconds between two writes of counters."""
BEAT_EVERY: Final = 5.0
"""Seconds between two heartbeats, when several processes share a database."""
Act = tuple[str, Callable[[], None], float]
"""Name of periodic work, its function, and the seconds between two runs."""


def elapsed() -> int:
    """Return microseconds of a monotonic clock; if the system supports it, suspended time counts too."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1000


class RandomBytes:
    """Random bytes of the operating system, read in large blocks, because each read is a system call."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._stock = b""
        self._given = 0

    def __call__(self, number: int) -> bytes:
        """Return this many bytes, each of which is returned only once."""
        with self._gate:
            if len(self._stock) - self._given < number:
                self._stock, self._given = os.urandom(max(number, 4096)), 0
            self._given += number
            return self._stock[self._given - number : self._given]


def create_app(settings: Settings, policies: PolicyReloader | None = None) -> Litestar:
    """Build the application for one data location; it closes everything when it stops.

    The policy is read from the settings' folder unless it is given.

    Raises AntechamberError if settings, policy or folder cannot be used.
    """
    settings.check()
    policies, background = policies or PolicyReloader(settings.policies), Background()
    store = open_store(settings.location, serving=True, background=background)
    secret, now = load_secret(settings.data), SteadyClock(clock, elapsed)
    log = _opened_log(store, settings, policies, now)
    name = f"{socket.gethostname()}:{settings.port}"
    heartbeat = Heartbeat(store, policies, now, process_id=str(uuid.uuid4()), name=name)
    guarded = WriteGate(store, log)
    access = Access(guarded, now, os.urandom, secret, log.check)
    admission = Admission(guarded, policies, secret, now, RandomBytes())
    services = Services(
        admission=admission,
        sealer=KeySealer(guarded, policies, admission, now, os.urandom),
        recall=Recall(store, policies),
        desk=Desk(guarded, policies, now, os.urandom),
        quarantine=Quarantine(guarded, policies, admission, now, os.urandom),
        access=access,
        export=Export(store, log, now, os.urandom),
        log=log,
        dashboard=Dashboard(store, policies, now, heartbeat, log, background),
        passwords=Passwords(),
        background=background,
    )
    sorter = QueueSorter(store, heartbeat.leads, background.work("sorting the queue"))

    @contextlib.asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="work")
        asyncio.get_running_loop().set_default_executor(workers)
        if settings.database_url is not None:
            await asyncio.to_thread(heartbeat.beat)
        sorting = threading.Thread(target=sorter.run, name="sorter")
        sorting.start()
        # Nothing is written and no one signs in before the first run of these; a failed one is repeated each second.
        for once in (log.look, policies.refresh, partial(access.note_address, settings.url)):
            with contextlib.suppress(AntechamberError):
                await asyncio.to_thread(once)
        look = ConnectionWatch(settings.port, app.state.peers, app.state.stopping.is_set).look
        acts = _acts(services, policies, settings.url, look)
        acts += [] if settings.database_url is None else [("giving a sign of life", heartbeat.beat, BEAT_EVERY)]
        tasks = _begin(background, acts, lambda: app.state.uploads.watch(app.state.stopping))
        try:
            yield
        finally:
            await app.state.tools.stop()
            await _cancelled(tasks)
            sorter.stop()
            await asyncio.to_thread(sorting.join)
            # The remaining work of these threads needs the store.
            await thread_pools.run(thread_pools.PAGES, workers.shutdown)
            await thread_pools.run(thread_pools.PAGES, _shut, services, heartbeat, store)

    return build(settings, services, secret, folder("templates"), lifespan, _mcp(services))


async def _cancelled(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _acts(services: Services, policies: PolicyReloader, url: str, look: Callable[[], None]) -> list[Act]:
    return [
        ("noting the address", partial(services.access.note_address, url), POLICY_EVERY),
        ("watching connections", look, LOOK_EVERY_SECONDS),
        ("reading the policy files", policies.refresh, POLICY_EVERY),
        ("signing the log", services.log.tick, SIGN_LOOK_EVERY),
        ("pinning checkpoints", services.log.pin, PIN_EVERY),
        ("counting replays", services.admission.flush, FLUSH_EVERY),
        ("noting when tokens and sessions are used", services.access.flush, FLUSH_EVERY),
    ]


def _begin(background: Background, acts: list[Act], watch: Callable[[], Awaitable[None]]) -> list[asyncio.Task[None]]:
    """Start the periodic work and the deadline check of uploads."""
    tasks = [asyncio.create_task(background.work(name).repeat(act, seconds)) for name, act, seconds in acts]
    return [*tasks, asyncio.create_task(background.work("ending uploads that take too long").keep(watch))]


def _opened_log(store: Store, settings: Settings, policies: PolicyReloader, now: Clock) -> Log:
    """Open the log and record the policy in it; if that fails, close the store."""
    try:
        log = open_log(store, settings.location, now, settings.pin_url)
        # Recorded only after the first check: an older backup must not grow before it is compared with the checkpoint.
        policies.keep_record(WriteGate(store, log), now)
    except BaseException:
        store.close()
        raise
    return log


def _mcp(services: Services) -> Start | None:
    """Return a function that starts the MCP server; it imports the server on first use, because the import is slow."""
    if importlib.util.find_spec("mcp") is None:
        return None

    @contextlib.asynccontextmanager
    async def start(bearer_of: Callable[[Any], Bearer]) -> AsyncIterator[AsgiApplication]:
        server = await asyncio.to_thread(importlib.import_module, "antechamber.mcp_server")
        admission, recall = services.admission, services.recall
        async with server.serving_http(
            lambda request: InProcessTools(admission, recall, bearer_of(request))
        ) as application:
            yield application

    return start


def _shut(services: Services, heartbeat: Heartbeat, store: Store) -> None:
    """Write the last counters, unregister this process and finish all accepted work."""
    admission, access = services.admission, services.access
    for flush in (admission.flush, access.flush, heartbeat.leave):
        with contextlib.suppress(AntechamberError):
            flush()
    services.passwords.close()
    store.close()
