"""What the desk shows: the queue, a proposal, memories; nothing here changes anything."""

import re
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

from antechamber.core.access.callers import Person
from antechamber.core.errors import NotFoundError
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Store
from antechamber.core.review.queue_filter import QueueFilter
from antechamber.core.review.queue_order import QueueCursor
from antechamber.core.rows.memories import BrowsedMemory, MemoryChange, MemoryFilter, MemoryRow
from antechamber.core.rows.review import LatestDecision, QueueRow, ReviewRecordRow
from antechamber.flows.dossier import Dossier, gather
from antechamber.flows.live_policy import PolicyReloader

R = TypeVar("R")

PAGE: Final = 50
MAX_COUNTED: Final = 1000
"""Counters stop here: nobody needs to know how far a queue lies beyond a thousand."""
_PLACE: Final = re.compile(r"(?P<rank>\d)\.(?P<turn>\d{1,18})\.(?P<fold>\d{1,18})\.(?P<proposal>\d{1,18})", re.ASCII)


class Counters(Struct, frozen=True, kw_only=True):
    """How much waits."""

    pending: int
    quarantined: int
    proposal: str | None = None
    """State and version of the proposal that was asked for."""


class Queue(Struct, frozen=True, kw_only=True):
    """One page of the queue."""

    items: list[QueueRow]
    for_second: list[QueueRow]
    """What needs one more person, of whom the curator could be one; only on the first page."""
    next: str | None
    held: int
    """Proposals that others hold."""
    now: int


class Provenance(Struct, frozen=True, kw_only=True):
    """One memory, the decisions that admitted it and what became of it."""

    memory: MemoryRow
    records: list[ReviewRecordRow]
    changes: list[MemoryChange]
    dossier: Dossier
    """Its proposal, with what can be decided about it now."""


def read_place(text: str | None) -> QueueCursor | None:
    """Read where a page of the queue begins; anything else than what `place_after` wrote is the beginning."""
    require = _PLACE.fullmatch(text or "")
    return QueueCursor(**{name: int(number) for name, number in require.groupdict().items()}) if require else None


def place_after(row: QueueRow) -> str:
    """Write where the page behind a row begins."""
    return f"{row.rank}.{row.turn}.{row.fold}.{row.id}"


def require(row: R | None) -> R:
    """Return what was found.

    Raises NotFoundError where nothing was.
    """
    if row is None:
        message = "nothing here by that name"
        raise NotFoundError(message)
    return row


class DeskViews:
    """Serves whoever looks at the desk."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock, randomness: Randomness) -> None:
        """Join the review rules with a store."""
        self._store = store
        self._policies = policies
        self._clock = clock
        self._randomness = randomness

    def counters(self, proposal_id: str | None = None) -> Counters:
        """Count what waits, up to a thousand and one, and look at one proposal."""
        with self._store.read() as rows:
            proposal = rows.proposal(proposal_id) if proposal_id else None
            return Counters(
                pending=rows.count_pending(MAX_COUNTED + 1),
                quarantined=rows.count_quarantined(MAX_COUNTED + 1),
                proposal=f"{proposal.state} {proposal.version}" if proposal else None,
            )

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` from some thread after what waits has changed, in whichever process; return what ends that."""
        return self._store.watch(wake)

    def queue_matching(self, chosen: QueueFilter, after: str | None, person: Person) -> Queue:
        """Return one page of what waits and matches a filter; where the looking ended early, `next` goes on."""
        now = self._clock()
        with self._store.read() as rows:
            items, end = rows.matching(chosen, read_place(after), PAGE + 1)
            held = rows.count_held(person.person, now)
        following = place_after(items[PAGE - 1]) if len(items) > PAGE else None
        if following is None and end is not None:
            following = f"{end.rank}.{end.turn}.{end.fold}.0"
        return Queue(items=items[:PAGE], for_second=[], next=following, held=held, now=now)

    def queue(self, after: str | None, person: Person) -> Queue:
        """Return one page of what waits: by risk, then by turn, and on the first page what needs a second person."""
        now, place = self._clock(), read_place(after)
        with self._store.read() as rows:
            items, held = rows.queue_page(place, PAGE + 1), rows.count_held(person.person, now)
            for_second = rows.for_second(person.person, PAGE) if place is None and person.role == "curator" else []
        following = place_after(items[PAGE - 1]) if len(items) > PAGE else None
        above = {row.proposal_id for row in for_second}
        shown = [row for row in items[:PAGE] if row.like_it > 1 or row.proposal_id not in above]
        return Queue(items=shown, for_second=for_second, next=following, held=held, now=now)

    def dossier(self, proposal_id: str, person: Person) -> Dossier:
        """Gather one proposal with its evidence, history and findings.

        Raises NotFoundError.
        """
        with self._store.read() as rows:
            proposal = require(rows.proposal(proposal_id))
            return gather(rows, self._policies.current.policy, proposal, person.person, self._clock())

    def latest(self, number: int) -> list[LatestDecision]:
        """Return the latest decisions of all curators, newest first."""
        with self._store.read() as rows:
            return rows.latest_decisions(number)

    def memories(self, chosen: MemoryFilter, after: str | None) -> tuple[list[BrowsedMemory], str | None]:
        """Return one page of memories, newest first, and where the next begins."""
        with self._store.read() as rows:
            items = rows.browse_memories(chosen, after, PAGE + 1)
        return items[:PAGE], items[PAGE - 1].memory_id if len(items) > PAGE else None

    def memory(self, memory_id: str, person: Person) -> Provenance:
        """Return one memory with the decisions behind it and what this person can do about it.

        Raises NotFoundError.
        """
        with self._store.read() as rows:
            memory = require(rows.memory(memory_id))
            records, changes = rows.review_records(memory.proposal), rows.memory_changes(memory.id)
        dossier = self.dossier(memory.proposal_id, person)
        return Provenance(memory=memory, records=records, changes=changes, dossier=dossier)
