"""Runs of retention: plan, archive, then removal in short transactions, so that each can be killed and repeated."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from antechamber.core.ids import uuid7
from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Store
from antechamber.core.retention import (
    HOUR,
    ExpiredItem,
    PlanRow,
    Removal,
    RetentionRun,
    summarize,
    windows,
)
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.daily_counts import DailyCounts
from antechamber.flows.retention.archive import archive_lines, collect

PAGE: Final = 100
"""Items of one read, each with texts of 128 kB at most."""
BATCH: Final = 50
"""Items of one transaction."""
MONTH: Final = 24 * 30
"""Hours whose counts one transaction adds up."""


class Archive(Struct, frozen=True):
    """An archive to be written: its run still lacks the digest of the lines."""

    run: RetentionRun
    lines: Iterator[bytes]


def plan(store: Store, policy: Policy, now: int) -> list[PlanRow]:
    """Return what a run would remove at time `now`, by kind of scope and kind of text; the store is only read."""
    return summarize(expired_items(store, policy, now))


def expired_items(store: Store, policy: Policy, now: int) -> Iterator[ExpiredItem]:
    """Yield everything that a policy no longer keeps at time `now`, a page in each read."""
    for window in windows(policy, now):
        after: int | None = 0
        while after is not None:
            with store.read() as tx:
                page = tx.retention.expired(window, after, PAGE)
            yield from page
            after = page[-1].id if len(page) == PAGE else None


class Retention:
    """Makes runs of retention under a policy; `checkpoints` signs one for each archive."""

    def __init__(
        self, store: Store, checkpoints: Checkpoints, policy: Policy, clock: Clock, randomness: Randomness
    ) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._policy = policy
        self._clock = clock
        self._randomness = randomness

    def prepare(self, number: int) -> Archive:
        """Sign the log, and return the archive of up to `number` items that are no longer kept.

        Raises LogError, BusyError or UnavailableError.
        """
        signed, now = self._checkpoints.checkpoint(), self._clock()
        contents = collect(self._store, islice(expired_items(self._store, self._policy, now), number), signed.size)
        run = RetentionRun(
            retention_id=uuid7(now, self._randomness(10)),
            archive="",
            size=signed.size,
            items=contents.items,
            policy_digest=self._policy.digest(),
            begun_at=now,
        )
        about = {"retention_id": run.retention_id, "items": run.items}
        return Archive(run, archive_lines(self._store, contents, signed, about, now))

    def begin(self, run: RetentionRun) -> None:
        """Record a run whose archive is on disk."""
        self._store.promote(lambda tx: tx.retention.add_run(run)).result()

    def run_of(self, archive: str) -> RetentionRun | None:
        """Return the run whose archive has this SHA-256."""
        with self._store.read() as tx:
            return tx.retention.run_of(archive)

    def remove(self, run: RetentionRun, removals: Iterable[Removal], progress: Callable[[int, int], None]) -> int:
        """Delete the texts of the items of an archive; return how many were deleted now.

        `progress` gets the number of items done and of all items. Raises BusyError or UnavailableError; what was
        deleted by then stays deleted.
        """
        done, removed = 0, 0
        waiting = iter(removals)
        while some := list(islice(waiting, BATCH)):
            now = self._clock()
            named = [(uuid7(now, self._randomness(10)), removal) for removal in some]
            removed += self._store.promote(lambda tx: tx.retention.remove(run, named, now)).result()  # noqa: B023
            done += len(some)
            progress(done, run.items)
        return removed

    def sum_counts(self) -> bool:
        """Add up counts by hour that are older than the policy keeps them; return whether there were any.

        Raises BusyError or UnavailableError.
        """
        if not (days := self._policy.limits.keep_hourly_counts_days):
            return False
        # What figures of days and sums need of the hours is added first.
        DailyCounts(self._store, self._clock).add()
        with self._store.read() as tx:
            first = tx.reports.first_open_day()
        end, summed = min(self._clock() // HOUR - days * 24, (first or 0) * 24), False
        while (oldest := self._oldest_count()) is not None and oldest < end:
            until = min(oldest + MONTH, end)
            self._store.promote(lambda tx: tx.retention.sum_counts(until)).result()  # noqa: B023
            summed = True
        return summed

    def _oldest_count(self) -> int | None:
        with self._store.read() as tx:
            return tx.retention.oldest_count()
