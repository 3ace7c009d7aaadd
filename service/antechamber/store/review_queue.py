"""Queries for the review queue: its order, its filters, claims on proposals, and sorting into folds."""

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from antechamber.core.conversion import convert
from antechamber.core.review.queue_filter import MAX_WORDS, MatchCount, QueueFilter, QueueReader, source_of
from antechamber.core.review.queue_order import (
    MAX_RISK,
    UNSORTED_RANK,
    Beside,
    FoldAssignment,
    FoldHead,
    FoldText,
    ProducerTurn,
    QueueCursor,
    Unsorted,
)
from antechamber.core.rows.review import QueueRow
from antechamber.store.memories import decoded
from antechamber.store.reviews import with_text
from antechamber.store.statements import Statements

_FRONT: Final = QueueCursor(rank=-1, turn=0, fold=0, proposal=0)
_ATTENTION: Final = QueueCursor(rank=-2, turn=0, fold=0, proposal=0)
"""The beginning of what one person should look at, which comes before the queue."""
WINDOW: Final = 10_000
"""Maximum number of folds that one filtered page scans."""
NEARBY: Final = 300
"""Number of folds that it scans in a first, smaller step."""
COUNTED: Final = 500
"""Minimum number of folds that a count looks through."""
_SUNK: Final = 4
"""Rank of a fold of which a group was rejected; the statement `grow_fold` uses the same number."""
_AFTER_ALL_CLAIMS: Final = 2**62
"""A time at which every claim has ended, in microseconds."""
_BEHIND_ALL: Final = QueueCursor(rank=UNSORTED_RANK, turn=2**62, fold=2**62, proposal=0)
_LAST_WARNED: Final = QueueCursor(rank=MAX_RISK - 1, turn=2**62, fold=2**62, proposal=0)
"""A position behind all folds with warnings, except for those of which a group was rejected."""
_BY_INDEX: Final = (QueueFilter(), QueueFilter(warning="yes"), QueueFilter(near="yes"))
"""Filters that an index answers alone."""
_IN_LINE: Final = frozenset({"line", "producer", "owner", "scope", "near"})
"""The sets that an index gives in the queue's order; the other ones are small."""
_COMPARED: Final = 16
"""Characters at the beginning or the end that texts alike share; `folds_like` and its indexes use the same number."""
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
        if start.rank < UNSORTED_RANK:
            rows = self._sql.all("folds_in_line", rank=start.rank, turn=start.turn, fold=start.fold, number=number)
        if len(rows) < number:
            first = start.proposal if start.rank == UNSORTED_RANK else 0
            rows += self._sql.all("unsorted_in_line", proposal=first, number=number - len(rows))
        return [_queued(row) for row in rows]

    def matching(
        self, chosen: QueueFilter, reader: QueueReader, after: QueueCursor | None, number: int
    ) -> tuple[list[QueueRow], QueueCursor | None]:
        """Return matching rows, plus a cursor if the scan limit was reached before the end of the queue.

        One call scans at most `WINDOW` folds, however few match.
        """
        keys, end = self._keys(chosen, reader, after, number)
        found = self._sql.find("queue_row", [{"id": key["proposal"]} for key in keys])
        rows = [_queued(row | key) for row, key in zip(found, keys, strict=True) if row is not None]
        return rows, end

    def _keys(
        self, chosen: QueueFilter, reader: QueueReader, after: QueueCursor | None, number: int
    ) -> tuple[list[dict[str, Any]], QueueCursor | None]:
        start, source = after or _FRONT, source_of(chosen)
        values = _values_of(chosen, reader) | {"source": source} | _bounds(start, _last_of(chosen))
        # Most filters fill a page from the first folds; only the others need a scan of the whole window.
        windows = (NEARBY, WINDOW) if source in _IN_LINE else (WINDOW,)
        keys: list[dict[str, Any]] = []
        for window in windows:
            keys = self._sql.all("queue_matching", **values, window=window, number=number)
            if len(keys) >= number:
                return keys, None
        end = self._sql.one("end_of_window", **values, window=WINDOW - 1) if source in _IN_LINE else None
        return keys, convert(end | {"proposal": 0}, QueueCursor) if end else None

    def count_matching(
        self, chosen: QueueFilter, reader: QueueReader, until: QueueCursor | None, most: int
    ) -> MatchCount:
        """Count matching rows up to and including a cursor, at most `most`, among the first `COUNTED` folds."""
        last = min(until or _BEHIND_ALL, _last_of(chosen), key=lambda one: (one.rank, one.turn, one.fold))
        values = _bounds(_FRONT, last) | {"source": source_of(chosen)}
        if chosen in _BY_INDEX:
            row = self._sql.one("count_in_line", **values, most=most)
            return MatchCount(row["number"] if row else 0, cut=False)
        values, window = values | _values_of(chosen, reader), max(COUNTED, most)
        row = self._sql.all("count_matching", **values, window=window, number=most)[0]
        return MatchCount(row["number"], cut=row["number"] < most and row["looked_through"] >= window)

    def for_others(self, person: str, number: int) -> list[QueueRow]:
        rows = self._sql.all("for_others", person=person, window=COUNTED, number=number)
        return [_queued(row) for row in rows]

    def count_decided(self, person: str, since: int, most: int) -> int:
        row = self._sql.one("count_decided", person=person, since=since, most=most)
        return row["number"] if row else 0

    def for_second(self, person: str, number: int) -> list[QueueRow]:
        return [_queued(row) for row in self._for_second(person, 0, _AFTER_ALL_CLAIMS, number)]

    def _for_second(self, person: str, after: int, free_at: int, number: int) -> list[dict[str, Any]]:
        return self._sql.all("for_second", person=person, proposal=after, free_at=free_at, number=number)

    def count_pending(self, most: int) -> int:
        row = self._sql.one("count_pending", most=most)
        return row["number"] if row else 0

    def cursor_of(self, proposal_id: str) -> QueueCursor | None:
        row = self._sql.one("queue_position", proposal_id=proposal_id)
        return convert(row, QueueCursor) if row else None

    def cursor_behind(self, proposal_id: str, person: str) -> QueueCursor | None:
        number = self._attention(proposal_id, person)
        return self.cursor_of(proposal_id) if number is None else replace(_ATTENTION, proposal=number)

    def _attention(self, proposal_id: str, person: str) -> int | None:
        """Return the number of a proposal that a person should look at; None for others."""
        row = self._sql.one("attention_position", proposal_id=proposal_id, person=person)
        return row["proposal"] if row else None

    def free(self, person: str, after: QueueCursor | None, now: int) -> list[str]:
        """Return a few proposals after a cursor that this person could judge and no one else has claimed.

        What the person should look at comes first, then proposals that need a second person. Neither appear in the
        queue again.
        """
        start = after or _ATTENTION
        rows: list[dict[str, Any]] = []
        own: list[dict[str, Any]] = []
        if start.rank == _ATTENTION.rank:
            own = self._sql.all("free_attention", person=person, now=now, proposal=start.proposal)
            start = _FRONT
        if start.rank < 0:
            seconds = self._for_second(person, start.proposal, now, _FREE_SAMPLE)
            # What the person should look at was there before.
            rows = [row for row in seconds if self._attention(row["proposal_id"], person) is None]
        if not rows and start.rank < UNSORTED_RANK:
            cursor = {"rank": start.rank, "turn": start.turn, "fold": start.fold}
            rows = self._sql.all("free_in_line", person=person, now=now, **cursor)
        if not rows:
            first = start.proposal if start.rank == UNSORTED_RANK else 0
            rows = self._sql.all("free_unsorted", person=person, now=now, proposal=first)
        return [row["proposal_id"] for row in (*own, *rows)]

    def free_matching(self, chosen: QueueFilter, reader: QueueReader, after: QueueCursor | None) -> list[str]:
        """Return a few free proposals after a cursor that match a filter, like `free`.

        One call checks at most `_MAX_PAGES` pages of `_ROWS` rows, however few of them are free.
        """
        for _ in range(_MAX_PAGES):
            rows, end = self.matching(chosen, reader, after, _ROWS)
            free = (row.proposal_id for row in rows if self._is_free(row, reader))
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

    def _is_free(self, row: QueueRow, reader: QueueReader) -> bool:
        if row.approvals or row.second:
            # A proposal with a first approval is open only to people who have not decided on this text yet.
            return any(
                candidate["proposal_id"] == row.proposal_id
                for candidate in self._for_second(reader.person, row.id - 1, reader.now, 1)
            )
        held = row.claimed_by not in {None, reader.person} and (row.claimed_until or 0) > reader.now
        if row.owner == reader.person or held:
            return False
        return self._sql.one("kept_from", proposal=row.id, person=reader.person) is None

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

    def group_of_source(self, proposal_id: str, number: int) -> list[str]:
        return [row["proposal_id"] for row in self._sql.all("group_of_source", proposal_id=proposal_id, number=number)]

    def beside(self, proposals: Sequence[int], most: int) -> dict[int, Beside]:
        keys = msgspec.json.encode(proposals).decode()
        rows = self._sql.all("beside_rows", proposals=keys, most=most)
        return {row["id"]: convert(row, Beside, strict=False) for row in rows}

    def group_of_producer(self, producer_identity: str, since: int, number: int) -> list[str]:
        rows = self._sql.all("group_of_producer", producer_identity=producer_identity, since=since, number=number)
        return [row["proposal_id"] for row in rows]

    def sink(self, proposal_id: str) -> None:
        self._sql.run("sink_fold", proposal_id=proposal_id, rank=_SUNK)

    def unsorted(self, number: int) -> list[Unsorted]:
        return list(map(_unsorted, self._sql.all("unsorted", number=number)))

    def fold_heads(self, submission_scope: str, scope_id: str, number: int) -> list[FoldHead]:
        rows = self._sql.all("fold_heads", submission_scope=submission_scope, scope_id=scope_id, number=number)
        return convert(rows, list[FoldHead])

    def folds_like(self, submission_scope: str, scope_id: str, content: str, number: int) -> list[FoldHead]:
        place = {"submission_scope": submission_scope, "scope_id": scope_id, "number": number}
        ends = {"beginning": content[:_COMPARED], "ending": content[-_COMPARED:]}
        return convert(self._sql.all("folds_like", **place, **ends), list[FoldHead])

    def producer_turn(self, producer: int, risk: int) -> ProducerTurn:
        rank = MAX_RISK - risk
        first, last = self._sql.one("first_turn", rank=rank), self._sql.one("last_turn", producer=producer, rank=rank)
        return ProducerTurn(served=first["turn"] if first else 0, last=last["turn"] if last else None)

    def sort(self, assignments: Sequence[FoldAssignment], texts: Sequence[FoldText]) -> None:
        """Put proposals into their folds; one that was sorted or decided in the meantime stays unchanged."""
        new_folds: dict[int, int] = {}
        for assignment, text in zip(assignments, texts, strict=True):
            rank = MAX_RISK - assignment.risk
            found = {"source": assignment.source, "contradicts": int(text.contradicts)}
            # This also locks the proposal: a fold that no proposal names would keep its text after an erasure.
            if not self._sql.run("note_sorted", proposal=assignment.proposal, **found):
                continue
            fold = assignment.fold or new_folds.get(assignment.like or 0)
            if fold is None:
                texts_of_fold = {name: getattr(text, name) for name in ("kind", "content", "tags", "marks")}
                values = texts_of_fold | {"rank": rank, "turn": assignment.turn, "proposal": assignment.proposal}
                fold = int(self._sql.all("add_fold", **values)[0]["id"])
                new_folds[assignment.proposal] = fold
            self._sql.run("put_into_fold", fold=fold, proposal=assignment.proposal)
            self._sql.run("grow_fold", fold=fold, rank=rank, marks=text.marks)


def _unsorted(row: dict[str, Any]) -> Unsorted:
    return convert(decoded(row, "payload", "source_span", "supersedes", "derived_from"), Unsorted, strict=False)


def _last_of(chosen: QueueFilter) -> QueueCursor:
    """Return the position behind which no fold matches."""
    return _LAST_WARNED if chosen.warning not in {"", "no"} else _BEHIND_ALL


def _bounds(start: QueueCursor, last: QueueCursor) -> dict[str, int]:
    """Return the positions between which folds are looked for: behind the first, up to the last."""
    bounds = {"rank": start.rank, "turn": start.turn, "fold": start.fold}
    return bounds | {"to_rank": last.rank, "to_turn": last.turn, "to_fold": last.fold}


def _values_of(chosen: QueueFilter, reader: QueueReader) -> dict[str, Any]:
    """Return a filter's conditions as values of the statement `queue_matching`."""
    names = (
        "producer",
        "owner",
        "assigned",
        "submission_scope",
        "scope_id",
        "kind",
        "warning",
        "conflict",
        "near",
        "mine",
        "second",
    )
    patterns = [_pattern(word) for word in chosen.words] + [""] * MAX_WORDS
    held, derived = (value if value in {"", "yes", "no"} else "yes" for value in (chosen.held, chosen.derived))
    used = "" if chosen.derived in {derived, "retracted"} else _pattern(f'"{chosen.derived}"')
    return {
        **{name: getattr(chosen, name) for name in names},
        **dict(zip(("first", "second_word", "third", "fourth"), patterns, strict=False)),
        "tag": _pattern(f" {chosen.tag} ") if chosen.tag else "",
        "held": held,
        "holder": chosen.held if held != chosen.held else "",
        "derived": derived,
        "used": used,
        "earliest": reader.now - chosen.younger if chosen.younger else 0,
        "latest": reader.now - chosen.older if chosen.older else _AFTER_ALL_CLAIMS,
        "person": reader.person,
        "now": reader.now,
    }


def _pattern(word: str) -> str:
    """Return a LIKE pattern that finds the word anywhere; `!` escapes characters with a meaning in patterns."""
    return "%" + word.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"


def _queued(row: dict[str, Any]) -> QueueRow:
    return convert(with_text(row), QueueRow, strict=False)
