"""Review: the decisions of curators, which are the only path from a proposal to a memory."""

import contextlib
from functools import partial
from typing import Final, Literal

import msgspec
from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import check_signed_in
from antechamber.core.admission.canonical import canonical
from antechamber.core.errors import BusyError, ForbiddenDecisionError, StaleDecisionError, UnavailableError
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
    APPROVING,
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
from antechamber.core.review.form_checks import TypedText, check_note, check_nothing_lost, check_reading
from antechamber.core.review.queue_filter import QueueFilter, QueueReader
from antechamber.core.review.queue_order import QueueCursor
from antechamber.core.review.requirements import Situation, evaluate
from antechamber.core.review.review_date import read_review_date
from antechamber.core.review.text_diff import Difference, differ
from antechamber.core.rows.blind import BlindItem
from antechamber.core.rows.review import ProposalRow
from antechamber.core.rows.upkeep import ReviewDateWrite
from antechamber.flows.desk_views import require
from antechamber.flows.dossier import build_facts, situation, values_by_pointer
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.oversight.blind_decisions import BlindRuling, check_judge, record_blind
from antechamber.flows.oversight.screen_times import ScreenTimes, note_screen_time
from antechamber.flows.oversight.second_looks import SecondLooks
from antechamber.flows.upkeep.review_dates import last_review_date

LEASE: Final = 300_000_000
"""Microseconds that a claim lasts."""
DecisionOutcome = Literal[
    "approved", "waits", "rejected", "merged", "flagged", "undone", "retracted", "expired", "revealed"
]
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


class Desk:
    """The desk of curators: claims, decisions, and what a decision would change."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self._randomness = randomness
        self._looks = SecondLooks(store, policies, clock, randomness)
        self.screen_times: Final = ScreenTimes(store, policies, clock)
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

    def own_revealed(self, proposal_id: str, account: Account) -> BlindItem | None:
        """Return the blind item that this person decided on; None for every other proposal."""
        with self._store.read() as tx:
            proposal = tx.review.proposal(proposal_id)
            item = tx.blind.of_proposal(proposal.id) if proposal is not None else None
        return item if item is not None and item.person == account.person else None

    def draft(self, proposal_id: str, decision: Decision, account: Account) -> EditPreview:
        """Return what an edit would change, without recording anything.

        Raises what `decide` would: SignedOutError, NotFoundError, StaleDecisionError, ForbiddenDecisionError,
        InvalidDecisionError, BusyError or UnavailableError.
        """
        check_curator(account)
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
        check_curator(account)
        result = self._store.promote(partial(self.record, proposal_id, decision, account, within=within)).result()
        self.follow_up(decision, result)
        return result

    def follow_up(self, decision: Decision, result: DecisionResult) -> None:
        """Count a decision that was recorded, and perhaps let another person look; one on a blind item counts not."""
        if result.outcome == "revealed":
            return
        if result.outcome in {"approved", "rejected"}:
            # The decision is on disk; a second look is lost without harm.
            with contextlib.suppress(BusyError, UnavailableError):
                self._looks.consider(result.proposal_id)
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
        check_judge(tx, tx.blind.of_proposal(proposal.id), account.person)
        approval = situation(force.policy, proposal, facts, account.person) if decision.kind == "approve" else None
        if approval is not None:
            _check_requirements(approval)
        ruling = rule(facts, decision, account.person, now, target)
        check_reading(proposal.payload, decision)
        _check_text(force.policy, proposal, ruling, approval)
        return ruling

    def record(
        self,
        proposal_id: str,
        decision: Decision,
        account: Account,
        tx: Rows,
        *,
        going_on: bool = True,
        within: QueueFilter | None = None,
    ) -> DecisionResult:
        """Make one decision within a transaction, as `decide` does; without `going_on` nothing else is claimed."""
        now = self._clock()
        check_signed_in(account, tx.access.signed_in(account.session), now)
        proposal = _hold(tx.review, proposal_id, decision.target)
        ruling = self._rule(tx, proposal, decision, account, now)
        goes_on = going_on and decision.kind not in STAYING
        cursor = _behind(tx.queue, proposal_id, account, within) if goes_on else None
        blind, memory_id = tx.blind.of_proposal(proposal.id), proposal.memory_id
        if blind is not None:
            ruled = BlindRuling(item=blind, proposal=proposal, decision=decision, ruling=ruling)
            record_blind(tx, ruled, account, self._policies.current, now, self._randomness)
        else:
            entry = self._entry(decision, ruling, now)
            tx.review.decide(proposal, account, entry)
            if decision.kind in APPROVING and decision.review_after is not None:
                self._set_review_date(tx, proposal, account, entry)
            memory_id = entry.memory_id if ruling.admits else memory_id
        if goes_on and self._policies.current.policy.oversight.screen_days:
            note_screen_time(tx, proposal, decision, account.person, now)
        # What follows a decision, as a retraction, leaves mentions in notes that were written after it.
        decides = proposal.state == "pending" and ruling.state != "pending"
        tx.notes.settle(proposal.id, account.person, over=blind is not None or decides)
        tx.queue.release(proposal_id, None)
        return DecisionResult(
            proposal_id=proposal_id,
            outcome="revealed" if blind is not None else _outcome(decision.kind, ruling),
            memory_id=memory_id,
            next=self._claim_next(tx.queue, account, cursor, now, within=within) if cursor else None,
            age=now - proposal.received_at,
        )

    def _entry(self, decision: Decision, ruling: Ruling, now: int) -> DecisionWrite:
        return DecisionWrite(
            decision=decision,
            ruling=ruling,
            review_record_id=uuid7(now, self._randomness(10)),
            memory_id=uuid7(now, self._randomness(10)),
            policy_digest=self._policies.current.digest,
            decided_at=now,
            salt=self._randomness(SALT_SIZE),
        )

    def _set_review_date(self, tx: Rows, proposal: ProposalRow, account: Account, entry: DecisionWrite) -> None:
        """Set the review date that an approval names, unless it is the one that holds.

        Raises InvalidDecisionError if it is not a day to come.
        """
        now, before = entry.decided_at, last_review_date(tx, proposal)
        review_after = read_review_date(entry.decision.review_after or "", now)
        if review_after != before:
            tx.upkeep.set_review_date(
                ReviewDateWrite(
                    review_date_id=uuid7(now, self._randomness(10)),
                    proposal=proposal,
                    account=account,
                    before=before,
                    review_after=review_after,
                    decision_key=entry.decision.decision_key,
                    policy_digest=entry.policy_digest,
                    set_at=now,
                    salt=self._randomness(SALT_SIZE),
                )
            )

    def start(self, account: Account, within: QueueFilter | None = None) -> str | None:
        """Claim the first proposal that this person may judge and that matches a filter; return None without one."""
        return self._go_on(account, None, within, TypedText())

    def skip(
        self,
        proposal_id: str,
        account: Account,
        within: QueueFilter | None = None,
        typed: TypedText = TypedText(),  # noqa: B008 -- immutable
    ) -> str | None:
        """Release a proposal and claim the next one that matches a filter; return None if there is no other.

        Raises NotFoundError if there is no such proposal, InvalidDecisionError if typed text would be lost,
        SignedOutError, BusyError or UnavailableError.
        """
        return self._go_on(account, proposal_id, within, typed)

    def _go_on(self, account: Account, after: str | None, within: QueueFilter | None, typed: TypedText) -> str | None:
        def work(tx: Rows) -> str | None:
            check_signed_in(account, tx.access.signed_in(account.session), self._clock())
            if after is not None:
                proposal = require(tx.review.proposal(after))
                check_nothing_lost(typed, proposal.payload, tx.review.records(proposal.id))
                tx.queue.release(after, account.person)
            cursor = _behind(tx.queue, after, account, within) if after is not None else None
            return self._claim_next(tx.queue, account, cursor, self._clock(), after, within)

        return self._store.write(work).result()

    def claim(self, proposal_id: str, account: Account) -> None:
        """Claim a proposal, even if another person holds a claim on it.

        Raises NotFoundError if there is no such proposal, StaleDecisionError if it does not wait any more,
        SignedOutError, BusyError or UnavailableError.
        """
        now = self._clock()

        def work(tx: Rows) -> None:
            check_signed_in(account, tx.access.signed_in(account.session), now)
            if not tx.queue.claim(proposal_id, account.person, now, now + LEASE, override=True):
                message = f"this proposal was {require(tx.review.proposal(proposal_id)).state} meanwhile"
                raise StaleDecisionError(message)

        self._store.write(work).result()

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


def _behind(queue: QueueRows, proposal_id: str, account: Account, within: QueueFilter | None) -> QueueCursor | None:
    """Return the cursor behind a proposal; a filter has no group of what a person should look at."""
    return queue.cursor_behind(proposal_id, account.person) if within is None else queue.cursor_of(proposal_id)


def check_curator(account: Account) -> None:
    """Raise ForbiddenDecisionError for every other role."""
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
