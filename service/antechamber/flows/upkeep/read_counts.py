"""Who reads which memories: counted in memory by ids alone, and written once a minute in an ordinary commit.

A crash loses at most the last minute's counts.
"""

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from antechamber.core.access.callers import Bearer
from antechamber.core.errors import AntechamberError, ClosedError
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Rows, Store
from antechamber.core.rows.upkeep import ReadCount
from antechamber.flows.direct_writes import HOUR
from antechamber.flows.live_policy import PolicyReloader

MAX_COUNTED: Final = 10_000
"""Number of counts, one per memory, reader and hour, from which on no further one begins until the next write."""
FORGOTTEN_AT_ONCE: Final = 10_000
"""Maximum number of old counts that one write deletes."""
_DAY_HOURS: Final = 24
_log: Final = logging.getLogger(__name__)


class _Reader(NamedTuple):
    role: str
    name: str
    hour: int


class _Tally:
    """What one reader read in one hour."""

    __slots__ = ("latest", "memories")

    def __init__(self) -> None:
        self.memories: Counter[int] = Counter()
        self.latest = 0


class ReadCounts:
    """Counts reads of memories until `flush` writes them; thread-safe, with bounded memory."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self._gate = threading.Lock()
        self._tallies: dict[_Reader, _Tally] = {}
        self._size = 0
        self._left_out = 0

    def note(self, bearer: Bearer, memories: Sequence[int]) -> None:
        """Count that the holder of a token read these memories, given by their integer keys."""
        if not memories:
            return
        now = self._clock()
        with self._gate:
            self._add(_Reader(bearer.role, bearer.name, now // HOUR), Counter(memories), now)

    def _add(self, reader: _Reader, read: Counter[int], at: int) -> None:
        tally = self._tallies.get(reader) or _Tally()
        if self._size >= MAX_COUNTED:
            known = {memory: number for memory, number in read.items() if memory in tally.memories}
            self._left_out += len(read) - len(known)
            read = Counter(known)
        if read:
            before = len(tally.memories)
            tally.memories.update(read)
            tally.latest = max(tally.latest, at)
            self._tallies[reader] = tally
            self._size += len(tally.memories) - before

    def flush(self) -> None:
        """Write what is counted, and delete what is older than the policy keeps it; after an error it stays counted.

        The refusal of a log in doubt is no error here. Raises BusyError or UnavailableError.
        """
        with self._gate:
            tallies, self._tallies = self._tallies, {}
            left_out, self._left_out = self._left_out, 0
            self._size = 0
        if left_out:
            _log.warning("%d reads of memories were not counted: too many different ones in a minute", left_out)
        try:
            oldest = self._clock() // HOUR - self._policies.current.policy.limits.reads_kept_days * _DAY_HOURS
            if tallies or self._is_old(oldest):
                self._store.write(partial(_write, _counts(tallies), oldest)).result()
        except AntechamberError as error:
            with self._gate:
                for reader, tally in tallies.items():
                    self._add(reader, tally.memories, tally.latest)
            if not isinstance(error, ClosedError):
                raise

    def _is_old(self, oldest: int) -> bool:
        """Return whether reads of hours before an hour are kept."""
        with self._store.read() as tx:
            first = tx.upkeep.oldest_read()
        return first is not None and first < oldest


def _counts(tallies: dict[_Reader, _Tally]) -> list[ReadCount]:
    return [
        ReadCount(
            memory=memory,
            hour=reader.hour,
            role=reader.role,
            name=reader.name,
            number=number,
            last_read_at=tally.latest,
        )
        for reader, tally in tallies.items()
        for memory, number in tally.memories.items()
    ]


def _write(counts: list[ReadCount], oldest: int, tx: Rows) -> None:
    tx.upkeep.add_reads(counts)
    tx.upkeep.forget_reads(oldest, FORGOTTEN_AT_ONCE)
