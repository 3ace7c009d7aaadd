"""The order of the review queue: near duplicates share one row, risky proposals come first, no producer starves.

Proposals are sorted after they were stored, outside the path of submissions. A *fold* is what one row of the queue
represents: a proposal and its near duplicates of the same scope. Folds are ordered by risk, then by turn. Turns are
those of start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996): each producer's next fold has the turn after its
last one, and a producer without a waiting fold starts at the turn that is served now. A producer that sends a thousand
times as much as others therefore delays only its own folds.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from blake3 import blake3
from msgspec import Struct

from antechamber.core.admission.canonical import canonical
from antechamber.core.contract import Scope
from antechamber.core.review.contradiction import CONTRADICTS
from antechamber.core.review.similarity import NEARLY_SAME, FoldFinder

MAX_RISK: Final = 3
UNSORTED_RANK: Final = 9
"""Rank of proposals that are not sorted into folds yet; it follows the ranks of all folds."""
_WIDE: Final = frozenset({"organization", "cross_organization"})
_TO_MODELS: Final = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|prompt|rule|above|previous|earlier)"
    r"|\bsystem prompt\b|\bdo not (?:tell|inform|alert)\b|\b(?:already|pre-?)\s?approved\b",
    re.IGNORECASE | re.DOTALL,
)
"""Text that addresses its reader, such as a model, instead of stating what was learned."""
HIDDEN: Final = "invisible or look-alike characters"
INSTRUCTIONS: Final = "instructions to an AI reader"
HOSTILE: Final = "hostile text"
MAY_BE_PRIVATE: Final = "may be private"
_HOSTILE_MARK: Final = "hostile-text"
_PRIVATE_MARK: Final = "may-be-private"


class Mark(Struct, frozen=True):
    """One reason for caution, and its weight."""

    code: str
    weight: int
    text: str


class Unsorted(Struct, frozen=True, kw_only=True):
    """A proposal without a fold."""

    id: int
    producer: int
    submission_scope: Scope
    scope_id: str
    payload: dict[str, Any]
    source_span: dict[str, Any]
    supersedes: str | None
    derived_from: list[str] | None
    conflicts: int
    opened: bool
    """Whether it came out of the quarantine: a curator opened or released a refused event as this proposal."""


class Circumstances(Struct, frozen=True, kw_only=True):
    """What is known of a proposal beside its text and can be a reason for caution."""

    supersedes: bool
    """Whether its producer claims that it supersedes a memory."""
    conflicts: int
    """How many other events came under its key."""
    opened: bool
    """Whether it came out of the quarantine."""
    contradicts: bool
    """Whether it seems to contradict an active memory."""
    found: frozenset[str] = frozenset()
    """The kinds of rules that found something, whatever they do about it: `hostile`, `personal`, `secret`."""


class Beside(Struct, frozen=True, kw_only=True):
    """What the queue shows of a proposal beside its row."""

    contradicts: bool
    """Whether it seemed to contradict an active memory when it was sorted."""
    opened: bool
    derived: bool
    """Whether it claims to be derived from memories."""
    of_source: int
    """How many proposals of its source wait, including this one, as far as they were counted; 0 while unsorted."""
    marks: str | None
    """The marks of its fold, as words between spaces; None while unsorted."""

    @property
    def found(self) -> frozenset[str]:
        """The kinds of rules that found something when the fold was sorted."""
        marks = (self.marks or "").split()
        return frozenset(
            kind for kind, mark in (("hostile", _HOSTILE_MARK), ("personal", _PRIVATE_MARK)) if mark in marks
        )


class FoldHead(Struct, frozen=True, kw_only=True):
    """A waiting fold, with the text that others are compared with."""

    id: int
    content: str


class FoldText(Struct, frozen=True, kw_only=True):
    """What filters look for in a new fold: kind, comparable text, tags and marks of its first proposal."""

    kind: str
    content: str
    tags: str
    marks: str
    """Like the tags, words between spaces; see `spaced`."""
    contradicts: bool
    """Whether this proposal seems to contradict an active memory; unlike the others no text of the fold."""


class QueueCursor(Struct, frozen=True, kw_only=True):
    """A position in the queue.

    Proposals that need a second person come before all folds, unsorted ones after them; both are ordered by their ids.
    """

    rank: int
    turn: int
    fold: int
    proposal: int


class ProducerTurn(Struct, frozen=True, kw_only=True):
    """A producer's position in the order of one risk: the turn that is served now, and the producer's last turn."""

    served: int
    last: int | None


class FoldAssignment(Struct, frozen=True, kw_only=True):
    """The assignment of a proposal to an existing fold, to the fold of a proposal sorted with it, or to a new fold."""

    proposal: int
    fold: int | None
    like: int | None
    """The proposal whose new fold it joins."""
    risk: int
    turn: int
    source: int


def spaced(words: Sequence[str]) -> str:
    """Return words between single spaces, so that each is found with a space on both sides; empty for none."""
    return f" {' '.join(words)} " if words else ""


def source_of_proposal(producer: int, uri: str) -> int:
    """Return the number that the proposals of one producer and one source have in common, of 64 bits with a sign."""
    return int.from_bytes(blake3(canonical([producer, uri])).digest(8), signed=True)


def marks_of(content: str, submission_scope: str, around: Circumstances, *, hidden: int) -> list[Mark]:
    """Return a proposal's reasons for caution; `hidden` counts its invisible characters."""
    instructs = find_instruction(content) is not None
    applies = (
        (hidden > 0, Mark("hidden-characters", 2, HIDDEN)),
        (instructs, Mark("speaks-to-reader", 2, INSTRUCTIONS)),
        ("hostile" in around.found and not instructs, Mark(_HOSTILE_MARK, 2, HOSTILE)),
        (not around.found.isdisjoint({"personal", "secret"}), Mark(_PRIVATE_MARK, 1, MAY_BE_PRIVATE)),
        (around.contradicts, Mark("contradicts-memory", 2, CONTRADICTS)),
        (around.conflicts > 0, Mark("conflict", 1, "same key, different content")),
        (around.opened, Mark("out-of-conflict", 1, "came out of the quarantine")),
        (submission_scope in _WIDE, Mark("wide-scope", 1, "wide audience")),
        (around.supersedes, Mark("claims-to-supersede", 1, "claims to supersede a memory")),
    )
    return [mark for there, mark in applies if there]


def find_instruction(content: str) -> tuple[int, int] | None:
    """Return the span of the first words that address the reader of a text, in code points; None if there are none."""
    match = _TO_MODELS.search(content)
    return match.span() if match is not None else None


def risk_of(marks: Sequence[Mark]) -> int:
    """Return the risk of a proposal, from 0 to 3."""
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
    """Assign each of some proposals of one scope to a fold.

    `heads` are folds of the scope, newest first. `risks` belong to the proposals. `lines` holds the turns of each
    producer and risk, and is updated.
    """
    folder = FoldFinder([head.content for head in heads])
    new_folds: dict[int, int] = {}
    assignments = []
    for proposal, risk in zip(unsorted, risks, strict=True):
        match = folder.find(proposal.payload["content"], NEARLY_SAME)
        source = source_of_proposal(proposal.producer, proposal.source_span["uri"])
        if match is not None:
            fold = heads[match].id if match < len(heads) else None
            like = None if fold is not None else new_folds[match]
            assignments.append(
                FoldAssignment(proposal=proposal.id, fold=fold, like=like, risk=risk, turn=0, source=source)
            )
            continue
        new_folds[folder.add(proposal.payload["content"])] = proposal.id
        line = lines[proposal.producer, risk]
        turn = turn_of(line)
        lines[proposal.producer, risk] = ProducerTurn(served=line.served, last=turn)
        assignments.append(
            FoldAssignment(proposal=proposal.id, fold=None, like=None, risk=risk, turn=turn, source=source)
        )
    return assignments
