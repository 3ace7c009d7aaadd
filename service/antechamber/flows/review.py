"""Review: what the desk shows, and the only path by which a proposal becomes a memory."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from antechamber.core.canonical import canonical
from antechamber.core.errors import ForbiddenDecisionError, NotFoundError, StaleDecisionError
from antechamber.core.ids import uuid7
from antechamber.core.policy import Policy
from antechamber.core.ports import Clock, Randomness, Rows, Store
from antechamber.core.privacy import Finding, scan
from antechamber.core.records import (
    BrowsedMemory,
    ConflictMark,
    EvidenceRow,
    MemoryRow,
    ProposalRow,
    QuarantineRow,
    QueueRow,
    ReviewRecordRow,
)
from antechamber.core.review import (
    Approval,
    Decision,
    Entry,
    InvalidDecisionError,
    ReviewedProposal,
    Ruling,
    blocker,
    required_persons,
    rule,
    standing_approvals,
    text_hash,
)
from antechamber.core.roles import Person
from antechamber.flows.policies import PolicyKeeper

R = TypeVar("R")

PAGE: Final = 50
MOST_COUNTED: Final = 1000
"""Counters stop here: nobody needs to know how far a queue lies beyond a thousand."""


class Counters(Struct, frozen=True, kw_only=True):
    """How much waits."""

    pending: int
    quarantined: int


class Queue(Struct, frozen=True, kw_only=True):
    """One page of the queue."""

    items: list[QueueRow]
    next: str | None


class Dossier(Struct, frozen=True, kw_only=True):
    """Everything a curator sees of one proposal."""

    proposal: ProposalRow
    shown_hash: str
    evidence: list[EvidenceRow]
    own_duplicates: int
    replays: int
    records: list[ReviewRecordRow]
    conflicts: list[ConflictMark]
    findings: list[Finding]
    approved_by: list[str]
    required: int
    approve_blocker: str | None
    edit_blocker: str | None
    reject_blocker: str | None
    next: str | None
    """The proposal that waits behind this one."""


class Decided(Struct, frozen=True, kw_only=True):
    """What a decision led to."""

    proposal_id: str
    state: str
    memory_id: str | None
    next: str | None


class Provenance(Struct, frozen=True, kw_only=True):
    """One memory and the decisions that admitted it."""

    memory: MemoryRow
    records: list[ReviewRecordRow]


class Desk:
    """Serves curators; auditors see the same without deciding."""

    def __init__(self, store: Store, policies: PolicyKeeper, clock: Clock, randomness: Randomness) -> None:
        """Join the review rules with a store."""
        self._store = store
        self._policies = policies
        self._clock = clock
        self._randomness = randomness

    def counters(self) -> Counters:
        """Count what waits, up to a thousand and one."""
        with self._store.read() as rows:
            return Counters(
                pending=rows.count_pending(MOST_COUNTED + 1), quarantined=rows.count_quarantined(MOST_COUNTED + 1)
            )

    def watch(self, wake: Callable[[], object]) -> Callable[[], None]:
        """Call `wake` from some thread after what waits has changed, in whichever process; return what ends that."""
        return self._store.watch(wake)

    def queue(self, after: str | None) -> Queue:
        """Return one page of pending proposals, oldest first."""
        with self._store.read() as rows:
            items = rows.pending_proposals(after, PAGE + 1)
        return Queue(items=items[:PAGE], next=items[PAGE - 1].proposal_id if len(items) > PAGE else None)

    def dossier(self, proposal_id: str, person: Person) -> Dossier:
        """Gather one proposal with its evidence, history and findings.

        Raises NotFoundError.
        """
        policy = self._policies.current.policy
        with self._store.read() as rows:
            proposal = _found(rows.proposal(proposal_id))
            evidence = rows.evidence(proposal.id)
            duplicates, duplicate_replays = rows.own_duplicates(proposal.id)
            records = rows.review_records(proposal.id)
            conflicts = rows.conflicts(proposal.id)
            following = rows.next_pending(proposal_id)
        reviewed = _reviewed(policy, proposal, records)
        return Dossier(
            proposal=proposal,
            shown_hash=text_hash(canonical(proposal.payload)),
            evidence=evidence,
            own_duplicates=duplicates,
            replays=proposal.replays + duplicate_replays,
            records=records,
            conflicts=conflicts,
            findings=_findings(policy, proposal),
            approved_by=sorted(standing_approvals(reviewed)),
            required=required_persons(reviewed),
            approve_blocker=blocker(reviewed, person.person, "approve"),
            edit_blocker=blocker(reviewed, person.person, "edit"),
            reject_blocker=blocker(reviewed, person.person, "reject"),
            next=following,
        )

    def decide(self, proposal_id: str, decision: Decision, person: Person) -> Decided:
        """Make one decision, in one transaction with everything it leads to.

        Raises NotFoundError, StaleDecisionError, ForbiddenDecisionError, InvalidDecisionError, BusyError or
        UnavailableError; then nothing was recorded.
        """
        if person.role != "curator":
            message = "Only a curator decides."
            raise ForbiddenDecisionError(message)
        return self._store.promote(partial(self._decide, proposal_id, decision, person)).result()

    def _decide(self, proposal_id: str, decision: Decision, person: Person, rows: Rows) -> Decided:
        force, now = self._policies.current, self._clock()
        rows.hold_proposal(proposal_id)
        proposal = _found(rows.proposal(proposal_id))
        if not decision.decision_key or rows.decision_with_key(decision.decision_key):
            message = "this form was sent before, and counted once"
            raise StaleDecisionError(message)
        ruling = rule(_reviewed(force.policy, proposal, rows.review_records(proposal.id)), decision, person.person)
        _check_text(force.policy, proposal, ruling)
        _check_note(force.policy, decision.reason_text)
        entry = Entry(
            decision=decision,
            ruling=ruling,
            review_record_id=uuid7(now, self._randomness(10)),
            memory_id=uuid7(now, self._randomness(10)),
            policy_digest=force.digest,
            decided_at=now,
        )
        rows.decide(proposal, person, entry)
        return Decided(
            proposal_id=proposal_id,
            state=ruling.state,
            memory_id=entry.memory_id if ruling.admits else None,
            next=rows.next_pending(proposal_id),
        )

    def quarantine(self, after: str | None) -> tuple[list[QuarantineRow], str | None]:
        """Return one page of waiting refused events, newest first, and where the next begins."""
        with self._store.read() as rows:
            items = rows.quarantined(after, PAGE + 1)
        return items[:PAGE], items[PAGE - 1].quarantine_id if len(items) > PAGE else None

    def memories(self, words: Sequence[str], after: str | None) -> tuple[list[BrowsedMemory], str | None]:
        """Return one page of memories, newest first, and where the next begins."""
        with self._store.read() as rows:
            items = rows.browse_memories(words, after, PAGE + 1)
        return items[:PAGE], items[PAGE - 1].memory_id if len(items) > PAGE else None

    def memory(self, memory_id: str) -> Provenance:
        """Return one memory with the decisions behind it.

        Raises NotFoundError.
        """
        with self._store.read() as rows:
            memory = _found(rows.memory(memory_id))
            return Provenance(memory=memory, records=rows.review_records(memory.proposal))


def _found(row: R | None) -> R:
    if row is None:
        message = "nothing here by that name"
        raise NotFoundError(message)
    return row


def _reviewed(policy: Policy, proposal: ProposalRow, records: list[ReviewRecordRow]) -> ReviewedProposal:
    owners = {proposal.owner, policy.owner(proposal.producer_identity) or proposal.owner}
    return ReviewedProposal(
        state=proposal.state,
        version=proposal.version,
        payload=proposal.payload,
        owners=frozenset(owners),
        edited=proposal.edited,
        withdrawn=proposal.withdrawn,
        approvals=[
            Approval(person=record.person, version=record.resulting_version, text_hash=record.resulting_hash or "")
            for record in records
            if record.decision != "reject"
        ],
        curators=policy.rules(proposal.submission_scope).curators,
    )


def _findings(policy: Policy, proposal: ProposalRow) -> list[Finding]:
    """Look again with the rules of today: what was clean when it came may not be now."""
    return scan(_places(proposal, proposal.payload), frozenset(policy.privacy.off))


def _places(proposal: ProposalRow, payload: dict[str, Any]) -> dict[str, Any]:
    """Name all of a proposal that a memory would repeat."""
    return {
        "/scope_id": proposal.scope_id,
        "/payload": payload,
        "/source_span": proposal.source_span,
        "/supersedes": proposal.supersedes,
    }


def _check_note(policy: Policy, note: str) -> None:
    """Refuse to keep a private value that a curator copied into the note."""
    if scan({"/reason_text": note}, frozenset(policy.privacy.off)):
        message = "The note holds private data. Say what is wrong without repeating it."
        raise InvalidDecisionError(message)


def _check_text(policy: Policy, proposal: ProposalRow, ruling: Ruling) -> None:
    """Refuse to remember a text that is private or too large for its scope."""
    if ruling.resulting is None:
        return
    most = policy.rules(proposal.submission_scope).max_bytes
    if len(ruling.resulting) > most:
        message = f"The text is too long: this scope takes {most} bytes."
        raise InvalidDecisionError(message)
    places = _places(proposal, msgspec.json.decode(ruling.resulting))
    if findings := scan(places, frozenset(policy.privacy.off)):
        rules = ", ".join(sorted({finding.rule_id for finding in findings}))
        message = f"The text holds private data ({rules}). Remove it, or reject the proposal with the reason private."
        raise InvalidDecisionError(message)
