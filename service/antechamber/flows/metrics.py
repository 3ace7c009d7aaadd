"""Metrics: the figures of all processes of a host, with those that are read from the store at that moment."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from antechamber import __version__
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.metrics import definitions as named
from antechamber.core.metrics.definitions import Labels, Metric
from antechamber.core.metrics.meters import Family, Meters, Snapshot, families, join
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.snapshots import Snapshots
from antechamber.core.ports.store import Store
from antechamber.core.retention import windows
from antechamber.core.rows.webhooks import Webhook
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.dashboard import Dashboard
from antechamber.flows.store_state import StoreState, read_state
from antechamber.flows.webhooks.endpoints import state_of
from antechamber.flows.webhooks.pending import Backlog

Gauge = tuple[str, Labels, float]
_SECOND: Final = 1_000_000


class Metrics:
    """Joins the figures of this process with those of the others; `meters` are what the parts of this process count."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        dashboard: Dashboard,
        checkpoints: Checkpoints,
        snapshots: Snapshots,
        meters: Sequence[Meters],
    ) -> None:
        self._store = store
        self._clock = clock
        self._dashboard = dashboard
        self._checkpoints = checkpoints
        self._snapshots = snapshots
        self._meters = meters

    def collect(self) -> Sequence[Family]:
        """Return all metrics; while the store cannot be read, those of the store are left out."""
        others = self._snapshots.others()
        running = 1 + sum(bool(snapshot.gauges) for snapshot in others)
        here = [_gauge(named.PROCESSES, running), *self._of_disk(), *self._of_store()]
        return families(join([self._own(), *others, Snapshot(gauges=here)]))

    def publish(self) -> None:
        """Publish the figures of this process for the others.

        Raises OSError.
        """
        self._snapshots.publish(self._own())

    def leave(self) -> None:
        """Publish the last figures of this process, which ends."""
        try:
            self.publish()
        finally:
            self._snapshots.leave()

    def _own(self) -> Snapshot:
        """Return what this process counts, and its own state."""
        counted = join(meters.snapshot() for meters in self._meters)
        checkpoints, (_, digest) = self._checkpoints, self._dashboard.policy()
        state = "closed" if checkpoints.doubt else "refused" if checkpoints.alarm else "signing"
        alarms = self._dashboard.alarms_by_source()
        gauges = [
            *(_gauge(named.SIGNER_STATE, one == state, one) for one in named.SIGNER_STATES),
            *(_gauge(named.ALARMS, len(alarms.get(source, ())), source) for source in named.ALARM_SOURCES),
            _gauge(named.POLICY, 1, digest),
            _gauge(named.BUILD, 1, __version__, self._store.engine),
        ]
        return Snapshot(counters=counted.counters, histograms=counted.histograms, gauges=gauges)

    def _of_disk(self) -> list[Gauge]:
        disk = self._snapshots.disk()
        return [] if disk is None else [_gauge(named.DISK_FREE, disk.free), _gauge(named.DISK_SIZE, disk.size)]

    def _of_store(self) -> list[Gauge]:
        try:
            seen = read_state(self._store, self._clock())
        except (BusyError, UnavailableError):
            return [_gauge(named.STORE_UP, 0)]
        return [
            _gauge(named.STORE_UP, 1),
            _gauge(named.STORE_BYTES, seen.stored),
            _gauge(named.QUEUE_DEPTH, seen.pending),
            _gauge(named.QUEUE_OLDEST, _seconds(seen.now - seen.oldest) if seen.oldest else 0),
            _gauge(named.LOG_SIZE, seen.leaves),
            _gauge(named.UNSIGNED_LEAVES, seen.leaves - seen.signed),
            _gauge(named.CHECKPOINT_AGE, _seconds(seen.now - seen.signed_at) if seen.signed_at else 0),
            *([_gauge(named.BACKUP_AGE, _seconds(seen.now - seen.backup_at))] if seen.backup_at else []),
            *self._of_retention(seen),
            *_of_webhooks(seen.webhooks, seen.now),
        ]

    def _of_retention(self, seen: StoreState) -> list[Gauge]:
        """Return the age of the last run; none where nothing is to be removed, or before the first run."""
        if seen.retention_at is None or not windows(self._dashboard.policy()[0], seen.now):
            return []
        return [_gauge(named.RETENTION_AGE, _seconds(seen.now - seen.retention_at))]


def _of_webhooks(webhooks: Sequence[tuple[Webhook, Backlog]], now: int) -> list[Gauge]:
    """Return the figures of all endpoints; one that was disabled waits for nothing."""
    states = Counter(state_of(webhook) for webhook, _ in webhooks)
    active = [backlog for webhook, backlog in webhooks if webhook.state == "active"]
    oldest = min((backlog.oldest for backlog in active if backlog.oldest is not None), default=now)
    return [
        *(_gauge(named.WEBHOOKS, states[state], state) for (state,) in named.WEBHOOKS.known_labels()),
        _gauge(named.WEBHOOK_BACKLOG, sum(backlog.number for backlog in active)),
        _gauge(named.WEBHOOK_OLDEST, _seconds(now - oldest)),
    ]


def _seconds(microseconds: int) -> float:
    """Return an age in seconds; clocks of two hosts may differ, and no age is below 0."""
    return max(0, microseconds) / _SECOND


def _gauge(metric: Metric, value: float, *labels: str) -> Gauge:
    return metric.name, labels, float(value)
