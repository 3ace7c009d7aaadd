"""Similar memories and corroboration: what else in a proposal's scope says nearly the same."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from antechamber.core.ports.store import Rows
from antechamber.core.review.contradiction import Contradiction, find_contradiction
from antechamber.core.review.corroboration import Corroboration, NearReport, corroborate
from antechamber.core.review.similarity import AKIN, NEARLY_SAME, most_alike
from antechamber.core.review.text_diff import Difference, differ
from antechamber.core.rows.memories import NearMemory
from antechamber.core.rows.review import ProposalRow
from antechamber.core.search.likeness import plan_likeness
from antechamber.core.search.ranking import Corpus
from antechamber.core.search.terms import index_text

COMPARED: Final = 60
"""Number of candidates that are compared character by character."""
MOST: Final = 8
"""Number of the most similar memories in which contradictions are looked for."""
REPORTS: Final = 100
"""Maximum number of waiting near duplicates that are looked at for corroboration."""
SIMILAR: Final = 4
"""Maximum number of similar memories shown: each has two buttons, and there are only nine digits as shortcuts."""


class Similar(Struct, frozen=True, kw_only=True):
    """A memory with a text similar to a proposal's."""

    memory: NearMemory
    likeness: int
    """0 to 100."""
    difference: Difference
    """From the memory's text to the proposal's."""
    claimed: bool
    """Whether the producer claims that its event supersedes this memory."""
    contradiction: Contradiction | None
    """The first word in which the proposal contradicts it; None for a memory that it claims to supersede."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """What else says something similar to a proposal."""

    similar: list[Similar]
    """The memories most similar to its text, first the one that its producer claims to supersede."""
    contradiction: Contradiction | None
    """The first contradiction to one of the memories most like it."""
    corroboration: Corroboration


def look_around(tx: Rows, proposal: ProposalRow, evidence: Iterable[str], hidden: Collection[int] = ()) -> Surroundings:
    """Return what is similar to a proposal; `evidence` holds the owners of further submissions of its event.

    `hidden` has the integer keys of memories that are left out, because a second look does not show the first one.
    """
    near = find_alike(tx, (proposal.submission_scope, proposal.scope_id), proposal.payload, COMPARED, hidden)
    same = [_report(memory) for memory, likeness in near if likeness >= NEARLY_SAME]
    waiting = tx.review.near_proposals(proposal.id, REPORTS)
    return Surroundings(
        similar=_similar(tx, proposal, near),
        contradiction=_first(near, proposal.payload, proposal.supersedes),
        corroboration=corroborate(
            proposal.payload["content"], proposal.owner, proposal.source_span["uri"], evidence, [*same, *waiting]
        ),
    )


def _similar(tx: Rows, proposal: ProposalRow, near: list[tuple[NearMemory, float]]) -> list[Similar]:
    content = proposal.payload["content"]
    claimed = proposal.supersedes and _claimed(tx, proposal, proposal.supersedes)
    if claimed:
        [(_, likeness)] = most_alike(content, [claimed.payload["content"]], 0, 1)
        near = [(claimed, likeness), *(pair for pair in near if pair[0].memory_id != claimed.memory_id)]
    return [
        Similar(
            memory=memory,
            likeness=round(likeness),
            difference=differ(memory.payload["content"], content),
            claimed=memory.memory_id == proposal.supersedes,
            contradiction=_first([(memory, likeness)], proposal.payload, proposal.supersedes),
        )
        for memory, likeness in near[:SIMILAR]
    ]


def _report(memory: NearMemory) -> NearReport:
    return NearReport(
        kind="memory",
        id=memory.memory_id,
        producer_identity=memory.producer_identity,
        owner=memory.owner,
        source=memory.source_span["uri"],
        received_at=memory.received_at,
        content=memory.payload["content"],
    )


def find_alike(
    tx: Rows, scope: tuple[str, str], payload: dict[str, Any], number: int, hidden: Collection[int] = ()
) -> list[tuple[NearMemory, float]]:
    """Return the active memories of a scope whose texts are most like a payload's, with their likeness (0 to 100).

    The search index names candidates by rare terms; the best of them are compared.
    """
    statistics = tx.search.statistics([scope])
    if not statistics:
        return []
    [one] = statistics
    terms = index_text(payload).frequencies
    known = tx.search.terms([one.id], sorted(terms))
    holders = Counter({term.term: term.memories for term in known})
    plan = plan_likeness(terms, Corpus(one.memories, one.length), holders)
    if plan is None:
        return []
    wanted = {want.term for want in plan.wanted}
    best = tx.search.best(plan, [term for term in known if term.term in wanted], None, COMPARED)
    near = tx.review.memories_near([memory.id for memory in best if memory.id not in hidden])
    matches = most_alike(payload["content"], [memory.payload["content"] for memory in near], AKIN, number)
    return [(near[index], likeness) for index, likeness in matches]


def contradicted(
    tx: Rows, scope: tuple[str, str], payload: dict[str, Any], supersedes: str | None
) -> Contradiction | None:
    """Return the first contradiction of a payload to an active memory of its scope, other than one it supersedes."""
    return _first(find_alike(tx, scope, payload, MOST), payload, supersedes)


def _first(
    near: Sequence[tuple[NearMemory, float]], payload: dict[str, Any], supersedes: str | None
) -> Contradiction | None:
    found = (
        find_contradiction(memory.payload["content"], payload["content"])
        for memory, _ in near[:MOST]
        if memory.memory_id != supersedes
    )
    return next(filter(None, found), None)


def _claimed(tx: Rows, proposal: ProposalRow, memory_id: str) -> NearMemory | None:
    """Return the active memory of the proposal's scope that its producer claims to supersede."""
    memory = tx.review.memory(memory_id)
    scope = proposal.submission_scope, proposal.scope_id
    if memory is None or (memory.submission_scope, memory.scope_id) != scope:
        return None
    return next(iter(tx.review.memories_near([memory.id])), None)
