"""Keeping a memory: a curator confirms it and sets the day after which it comes up for review again."""

from functools import partial

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import check_signed_in
from antechamber.core.errors import ForbiddenDecisionError, StaleDecisionError
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.decision import owner_obstacle
from antechamber.core.review.review_date import read_review_date
from antechamber.core.rows.review import ProposalRow
from antechamber.core.rows.upkeep import ReviewDateWrite
from antechamber.flows.desk_views import require
from antechamber.flows.dossier import owners_of
from antechamber.flows.live_policy import PolicyReloader


class KeepForm(Struct, frozen=True, kw_only=True):
    """What a curator typed to keep a memory."""

    decision_key: str
    """One-time key, so that a form sent twice counts once."""
    standing: str
    """The id of the review date that the form was shown with; empty for none."""
    review_after: str
    """The day after which it comes up for review again, as 2027-01-31; empty for none."""


def last_review_date(tx: Rows, proposal: ProposalRow) -> int | None:
    """Return the review date that holds for a proposal and its memory; None for none."""
    dates = tx.upkeep.review_dates(proposal.id)
    return dates[-1].review_after if dates else None


class ReviewDates:
    """Sets the review dates of memories."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self._randomness = randomness

    def keep(self, memory_id: str, form: KeepForm, account: Account) -> None:
        """Keep an active memory and set its next review date.

        Raises SignedOutError, NotFoundError, StaleDecisionError, ForbiddenDecisionError, InvalidDecisionError,
        BusyError or UnavailableError; then nothing was recorded.
        """
        if account.role != "curator":
            message = "Only a curator keeps a memory."
            raise ForbiddenDecisionError(message)
        self._store.promote(partial(self._keep, memory_id, form, account)).result()

    def _keep(self, memory_id: str, form: KeepForm, account: Account, tx: Rows) -> None:
        now, force = self._clock(), self._policies.current
        check_signed_in(account, tx.access.signed_in(account.session), now)
        proposal = _hold(tx, memory_id)
        owners = owners_of(
            tx, force.policy, proposal.producer_identity, proposal.owner, *tx.review.refused_owners(proposal.id)
        )
        if obstacle := owner_obstacle(owners, account.person, "memories"):
            raise ForbiddenDecisionError(obstacle)
        _check_fresh(tx, proposal, memory_id, form)
        tx.upkeep.set_review_date(
            ReviewDateWrite(
                review_date_id=uuid7(now, self._randomness(10)),
                proposal=proposal,
                account=account,
                before=last_review_date(tx, proposal),
                review_after=read_review_date(form.review_after, now),
                decision_key=form.decision_key,
                policy_digest=force.digest,
                set_at=now,
                salt=self._randomness(SALT_SIZE),
            )
        )


def _hold(tx: Rows, memory_id: str) -> ProposalRow:
    """Return the proposal of a memory after locking both.

    Raises NotFoundError if there is no such memory.
    """
    proposal_id = require(tx.review.memory(memory_id)).proposal_id
    tx.review.hold_proposal(proposal_id)
    tx.review.hold_memory(memory_id)
    return require(tx.review.proposal(proposal_id))


def _check_fresh(tx: Rows, proposal: ProposalRow, memory_id: str, form: KeepForm) -> None:
    """Raise StaleDecisionError unless the memory is active and its review date is the one that the form was shown."""
    if not form.decision_key or tx.upkeep.has_review_date(form.decision_key):
        message = "this form was sent before, and counted once"
        raise StaleDecisionError(message)
    state = require(tx.review.memory(memory_id)).state
    if state != "active":
        message = f"the memory is {state} by now"
        raise StaleDecisionError(message)
    dates = tx.upkeep.review_dates(proposal.id)
    if form.standing != (dates[-1].review_date_id if dates else ""):
        message = "another curator kept it meanwhile"
        raise StaleDecisionError(message)
