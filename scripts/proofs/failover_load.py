"""What agents, curators and an auditor see while the database fails over, and what each node acknowledges itself."""

import itertools
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

import httpx
import psycopg

from antechamber.core.log.checkpoint_text import read_text
from antechamber.core.log.merkle import Frontier, leaf_hash
from proofs.crash_load import Ledger, Sender, submission
from proofs.failover_nodes import Node
from proofs.watched import PATIENCE, Manners

_BEAT: Final = 0.1
_TABLE: Final = "CREATE TABLE IF NOT EXISTS acknowledged (node int, number int, PRIMARY KEY (node, number))"


class Pulse(threading.Thread):
    """Submits one event after another to one host, and notes when each was acknowledged."""

    def __init__(self, host: int, sender: Sender, ledger: Ledger, stop: threading.Event) -> None:
        super().__init__(name=f"pulse-{host}", daemon=True)
        self._host, self._sender, self._ledger, self._over = host, sender, ledger, stop
        self.times: list[float] = []

    def run(self) -> None:
        """Submit until stopped; an event is sent again until its answer is final."""
        for number in itertools.count(1):
            if self._over.is_set():
                break
            key = f"pulse-{self._host}-{number}"
            raw = submission(key, f"A beat of host {self._host}: {number}.")
            while not self._ledger.note(key, self._sender.post(self._host, raw)):
                time.sleep(_BEAT)
            self.times.append(time.monotonic())
            time.sleep(_BEAT)
        self._sender.close()

    def gap(self, start: float, end: float) -> float:
        """Return the longest time in seconds without an acknowledgment, from the last one before `start` on."""
        before = max((at for at in self.times if at <= start), default=start)
        times = [max(before, start), *(at for at in self.times if start < at <= end), end]
        return max(later - earlier for earlier, later in itertools.pairwise(times))


class Direct(threading.Thread):
    """Writes to one node past HAProxy, as a client with an old address would, and notes each acknowledged row.

    A node that is no longer the primary must acknowledge none.
    """

    def __init__(self, node: Node, stop: threading.Event) -> None:
        super().__init__(name=f"direct-{node.name}", daemon=True)
        self._node, self._over = node, stop
        self.kept: set[tuple[int, int]] = set()

    def run(self) -> None:
        """Write until stopped, over one connection as long as it lasts."""
        numbers = itertools.count(1)
        while not self._over.is_set():
            try:
                # A row that waits for a standby in vain is not acknowledged: the server then ends the connection.
                where = f"postgresql://postgres@{self._node.address}/postgres?connect_timeout=2&tcp_user_timeout=4000"
                with psycopg.connect(where, autocommit=True) as connection:
                    while not self._over.is_set():
                        row = (self._node.number, next(numbers))
                        connection.execute("INSERT INTO acknowledged VALUES (%s, %s)", row)
                        self.kept.add(row)
                        self._over.wait(0.1)
            except psycopg.Error:
                self._over.wait(0.5)

    @staticmethod
    def prepare(run: Callable[[str], object]) -> None:
        """Create the table."""
        run(_TABLE)


class Auditor(threading.Thread):
    """Asks the hosts for signed checkpoints, each of which the log must hold for good."""

    every: ClassVar[float] = 0.5
    """Seconds between two requests."""

    def __init__(self, ports: Sequence[int], token: str, stop: threading.Event, manners: Manners) -> None:
        super().__init__(name="auditor", daemon=True)
        self._ports, self._over, self._manners = ports, stop, manners
        self._headers = {"authorization": f"Bearer {token}"}
        self.roots: dict[int, set[bytes]] = {}
        """Roots that were signed for each size; two for one size are a second branch."""

    def run(self) -> None:
        """Ask until stopped."""
        while not self._over.wait(self.every):
            port, since = random.choice(self._ports), time.monotonic()  # noqa: S311 -- no secret
            url = f"http://127.0.0.1:{port}/v1/audit/checkpoint"
            try:
                answer = httpx.get(url, headers=self._headers, timeout=PATIENCE)
            except httpx.TransportError:
                self._manners.note_silence(port, since)
                continue
            self._manners.note(answer.status_code, {name.lower(): text for name, text in answer.headers.items()})
            if answer.status_code == 200:  # noqa: PLR2004 -- signed
                signed = read_text(answer.text)
                self.roots.setdefault(signed.size, set()).add(signed.root)


def branches(roots: Mapping[int, set[bytes]], leaves: Sequence[str]) -> list[int]:
    """Return the sizes at which signed roots are not those of the log's final leaves."""
    frontier, own = Frontier(), {}
    for size in range(len(leaves) + 1):
        if size in roots:
            own[size] = frontier.root()
        if size < len(leaves):
            frontier.append(leaf_hash(leaves[size].encode()))
    return sorted(size for size, signed in roots.items() if signed != {own.get(size)})
