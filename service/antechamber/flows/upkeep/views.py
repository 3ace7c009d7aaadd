"""Views of the upkeep: who read a memory, what names it, and which memories come up for review."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from antechamber.core.policy import DAY, Policy
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Store
from antechamber.core.rows.memories import BrowsedMemory, MemoryFilter
from antechamber.core.rows.upkeep import DueCursor, DueMemory, NamingProposal, ReaderRow, UpkeepRow
from antechamber.flows.desk_views import MOST_IN_TAB, PAGE, require
from antechamber.flows.direct_writes import HOUR
from antechamber.flows.live_policy import PolicyReloader

MAX_READERS: Final = 50
MAX_NAMING: Final = 50
_CURSOR: Final = re.compile(r"(\d{1,18})\.(\d{1,18})", re.ASCII)


class MemoryUse(Struct, frozen=True, kw_only=True):
    """Who reads a memory, which proposals name it, and when it comes up for review."""

    readers: list[ReaderRow]
    """One more than `MAX_READERS` means that there are more."""
    days: int
    """Days for which reads are kept."""
    naming: list[NamingProposal]
    """One more than `MAX_NAMING` means that there are more."""
    upkeep: UpkeepRow
    due: bool
    """Whether it comes up for review."""
    unread_at: int | None
    """When it comes up for review if it is not read before; None if the policy wants no such review."""


class UpkeepTabs(Struct, frozen=True):
    """Numbers of memories in the views, each at most `MOST_IN_TAB` and one."""

    due: int
    derived_from_retracted: int
    declared_private: int


def idle_time(policy: Policy) -> int:
    """Return the microseconds after which a memory that was not read comes up for review; 0 for never."""
    return policy.limits.unread_days * DAY


class UpkeepViews:
    """Reads what the pages of memories show of their upkeep."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock

    def tabs(self) -> UpkeepTabs:
        """Count the memories in each view."""
        idle = idle_time(self._policies.current.policy)
        with self._store.read() as tx:
            return UpkeepTabs(
                due=tx.upkeep.count_due(self._clock(), idle, MOST_IN_TAB + 1),
                derived_from_retracted=tx.upkeep.count_derived_from_retracted(MOST_IN_TAB + 1),
                declared_private=tx.upkeep.count_declared_private(MOST_IN_TAB + 1),
            )

    def due(self, wanted: MemoryFilter, after: str | None) -> tuple[Sequence[DueMemory], str | None]:
        """Return one page of memories of a scope that come up for review, and the cursor of the next page."""
        idle, match = idle_time(self._policies.current.policy), _CURSOR.fullmatch(after or "")
        cursor = DueCursor(*map(int, match.groups())) if match else DueCursor()
        with self._store.read() as tx:
            items = tx.upkeep.due(wanted, self._clock(), idle, cursor, PAGE + 1)
        last = items[PAGE - 1] if len(items) > PAGE else None
        return items[:PAGE], f"{last.due_at}.{last.id}" if last else None

    def derived_from_retracted(
        self, wanted: MemoryFilter, after: str | None
    ) -> tuple[Sequence[BrowsedMemory], str | None]:
        """Return one page of active memories that are derived from a retracted one, and the cursor of the next page."""
        with self._store.read() as tx:
            items = tx.upkeep.derived_from_retracted(wanted, after, PAGE + 1)
        return items[:PAGE], items[PAGE - 1].memory_id if len(items) > PAGE else None

    def declared_private(self, wanted: MemoryFilter, after: str | None) -> tuple[Sequence[BrowsedMemory], str | None]:
        """Return one page of active memories whose event was declared private later, and the next page's cursor."""
        with self._store.read() as tx:
            items = tx.upkeep.declared_private(wanted, after, PAGE + 1)
        return items[:PAGE], items[PAGE - 1].memory_id if len(items) > PAGE else None

    def of_memory(self, memory_id: str) -> MemoryUse:
        """Return who reads a memory, what names it, and when it comes up for review.

        Raises NotFoundError if there is no such memory.
        """
        policy, now = self._policies.current.policy, self._clock()
        idle, days = idle_time(policy), policy.limits.reads_kept_days
        with self._store.read() as tx:
            memory = require(tx.review.memory(memory_id))
            upkeep = tx.upkeep.of_memory(memory.id)
            readers = tx.upkeep.readers(memory.id, (now - days * DAY) // HOUR, MAX_READERS + 1)
            naming = tx.upkeep.naming(memory_id, MAX_NAMING + 1)
        unread_at = upkeep.idle_since + idle if idle else None
        dates = [date for date in (unread_at, upkeep.review_after) if date is not None]
        return MemoryUse(
            readers=readers,
            days=days,
            naming=naming,
            upkeep=upkeep,
            due=memory.state == "active" and any(date < now for date in dates),
            unread_at=unread_at,
        )
