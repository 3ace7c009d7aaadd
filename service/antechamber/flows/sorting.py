"""Sorting what was proposed since the last look, in the background and never in the way of submissions."""

import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Final

from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.ports import Rows, Store
from antechamber.core.reveal import reveal
from antechamber.core.sorting import Mark, Place, Unsorted, marks_of, risk_of, sort

BATCH: Final = 256
"""Proposals of one look."""
NEAR: Final = 300
"""Folds of a scope, the newest that wait, among which near duplicates are looked for."""
SHARE: Final = 0.1
"""Of one thread's time while submissions keep coming; what is left waits unsorted behind what is sorted."""
MOST_KEPT: Final = 4000
"""Characters of a text that a fold keeps to compare others with."""
PATIENCE: Final = 5.0
"""Seconds after which it looks even if nobody told it to."""


class Sorter:
    """Sorts the queue."""

    def __init__(self, store: Store, leads: Callable[[], bool]) -> None:
        """Work on a store; of several processes only the one that `leads` sorts."""
        self._store = store
        self._leads = leads
        self._news = threading.Event()
        self._over = False
        self._forget = store.watch(self._news.set)

    def run(self) -> None:
        """Sort until `stop`; runs in a thread of its own."""
        while not self._over:
            self._news.clear()
            start = time.monotonic()
            try:
                number = self.look() if self._leads() else 0
            except (BusyError, UnavailableError):
                number = 0
            if number < BATCH:
                self._news.wait(PATIENCE)
            elif self._news.is_set():
                time.sleep((time.monotonic() - start) * (1 / SHARE - 1))

    def stop(self) -> None:
        """End `run` soon."""
        self._over = True
        self._news.set()
        self._forget()

    def look(self) -> int:
        """Sort the oldest proposals that are unsorted, a batch at most, and return how many there were.

        Raises BusyError or UnavailableError.
        """
        with self._store.read() as rows:
            unsorted = rows.unsorted(BATCH)
            places = [
                place
                for scope, some in groupby(sorted(unsorted, key=_scope), key=_scope)
                for place in _sorted(rows, scope, list(some))
            ]
        if places:
            contents = {one.id: one.payload["content"][:MOST_KEPT] for one in unsorted}
            ordered = sorted(places, key=lambda one: one.proposal)
            self._store.write(partial(_write, ordered, [contents[one.proposal] for one in ordered])).result()
        return len(unsorted)


def _scope(one: Unsorted) -> tuple[str, str]:
    return one.submission_scope, one.scope_id


def _sorted(rows: Rows, scope: tuple[str, str], some: list[Unsorted]) -> list[Place]:
    risks = [risk_of(marks_of_unsorted(one)) for one in some]
    lines = {(one.producer, risk): rows.line(one.producer, risk) for one, risk in zip(some, risks, strict=True)}
    return sort(some, rows.fold_heads(*scope, NEAR), risks, lines)


def marks_of_unsorted(one: Unsorted) -> list[Mark]:
    """Return what of an unsorted proposal asks for care."""
    content = one.payload["content"]
    return marks_of(
        content,
        one.submission_scope,
        supersedes=one.supersedes is not None,
        conflicts=one.conflicts,
        hidden=sum(bool(piece.code) for piece in reveal(content)),
    )


def _write(places: list[Place], contents: list[str], rows: Rows) -> None:
    rows.sort(places, contents)
