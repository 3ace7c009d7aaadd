"""Connects store, flows and web into one application."""

import asyncio
import contextlib
import importlib.util
import os
import socket
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, Protocol

from litestar import Litestar

from antechamber.app.access import connect_access
from antechamber.app.log_tiles import connect_tiles
from antechamber.app.maintenance import clock, open_log, open_stores
from antechamber.app.open_connections import OpenConnections
from antechamber.app.rehearsal_runs import RehearsalRuns
from antechamber.app.webhooks import connect_delivery
from antechamber.background import Background
from antechamber.core.access.callers import Bearer
from antechamber.core.errors import AntechamberError
from antechamber.core.mcp_resources import Serving
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.event_vault import EventVault
from antechamber.flows.access import AccessFlows
from antechamber.flows.admit import Admission
from antechamber.flows.alarm_log import AlarmLog
from antechamber.flows.change_watch import ChangeWatch
from antechamber.flows.changes import Changes
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.clock import SteadyClock
from antechamber.flows.conversation import Conversation
from antechamber.flows.dashboard import Dashboard
from antechamber.flows.desk_views import DeskViews
from antechamber.flows.export import Export
from antechamber.flows.groups import Groups
from antechamber.flows.heartbeat import Heartbeat
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.log_proofs import LogProofs
from antechamber.flows.mcp_tools import InProcessTools
from antechamber.flows.metrics import Metrics
from antechamber.flows.operations import Operations
from antechamber.flows.producer_notes import ProducerNotes
from antechamber.flows.proposing import Proposing
from antechamber.flows.quarantine import Quarantine
from antechamber.flows.queue_sorter import QueueSorter
from antechamber.flows.recall import Recall
from antechamber.flows.replication import Replication
from antechamber.flows.retention.old_pages import empty_old_pages
from antechamber.flows.review import Desk
from antechamber.flows.seal import KeySealer
from antechamber.flows.sealed_events import SealedEvents
from antechamber.flows.upkeep.read_counts import ReadCounts
from antechamber.flows.upkeep.review_dates import ReviewDates
from antechamber.flows.upkeep.views import UpkeepViews
from antechamber.flows.webhooks.alarms import AlarmEvents
from antechamber.flows.write_gate import WriteGate
from antechamber.resources import folder
from antechamber.secret_key import load_quarantine_key, load_secret
from antechamber.settings import Settings
from antechamber.snapshot_files import SnapshotFiles
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
DUE_EVERY: Final = 1.0
"""Seconds between two looks at which witnesses have to cosign a checkpoint, and which keys of issuers are due."""
FLUSH_EVERY: Final = 60.0
"""Seconds between two writes of counters."""
BEAT_EVERY: Final = 5.0
"""Seconds between two heartbeats, when several processes share a database."""
ALARMS_EVERY: Final = 5.0
"""Seconds between two looks at the alarms for the log."""
PUBLISH_EVERY: Final = 5.0
"""Seconds between two snapshots of the metrics for the other processes of this host."""
ServeMcp = Callable[[Callable[[Any], Serving]], contextlib.AbstractAsyncContextManager[AsgiApplication]]
"""Serves the MCP tools of the submitter that each request gets."""
PeriodicWork = tuple[str, Callable[[], object], float]
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

    def __call__(self, size: int) -> bytes:
        """Return this many bytes, each of which is returned only once."""
        with self._gate:
            if len(self._stock) - self._given < size:
                self._stock, self._given = os.urandom(max(size, 4096)), 0
            self._given += size
            return self._stock[self._given - size : self._given]


def create_app(settings: Settings, policies: PolicyReloader | None = None) -> Litestar:
    """Build the application for one data location; it closes everything when it stops.

    Reads the policy in the settings' folder unless it is given. Raises AntechamberError if one of these is unusable.
    """
    settings.check()
    policies, background = policies or PolicyReloader(settings.policies), Background()
    store, reads = open_stores(settings, background)
    secret, now = load_secret(settings.data), SteadyClock(clock, elapsed)
    checkpoints = _open_recorded_log(store, settings, policies, now, reads.close)
    proofs, heartbeat = LogProofs(store, checkpoints), _heartbeat(store, settings, policies, now)
    guarded, pages = WriteGate(store, checkpoints), WriteGate(reads, checkpoints)
    access = _access(guarded, policies, now, secret, checkpoints, background)
    admission = _admission(guarded, policies, settings, now, background)
    changes = _changes(reads, Recall(reads, policies, ReadCounts(guarded, policies, now)), background)
    quarantine = Quarantine(guarded, policies, admission, now, os.urandom)
    dashboard = Dashboard(reads, policies, now, heartbeat, checkpoints, background)
    desk, alarms = Desk(guarded, policies, now, os.urandom), AlarmLog(dashboard, AlarmEvents(store, now))
    snapshots = SnapshotFiles(settings.data, None if settings.database_url is None else heartbeat.process_id)
    delivery = connect_delivery(store, settings, policies, now, heartbeat.process_id, background)
    own = store.meters, admission.meters, desk.meters, quarantine.meters, delivery.meters, *access.meters
    services = Services(
        admission=admission,
        sealer=KeySealer(guarded, policies, admission, now, os.urandom),
        producer_notes=ProducerNotes(guarded, policies, admission, now, os.urandom),
        proposing=Proposing(policies, admission),
        conversation=Conversation(guarded, policies, now, os.urandom),
        recall=changes.recall,
        changes=changes,
        desk=desk,
        groups=Groups(guarded, policies, now, desk),
        desk_views=DeskViews(pages, policies, now),
        upkeep_views=UpkeepViews(reads, policies, now),
        review_dates=ReviewDates(guarded, policies, now, os.urandom),
        quarantine=quarantine,
        sealed_events=SealedEvents(guarded, policies, quarantine, admission, now, os.urandom),
        access=access,
        export=Export(reads, checkpoints, proofs, now, os.urandom),
        checkpoints=checkpoints,
        proofs=proofs,
        log_tiles=connect_tiles(store, policies, now, background),
        dashboard=dashboard,
        metrics=Metrics(store, now, dashboard, checkpoints, snapshots, own),
        operations=Operations(store, now, dashboard, snapshots, RehearsalRuns(settings.location, settings.policies)),
        passwords=Passwords(),
        background=background,
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        workers = await _start_workers(None if settings.database_url is None else heartbeat)
        threads = _start_threads(app, _sorter(store, policies, heartbeat, background), changes.watch, delivery)
        await _look_first(services, policies, settings)
        tasks = _start_tasks(background, _list_work(services, policies, settings, store, heartbeat, alarms), app)
        try:
            yield
        finally:
            await _stop(app, tasks, threads, workers, partial(_shut, services, heartbeat, reads))

    return _with_connections(build(settings, services, secret, folder("templates"), lifespan, _mcp(services)))


def _with_connections(app: Litestar) -> Litestar:
    """Add the table of open connections, which the server fills."""
    app.state.connections = OpenConnections(take=app.state.short_cut.take)
    return app


def _changes(store: Store, recall: Recall, background: Background) -> Changes:
    """Return the change feed, whose watch is listed with the background work."""
    return Changes(store, recall, ChangeWatch(store, background.work("following the changes of memories")))


def _sorter(store: Store, policies: PolicyReloader, heartbeat: Heartbeat, background: Background) -> QueueSorter:
    return QueueSorter(store, heartbeat.leads, lambda: policies.current.gate, background.work("sorting the queue"))


def _access(
    store: Store,
    policies: PolicyReloader,
    now: Clock,
    secret: bytes,
    checkpoints: Checkpoints,
    background: Background,
) -> AccessFlows:
    """Return the flows of access, which follow the policy in force; alarms about issuers are listed with the others."""
    access = connect_access(store, now, os.urandom, secret, checkpoints.check, lambda: policies.current.policy)
    background.add_alarms(access.issuer_keys.alarms, "provider")
    background.add_alarms(access.providers.alarms, "provider")
    return access


async def _start_workers(heartbeat: Heartbeat | None) -> ThreadPoolExecutor:
    """Start the threads in which the event loop runs what may wait; the first work is a heartbeat, if there is one."""
    workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="work")
    asyncio.get_running_loop().set_default_executor(workers)
    if heartbeat is not None:
        await asyncio.to_thread(heartbeat.beat)
    return workers


def _admission(
    store: Store, policies: PolicyReloader, settings: Settings, now: Clock, background: Background
) -> Admission:
    """Return the admission with the secrets of the data folder; its alarms are listed with those of the background."""
    secret, vault = load_secret(settings.data), EventVault(load_quarantine_key(settings.data))
    admission = Admission(store, policies, secret, vault, now, RandomBytes())
    background.add_alarms(admission.secrets.alarms, "secret")
    return admission


def _heartbeat(store: Store, settings: Settings, policies: PolicyReloader, now: Clock) -> Heartbeat:
    """Return this process's heartbeat, under a new id and the name of its address."""
    return Heartbeat(store, policies, now, process_id=str(uuid.uuid4()), name=f"{socket.gethostname()}:{settings.port}")


async def _stop(
    app: Litestar,
    tasks: list[asyncio.Task[None]],
    threads: list[tuple["Loop", threading.Thread]],
    workers: ThreadPoolExecutor,
    shut: Callable[[], None],
) -> None:
    """End everything in the order of dependence."""
    await app.state.tools.stop()
    await _cancel_all(tasks)
    await _stop_threads(threads)
    # The remaining work of these threads needs the store.
    await thread_pools.run(thread_pools.PAGES, workers.shutdown)
    await thread_pools.run(thread_pools.PAGES, shut)


async def _look_first(services: Services, policies: PolicyReloader, settings: Settings) -> None:
    """Run periodic work once before any request: nothing is written and no one signs in before.

    Work that fails is repeated each second.
    """
    note_address = partial(services.access.address.note, settings.url)
    await _attempt(services.checkpoints.look, policies.refresh, note_address, services.metrics.publish)


async def _attempt(*acts: Callable[[], object]) -> None:
    """Run functions once, one after another, in a thread; an error of one does not stop the others."""
    for act in acts:
        with contextlib.suppress(AntechamberError, OSError):
            await asyncio.to_thread(act)


async def _cancel_all(tasks: list[asyncio.Task[None]]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _list_work(
    services: Services,
    policies: PolicyReloader,
    settings: Settings,
    store: Store,
    heartbeat: Heartbeat,
    alarms: AlarmLog,
) -> list[PeriodicWork]:
    own: list[PeriodicWork] = (
        [("emptying the write-ahead log", partial(empty_old_pages, store), FLUSH_EVERY)]
        if settings.database_url is None
        else [
            ("sending heartbeats", heartbeat.beat, BEAT_EVERY),
            ("publishing metrics", services.metrics.publish, PUBLISH_EVERY),
        ]
    )
    if settings.require_synchronous:
        own.append(("checking how commits are replicated", services.dashboard.replication.look, BEAT_EVERY))
    return [
        *own,
        ("noting the address", partial(services.access.address.note, settings.url), POLICY_EVERY),
        ("reading the policy files", policies.refresh, POLICY_EVERY),
        ("logging alarms", alarms.look, ALARMS_EVERY),
        ("signing the log", services.checkpoints.tick, SIGN_LOOK_EVERY),
        ("pinning checkpoints", services.checkpoints.pin, PIN_EVERY),
        ("asking witnesses", services.log_tiles.witnesses.tick, DUE_EVERY),
        ("ending sealed events", services.sealed_events.end_expired, FLUSH_EVERY),
        ("forgetting times on screen", services.desk.screen_times.forget, FLUSH_EVERY),
        ("counting replays", services.admission.flush, FLUSH_EVERY),
        ("counting reads of memories", services.recall.reads.flush, FLUSH_EVERY),
        ("adding up daily counts", services.operations.daily_counts.add, FLUSH_EVERY),
        ("fetching keys of issuers", services.access.issuer_keys.tick, DUE_EVERY),
        ("noting when tokens and sessions are used", services.access.last_use.flush, FLUSH_EVERY),
    ]


def _start_tasks(background: Background, periodic: list[PeriodicWork], app: Litestar) -> list[asyncio.Task[None]]:
    """Start the periodic work and the deadline checks of uploads and connections."""
    tasks = [asyncio.create_task(background.work(name).repeat(act, seconds)) for name, act, seconds in periodic]
    watches = {
        "ending uploads that take too long": app.state.uploads.watch,
        "watching connections": app.state.connections.watch,
    }
    for name, watch in watches.items():
        tasks.append(asyncio.create_task(background.work(name).keep(partial(watch, app.state.stopping))))
    return tasks


class Loop(Protocol):
    """Work with a thread of its own."""

    def run(self) -> None:
        """Work until `stop` is called."""

    def stop(self) -> None:
        """Make `run` return soon."""


def _start_threads(app: Litestar, *loops: Loop) -> list[tuple[Loop, threading.Thread]]:
    """Start a thread for each loop, and for that of the log of requests."""
    every = (*loops, app.state.request_log)
    started = [(loop, threading.Thread(target=loop.run, name=type(loop).__name__)) for loop in every]
    for _, thread in started:
        thread.start()
    return started


async def _stop_threads(started: list[tuple[Loop, threading.Thread]]) -> None:
    """Stop all loops and wait for their threads."""
    for loop, _ in started:
        loop.stop()
    for _, thread in started:
        await asyncio.to_thread(thread.join)


def _open_recorded_log(
    store: Store, settings: Settings, policies: PolicyReloader, now: SteadyClock, close: Callable[[], None]
) -> Checkpoints:
    """Open the log and record the policy in it; if that fails, close the stores."""
    try:
        if settings.require_synchronous:
            Replication(store).require()
        now.compare(store)
        checkpoints = open_log(store, settings.location, now, settings.pin_url)
        # Recorded only after the first check: an older backup must not grow before it is compared with the checkpoint.
        policies.keep_record(WriteGate(store, checkpoints), now)
    except BaseException:
        close()
        raise
    return checkpoints


def _mcp(services: Services) -> Start | None:
    """Return a function that starts the MCP server; it imports the server on first use, because the import is slow."""
    if importlib.util.find_spec("mcp") is None:
        return None

    @contextlib.asynccontextmanager
    async def start(bearer_of: Callable[[Any], Bearer]) -> AsyncIterator[AsgiApplication]:
        serve = await asyncio.to_thread(_import_mcp)
        flows = services.admission, services.recall, services.producer_notes
        async with serve(lambda request: InProcessTools(*flows, bearer_of(request))) as application:
            yield application

    return start


def _import_mcp() -> ServeMcp:
    from antechamber.mcp_server import serving_http  # noqa: PLC0415 -- an optional extra that is slow to import

    return serving_http


def _shut(services: Services, heartbeat: Heartbeat, store: Store) -> None:
    """Write the last counters, unregister this process and finish all accepted work."""
    admission, access = services.admission, services.access
    for flush in (admission.flush, services.recall.reads.flush, access.last_use.flush, heartbeat.leave):
        with contextlib.suppress(AntechamberError):
            flush()
    with contextlib.suppress(OSError):
        services.metrics.leave()
    services.operations.rehearsals.stop()
    services.passwords.close()
    store.close()
