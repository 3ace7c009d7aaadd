"""Read the change feed: what was admitted and what ended in some scopes, in commit order."""

from functools import partial
from itertools import accumulate
from typing import Final

from antechamber.core.access.callers import Bearer
from antechamber.core.change_cursor import ChangeCursor, check_of, read_cursor
from antechamber.core.contract import MAX_CHANGES, MAX_WAIT, ChangeItem, ChangePage, MemoryItem
from antechamber.core.errors import read_all, refuse
from antechamber.core.ports.store import Rows, Store
from antechamber.core.rows.memories import FeedRow
from antechamber.core.times import format_time
from antechamber.flows.change_watch import ChangeWatch
from antechamber.flows.recall import Recall, ScopeQuery, check_number, memory_item

DEFAULT_CHANGES: Final = 100
LATEST: Final = "latest"
"""The `after` of a reader who wants only what changes from now on."""
MAX_CHARACTERS: Final = 1 << 20
"""Characters of memories after which a page ends: a reader who does not read occupies no more than a page."""


class ChangeQuery(ScopeQuery, frozen=True, kw_only=True):
    """What an agent asks for: changes in some scopes after a cursor, or from the beginning."""

    after: str | None = None
    limit: int = DEFAULT_CHANGES
    wait: int = 0
    """Seconds to wait for a change if there is none."""

    def check(self) -> None:
        """Check the query as far as it can be without the store.

        Raises RequestRefusedError (`malformed`) with every reason.
        """
        read_all(
            self.named_scopes,
            partial(check_number, "limit", self.limit, 1, MAX_CHANGES),
            partial(check_number, "wait", self.wait, 0, MAX_WAIT),
            partial(_check_cursor, self.after),
        )


class Changes:
    """Reads pages of the change feed; `watch` wakes the requests that wait for one."""

    def __init__(self, store: Store, recall: Recall, watch: ChangeWatch) -> None:
        self._store = store
        self.recall: Final = recall
        self.watch = watch

    def page(self, bearer: Bearer, wanted: ChangeQuery) -> ChangePage:
        """Return the changes after a cursor in exactly the named scopes, without waiting.

        Raises RequestRefusedError: `malformed` if a parameter is missing or invalid, `scope-not-granted`.
        """
        wanted.check()
        with self._store.read() as tx:
            scopes = self.recall.readable_scopes(tx, bearer, wanted)
            cursor = _cursor(tx, wanted.after)
            known = cursor.number or 0
            rows = tx.changes.page(scopes, cursor.first, known + wanted.limit + 1)
            rows = rows[sum(row.sequence == cursor.sequence for row in rows[:known]) :]
            shown = _that_fit(rows[: wanted.limit])
            following = rows[len(shown)] if len(shown) < len(rows) else None
            reached = _reached(cursor, shown, following)
            kept = list(
                dict.fromkeys(row.memory for row in shown if row.change == "admitted" and row.state == "active")
            )
            page = ChangePage(items=_items(tx, shown, kept), next=_checked(tx, reached).text())
        self.recall.reads.note(bearer, kept)
        return page


def _check_cursor(after: str | None) -> ChangeCursor:
    """Return the cursor that a reader sent; at the beginning and the end it is that of a reader who has nothing.

    Raises RequestRefusedError (`malformed`) if it is none.
    """
    cursor = ChangeCursor(0) if after in {None, LATEST} else read_cursor(str(after))
    if cursor is None:
        raise refuse("malformed", "after is not the `next` of a page or the `sequence` of a change", "/after")
    return cursor


def _cursor(tx: Rows, after: str | None) -> ChangeCursor:
    """Return the cursor that a reader sent; without one, that of a reader who has nothing.

    Raises RequestRefusedError (`malformed`) if it is none, or of another log.
    """
    if after == LATEST:
        return ChangeCursor(tx.changes.last())
    cursor = _check_cursor(after)
    if after is None:
        return cursor
    leaf = tx.log.leaf_texts(cursor.sequence, 1)
    if not leaf or cursor.check not in {None, check_of(leaf[0])}:
        raise refuse("malformed", "after is not of this log; read from the beginning, without after", "/after")
    return cursor


def _that_fit(rows: list[FeedRow]) -> list[FeedRow]:
    """Return the first rows, as many as fit on a page by their size, and at least one."""
    sizes = accumulate(row.size if row.change == "admitted" else 0 for row in rows)
    return [
        row for place, (row, size) in enumerate(zip(rows, sizes, strict=True)) if not place or size <= MAX_CHARACTERS
    ]


def _reached(before: ChangeCursor, shown: list[FeedRow], following: FeedRow | None) -> ChangeCursor:
    """Return how far a reader has read after a page, which may end among several changes of one leaf."""
    if not shown:
        return before
    last = shown[-1].sequence
    if following is None or following.sequence != last:
        return ChangeCursor(last)
    number = sum(row.sequence == last for row in shown) + (before.number or 0 if before.sequence == last else 0)
    return ChangeCursor(last, number)


def _checked(tx: Rows, cursor: ChangeCursor) -> ChangeCursor:
    return cursor._replace(check=check_of(tx.log.leaf_texts(cursor.sequence, 1)[0]))


def _items(tx: Rows, rows: list[FeedRow], kept: list[int]) -> list[ChangeItem]:
    """Return the changes with what readers may keep: memories that are active now, whose keys are `kept`."""
    memories: dict[int, MemoryItem] = {hit.id: memory_item(hit) for hit in tx.memories.items(kept)}
    return [
        ChangeItem(
            sequence=row.sequence,
            change=row.change,
            memory_id=row.memory_id,
            at=format_time(row.changed_at),
            memory=memories.get(row.memory) if row.change == "admitted" else None,
        )
        for row in rows
    ]
