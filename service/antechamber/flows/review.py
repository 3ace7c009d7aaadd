"""Review: the decisions of curators, which are the only path from a proposal to a memory."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import SignedOutError, check_signed_in
from antechamber.core.admission.canonical import canonical
from antechamber.core.errors import AntechamberError, ForbiddenDecisionError, StaleDecisionError, UnavailableError
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.metrics import definitions as metrics
from antechamber.core.metrics.meters import Meters
from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.review import ReviewRows
from antechamber.core.ports.review_queue import QueueRows
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.decision import (
    CurrentDecision,
    Decision,
    DecisionKind,
    DecisionWrite,
    InvalidDecisionError,
    Ruling,
    blocker,
    rule,
    text_hash,
    undo_needs_reason,
)
from antechamber.core.review.form_checks import check_note, check_reading
from antechamber.core.review.queue_filter import QueueFilter, QueueReader
from antechamber.core.review.queue_order import QueueCursor
from antechamber.core.review.requirements import Situation, evaluate
from antechamber.core.review.text_diff import Difference, differ
from antechamber.core.rows.review import ProposalRow
from antechamber.flows.desk_views import require
from antechamber.flows.dossier import Member, build_facts, fits_in_group, member, situation, values_by_pointer
from antechamber.flows.live_policy import PolicyReloader

R = TypeVar("R")

MAX_AT_ONCE: Final = 100
"""Maximum number of proposals of a group that can be decided on at once."""
HOUR: Final = 3_600_000_000
LEASE: Final = 300_000_000
"""Microseconds that a claim lasts."""
DecisionOutcome = Literal["approved", "waits", "rejected", "merged", "flagged", "undone", "retracted", "expired"]
STAYING: Final = frozenset({"undo", "retract", "expire"})
"""Decisions after which the curator stays on the same page."""


_OUTCOMES: Final[dict[DecisionKind, DecisionOutcome]] = {
    "reject": "rejected",
    "merge": "merged",
    "flag": "flagged",
    "undo": "undone",
    "retract": "retracted",
    "expire": "expired",
}


def _outcome(kind: DecisionKind, ruling: Ruling) -> DecisionOutcome:
    return _OUTCOMES.get(kind) or ("approved" if ruling.admits else "waits")


class DecisionResult(Struct, frozen=True, kw_only=True):
    """The result of a decision."""

    proposal_id: str
    outcome: DecisionOutcome
    memory_id: str | None
    """The memory that the proposal became, or was before."""
    next: str | None
    """The proposal that this person holds a claim on now."""
    age: int
    """Microseconds from the proposal's submission to this decision."""


class LastDecision(Struct, frozen=True, kw_only=True):
    """A decision just made, and the values that an undo must repeat."""

    proposal: ProposalRow
    shown_hash: str
    standing: CurrentDecision


class EditPreview(Struct, frozen=True, kw_only=True):
    """An edit before it is saved."""

    proposal: ProposalRow
    resulting_hash: str
    """The hash of the payload that the edit results in."""
    content: str
    """The changed text in normal form."""
    alone: bool
    """Whether the edit needs no second person, because the policy lets its editor approve it alone."""
    difference: Difference


class Group(Struct, frozen=True, kw_only=True):
    """Proposals that may be decided on together; the page shows each one whole or marks it as cut."""

    items: list[Member]
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


class Desk:
    """The desk of curators: claims, decisions, and what a decision would change."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self._randomness = randomness
        self.meters: Final = Meters(metrics.DECISION_AGE)

    def own_last_decision(self, proposal_id: str, account: Account) -> LastDecision | None:
        """Return the decision that this person just made on a proposal; None if another decision is current."""
        with self._store.read() as tx:
            proposal = tx.review.proposal(proposal_id)
            if proposal is None:
                return None
            facts = build_facts(tx, self._policies.current.policy, proposal, tx.review.records(proposal.id))
        last = facts.standing
        if last is None or undo_needs_reason(last, account.person, self._clock()):
            return None
        if blocker(facts, account.person, "undo") is not None:
            return None
        return LastDecision(proposal=proposal, shown_hash=text_hash(canonical(proposal.payload)), standing=last)

    def draft(self, proposal_id: str, decision: Decision, account: Account) -> EditPreview:
        """Return what an edit would change, without recording anything.

        Raises what `decide` would: SignedOutError, NotFoundError, StaleDecisionError, ForbiddenDecisionError,
        InvalidDecisionError, BusyError or UnavailableError.
        """
        _check_role(account)
        with self._store.read() as tx:
            check_signed_in(account, tx.access.session(account.session), self._clock())
            proposal = require(tx.review.proposal(proposal_id))
            ruling = self._rule(tx, proposal, decision, account, self._clock())
        after = msgspec.json.decode(ruling.text)["content"]
        difference = differ(proposal.payload["content"], after)
        return EditPreview(
            proposal=proposal,
            resulting_hash=text_hash(ruling.text),
            content=after,
            difference=difference,
            alone=ruling.self_edit,
        )

    def decide(
        self, proposal_id: str, decision: Decision, account: Account, within: QueueFilter | None = None
    ) -> DecisionResult:
        """Make one decision and all its effects in one transaction; the next proposal matches the filter `within`.

        Raises SignedOutError, NotFoundError, StaleDecisionError, ForbiddenDecisionError, InvalidDecisionError,
        BusyError or UnavailableError; then nothing was recorded.
        """
        _check_role(account)
        result = self._store.promote(partial(self._decide, proposal_id, decision, account, within=within)).result()
        self._count(decision, result)
        return result

    def _count(self, decision: Decision, result: DecisionResult) -> None:
        self.meters.count(metrics.DECISIONS_MADE, decision.kind)
        if decision.kind not in STAYING:
            self.meters.observe(metrics.DECISION_AGE, result.age / 1_000_000)

    def _rule(self, tx: Rows, proposal: ProposalRow, decision: Decision, account: Account, now: int) -> Ruling:
        """Return the ruling of a decision on a proposal as it is now; writes nothing."""
        force = self._policies.current
        if not decision.decision_key or tx.review.decision_with_key(decision.decision_key):
            message = "this form was sent before, and counted once"
            raise StaleDecisionError(message)
        target = (
            tx.review.target(decision.target, proposal.submission_scope, proposal.scope_id) if decision.target else None
        )
        facts = build_facts(tx, force.policy, proposal, tx.review.records(proposal.id))
        check_note(decision.reason_text, force.gate)
        approval = situation(force.policy, proposal, facts, account.person) if decision.kind == "approve" else None
        if approval is not None:
            _check_requirements(approval)
        ruling = rule(facts, decision, account.person, now, target)
        check_reading(proposal.payload, decision)
        _check_text(force.policy, proposal, ruling, approval)
        return ruling

    def _decide(
        self,
        proposal_id: str,
        decision: Decision,
        account: Account,
        tx: Rows,
        *,
        going_on: bool = True,
        within: QueueFilter | None = None,
    ) -> DecisionResult:
        now = self._clock()
        check_signed_in(account, tx.access.signed_in(account.session), now)
        proposal = _hold(tx.review, proposal_id, decision.target)
        ruling = self._rule(tx, proposal, decision, account, now)
        entry = DecisionWrite(
            decision=decision,
            ruling=ruling,
            review_record_id=uuid7(now, self._randomness(10)),
            memory_id=uuid7(now, self._randomness(10)),
            policy_digest=self._policies.current.digest,
            decided_at=now,
            salt=self._randomness(SALT_SIZE),
        )
        goes_on = going_on and decision.kind not in STAYING
        cursor = tx.queue.cursor_of(proposal_id) if goes_on else None
        tx.review.decide(proposal, account, entry)
        tx.notes.settle(proposal.id, account.person, over=ruling.state != "pending")
        tx.queue.release(proposal_id, None)
        return DecisionResult(
            proposal_id=proposal_id,
            outcome=_outcome(decision.kind, ruling),
            memory_id=entry.memory_id if ruling.admits else proposal.memory_id,
            next=self._claim_next(tx.queue, account, cursor, now, within=within) if cursor else None,
            age=now - proposal.received_at,
        )

    def group(self, *, like: str | None = None, producer: str | None = None) -> Group:
        """Return near duplicates of a proposal, or a producer's proposals of the last hour; at most 100."""
        policy = self._policies.current.policy
        with self._store.read() as tx:
            ids = tx.queue.group_like(like, MAX_AT_ONCE + 1) if like else []
            if producer:
                ids = tx.queue.group_of_producer(producer, self._clock() - HOUR, MAX_AT_ONCE + 1)
            proposals = [tx.review.proposal(proposal_id) for proposal_id in ids[:MAX_AT_ONCE]]
            items = [member(tx.review, policy, proposal) for proposal in proposals if proposal is not None]
        return Group(items=items, more=len(ids) > MAX_AT_ONCE, approves=policy.limits.bulk_approve)

    def decide_many(self, decisions: Sequence[tuple[str, Decision]], account: Account) -> list[tuple[str, str | None]]:
        """Make the same decision on each proposal of a group, each with its own record; return ids and errors.

        Raises ForbiddenDecisionError if a decision is neither approve nor reject or the person is no curator,
        SignedOutError if nothing was recorded because the session ended.
        """
        _check_role(account)
        for _, decision in decisions:
            if decision.kind not in {"reject", "approve"}:
                message = "A group is approved or rejected, nothing else."
                raise ForbiddenDecisionError(message)
        waiting = [
            (proposal_id, self._promote(partial(self._decide_in_group, proposal_id, decision, account)))
            for proposal_id, decision in decisions[:MAX_AT_ONCE]
        ]
        results = [(proposal_id, _failure_of(future)) for proposal_id, future in waiting]
        for (_, decision), (_, future), (_, failure) in zip(decisions[:MAX_AT_ONCE], waiting, results, strict=True):
            if failure is None:
                self._count(decision, future.result())
        if results and all(isinstance(failure, SignedOutError) for _, failure in results):
            raise SignedOutError
        return [(proposal_id, None if failure is None else str(failure)) for proposal_id, failure in results]

    def _promote(self, work: Callable[[Rows], DecisionResult]) -> Future[DecisionResult]:
        """Start one decision of a group; if the store accepts no writes any more, return that error as its result."""
        try:
            return self._store.promote(work)
        except UnavailableError as error:
            refused = Future[DecisionResult]()
            refused.set_exception(error)
            return refused

    def _decide_in_group(self, proposal_id: str, decision: Decision, account: Account, tx: Rows) -> DecisionResult:
        proposal = require(tx.review.proposal(proposal_id))
        if not fits_in_group(proposal):
            message = "It is too long to be shown whole in a group; open it and decide on it alone."
            raise ForbiddenDecisionError(message)
        if decision.kind == "approve":
            self._check_bulk_approval(tx.review, proposal)
        result = self._decide(proposal_id, decision, account, tx, going_on=False)
        if decision.kind == "reject":
            tx.queue.sink(proposal_id)
        return result

    def _check_bulk_approval(self, review: ReviewRows, proposal: ProposalRow) -> None:
        policy = self._policies.current.policy
        if not policy.limits.bulk_approve:
            message = "Bulk approval is off (policy)."
            raise ForbiddenDecisionError(message)
        item = member(review, policy, proposal)
        if item.marks or item.found.findings:
            message = "It has warnings; open it and decide on it alone."
            raise ForbiddenDecisionError(message)

    def start(self, account: Account, within: QueueFilter | None = None) -> str | None:
        """Claim the first proposal that this person may judge and that matches a filter; return None without one."""
        return self._go_on(account, None, within)

    def skip(self, proposal_id: str, account: Account, within: QueueFilter | None = None) -> str | None:
        """Release a proposal and claim the next one that matches a filter; return None if there is no other."""
        return self._go_on(account, proposal_id, within)

    def _go_on(self, account: Account, after: str | None, within: QueueFilter | None) -> str | None:
        def work(tx: Rows) -> str | None:
            check_signed_in(account, tx.access.signed_in(account.session), self._clock())
            if after is not None:
                tx.queue.release(after, account.person)
            cursor = tx.queue.cursor_of(after) if after is not None else None
            return self._claim_next(tx.queue, account, cursor, self._clock(), after, within)

        return self._store.write(work).result()

    def claim(self, proposal_id: str, account: Account) -> None:
        """Claim a proposal, even if another person holds a claim on it.

        Raises NotFoundError if no such proposal waits, SignedOutError.
        """
        now = self._clock()

        def work(tx: Rows) -> bool:
            check_signed_in(account, tx.access.signed_in(account.session), now)
            return tx.queue.claim(proposal_id, account.person, now, now + LEASE, override=True)

        require(self._store.write(work).result() or None)

    def _claim_next(
        self,
        queue: QueueRows,
        account: Account,
        cursor: QueueCursor | None,
        now: int,
        skipped: str | None = None,
        within: QueueFilter | None = None,
    ) -> str | None:
        """Claim the first free proposal behind a cursor, or else the first free one of the queue."""

        def free(after: QueueCursor | None) -> list[str]:
            if within is None:
                return queue.free(account.person, after, now)
            return queue.free_matching(within, QueueReader(account.person, now), after)

        for proposal_id in free(cursor) or free(None):
            if proposal_id != skipped and queue.claim(proposal_id, account.person, now, now + LEASE, override=False):
                return proposal_id
        return None


def _check_role(account: Account) -> None:
    if account.role != "curator":
        message = "Only a curator decides."
        raise ForbiddenDecisionError(message)


def _hold(review: ReviewRows, proposal_id: str, target: str) -> ProposalRow:
    """Return a proposal after locking it and the memories that a decision on it may change."""
    review.hold_proposal(proposal_id)
    proposal = require(review.proposal(proposal_id))
    touched = sorted({proposal.replaces or "", proposal.memory_id or "", target} - {""})
    for memory_id in touched:
        review.hold_memory(memory_id)
    return require(review.proposal(proposal_id)) if touched else proposal


def _check_requirements(approval: Situation) -> None:
    """Refuse an approval if a requirement could not be evaluated; the rules refuse unsatisfied ones."""
    for requirement in evaluate(approval):
        if requirement.state == "error":
            raise ForbiddenDecisionError(requirement.text)


def _check_text(policy: Policy, proposal: ProposalRow, ruling: Ruling, approval: Situation | None) -> None:
    """Refuse to admit a text that is private or too large for its scope.

    `approval` has the findings in an unchanged text.
    """
    if ruling.resulting is None:
        return
    limit = policy.rules(proposal.submission_scope).max_bytes
    if len(ruling.resulting) > limit:
        message = f"The text is too long: this scope takes {limit} bytes."
        raise InvalidDecisionError(message)
    values = values_by_pointer(proposal, msgspec.json.decode(ruling.resulting))
    if findings := approval.findings if approval else policy.gate.find_private(values, proposal.submission_scope):
        rules = ", ".join(sorted({finding.rule_id for finding in findings}))
        message = f"The text holds private data ({rules}). Remove it, or reject the proposal with the reason private."
        raise InvalidDecisionError(message)
