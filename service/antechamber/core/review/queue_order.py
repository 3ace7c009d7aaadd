"""Sorting the queue: what is nearly the same becomes one row, what needs care comes first, and nobody starves.

Proposals are sorted after they were stored, off the way of submissions. A *fold* is what one row of the queue stands
for: a proposal and its near duplicates of the same scope. Folds are taken by risk, then by turn. Turns are those of
start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996): each producer's next fold has the turn after its last one,
and a producer without any waiting begins at the turn that is served now. So one that sends a thousand times as much
waits behind itself, not others behind it.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from antechamber.core.review.similarity import NEARLY_SAME, FoldFinder

MAX_RISK: Final = 3
_WIDE: Final = frozenset({"organization", "cross_organization"})
_TO_MODELS: Final = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|prompt|rule|above|previous|earlier)"
    r"|\bsystem prompt\b|\bdo not (?:tell|inform|alert)\b|\b(?:already|pre-?)\s?approved\b",
    re.IGNORECASE | re.DOTALL,
)
"""Text that speaks to whoever reads it instead of saying what was learned."""


class Mark(Struct, frozen=True):
    """One thing that asks for care, and how much it weighs."""

    code: str
    weight: int
    text: str


class Unsorted(Struct, frozen=True, kw_only=True):
    """A proposal that no fold holds yet."""

    id: int
    producer: int
    submission_scope: str
    scope_id: str
    payload: dict[str, Any]
    supersedes: str | None
    conflicts: int


class FoldHead(Struct, frozen=True, kw_only=True):
    """A fold that waits, with the text that others are compared with."""

    id: int
    content: str


class QueueCursor(Struct, frozen=True, kw_only=True):
    """Where something stands in the queue.

    What needs a second person stands before all folds, what is not sorted yet behind them, both by their own keys.
    """

    rank: int
    turn: int
    fold: int
    proposal: int


class ProducerTurn(Struct, frozen=True, kw_only=True):
    """Where a producer stands in the line of one risk: the turn that is served now, and its own last one."""

    served: int
    last: int | None


class FoldAssignment(Struct, frozen=True, kw_only=True):
    """Where a proposal belongs: a fold that is there, the fold of one sorted with it, or a fold of its own."""

    proposal: int
    fold: int | None
    like: int | None
    """The proposal whose new fold it joins."""
    risk: int
    turn: int


def marks_of(content: str, submission_scope: str, *, supersedes: bool, conflicts: int, hidden: int) -> list[Mark]:
    """Return what of a proposal asks for care; `hidden` counts characters that nobody can see."""
    found = (
        (hidden > 0, Mark("hidden-characters", 2, "holds characters that nobody can see or that pose as others")),
        (_TO_MODELS.search(content) is not None, Mark("speaks-to-reader", 2, "speaks to its reader")),
        (conflicts > 0, Mark("conflict", 1, "another event came under its key")),
        (submission_scope in _WIDE, Mark("wide-scope", 1, "would be read far beyond one project")),
        (supersedes, Mark("claims-to-supersede", 1, "claims to supersede a memory")),
    )
    return [mark for there, mark in found if there]


def risk_of(marks: Sequence[Mark]) -> int:
    """Return how much care a proposal asks for, from 0 to 3."""
    return min(MAX_RISK, sum(mark.weight for mark in marks))


def turn_of(line: ProducerTurn) -> int:
    """Return the turn of a producer's next fold."""
    return line.served if line.last is None else max(line.served, line.last + 1)


def sort(
    unsorted: Sequence[Unsorted],
    heads: Sequence[FoldHead],
    risks: Sequence[int],
    lines: dict[tuple[int, int], ProducerTurn],
) -> list[FoldAssignment]:
    """Find the place of each of some proposals of one scope.

    `heads` are the scope's newest folds, newest first; `risks` belong to the proposals; `lines` are those of each
    producer and risk, and are kept up.
    """
    folder = FoldFinder([head.content for head in heads])
    made: dict[int, int] = {}
    places = []
    for one, risk in zip(unsorted, risks, strict=True):
        found = folder.find(one.payload["content"], NEARLY_SAME)
        if found is not None:
            fold = heads[found].id if found < len(heads) else None
            like = None if fold is not None else made[found]
            places.append(FoldAssignment(proposal=one.id, fold=fold, like=like, risk=risk, turn=0))
            continue
        made[folder.add(one.payload["content"])] = one.id
        line = lines[one.producer, risk]
        turn = turn_of(line)
        lines[one.producer, risk] = ProducerTurn(served=line.served, last=turn)
        places.append(FoldAssignment(proposal=one.id, fold=None, like=None, risk=risk, turn=turn))
    return places
