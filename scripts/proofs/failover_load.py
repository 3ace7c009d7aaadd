"""What agents, curators and an auditor see while the database fails over, and what each node acknowledges itself."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import httpx
import psycopg

from antechamber.core.log.checkpoint_text import read_text
from antechamber.core.log.merkle import Frontier, leaf_hash
from lib.browser import Browser, Page
from proofs.crash_load import Answer, Ledger, Sender, submission
from proofs.failover_nodes import Node

PATIENCE: Final = 45.0
"""Seconds after which a request counts as unanswered; the service takes 22 until it gives a lost COMMIT up."""
PERMITTED: Final = frozenset({409, 503})
"""Refusals that a client may see, with `Retry-After`."""
_BEAT: Final = 0.1
_IDLE: Final = 2.0
"""Seconds after which a connection is not used again; the service closes an idle one after five."""
_TABLE: Final = "CREATE TABLE IF NOT EXISTS acknowledged (node int, number int, PRIMARY KEY (node, number))"


class Manners:
    """Counts the answers that no client may see."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self.improper: Counter[str] = Counter()

    def note(self, status: int, headers: Mapping[str, str], *, decided: bool = False) -> None:
        """Count a server error or a refusal without `Retry-After`; a 409 about a decision is one of the desk's own."""
        with self._gate:
            if status >= 500 and status not in PERMITTED:  # noqa: PLR2004 -- server errors
                self.improper[str(status)] += 1
            elif status in PERMITTED and "retry-after" not in headers and not (decided and status == 409):  # noqa: PLR2004
                self.improper[f"{status} without Retry-After"] += 1

    def note_silence(self) -> None:
        """Count a connection that broke, or a request without an answer."""
        with self._gate:
            self.improper["no answer"] += 1


class WatchedSender(Sender):
    """A sender that notes what kind of answers it gets."""

    def __init__(self, ports: Sequence[int], token: str, manners: Manners) -> None:
        super().__init__(ports, token, PATIENCE)
        self._manners = manners
        self._used: dict[int, float] = {}
        self._waiting: set[int] = set()
        """Connections with a request that was sent; a client that reuses one gives its earlier request up itself."""

    def _begin(self, process: int, method: str, path: str, raw: bytes | None) -> bool:
        """Send a request, over a new connection if the last one was idle: its server may be closing it right now."""
        if time.monotonic() - self._used.get(process, 0.0) > _IDLE:
            self._links[process].close()
        begun = super()._begin(process, method, path, raw)
        (self._waiting.add if begun else self._waiting.discard)(process)
        return begun

    def finish(self, process: int) -> Answer | None:
        """Read the answer, and count an improper one."""
        answer = super().finish(process)
        self._used[process] = time.monotonic()
        if answer is not None:
            self._manners.note(answer[0], self.headers)
        elif process in self._waiting:
            self._manners.note_silence()
        self._waiting.discard(process)
        return answer


class WatchedBrowser(Browser):
    """A curator's browser that notes what kind of answers it gets; each request has a connection of its own."""

    def __init__(self, manners: Manners, ports: Sequence[int], choose: Callable[[int], int]) -> None:
        """Connect at the first request."""
        super().__init__(ports, choose, PATIENCE)
        self._manners = manners

    def _ask(self, method: str, path: str, form: bytes | None) -> Page | None:
        for link in self._links:
            link.close()
        page = super()._ask(method, path, form)
        if page is None:
            self._manners.note_silence()
        else:
            self._manners.note(page[0], page[1], decided=form is not None)
        return page


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

    def __init__(self, ports: Sequence[int], token: str, stop: threading.Event, manners: Manners) -> None:
        super().__init__(name="auditor", daemon=True)
        self._ports, self._over, self._manners = ports, stop, manners
        self._headers = {"authorization": f"Bearer {token}"}
        self.roots: dict[int, set[bytes]] = {}
        """Roots that were signed for each size; two for one size are a second branch."""

    def run(self) -> None:
        """Ask until stopped."""
        while not self._over.wait(0.5):
            url = f"http://127.0.0.1:{random.choice(self._ports)}/v1/audit/checkpoint"  # noqa: S311 -- no secret
            try:
                answer = httpx.get(url, headers=self._headers, timeout=PATIENCE)
            except httpx.TransportError:
                self._manners.note_silence()
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
