"""Read-only views of the desk: the review queue, a proposal, memories."""

import contextlib
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.errors import NotFoundError
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.form_checks import TypedText, is_changed
from antechamber.core.review.hidden_text import find_hidden
from antechamber.core.review.queue_filter import (
    STANDARD_VIEWS,
    FilterError,
    MatchCount,
    QueueFilter,
    QueueReader,
    read_filter,
)
from antechamber.core.review.queue_order import UNSORTED_RANK, Beside, Circumstances, Mark, QueueCursor, marks_of
from antechamber.core.rows.memories import BrowsedMemory, DerivedRow, MemoryChange, MemoryFilter, MemoryRow
from antechamber.core.rows.notes import AttentionRow, ProposalActivity, ProposalTurn
from antechamber.core.rows.review import LatestDecision, QueueRow, ReviewRecordRow
from antechamber.core.times import start_of_day
from antechamber.flows.dossier import Dossier, gather
from antechamber.flows.live_policy import PolicyReloader

R = TypeVar("R")

PAGE: Final = 50
MAX_COUNTED: Final = 1000
"""Counters stop here, because exact numbers beyond a thousand are of no use."""
MOST_IN_TAB: Final = 99
MAX_DERIVED: Final = 100
MOST_IN_VIEW: Final = 500
_SEARCHED: Final = 5000
"""Characters of a text that are searched for warnings, so that a page of long texts takes milliseconds."""
_CURSOR: Final = re.compile(r"(?P<rank>\d)\.(?P<turn>\d{1,18})\.(?P<fold>\d{1,18})\.(?P<proposal>\d{1,18})", re.ASCII)


class Counters(Struct, frozen=True, kw_only=True):
    """The numbers of waiting items."""

    pending: int
    quarantined: int
    proposal: str | None = None
    """State and version of the requested proposal."""
    activity: ProposalActivity | None = None
    """What was decided and said about it."""


class Queue(Struct, frozen=True, kw_only=True):
    """One page of the review queue."""

    items: list[QueueRow]
    for_second: list[QueueRow] = []
    """Proposals that need one more person and that this curator may judge; only on the first page."""
    for_others: list[QueueRow] = []
    """Proposals that need one more person, which cannot be this curator; only on the first page."""
    attention: list[AttentionRow] = []
    """Proposals that this person should look at: assigned, answered or with a mention; only on the first page."""
    waiting: list[QueueRow] = []
    """Proposals whose producers were asked and have not answered yet; only on the first page."""
    turns: dict[int, ProposalTurn] = {}
    """Whose turn the shown proposals are, by their keys."""
    beside: dict[int, Beside] = {}
    """What is shown beside their rows, by their keys."""
    from_retracted: frozenset[int] = frozenset()
    """Those that are derived from a retracted memory, by their keys."""
    next: str | None
    held: int
    """Proposals that others have claimed."""
    now: int

    @property
    def to_decide(self) -> bool:
        """Whether any of the proposals that this person should look at waits for a decision."""
        return any(row.state == "pending" for row in self.attention)

    def warnings(self, row: QueueRow) -> list[Mark]:
        """Return the causes for which a row is ranked up, as far as its text's beginning shows them."""
        beginning = row.payload["content"][:_SEARCHED]
        beside = self.beside.get(row.id)
        around = Circumstances(
            supersedes=False,
            conflicts=row.conflicts,
            opened=beside is not None and beside.opened,
            contradicts=beside is not None and beside.contradicts,
            found=beside.found if beside is not None else frozenset(),
        )
        return marks_of(beginning, row.submission_scope, around, hidden=int(find_hidden(beginning) is not None))

    def of_source(self, row: QueueRow) -> int:
        """Return how many proposals of a row's source wait, up to `MOST_IN_TAB` and one."""
        beside = self.beside.get(row.id)
        return beside.of_source if beside is not None else 0


class QueueView(Struct, frozen=True):
    """One view of the queue with the number of its rows, at most `MOST_IN_TAB` and one."""

    name: str
    text: str
    count: MatchCount


class ReviewProgress(Struct, frozen=True, kw_only=True):
    """How far a person is."""

    decided: int
    """Their decisions of today; 1,001 means more than 1,000."""
    total: int
    """Proposals of the whole queue, or rows of a view; one above `most` means more than that."""
    cut: bool
    """Whether the queue was too long to be looked through: more rows than `total` may match."""
    most: int
    position: int | None
    """The row of the proposal in the view; None if it is not in it, or too far behind to be counted."""


class Provenance(Struct, frozen=True, kw_only=True):
    """One memory, the decisions that admitted it and its later changes."""

    memory: MemoryRow
    records: list[ReviewRecordRow]
    changes: list[MemoryChange]
    dossier: Dossier
    """The memory's proposal, with the decisions that are possible now."""
    derived: list[DerivedRow]
    """What claims to be derived from it, to any depth; one row more than `MAX_DERIVED` means that there are more."""


def _others(rows: list[QueueRow], shown: set[int]) -> list[QueueRow]:
    """Return the rows that are not shown elsewhere on the page."""
    return [row for row in rows if row.id not in shown]


def _in_a_group(row: QueueRow) -> bool:
    """Return whether a row is in one of the groups on the first page; near duplicates of it stay in the queue."""
    return row.like_it == 1 and (row.approvals > 0 or row.second)


def _readable(text: str, person: str) -> QueueFilter | None:
    with contextlib.suppress(FilterError):
        return read_filter(text, person)
    return None


def read_cursor(text: str | None) -> QueueCursor | None:
    """Parse the cursor of a page; any text not written by `cursor_after` is the beginning."""
    match = _CURSOR.fullmatch(text or "")
    return QueueCursor(**{name: int(digits) for name, digits in match.groupdict().items()}) if match else None


def cursor_after(row: QueueRow) -> str:
    """Return the cursor of the page behind a row."""
    return f"{row.rank}.{row.turn}.{row.fold}.{row.id}"


def require(row: R | None) -> R:
    """Return the row.

    Raises NotFoundError if it is None.
    """
    if row is None:
        message = "nothing here by that name"
        raise NotFoundError(message)
    return row


def _turns(tx: Rows, rows: Sequence[QueueRow]) -> dict[int, ProposalTurn]:
    """Return whose turn the proposals of these rows are, by their keys."""
    keys = [row.id for row in rows]
    return dict(zip(keys, tx.notes.turns(keys), strict=True))


def _beside(tx: Rows, rows: Sequence[QueueRow]) -> dict[int, Beside]:
    return tx.queue.beside([row.id for row in rows], MOST_IN_TAB + 1)


def _from_retracted(tx: Rows, beside: dict[int, Beside]) -> frozenset[int]:
    """Return the keys of those that are derived from a retracted memory now, over any number of steps."""
    return frozenset(key for key, one in beside.items() if one.derived and tx.review.retracted_sources(key, 1))


class DeskViews:
    """Reads what the pages of the desk show."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock

    def now(self) -> int:
        """Return the time, in microseconds since 1970 UTC."""
        return self._clock()

    def counters(self, proposal_id: str | None = None) -> Counters:
        """Count waiting items, up to 1,001, and read the state of one proposal."""
        with self._store.read() as tx:
            proposal = tx.review.proposal(proposal_id) if proposal_id else None
            return Counters(
                pending=tx.queue.count_pending(MAX_COUNTED + 1),
                quarantined=tx.quarantine.count(MAX_COUNTED + 1),
                proposal=f"{proposal.state} {proposal.version}" if proposal else None,
                activity=tx.notes.activity(proposal.id) if proposal else None,
            )

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` from any thread after a change of queue or quarantine in any process; return a stop function."""
        return self._store.watch(wake)

    def queue_matching(self, wanted: QueueFilter, after: str | None, account: Account) -> Queue:
        """Return one page of the queue that matches a filter; `next` also continues after the scan limit."""
        now = self._clock()
        with self._store.read() as tx:
            items, end = tx.queue.matching(wanted, QueueReader(account.person, now), read_cursor(after), PAGE + 1)
            held = tx.queue.count_held(account.person, now)
            turns, beside = _turns(tx, items), _beside(tx, items)
            retracted = _from_retracted(tx, beside)
        following = cursor_after(items[PAGE - 1]) if len(items) > PAGE else None
        if following is None and end is not None:
            following = f"{end.rank}.{end.turn}.{end.fold}.0"
        return Queue(
            items=items[:PAGE],
            next=following,
            held=held,
            now=now,
            turns=turns,
            beside=beside,
            from_retracted=retracted,
        )

    def queue(self, after: str | None, account: Account) -> Queue:
        """Return one page of the queue by risk and turn.

        A curator's first page also has what needs a second person, and what waits for one; no page of theirs repeats
        these in the queue itself.
        """
        now, cursor = self._clock(), read_cursor(after)
        first = cursor is None and account.role == "curator"
        with self._store.read() as tx:
            items, held = tx.queue.page(cursor, PAGE + 1), tx.queue.count_held(account.person, now)
            waiting = tx.notes.waiting_for_producer(PAGE) if cursor is None else []
            attention = tx.notes.attention(account.person, PAGE) if first else []
            elsewhere = {row.id for row in (*attention, *waiting)}
            for_second = _others(tx.queue.for_second(account.person, PAGE), elsewhere) if first else []
            for_others = _others(tx.queue.for_others(account.person, PAGE), elsewhere) if first else []
            shown = [*items, *for_second, *for_others, *attention]
            turns, beside = _turns(tx, shown), _beside(tx, [*shown, *waiting])
            retracted = _from_retracted(tx, beside)
        following = cursor_after(items[PAGE - 1]) if len(items) > PAGE else None
        shown = [row for row in items[:PAGE] if account.role != "curator" or not _in_a_group(row)]
        return Queue(
            items=[row for row in shown if row.like_it > 1 or row.id not in elsewhere],
            for_second=for_second,
            for_others=for_others,
            attention=attention,
            waiting=waiting,
            turns=turns,
            beside=beside,
            from_retracted=retracted,
            next=following,
            held=held,
            now=now,
        )

    def views(self, stored: dict[str, str], account: Account) -> list[QueueView]:
        """Count what each view of the queue shows, the standard ones first; a view that is no filter is left out."""
        reader = QueueReader(account.person, self._clock())
        with self._store.read() as tx:
            return [
                QueueView(name, text, tx.queue.count_matching(wanted, reader, None, MOST_IN_TAB + 1))
                for name, text in (STANDARD_VIEWS | stored).items()
                if (wanted := _readable(text, account.person)) is not None
            ]

    def progress(
        self,
        wanted: QueueFilter,
        account: Account,
        offset_minutes: int,
        proposal_id: str | None = None,
        shown: int = 0,
    ) -> ReviewProgress:
        """Count a person's decisions of today, the rows of a view, and a proposal's position among them.

        `offset_minutes` says how far the person's clock is ahead of UTC, which decides when today began; `shown` rows
        of the view are on the page.
        """
        reader = QueueReader(account.person, self._clock())
        since = start_of_day(reader.now, offset_minutes)
        with self._store.read() as tx:
            cursor = tx.queue.cursor_of(proposal_id) if proposal_id else None
            in_line = cursor is not None and 0 <= cursor.rank < UNSORTED_RANK
            total = (
                MatchCount(tx.queue.count_pending(MAX_COUNTED + 1), cut=False)
                if wanted == QueueFilter()
                else tx.queue.count_matching(wanted, reader, None, MOST_IN_VIEW + 1)
            )
            position = tx.queue.count_matching(wanted, reader, cursor, MOST_IN_VIEW + 1) if in_line else None
            return ReviewProgress(
                decided=tx.queue.count_decided(account.person, since, MAX_COUNTED + 1),
                total=max(total.number, shown) if total.cut else total.number,
                cut=total.cut,
                most=MAX_COUNTED if wanted == QueueFilter() else MOST_IN_VIEW,
                position=None if position is None or position.cut else position.number,
            )

    def dossier(self, proposal_id: str, account: Account) -> Dossier:
        """Gather one proposal with its evidence, history and findings.

        Raises NotFoundError if there is no such proposal.
        """
        with self._store.read() as tx:
            proposal = require(tx.review.proposal(proposal_id))
            return gather(tx, self._policies.current.policy, proposal, account.person, self._clock())

    def is_changed(self, proposal_id: str, typed: TypedText) -> bool:
        """Return whether an edit field contains a change of the proposal's text.

        Raises NotFoundError if there is no such proposal.
        """
        with self._store.read() as tx:
            proposal = require(tx.review.proposal(proposal_id))
            return is_changed(typed, proposal.payload, tx.review.records(proposal.id))

    def latest(self, limit: int, person: str = "") -> list[LatestDecision]:
        """Return the latest decisions, newest first, of all curators or of one person."""
        with self._store.read() as tx:
            return tx.review.latest_decisions(limit, person)

    def memories(self, wanted: MemoryFilter, after: str | None) -> tuple[list[BrowsedMemory], str | None]:
        """Return one page of memories, newest first, and the cursor of the next page."""
        with self._store.read() as tx:
            items = tx.review.browse_memories(wanted, after, PAGE + 1)
        return items[:PAGE], items[PAGE - 1].memory_id if len(items) > PAGE else None

    def memory(self, memory_id: str, account: Account) -> Provenance:
        """Return one memory with the decisions behind it and the decisions that this person can make on it.

        Raises NotFoundError if there is no such memory.
        """
        with self._store.read() as tx:
            memory = require(tx.review.memory(memory_id))
            records, changes = tx.review.records(memory.proposal), tx.review.memory_changes(memory.id)
            derived = tx.review.derived_from(memory_id, MAX_DERIVED + 1)
        dossier = self.dossier(memory.proposal_id, account)
        return Provenance(memory=memory, records=records, changes=changes, dossier=dossier, derived=derived)
