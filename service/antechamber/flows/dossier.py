"""Dossiers: everything that a curator sees of one proposal, read from one snapshot."""

from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.admission.canonical import canonical
from antechamber.core.contract import MemoryState
from antechamber.core.policy import Policy, may_read
from antechamber.core.ports.store import Rows
from antechamber.core.privacy import Finding
from antechamber.core.review.blind import second_look_obstacle
from antechamber.core.review.contradiction import CONTRADICTS, Contradiction
from antechamber.core.review.corroboration import Corroboration
from antechamber.core.review.decision import (
    APPROVING,
    Approval,
    CurrentDecision,
    DecisionKind,
    ReviewedProposal,
    Target,
    blocker,
    may_finish_alone,
    open_decisions,
    required_persons,
    standing_approvals,
    text_hash,
    undo_needs_reason,
)
from antechamber.core.review.form_checks import is_long
from antechamber.core.review.hidden_text import find_hidden, reveal
from antechamber.core.review.history import last_standing
from antechamber.core.review.queue_order import (
    HIDDEN,
    INSTRUCTIONS,
    Beside,
    Circumstances,
    Mark,
    Unsorted,
    find_instruction,
    marks_of,
)
from antechamber.core.review.requirements import Requirement, Situation, evaluate, obstacle
from antechamber.core.review.source_links import link_to
from antechamber.core.review.text_diff import Difference, differ
from antechamber.core.review.warning_marks import WarningMarks
from antechamber.core.rows.blind import BlindItem
from antechamber.core.rows.review import (
    ConflictMark,
    EvidenceRow,
    LatestDecision,
    ProducerRecord,
    ProposalRow,
    ReviewRecordRow,
)
from antechamber.core.rows.upkeep import ReviewDateRow
from antechamber.flows.conversation_view import ConversationView, view_conversation
from antechamber.flows.similar_memories import Similar, look_around

MAX_RETRACTED: Final = 10
MAX_OF_SOURCE: Final = 100
"""Number up to which the waiting proposals of a source are counted."""


class UsedMemory(Struct, frozen=True, kw_only=True):
    """A memory that the producer claims to have used."""

    memory_id: str
    content: str | None
    """Its text; None if there is no such memory, or if the producer may not read it."""
    state: MemoryState | None


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
    """What makes the text private."""
    found: WarningMarks
    """Everything that the rules find, also with the action `warn`, to be marked in its texts."""
    marks: list[Mark]
    """Reasons for caution, which determine the proposal's position in the queue."""
    similar: list[Similar]
    """Memories with a similar text; only while the proposal waits."""
    corroboration: Corroboration | None
    """Who else reports nearly the same; only while the proposal waits."""
    derived_from: list[UsedMemory]
    """The memories that the producer claims to have used."""
    retracted_sources: list[str]
    """Ids of retracted memories from which it is derived by these claims, to any depth; at most `MAX_RETRACTED`."""
    edits: Difference | None
    """From the text as it was proposed to the current text; None if it was not edited."""
    approved_by: list[str]
    required: int
    edits_alone: bool
    """Whether an edit by this person needs no second one, because the policy says so."""
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
    source_link: str | None
    """The https address of the source, if there is one."""
    long: bool
    """Whether an approval requires that the text was read to its end."""
    guidelines: list[str]
    """The policy's guidelines for the curator; only while the proposal waits."""
    conversation: ConversationView
    of_source: int
    """How many proposals of its source wait, up to `MAX_OF_SOURCE`."""
    review_dates: list[ReviewDateRow]
    """The review dates that curators set, oldest first; the last one holds."""
    revealed: BlindItem | None
    """The blind item that this was; None for a producer's proposal, and before the decision."""

    @property
    def declared_private(self) -> list[str]:
        """Ids of the refused events in which its producer declared it private, oldest first."""
        return [conflict.quarantine_id for conflict in self.conflicts if conflict.declares_private]


def gather(tx: Rows, policy: Policy, proposal: ProposalRow, person: str, now: int) -> Dossier:
    """Gather the dossier of a proposal."""
    records = tx.review.records(proposal.id)
    duplicates, duplicate_replays = tx.review.own_duplicates(proposal.id)
    facts = build_facts(tx, policy, proposal, records)
    evidence = tx.review.evidence(proposal.id)
    last, conflicts = facts.standing, tx.review.conflicts(proposal.id)
    shown_hash = text_hash(canonical(proposal.payload))
    pending = proposal.state == "pending"
    blind = tx.blind.of_proposal(proposal.id)
    original = blind.original if blind is not None else None
    hidden = tx.blind.memories_of(original) if original is not None else []
    around = look_around(tx, proposal, [row.owner for row in evidence], hidden) if pending else None
    contradiction = around.contradiction if around else None
    beside = tx.queue.beside([proposal.id], MAX_OF_SOURCE)[proposal.id]
    approval = situation(policy, proposal, facts, person)
    needed = evaluate(approval) if pending else []
    blockers = {kind: blocker(facts, person, kind) for kind in open_decisions(facts)}
    if pending:
        blockers["approve"] = blockers["approve"] or obstacle(needed)
        if original is not None and (again := second_look_obstacle(tx.blind.judges(original), person)):
            blockers = dict.fromkeys(blockers, again)
    return Dossier(
        proposal=proposal,
        shown_hash=shown_hash,
        evidence=evidence,
        own_duplicates=duplicates,
        replays=proposal.replays + duplicate_replays,
        records=records,
        conflicts=conflicts,
        findings=approval.findings,
        found=found_in(proposal, [*approval.findings, *approval.warnings], policy, contradiction),
        marks=marks_on(proposal, beside, conflicts, contradiction),
        of_source=beside.of_source,
        revealed=None if pending else blind,
        similar=around.similar if around else [],
        corroboration=around.corroboration if around else None,
        derived_from=[_used_memory(tx, policy, proposal, memory_id) for memory_id in proposal.derived_from or ()],
        retracted_sources=tx.review.retracted_sources(proposal.id, MAX_RETRACTED) if proposal.derived_from else [],
        edits=differ(proposal.proposed["content"], proposal.payload["content"]) if proposal.edited else None,
        approved_by=sorted(standing_approvals(facts)),
        required=required_persons(facts),
        edits_alone=may_finish_alone(replace(facts, editor=person), person),
        requirements=needed,
        producer=tx.review.producer_record(proposal.producer_identity),
        same_text=tx.review.same_text(proposal.id, shown_hash),
        blockers=blockers,
        standing=last,
        undo_needs_reason=last is not None and undo_needs_reason(last, person, now),
        claimed_by=proposal.claimed_by if (proposal.claimed_until or 0) > now else None,
        source_link=link_to(proposal.source_span, policy.sources),
        long=is_long(proposal.payload),
        guidelines=policy.guidelines_for(proposal.submission_scope, proposal.payload["kind"]) if pending else [],
        conversation=view_conversation(tx, policy, proposal, facts.owners, person),
        review_dates=tx.upkeep.review_dates(proposal.id),
    )


def _used_memory(tx: Rows, policy: Policy, proposal: ProposalRow, memory_id: str) -> UsedMemory:
    """Return a memory that a producer claims to have used, without text and state if the producer may not read it."""
    memory, producer = tx.review.memory(memory_id), policy.producers.get(proposal.producer_identity)
    if memory is None or producer is None:
        return UsedMemory(memory_id=memory_id, content=None, state=None)
    submitted = memory.submission_scope == "session" and tx.memories.submitted_in_session(
        proposal.producer_identity, memory.scope_id
    )
    if not may_read(producer.read, memory.submission_scope, memory.scope_id, submitted=submitted):
        return UsedMemory(memory_id=memory_id, content=None, state=None)
    return UsedMemory(memory_id=memory_id, content=memory.payload["content"], state=memory.state)


def found_in(
    proposal: ProposalRow,
    findings: list[Finding],
    policy: Policy,
    contradiction: Contradiction | None,
    *,
    anchored: bool = True,
) -> WarningMarks:
    """Return the findings of the rules, and the words for which the queue ranks the proposal up."""
    content, pointer = proposal.payload["content"], "/payload/content"
    spans = {"speaks-to-reader": find_instruction(content), "hidden-characters": find_hidden(content)}
    against = (
        [Finding(pointer, "contradicts-memory", "warn", contradiction.start, contradiction.end)]
        if contradiction
        else []
    )
    own = [
        Finding(pointer, code, "warn", *span)
        for code, span in spans.items()
        # A rule names the cause more exactly.
        if span and not any(one.pointer == pointer and one.start < span[1] and span[0] < one.end for one in findings)
    ]
    titles = {"speaks-to-reader": INSTRUCTIONS, "hidden-characters": HIDDEN, "contradicts-memory": CONTRADICTS}
    return WarningMarks([*findings, *own, *against], policy.gate.titles | titles, anchored)


def marks_on(
    proposal: ProposalRow, beside: Beside, conflicts: list[ConflictMark], contradiction: Contradiction | None
) -> list[Mark]:
    """Return a proposal's reasons for caution."""
    content = proposal.payload["content"]
    around = Circumstances(
        supersedes=proposal.supersedes is not None,
        conflicts=len(conflicts),
        opened=beside.opened,
        contradicts=contradiction is not None,
    )
    hidden = sum(bool(piece.code) for piece in reveal(content))
    return marks_of(content, proposal.submission_scope, around, hidden=hidden)


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
        editor=_editor(proposal, records),
        self_edit=policy.rules(proposal.submission_scope).self_edit,
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
        redactor=proposal.redacted_by,
        standing=last_standing(records),
    )


def _editor(proposal: ProposalRow, records: list[ReviewRecordRow]) -> str | None:
    """Return the person whose edit wrote the current text, or None."""
    current = text_hash(canonical(proposal.payload))
    edits = (record for record in reversed(records) if record.decision == "edit" and record.resulting_hash == current)
    return next((record.person for record in edits), None) if proposal.edited else None


def values_by_pointer(proposal: ProposalRow | Unsorted, payload: dict[str, Any]) -> dict[str, Any]:
    """Return all values of a proposal that a memory would repeat, by JSON pointer, for a scan by the current rules."""
    return {
        "/scope_id": proposal.scope_id,
        "/payload": payload,
        "/source_span": proposal.source_span,
        "/supersedes": proposal.supersedes,
        "/derived_from": proposal.derived_from,
    }


def situation(policy: Policy, proposal: ProposalRow, facts: ReviewedProposal, person: str) -> Situation:
    """Return the facts for requirements; the text is scanned once, or twice if rules are switched off."""
    values, scope = values_by_pointer(proposal, proposal.payload), proposal.submission_scope
    findings = policy.gate.scan(values, scope)
    private = [one for one in findings if one.is_private]
    return Situation(
        proposal=facts,
        person=person,
        rules=policy.rules(proposal.submission_scope),
        findings=private,
        warnings=[one for one in findings if not one.is_private],
        passed=policy.unrestricted_gate.find_private(values, scope) if policy.privacy.off and not private else [],
    )


def _target(memory_id: str | None, state: MemoryState | None) -> Target | None:
    return Target(memory_id=memory_id, state=state) if memory_id is not None and state is not None else None
