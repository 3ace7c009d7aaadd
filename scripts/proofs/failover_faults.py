"""The faults of the failover proof, and how each ends."""

import itertools
import signal
import time
from collections.abc import Callable, Iterator
from typing import Final

from proofs.failover_cluster import Cluster
from proofs.failover_nodes import Node

MOVES: Final = frozenset(
    {
        "kill -9 of the primary",
        "SIGSTOP of the primary",
        "kill -9 of its Patroni",
        "primary cut off from the nodes",
        "primary cut off from all",
        "planned switchover",
    }
)
"""Faults after which another node has to be the primary."""
_MOVED_WITHIN: Final = 60.0
_LATER: Final = 3.0
"""Seconds for which an old primary works beside the new one, and for which a member of etcd is away."""


class Faults:
    """Makes one fault after another."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.kinds: dict[str, Callable[[], None]] = {
            "kill -9 of the primary": self.kill_primary,
            "primary cut off from the nodes": lambda: self.cut(from_all=False),
            "SIGSTOP of the primary": self.stop_primary,
            "kill -9 of its Patroni": self.kill_patroni,
            "kill -9 of etcd's leader": self.kill_etcd,
            "primary cut off from all": lambda: self.cut(from_all=True),
            "planned switchover": self.switch_over,
            "HAProxy restart": self.restart_haproxy,
        }

    def cycle(self, number: int) -> Iterator[str]:
        """Return the kinds of this many faults, in turn."""
        return itertools.islice(itertools.cycle(self.kinds), number)

    def make(self, kind: str) -> int:
        """Make a fault, end it, and wait until the cluster is complete; return how often the primary changed."""
        before = self._cluster.timeline()
        self.kinds[kind]()
        self._cluster.until_whole()
        return self._cluster.timeline() - before

    def _primary(self) -> Node:
        """Return the primary.

        Raises RuntimeError if there is none.
        """
        deadline = time.monotonic() + _MOVED_WITHIN
        while (node := self._cluster.leader()) is None:
            if time.monotonic() > deadline:
                message = "the cluster has no primary"
                raise RuntimeError(message)
            time.sleep(0.2)
        return node

    def _until_moved(self, old: Node) -> None:
        """Wait until another node is the primary.

        Raises RuntimeError if that takes too long.
        """
        deadline = time.monotonic() + _MOVED_WITHIN
        while self._cluster.leader(but=old) in {None, old}:
            if time.monotonic() > deadline:
                message = f"{old.name} is still the primary after {_MOVED_WITHIN:.0f} s"
                raise RuntimeError(message)
            time.sleep(0.2)

    def kill_primary(self) -> None:
        """Kill all processes of PostgreSQL; Patroni starts it as a standby of the next primary."""
        old = self._primary()
        old.signal_postgres(signal.SIGKILL)
        self._until_moved(old)

    def stop_primary(self) -> None:
        """Stop all processes of PostgreSQL; they continue when another node is the primary."""
        old = self._primary()
        old.signal_postgres(signal.SIGSTOP)
        try:
            self._until_moved(old)
            time.sleep(_LATER)
        finally:
            old.signal_postgres(signal.SIGCONT)

    def kill_patroni(self) -> None:
        """Kill Patroni; its PostgreSQL stays a primary beside the next one, until Patroni is back."""
        old = self._primary()
        old.kill_patroni()
        try:
            self._until_moved(old)
            time.sleep(_LATER)
        finally:
            old.start_patroni()

    def kill_etcd(self) -> None:
        """Kill the leader of etcd; the others choose the next one."""
        node = self._cluster.etcd_leader() or self._cluster.nodes[0]
        node.kill_etcd()
        time.sleep(2 * _LATER)
        node.start_etcd()

    def cut(self, *, from_all: bool) -> None:
        """Cut the primary off; where only the nodes are cut off, the hosts still reach the old primary."""
        old = self._primary()
        old.cut(from_all=from_all)
        try:
            self._until_moved(old)
            time.sleep(_LATER)
        finally:
            old.mend()

    def switch_over(self) -> None:
        """Ask Patroni for another primary."""
        old = self._primary()
        candidates = [member.name for member in self._cluster.members() if member.role == "sync_standby"]
        old.ask("/switchover", body={"leader": old.name} | ({"candidate": candidates[0]} if candidates else {}))
        self._until_moved(old)

    def restart_haproxy(self) -> None:
        """Kill HAProxy with all connections through it, and start it again."""
        self._cluster.kill_haproxy()
        self._cluster.start_haproxy()
