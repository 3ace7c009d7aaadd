"""Dossiers: everything that a curator sees of one proposal, read from one snapshot."""

from typing import Any, Final

from msgspec import Struct

from antechamber.core.admission.canonical import canonical
from antechamber.core.contract import MemoryState
from antechamber.core.policy import Policy
from antechamber.core.ports.review import ReviewRows
from antechamber.core.ports.store import Rows
from antechamber.core.privacy import Finding, scan
from antechamber.core.review.decision import (
    APPROVING,
    Approval,
    CurrentDecision,
    DecisionKind,
    ReviewedProposal,
    Target,
    blocker,
    open_decisions,
    required_persons,
    standing_approvals,
    text_hash,
    undo_needs_reason,
)
from antechamber.core.review.hidden_text import fits, reveal, texts_of
from antechamber.core.review.history import last_standing
from antechamber.core.review.queue_order import Mark, marks_of
from antechamber.core.review.requirements import Requirement, Situation, evaluate, obstacle
from antechamber.core.review.similarity import AKIN, most_alike
from antechamber.core.review.text_diff import Difference, differ
from antechamber.core.rows.memories import NearMemory
from antechamber.core.rows.review import (
    ConflictMark,
    EvidenceRow,
    LatestDecision,
    ProducerRecord,
    ProposalRow,
    ReviewRecordRow,
)

NEAR: Final = 500
"""Number of the scope's newest memories that are searched for similar ones."""
IN_GROUP: Final = 8000
"""Maximum weight of a payload shown whole beside 99 others; see `core.review.hidden_text.fits`."""
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


class Member(Struct, frozen=True, kw_only=True):
    """One proposal on a page of a group."""

    proposal: ProposalRow
    shown_hash: str
    marks: list[Mark]
    whole: bool
    """Whether the proposal is shown whole; otherwise it is decided on separately."""


class Dossier(Struct, frozen=True, kw_only=True):
    """Everything that a curator sees of one proposal."""

    proposal: ProposalRow
    shown_hash: str
    evidence: list[EvidenceRow]
    own_duplicates: int
    replays: int
    records: list[ReviewRecordRow]
    conflicts: list[ConflictMark]
    findings: list[Finding]
    marks: list[Mark]
    """Reasons for caution, which determine the proposal's position in the queue."""
    similar: list[Similar]
    edits: Difference | None
    """From the text as it was proposed to the current text; None if it was not edited."""
    approved_by: list[str]
    required: int
    requirements: list[Requirement]
    """The requirements of an approval by this person; evaluated only while the proposal waits."""
    producer: ProducerRecord
    """How often proposals of this producer were approved, rejected and overturned."""
    same_text: list[LatestDecision]
    """Decisions on other proposals with the same text."""
    blockers: dict[DecisionKind, str | None]
    """For each decision that the proposal's state allows, why this person cannot make it, or None."""
    standing: CurrentDecision | None
    """The last decision that was not undone."""
    undo_needs_reason: bool
    claimed_by: str | None
    """The person who holds a claim on it now."""
    guidelines: list[str]
    """The policy's guidelines for the curator; only while the proposal waits."""


def gather(tx: Rows, policy: Policy, proposal: ProposalRow, person: str, now: int) -> Dossier:
    """Gather the dossier of a proposal."""
    records = tx.review.records(proposal.id)
    duplicates, duplicate_replays = tx.review.own_duplicates(proposal.id)
    facts = build_facts(tx, policy, proposal, records)
    last, conflicts = facts.standing, tx.review.conflicts(proposal.id)
    shown_hash = text_hash(canonical(proposal.payload))
    pending = proposal.state == "pending"
    seen = situation(policy, proposal, facts, person)
    needed = evaluate(seen) if pending else []
    blockers = {kind: blocker(facts, person, kind) for kind in open_decisions(facts)}
    if pending:
        blockers["approve"] = blockers["approve"] or obstacle(needed)
    near = tx.review.memories_near(proposal.submission_scope, proposal.scope_id, NEAR) if pending else []
    return Dossier(
        proposal=proposal,
        shown_hash=shown_hash,
        evidence=tx.review.evidence(proposal.id),
        own_duplicates=duplicates,
        replays=proposal.replays + duplicate_replays,
        records=records,
        conflicts=conflicts,
        findings=seen.findings,
        marks=_marks(proposal, conflicts),
        similar=_similar(proposal, near),
        edits=differ(proposal.proposed["content"], proposal.payload["content"]) if proposal.edited else None,
        approved_by=sorted(standing_approvals(facts)),
        required=required_persons(facts),
        requirements=needed,
        producer=tx.review.producer_record(proposal.producer_identity),
        same_text=tx.review.same_text(proposal.id, shown_hash),
        blockers=blockers,
        standing=last,
        undo_needs_reason=last is not None and undo_needs_reason(last, person, now),
        claimed_by=proposal.claimed_by if (proposal.claimed_until or 0) > now else None,
        guidelines=policy.guidelines_for(proposal.submission_scope, proposal.payload["kind"]) if pending else [],
    )


def member(review: ReviewRows, proposal: ProposalRow) -> Member:
    """Gather what the page of a group shows of a proposal."""
    return Member(
        proposal=proposal,
        shown_hash=text_hash(canonical(proposal.payload)),
        marks=_marks(proposal, review.conflicts(proposal.id)),
        whole=fits_in_group(proposal),
    )


def fits_in_group(proposal: ProposalRow) -> bool:
    """Return whether the page of a group has room for the whole proposal and shows each of its characters."""
    return fits(texts_of(proposal.payload), IN_GROUP)


def _marks(proposal: ProposalRow, conflicts: list[ConflictMark]) -> list[Mark]:
    return marks_of(
        proposal.payload["content"],
        proposal.submission_scope,
        supersedes=proposal.supersedes is not None,
        conflicts=len(conflicts),
        hidden=sum(bool(piece.code) for piece in reveal(proposal.payload["content"])),
    )


def owners_of(tx: Rows, policy: Policy, producer_identity: str, *then: str | None) -> frozenset[str]:
    """Return a producer's owners then and now; if no policy lists it any more, its last owner counts."""
    now = policy.owner(producer_identity) or tx.log.last_owner(producer_identity)
    return frozenset(owner for owner in (now, *then) if owner)


def build_facts(tx: Rows, policy: Policy, proposal: ProposalRow, records: list[ReviewRecordRow]) -> ReviewedProposal:
    """Return the facts about a proposal that the rules of review need."""
    refused = tx.review.refused_owners(proposal.id)
    return ReviewedProposal(
        state=proposal.state,
        version=proposal.version,
        payload=proposal.payload,
        owners=owners_of(tx, policy, proposal.producer_identity, proposal.owner, *refused),
        edited=proposal.edited,
        withdrawn=proposal.withdrawn,
        approvals=[
            Approval(person=record.person, version=record.resulting_version, text_hash=record.resulting_hash or "")
            for record in records
            if record.decision in APPROVING
        ],
        curators=policy.rules(proposal.submission_scope).curators,
        second=proposal.second,
        replaces=_target(proposal.replaces, proposal.replaces_state),
        memory=proposal.memory_state,
        standing=last_standing(records),
    )


def values_by_pointer(proposal: ProposalRow, payload: dict[str, Any]) -> dict[str, Any]:
    """Return all values of a proposal that a memory would repeat, by JSON pointer, for a scan by the current rules."""
    return {
        "/scope_id": proposal.scope_id,
        "/payload": payload,
        "/source_span": proposal.source_span,
        "/supersedes": proposal.supersedes,
    }


def situation(policy: Policy, proposal: ProposalRow, facts: ReviewedProposal, person: str) -> Situation:
    """Return the facts for requirements; the text is scanned once, or twice if rules are switched off."""
    values, off = values_by_pointer(proposal, proposal.payload), frozenset(policy.privacy.off)
    findings = scan(values, off)
    return Situation(
        proposal=facts,
        person=person,
        rules=policy.rules(proposal.submission_scope),
        findings=findings,
        passed=scan(values) if off and not findings else [],
    )


def _target(memory_id: str | None, state: MemoryState | None) -> Target | None:
    return Target(memory_id=memory_id, state=state) if memory_id is not None and state is not None else None


def _similar(proposal: ProposalRow, near: list[NearMemory]) -> list[Similar]:
    """Return the memories most similar to a proposal's text, first the one that its producer claims to supersede."""
    content = proposal.payload["content"]
    found = most_alike(content, [one.payload["content"] for one in near], AKIN, SIMILAR)
    claimed = next((index for index, one in enumerate(near) if one.memory_id == proposal.supersedes), None)
    if claimed is not None:
        [(_, likeness)] = most_alike(content, [near[claimed].payload["content"]], 0, 1)
        found = [(claimed, likeness), *(pair for pair in found if pair[0] != claimed)][:SIMILAR]
    return [
        Similar(
            memory=near[index],
            likeness=round(likeness),
            difference=differ(near[index].payload["content"], content),
            claimed=index == claimed,
        )
        for index, likeness in found
    ]
