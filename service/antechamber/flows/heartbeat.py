"""Heartbeats: the processes that share one database report which policy they enforce."""

from typing import Final

from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.core.rows.reports import ProcessRow
from antechamber.flows.live_policy import PolicyReloader

GONE_AFTER: Final = 60_000_000
"""Microseconds without a heartbeat after which a process no longer counts."""


class Heartbeat:
    """The heartbeat of one process among those that share a store.

    `process_id` is unique for each process; `name` is its name for people.
    """

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock, *, process_id: str, name: str) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self.process_id = process_id
        self._name = name
        self._first = process_id
        self.alarm: str | None = None
        """Which processes enforce another policy; None while all agree."""

    def beat(self) -> None:
        """Write a heartbeat and compare the policies of all processes.

        Raises BusyError or UnavailableError.
        """
        now, digest = self._clock(), self._policies.current.digest
        process = ProcessRow(process_id=self.process_id, name=self._name, policy_digest=digest, seen_at=now)
        self._store.write(lambda tx: tx.reports.note_process(process, now - GONE_AFTER)).result()
        with self._store.read() as tx:
            others = tx.reports.processes(now - GONE_AFTER)
        self._first = min((row.process_id for row in others), default=self.process_id)
        differing = sorted(row.name for row in others if row.policy_digest != digest)
        self.alarm = (
            f"The processes enforce different policies: this one ({self._name}) {digest}, another one "
            f"{', '.join(differing)}. Bring their policy folders to the same state."
            if differing
            else None
        )

    def leads(self) -> bool:
        """Return whether this process is the leader; two processes may briefly both be leaders."""
        return self._first >= self.process_id

    def leave(self) -> None:
        """Delete this process's heartbeat.

        Raises BusyError or UnavailableError.
        """
        self._store.write(lambda tx: tx.reports.forget_process(self.process_id)).result()
