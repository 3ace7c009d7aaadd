"""The state of the service for operators: alarms with their remedies, backlog, disk, signer, processes, webhooks."""

from typing import Final

from msgspec import Struct

from antechamber import __version__
from antechamber.core.contract import Scope
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.policy import Rules
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.rehearsals import Rehearsals
from antechamber.core.ports.snapshots import Disk, Snapshots
from antechamber.core.ports.store import Store
from antechamber.core.remedies import REMEDIES, Remedy
from antechamber.core.retention import limited_scopes
from antechamber.core.rows.reports import ProcessRow
from antechamber.flows.daily_counts import DailyCounts
from antechamber.flows.dashboard import Dashboard
from antechamber.flows.heartbeat import GONE_AFTER
from antechamber.flows.store_state import StoreState, read_state
from antechamber.flows.webhooks.endpoints import ListedWebhook, list_webhook


class Alarm(Struct, frozen=True):
    """An alarm: its causes, and what to do."""

    remedy: Remedy
    causes: list[str]


class Health(Struct, frozen=True, kw_only=True):
    """The state of the service at one moment; `state` is None while the store cannot be read."""

    version: str
    engine: str
    alarms: list[Alarm]
    state: StoreState | None
    webhooks: list[ListedWebhook]
    processes: list[ProcessRow]
    """Processes that share the store and reported within a minute; empty where only one can run."""
    disk: Disk | None
    policy_digest: str
    kept: list[tuple[Scope, Rules]]
    """The kinds of scope in which some texts are removed after a time."""


class Operations:
    """Reads the state of the service.

    `rehearsals` rehearses changes of its policy, `daily_counts` adds up old counts.
    """

    def __init__(
        self, store: Store, clock: Clock, dashboard: Dashboard, snapshots: Snapshots, rehearsals: Rehearsals
    ) -> None:
        self.rehearsals = rehearsals
        self.daily_counts: Final = DailyCounts(store, clock)
        self._store = store
        self._clock = clock
        self._dashboard = dashboard
        self._snapshots = snapshots

    def health(self) -> Health:
        """Return the state of the service; a store that cannot be read is part of it."""
        now, (policy, digest) = self._clock(), self._dashboard.policy()
        state: StoreState | None = None
        processes: list[ProcessRow] = []
        try:
            state = read_state(self._store, now)
            with self._store.read() as tx:
                processes = tx.reports.processes(now - GONE_AFTER)
        except (BusyError, UnavailableError):
            pass
        return Health(
            version=__version__,
            engine=self._store.engine,
            alarms=self._alarms(readable=state is not None),
            state=state,
            webhooks=[list_webhook(*pair) for pair in state.webhooks] if state else [],
            processes=processes,
            disk=self._snapshots.disk(),
            policy_digest=digest,
            kept=limited_scopes(policy),
        )

    def _alarms(self, *, readable: bool) -> list[Alarm]:
        found = self._dashboard.alarms_by_source()
        if not readable:
            found = {"store": ["The store cannot be read now."]} | found
        return [Alarm(REMEDIES[source], causes) for source, causes in found.items()]
