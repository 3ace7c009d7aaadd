"""Queries for the review queue: its order, its filters, claims on proposals, and sorting into folds."""

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from antechamber.core.review.queue_filter import MAX_WORDS, QueueFilter
from antechamber.core.review.queue_order import MAX_RISK, FoldAssignment, FoldHead, ProducerTurn, QueueCursor, Unsorted
from antechamber.core.rows.review import QueueRow
from antechamber.store.memories import decoded
from antechamber.store.reviews import with_text
from antechamber.store.statements import Statements

_FRONT: Final = QueueCursor(rank=-1, turn=0, fold=0, proposal=0)
WINDOW: Final = 20_000
"""Maximum number of folds that one filtered page scans."""
NEARBY: Final = 1000
"""Number of folds that it scans in a first, smaller step."""
_SUNK: Final = 4
"""Rank of a fold of which a group was rejected; the statement `grow_fold` uses the same number."""
_BEHIND_FOLDS: Final = 9
"""Rank of proposals that are not sorted into folds yet; it follows the ranks of all folds."""
_AFTER_ALL_CLAIMS: Final = 2**62
"""A time at which every claim has ended, in microseconds."""
_FREE_SAMPLE: Final = 5
_ROWS: Final = 100
"""Rows of a filtered page that are checked together for free proposals."""
_MAX_PAGES: Final = 3


class QueueQueries:
    """Implements core.ports.review_queue.QueueRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def page(self, after: QueueCursor | None, number: int) -> list[QueueRow]:
        start = after or _FRONT
        rows: list[dict[str, Any]] = []
        if start.rank < _BEHIND_FOLDS:
            rows = self._sql.all("folds_in_line", rank=start.rank, turn=start.turn, fold=start.fold, number=number)
        if len(rows) < number:
            first = start.proposal if start.rank == _BEHIND_FOLDS else 0
            rows += self._sql.all("unsorted_in_line", proposal=first, number=number - len(rows))
        return [_queued(row) for row in rows]

    def matching(
        self, chosen: QueueFilter, after: QueueCursor | None, number: int
    ) -> tuple[list[QueueRow], QueueCursor | None]:
        """Return matching rows, plus a cursor if the scan limit was reached before the end of the queue.

        One call scans at most `WINDOW` folds, however few match.
        """
        start = after or _FRONT
        cursor = {"rank": start.rank, "turn": start.turn, "fold": start.fold}
        patterns = [_pattern(word) for word in chosen.words] + ["%"] * MAX_WORDS
        wanted = {
            "producer": chosen.producer,
            "submission_scope": chosen.submission_scope,
            "scope_id": chosen.scope_id,
            "kind": chosen.kind,
            "assigned": chosen.assigned,
            "most_rank": 1 if chosen.warning else _BEHIND_FOLDS,
            **dict(zip(("first", "second", "third", "fourth"), patterns, strict=False)),
        }
        rows: list[dict[str, Any]] = []
        # Most filters fill a page from the first folds; only the others need a scan of the whole window.
        for window in (NEARBY, WINDOW):
            rows = self._sql.all("folds_matching", **cursor, **wanted, window=window, number=number)
            if len(rows) >= number:
                return [_queued(row) for row in rows], None
        end = self._sql.one("end_of_window", **cursor, window=WINDOW - 1)
        return [_queued(row) for row in rows], msgspec.convert(end | {"proposal": 0}, QueueCursor) if end else None

    def for_second(self, person: str, number: int) -> list[QueueRow]:
        return [_queued(row) for row in self._for_second(person, 0, _AFTER_ALL_CLAIMS, number)]

    def _for_second(self, person: str, after: int, free_at: int, number: int) -> list[dict[str, Any]]:
        return self._sql.all("for_second", person=person, proposal=after, free_at=free_at, number=number)

    def count_pending(self, most: int) -> int:
        row = self._sql.one("count_pending", most=most)
        return row["number"] if row else 0

    def cursor_of(self, proposal_id: str) -> QueueCursor | None:
        row = self._sql.one("queue_position", proposal_id=proposal_id)
        return msgspec.convert(row, QueueCursor) if row else None

    def free(self, person: str, after: QueueCursor | None, now: int) -> list[str]:
        """Return a few proposals after a cursor that this person could judge and no one else has claimed.

        Without a cursor, what the person should look at comes first. Proposals that need a second person come next, and
        do not appear in the queue again.
        """
        start = after or _FRONT
        rows: list[dict[str, Any]] = []
        own = self._sql.all("free_attention", person=person, now=now) if after is None else []
        if start.rank < 0:
            rows = self._for_second(person, start.proposal, now, _FREE_SAMPLE)
        if not rows and start.rank < _BEHIND_FOLDS:
            cursor = {"rank": start.rank, "turn": start.turn, "fold": start.fold}
            rows = self._sql.all("free_in_line", person=person, now=now, **cursor)
        if not rows:
            first = start.proposal if start.rank == _BEHIND_FOLDS else 0
            rows = self._sql.all("free_unsorted", person=person, now=now, proposal=first)
        return [row["proposal_id"] for row in (*own, *rows)]

    def free_matching(self, chosen: QueueFilter, person: str, after: QueueCursor | None, now: int) -> list[str]:
        """Return a few free proposals after a cursor that match a filter, like `free`.

        One call checks at most `_MAX_PAGES` pages of `_ROWS` rows, however few of them are free.
        """
        for _ in range(_MAX_PAGES):
            rows, end = self.matching(chosen, after, _ROWS)
            free = (row.proposal_id for row in rows if self._is_free(row, person, now))
            if found := list(islice(free, _FREE_SAMPLE)):
                return found
            if len(rows) == _ROWS:
                last = rows[-1]
                after = QueueCursor(rank=last.rank, turn=last.turn, fold=last.fold, proposal=last.id)
            elif end is not None:
                after = end
            else:
                break
        return []

    def _is_free(self, row: QueueRow, person: str, now: int) -> bool:
        if row.approvals or row.second:
            # A proposal with a first approval is open only to people who have not decided on this text yet.
            return any(
                candidate["proposal_id"] == row.proposal_id
                for candidate in self._for_second(person, row.id - 1, now, 1)
            )
        held = row.claimed_by not in {None, person} and (row.claimed_until or 0) > now
        if row.owner == person or held:
            return False
        return self._sql.one("kept_from", proposal=row.id, person=person) is None

    def claim(self, proposal_id: str, person: str, now: int, until: int, *, override: bool) -> bool:
        values = {"proposal_id": proposal_id, "person": person, "now": now, "until": until}
        return self._sql.run("claim", **values, override=int(override)) > 0

    def release(self, proposal_id: str, person: str | None) -> None:
        self._sql.run("release", proposal_id=proposal_id, person=person)

    def count_held(self, person: str, now: int) -> int:
        row = self._sql.one("count_held", person=person, now=now)
        return row["number"] if row else 0

    def group_like(self, proposal_id: str, number: int) -> list[str]:
        return [row["proposal_id"] for row in self._sql.all("group_like", proposal_id=proposal_id, number=number)]

    def group_of_producer(self, producer_identity: str, since: int, number: int) -> list[str]:
        rows = self._sql.all("group_of_producer", producer_identity=producer_identity, since=since, number=number)
        return [row["proposal_id"] for row in rows]

    def sink(self, proposal_id: str) -> None:
        self._sql.run("sink_fold", proposal_id=proposal_id, rank=_SUNK)

    def unsorted(self, number: int) -> list[Unsorted]:
        rows = self._sql.all("unsorted", number=number)
        return [msgspec.convert(decoded(row, "payload"), Unsorted) for row in rows]

    def fold_heads(self, submission_scope: str, scope_id: str, number: int) -> list[FoldHead]:
        rows = self._sql.all("fold_heads", submission_scope=submission_scope, scope_id=scope_id, number=number)
        return msgspec.convert(rows, list[FoldHead])

    def producer_turn(self, producer: int, risk: int) -> ProducerTurn:
        rank = MAX_RISK - risk
        first, last = self._sql.one("first_turn", rank=rank), self._sql.one("last_turn", producer=producer, rank=rank)
        return ProducerTurn(served=first["turn"] if first else 0, last=last["turn"] if last else None)

    def sort(self, assignments: Sequence[FoldAssignment], texts: Sequence[tuple[str, str]]) -> None:
        """Put proposals into their folds; one that was sorted or decided in the meantime stays unchanged."""
        new_folds: dict[int, int] = {}
        for assignment, (kind, content) in zip(assignments, texts, strict=True):
            rank = MAX_RISK - assignment.risk
            fold = assignment.fold or new_folds.get(assignment.like or 0)
            if fold is None:
                values = {"proposal": assignment.proposal, "kind": kind, "content": content}
                fold = int(self._sql.all("add_fold", **values, rank=rank, turn=assignment.turn)[0]["id"])
                new_folds[assignment.proposal] = fold
            if self._sql.run("put_into_fold", fold=fold, proposal=assignment.proposal):
                self._sql.run("grow_fold", fold=fold, rank=rank)


def _pattern(word: str) -> str:
    """Return a LIKE pattern that finds the word anywhere; `!` escapes characters with a meaning in patterns."""
    return "%" + word.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"


def _queued(row: dict[str, Any]) -> QueueRow:
    return msgspec.convert(with_text(row), QueueRow, strict=False)
