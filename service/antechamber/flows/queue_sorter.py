"""Sort new proposals into the review queue, in a background thread that does not delay submissions."""

import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Final

from antechamber.background import Work
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.ports.review_queue import QueueRows
from antechamber.core.ports.store import Rows, Store
from antechamber.core.privacy import Gate
from antechamber.core.review.contradiction import CONTRADICTS
from antechamber.core.review.hidden_text import reveal
from antechamber.core.review.queue_order import (
    Circumstances,
    FoldAssignment,
    FoldHead,
    FoldText,
    Mark,
    Unsorted,
    marks_of,
    risk_of,
    sort,
    spaced,
)
from antechamber.core.review.similarity import plain
from antechamber.flows.dossier import values_by_pointer
from antechamber.flows.similar_memories import contradicted

BATCH: Final = 256
"""Proposals sorted in one turn while no others arrive."""
BUSY_BATCH: Final = 32
"""Proposals sorted in one turn while submissions keep arriving, because these need the GIL more.

Unsorted proposals wait behind the sorted ones.
"""
MIN_INTERVAL_SECONDS = 1.0
"""Minimum number of seconds between two such turns."""
REST = 19.0
"""Seconds between two such turns for each second of processor time of the first one."""
NEAR: Final = 300
"""Number of a scope's newest waiting folds that are all compared with a new proposal."""
ALIKE: Final = 50
"""Number of older folds that are compared because they begin like a new proposal; the same for those that end so."""
SCAN_SECONDS: Final = 1.0
"""Seconds of a turn after which no further proposal is scanned; the rest is sorted in the next turn."""
IDLE_POLL_SECONDS: Final = 5.0
"""Seconds after which the sorter looks for proposals without a notification."""


class QueueSorter:
    """Sorts the queue of a store in a background thread.

    Among several processes only the one for which `leads` returns True sorts. `gate` returns the gate whose rules warn
    of texts. `work` records whether the turns succeed.
    """

    def __init__(self, store: Store, leads: Callable[[], bool], gate: Callable[[], Gate], work: Work) -> None:
        self._store = store
        self._leads = leads
        self._gate = gate
        self._work = work
        self._most = BUSY_BATCH
        self._cut = False
        """Whether the last turn left something to scan, for want of time."""
        self._news = threading.Event()
        self._over = threading.Event()
        self._forget = store.watch(self._news.set)

    def run(self) -> None:
        """Sort until `stop` is called; this runs in its own thread."""
        self._work.loop(self._turn, self._over)

    def _turn(self) -> None:
        self._cut = False
        self._news.clear()
        began = time.thread_time()
        try:
            count = self.look(self._most) if self._leads() else 0
        except (BusyError, UnavailableError):
            count = 0
        # The sorter's own writes do not wake it, so the event means writes of others.
        busy = count > 0 and self._news.is_set()
        self._work.note_success()
        if busy:
            self._over.wait(max(MIN_INTERVAL_SECONDS, REST * (time.thread_time() - began)))
        elif count < self._most and not self._cut:
            self._news.wait(IDLE_POLL_SECONDS)
        self._most = BUSY_BATCH if busy else BATCH

    def stop(self) -> None:
        """Make `run` return soon."""
        self._over.set()
        self._news.set()
        self._forget()

    def look(self, limit: int = BATCH) -> int:
        """Sort the oldest unsorted proposals, at most `limit`, and return how many there were.

        Raises BusyError or UnavailableError.
        """
        with self._store.read() as tx:
            unsorted = tx.queue.unsorted(limit)
        found = self._scan(unsorted)
        self._cut = len(found) < len(unsorted)
        unsorted = unsorted[: len(found)]
        with self._store.read() as tx:
            against = {row.id: _contradicts(tx, row) for row in unsorted}
            marks = {
                row.id: marks_of_unsorted(row, kinds, contradicts=against[row.id])
                for row, kinds in zip(unsorted, found, strict=True)
            }
            assignments = [
                assignment
                for scope, some in groupby(sorted(unsorted, key=_scope), key=_scope)
                for assignment in _sort_scope(tx.queue, scope, list(some), marks)
            ]
        if assignments:
            texts = {row.id: _text_of(row, marks[row.id]) for row in unsorted}
            ordered = sorted(assignments, key=lambda row: row.proposal)
            self._store.write(partial(_write, ordered, [texts[row.proposal] for row in ordered])).result()
        return len(unsorted)

    def _scan(self, rows: list[Unsorted]) -> list[frozenset[str]]:
        """Return the kinds of rules that find something in each of the first proposals, as far as a turn may last."""
        gate, until = self._gate(), time.monotonic() + SCAN_SECONDS
        found: list[frozenset[str]] = []
        for row in rows:
            if found and (time.monotonic() > until or (len(found) >= BUSY_BATCH and self._news.is_set())):
                break
            found.append(_kinds_found(gate, row))
        return found


def _kinds_found(gate: Gate, row: Unsorted) -> frozenset[str]:
    findings = gate.scan(values_by_pointer(row, row.payload), row.submission_scope)
    return frozenset(gate.kinds[finding.rule_id] for finding in findings)


def _scope(proposal: Unsorted) -> tuple[str, str]:
    return proposal.submission_scope, proposal.scope_id


def _sort_scope(
    queue: QueueRows, scope: tuple[str, str], proposals: list[Unsorted], marks: dict[int, list[Mark]]
) -> list[FoldAssignment]:
    risks = [risk_of(marks[proposal.id]) for proposal in proposals]
    lines = {
        (proposal.producer, risk): queue.producer_turn(proposal.producer, risk)
        for proposal, risk in zip(proposals, risks, strict=True)
    }
    return sort(proposals, _heads(queue, scope, proposals), risks, lines)


def _heads(queue: QueueRows, scope: tuple[str, str], proposals: list[Unsorted]) -> list[FoldHead]:
    """Return the waiting folds that some proposals of a scope are compared with, newest first."""
    heads = {head.id: head for head in queue.fold_heads(*scope, NEAR)}
    for proposal in proposals:
        alike = queue.folds_like(*scope, plain(proposal.payload["content"]), ALIKE)
        heads |= {head.id: head for head in alike}
    return sorted(heads.values(), key=lambda head: -head.id)


def _contradicts(tx: Rows, proposal: Unsorted) -> bool:
    return contradicted(tx, _scope(proposal), proposal.payload, proposal.supersedes) is not None


def marks_of_unsorted(proposal: Unsorted, found: frozenset[str], *, contradicts: bool) -> list[Mark]:
    """Return an unsorted proposal's reasons for caution; `found` are the kinds of rules that found something."""
    content = proposal.payload["content"]
    around = Circumstances(
        supersedes=proposal.supersedes is not None,
        conflicts=proposal.conflicts,
        opened=proposal.opened,
        contradicts=contradicts,
        found=found,
    )
    hidden = sum(bool(piece.code) for piece in reveal(content))
    return marks_of(content, proposal.submission_scope, around, hidden=hidden)


def _text_of(proposal: Unsorted, marks: list[Mark]) -> FoldText:
    return FoldText(
        kind=proposal.payload["kind"],
        content=plain(proposal.payload["content"]),
        tags=spaced(proposal.payload.get("tags", [])),
        marks=spaced([mark.code for mark in marks]),
        contradicts=any(mark.text == CONTRADICTS for mark in marks),
    )


def _write(assignments: list[FoldAssignment], texts: list[FoldText], tx: Rows) -> None:
    tx.queue.sort(assignments, texts)
