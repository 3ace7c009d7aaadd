"""Groups of proposals: read whole on one page, marked one by one, and decided together with a record for each."""

from collections.abc import Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Final, Literal

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import SignedOutError
from antechamber.core.admission.canonical import canonical
from antechamber.core.errors import AntechamberError, ForbiddenDecisionError
from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock
from antechamber.core.ports.review_queue import QueueRows
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.decision import (
    Decision,
    ReviewedProposal,
    blocker,
    required_persons,
    text_hash,
)
from antechamber.core.review.form_checks import is_long
from antechamber.core.review.hidden_text import fits, texts_of
from antechamber.core.review.queue_order import Mark
from antechamber.core.review.text_diff import Difference, differ
from antechamber.core.review.warning_marks import WarningMarks
from antechamber.core.rows.review import ProposalRow
from antechamber.flows.desk_views import require
from antechamber.flows.dossier import build_facts, found_in, marks_on, values_by_pointer
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.review import DecisionResult, Desk, LastDecision, check_curator
from antechamber.flows.similar_memories import contradicted

MAX_AT_ONCE: Final = 100
"""Maximum number of proposals of a group that can be decided on at once."""
IN_GROUP: Final = 8000
"""Maximum weight of a payload shown whole beside 99 others; see `core.review.hidden_text.fits`."""
HOUR: Final = 3_600_000_000
GroupKind = Literal["like", "source", "producer"]
"""The near duplicates of a proposal, the proposals of its source, or those that a producer sent in the last hour."""
_DECIDED: Final = frozenset({"approve", "reject", "undo"})


class GroupChoice(Struct, frozen=True, kw_only=True):
    """Which group is shown."""

    kind: GroupKind
    value: str
    """A proposal of the group, or the producer's identity."""
    keep: str = ""
    """The proposal that the others are compared with, for near duplicates; empty for the oldest one."""


_TOO_LONG: Final = "It is too long to be shown whole in a group; open it and decide on it alone."


class Member(Struct, frozen=True, kw_only=True):
    """One proposal on a page of a group."""

    proposal: ProposalRow
    shown_hash: str
    marks: list[Mark]
    found: WarningMarks
    """What the rules find in it, to be marked in its texts."""
    whole: bool
    """Whether the proposal is shown whole; otherwise it is decided on separately."""
    long: bool
    """Whether an approval requires that the text was read to its end."""
    blocker: str | None
    """Why this person cannot decide on it, or None."""
    alone: str | None
    """Why it can be approved only on its own page, or None."""
    difference: Difference | None
    """From the text of the marked proposal to its own; None beside no marked one."""


class Group(Struct, frozen=True, kw_only=True):
    """Proposals that may be decided on together; the page shows each one whole or marks it as cut."""

    items: list[Member]
    kept: ProposalRow | None
    """The marked proposal, which the others are compared with."""
    more: bool
    """Whether there are more than can be decided on at once."""
    approves: bool


def _failure_of(future: Future[DecisionResult]) -> AntechamberError | None:
    """Return the error that prevented a decision of a group, or None if it was made."""
    try:
        future.result()
    except AntechamberError as error:
        return error
    return None


class Groups:
    """Shows groups of proposals and decides on their members; `desk` makes each decision."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock, desk: Desk) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self._desk = desk

    def read(self, choice: GroupChoice, account: Account) -> Group:
        """Return the waiting proposals of a group, oldest first, at most 100."""
        policy = self._policies.current.policy
        with self._store.read() as tx:
            ids = self._list(tx.queue, choice)
            proposals = [require(tx.review.proposal(proposal_id)) for proposal_id in ids[:MAX_AT_ONCE]]
            kept = _marked(proposals, choice) if choice.kind == "like" else None
            items = [_member(tx, policy, proposal, account.person, kept) for proposal in proposals]
        return Group(items=items, kept=kept, more=len(ids) > MAX_AT_ONCE, approves=policy.limits.bulk_approve)

    def _list(self, queue: QueueRows, choice: GroupChoice) -> list[str]:
        match choice.kind:
            case "like":
                return queue.group_like(choice.value, MAX_AT_ONCE + 1)
            case "source":
                return queue.group_of_source(choice.value, MAX_AT_ONCE + 1)
            case _:
                return queue.group_of_producer(choice.value, self._clock() - HOUR, MAX_AT_ONCE + 1)

    def last_decisions(self, proposal_ids: Sequence[str], account: Account) -> list[LastDecision]:
        """Return the decisions that this person just made on these proposals and can still undo."""
        found = [self._desk.own_last_decision(proposal_id, account) for proposal_id in proposal_ids]
        return [last for last in found if last is not None]

    def texts(self, proposal_ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of proposals, by their ids."""
        with self._store.read() as tx:
            found = filter(None, map(tx.review.proposal, proposal_ids))
            return {proposal.proposal_id: proposal.payload.get("content", "") for proposal in found}

    def decide(
        self, decisions: Sequence[tuple[str, Decision]], account: Account, *, sink: bool = False
    ) -> list[tuple[str, str | None]]:
        """Make a decision on each proposal of a group, each with its own record; return ids and errors.

        With `sink`, what remains of a rejected proposal's near duplicates moves to the end of the queue.

        Raises ForbiddenDecisionError if a decision is none of approve, reject and undo or the person is no curator,
        SignedOutError if nothing was recorded because the session ended.
        """
        check_curator(account)
        for _, decision in decisions:
            if decision.kind not in _DECIDED:
                message = "A group is approved, rejected or undone, nothing else."
                raise ForbiddenDecisionError(message)
        waiting = [
            (proposal_id, self._begin(proposal_id, decision, account, sink=sink))
            for proposal_id, decision in decisions[:MAX_AT_ONCE]
        ]
        results = [(proposal_id, _failure_of(future)) for proposal_id, future in waiting]
        for (_, decision), (_, future), (_, failure) in zip(decisions[:MAX_AT_ONCE], waiting, results, strict=True):
            if failure is None:
                self._desk.follow_up(decision, future.result())
        if results and all(isinstance(failure, SignedOutError) for _, failure in results):
            raise SignedOutError
        return [(proposal_id, None if failure is None else str(failure)) for proposal_id, failure in results]

    def _begin(self, proposal_id: str, decision: Decision, account: Account, *, sink: bool) -> Future[DecisionResult]:
        """Start one decision of a group; what prevents it is the exception of the result.

        An approval is checked before its transaction, because scans and searches would hold up all writers. It ends
        before this returns, so that the check of the next text sees the memory that it made. A text that changes
        between check and transaction is refused there, because the form names another version.
        """
        try:
            if decision.kind == "approve":
                self._check_approval(proposal_id, account)
            begun = self._store.promote(partial(self._decide, proposal_id, decision, account, sink=sink))
        except AntechamberError as error:
            begun = Future[DecisionResult]()
            begun.set_exception(error)
        if decision.kind == "approve":
            wait([begun])
        return begun

    def _decide(
        self, proposal_id: str, decision: Decision, account: Account, tx: Rows, *, sink: bool
    ) -> DecisionResult:
        proposal = require(tx.review.proposal(proposal_id))
        if decision.kind != "undo" and not fits_in_group(proposal):
            raise ForbiddenDecisionError(_TOO_LONG)
        result = self._desk.record(proposal_id, decision, account, tx, going_on=False)
        if decision.kind == "reject" and sink:
            tx.queue.sink(proposal_id)
        return result

    def _check_approval(self, proposal_id: str, account: Account) -> None:
        policy = self._policies.current.policy
        if not policy.limits.bulk_approve:
            message = "Bulk approval is off (policy)."
            raise ForbiddenDecisionError(message)
        with self._store.read() as tx:
            proposal = require(tx.review.proposal(proposal_id))
            obstacle = _member(tx, policy, proposal, account.person, None).alone
        if obstacle is not None:
            raise ForbiddenDecisionError(obstacle)


def _marked(proposals: Sequence[ProposalRow], choice: GroupChoice) -> ProposalRow | None:
    """Return the proposal that a page marks: the chosen one, or else the oldest."""
    chosen = (proposal for proposal in proposals if proposal.proposal_id == choice.keep)
    return next(chosen, proposals[0] if proposals else None)


def fits_in_group(proposal: ProposalRow) -> bool:
    """Return whether the page of a group has room for the whole proposal and shows each of its characters."""
    return fits(texts_of(proposal.payload), IN_GROUP)


def _member(tx: Rows, policy: Policy, proposal: ProposalRow, person: str, kept: ProposalRow | None) -> Member:
    """Gather what the page of a group shows of a proposal; what is too long for it is not searched for warnings."""
    whole = fits_in_group(proposal)
    values = values_by_pointer(proposal, proposal.payload)
    # A page of many long texts would take as many seconds as it has texts.
    findings = policy.gate.scan(values, proposal.submission_scope) if whole else []
    scope = proposal.submission_scope, proposal.scope_id
    contradiction = contradicted(tx, scope, proposal.payload, proposal.supersedes)
    beside = tx.queue.beside([proposal.id], 1)[proposal.id]
    marks = marks_on(proposal, beside, tx.review.conflicts(proposal.id), contradiction)
    found = found_in(proposal, findings, policy, contradiction, anchored=False)
    facts = build_facts(tx, policy, proposal, tx.review.records(proposal.id))
    return Member(
        proposal=proposal,
        shown_hash=text_hash(canonical(proposal.payload)),
        marks=marks,
        found=found,
        whole=whole,
        long=is_long(proposal.payload),
        blocker=blocker(facts, person, "reject"),
        alone=_alone(facts, person, {mark.text for mark in marks} | {one.title for one in found.list_cautions()})
        if whole
        else _TOO_LONG,
        difference=_difference(kept, proposal),
    )


def _alone(facts: ReviewedProposal, person: str, warnings: set[str]) -> str | None:
    """Return why a proposal cannot be approved together with others, or None."""
    if warnings:
        return f"It has warnings ({', '.join(sorted(warnings))}); open it and decide on it alone."
    if required_persons(facts, person) > 1:
        return "It needs two persons; open it and decide on it alone."
    return None


def _difference(kept: ProposalRow | None, proposal: ProposalRow) -> Difference | None:
    if kept is None or kept.proposal_id == proposal.proposal_id:
        return None
    return differ(kept.payload["content"], proposal.payload["content"])
