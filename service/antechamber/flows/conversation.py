"""The conversation about a proposal on the curators' side: notes, questions to its producer, assignments.

None of it decides anything. A question makes the proposal wait for its producer, whose answer returns it to the person
who asked.
"""

from functools import partial
from typing import Literal

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.sessions import check_signed_in
from antechamber.core.admission.canonical import canonical
from antechamber.core.errors import ForbiddenDecisionError, StaleDecisionError
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.decision import ERASED, InvalidDecisionError
from antechamber.core.review.form_checks import TypedText, check_nothing_lost
from antechamber.core.review.notes import (
    MAX_NOTES,
    assignment_obstacle,
    check_curators_note,
    find_mentions,
    normal_note,
)
from antechamber.core.rows.notes import NoteWrite
from antechamber.core.rows.review import ProposalRow
from antechamber.flows.conversation_view import active_curators, obstacle_to_question
from antechamber.flows.desk_views import require
from antechamber.flows.dossier import owners_of
from antechamber.flows.live_policy import PolicyReloader

CuratorsKind = Literal["note", "question", "assignment"]


class NoteForm(Struct, frozen=True, kw_only=True):
    """The values of a form of the conversation."""

    decision_key: str
    """One-time key, so that a form sent twice counts once."""
    text: str = ""
    person: str = ""
    """The person to whom the proposal is assigned; empty to end the assignment."""
    typed: TypedText = TypedText()
    """What the form has besides; a question, which leads to the next proposal, is refused if it would be lost."""


class Conversation:
    """Writes what curators say about a proposal."""

    def __init__(self, store: Store, policies: PolicyReloader, clock: Clock, randomness: Randomness) -> None:
        self._store = store
        self._policies = policies
        self._clock = clock
        self._randomness = randomness

    def write(self, kind: CuratorsKind, proposal_id: str, form: NoteForm, account: Account) -> None:
        """Add a note to a proposal, or ask the producer of a waiting one, or assign it to a person.

        Raises SignedOutError, NotFoundError, StaleDecisionError, ForbiddenDecisionError, InvalidDecisionError,
        BusyError or UnavailableError; then nothing was recorded.
        """
        if account.role != "curator":
            message = "Only a curator writes notes."
            raise ForbiddenDecisionError(message)
        self._store.write(partial(self._write, kind, proposal_id, form, account)).result()

    def see(self, proposal_id: str, account: Account) -> None:
        """Mark the notes that mention a curator as seen; the proposal leaves the group of what is for them.

        Raises SignedOutError, NotFoundError, BusyError or UnavailableError; then nothing was changed.
        """
        self._store.write(partial(self._see, proposal_id, account)).result()

    def _see(self, proposal_id: str, account: Account, tx: Rows) -> None:
        check_signed_in(account, tx.access.signed_in(account.session), self._clock())
        tx.notes.end_mention(require(tx.review.proposal(proposal_id)).id, account.person)

    def _write(self, kind: CuratorsKind, proposal_id: str, form: NoteForm, account: Account, tx: Rows) -> None:
        now, policy = self._clock(), self._policies.current.policy
        check_signed_in(account, tx.access.signed_in(account.session), now)
        tx.review.hold_proposal(proposal_id)
        proposal = require(tx.review.proposal(proposal_id))
        _check_form(tx, kind, proposal, form)
        text = "" if kind == "assignment" else normal_note(form.text)
        if kind == "question" and (obstacle := obstacle_to_question(tx, policy, proposal)):
            raise ForbiddenDecisionError(obstacle)
        if kind == "question":
            check_nothing_lost(form.typed, proposal.payload, tx.review.records(proposal.id))
        if kind == "assignment":
            persons = _assignee(tx, policy, proposal, form.person)
            # A claim would keep it from the person whom it is left to.
            tx.queue.release(proposal_id, account.person)
        else:
            scope = proposal.submission_scope
            check_curators_note(text, lambda note: bool(policy.gate.find_private({"/text": note}, scope)))
            persons = [one for one in find_mentions(text, _names(tx)) if one != account.person]
        tx.notes.add(
            NoteWrite(
                note_id=uuid7(now, self._randomness(10)),
                kind=kind,
                proposal=proposal,
                account=account,
                text=text,
                persons=persons,
                key=form.decision_key,
                policy_digest=self._policies.current.digest,
                written_at=now,
                salt=self._randomness(SALT_SIZE),
            )
        )


def _check_form(tx: Rows, kind: CuratorsKind, proposal: ProposalRow, form: NoteForm) -> None:
    """Refuse a form that was sent before, or that does not fit the proposal: a decided one takes notes and no more."""
    if not form.decision_key or tx.notes.has_form(form.decision_key):
        message = "this form was sent before, and counted once"
        raise StaleDecisionError(message)
    if proposal.state != "pending" and kind != "note":
        message = "it was decided meanwhile, and takes only notes"
        raise StaleDecisionError(message)
    if canonical(proposal.payload) == ERASED.encode():
        message = "The text of this proposal was erased, and its notes with it. It takes no more notes."
        raise ForbiddenDecisionError(message)
    if len(tx.notes.of_proposal(proposal.id)) >= MAX_NOTES:
        message = f"It has {MAX_NOTES} notes and takes no more."
        raise InvalidDecisionError(message)


def _names(tx: Rows) -> dict[str, str]:
    """Return the persons of active curators by the names under which a text may mention them."""
    users = active_curators(tx)
    return {user.person: user.person for user in users} | {user.name: user.person for user in users}


def _assignee(tx: Rows, policy: Policy, proposal: ProposalRow, person: str) -> list[str]:
    """Return the person of an assignment as a list, which is empty if the assignment ends.

    Raises InvalidDecisionError if the person cannot judge the proposal.
    """
    owners = owners_of(tx, policy, proposal.producer_identity, proposal.owner, *tx.review.refused_owners(proposal.id))
    if obstacle := assignment_obstacle(person, [user.person for user in active_curators(tx)], owners):
        raise InvalidDecisionError(obstacle)
    return [person] if person else []
