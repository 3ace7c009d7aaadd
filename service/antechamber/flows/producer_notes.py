"""Notes of producers: the answers to curators' questions, each under an idempotency key of its own."""

import asyncio
import contextlib
from functools import partial

import msgspec
from msgspec import Struct

from antechamber.core.access.callers import Bearer
from antechamber.core.admission.receipt import Echo
from antechamber.core.admission.submission import read_key_header
from antechamber.core.contract import Reason
from antechamber.core.errors import BusyError, NotFoundError, RequestRefusedError, UnavailableError, read_all, refuse
from antechamber.core.ids import uuid7
from antechamber.core.log.leaf import SALT_SIZE
from antechamber.core.outcomes import note_outcome
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.store import Rows, Store
from antechamber.core.review.notes import ERASED_NOTE, MAX_NOTES, MAX_PRODUCER_NOTES, read_note
from antechamber.core.rows.notes import NoteRow, NoteWrite, SubmittedProposal
from antechamber.core.rows.review import ProposalRow
from antechamber.flows.admit import Admission
from antechamber.flows.desk_views import require
from antechamber.flows.live_policy import ActivePolicy, PolicyReloader
from antechamber.flows.recall import note_item
from antechamber.flows.replies import Reply, failure_of


class _Said(Struct, frozen=True):
    """A producer's note as it was sent: its key, its text in normal form, and the submission that it is about."""

    submission_id: str
    key: str
    text: str


class ProducerNotes:
    """Takes the notes of producers; `admission` forms the refusals and counts the attempts of each producer."""

    def __init__(
        self, store: Store, policies: PolicyReloader, admission: Admission, clock: Clock, randomness: Randomness
    ) -> None:
        self._store = store
        self._policies = policies
        self._admission = admission
        self._clock = clock
        self._randomness = randomness

    async def write(self, submission_id: str, raw: bytes, key_header: list[str], bearer: Bearer) -> Reply:
        """Add a note to the conversation about a submission's proposal; it answers an open question.

        Raises NotFoundError if this producer has no such submission.
        """
        echo = Echo(producer_identity=bearer.name)
        try:
            self._admission.check_rate(bearer)
            force = self._policies.current
            _check_bearer(force, bearer)
            with contextlib.suppress(RequestRefusedError):
                echo = Echo(idempotency_key=_read_key(key_header, force), producer_identity=bearer.name)
            key, text = read_all(partial(_read_key, key_header, force), partial(read_note, raw))
            said = _Said(submission_id, key, text)
            return await asyncio.wrap_future(self._store.write(partial(self._write, said, bearer)))
        except RequestRefusedError as error:
            return self._refusal(error.reasons, echo)
        except (BusyError, UnavailableError) as error:
            return self._refusal([failure_of(error)], echo)

    def _refusal(self, reasons: list[Reason], echo: Echo) -> Reply:
        return self._admission.refusal(reasons, echo, note_outcome(reasons[0].code))

    def _write(self, said: _Said, bearer: Bearer, tx: Rows) -> Reply:
        """Judge and write a note: first the replay of a key, then the text, then the state of the proposal."""
        submitted = tx.notes.submitted_proposal(bearer.name, said.submission_id)
        if submitted is None:
            message = "no submission of yours by that name"
            raise NotFoundError(message)
        known = tx.notes.with_key(bearer.name, said.key)
        if known is not None:
            return _replay(known, submitted, said)
        if submitted.proposal_id is None or not submitted.own:
            raise refuse("already-decided", "this submission made no proposal of its own, so it has no conversation")
        tx.review.hold_proposal(submitted.proposal_id)
        proposal = require(tx.review.proposal(submitted.proposal_id))
        return _reply(self._add(said, proposal, tx), said.key)

    def _add(self, said: _Said, proposal: ProposalRow, tx: Rows) -> NoteRow:
        force, now = self._policies.current, self._clock()
        _check_private(force, said.text, proposal)
        if proposal.state != "pending":
            raise refuse("already-decided", "the proposal was decided, and takes no more notes")
        notes = tx.notes.of_proposal(proposal.id)
        if len(notes) >= MAX_NOTES or sum(note.person is None for note in notes) >= MAX_PRODUCER_NOTES:
            message = f"a proposal takes {MAX_NOTES} notes, and {MAX_PRODUCER_NOTES} of its producer"
            raise refuse("too-large-for-scope", message)
        question = tx.notes.open_question(proposal.id)
        tx.notes.add(
            NoteWrite(
                note_id=uuid7(now, self._randomness(10)),
                kind="answer" if question else "note",
                proposal=proposal,
                account=None,
                text=said.text,
                persons=[],
                answers=question.note_id if question else None,
                key=said.key,
                policy_digest=force.digest,
                written_at=now,
                salt=self._randomness(SALT_SIZE),
            )
        )
        return tx.notes.of_proposal(proposal.id)[-1]


def _check_bearer(force: ActivePolicy, bearer: Bearer) -> None:
    """Refuse callers that are no producer of the policy."""
    if bearer.role != "producer" or bearer.name not in force.policy.producers:
        raise refuse("producer-mismatch", "only the token of a producer that the policy lists may do this")


def _read_key(key_header: list[str], force: ActivePolicy) -> str:
    """Read the key of a note.

    Raises RequestRefusedError if it is missing, malformed or looks private.
    """
    key = read_key_header(key_header)
    if key is None:
        raise refuse("key-missing", "a note needs the header Idempotency-Key")
    if force.gate.find_private({"/idempotency_key": key}):
        raise refuse("key-invalid", "the key looks like a private value; choose a random one", "/idempotency_key")
    return key


def _check_private(force: ActivePolicy, text: str, proposal: ProposalRow) -> None:
    """Refuse a private text; the reasons have the rules, never the value."""
    findings = force.gate.find_private({"/text": text}, proposal.submission_scope)
    titles = force.gate.titles
    rules = sorted({finding.rule_id for finding in findings})
    if rules:
        raise RequestRefusedError(
            [Reason(code="private-detected", message=f"{rule}: {titles[rule]}", pointer="/text") for rule in rules]
        )


def _replay(known: NoteRow, submitted: SubmittedProposal, said: _Said) -> Reply:
    """Return the answer to a key that is in use."""
    if known.text == ERASED_NOTE:
        raise refuse("already-decided", "the proposal was decided, and its texts were erased")
    if (known.proposal_id, known.text) != (submitted.proposal_id, said.text):
        raise refuse("key-reused", "this key belongs to another note", "/idempotency_key")
    return _reply(known, said.key, replayed=True)


def _reply(note: NoteRow, key: str, *, replayed: bool = False) -> Reply:
    return Reply(status=201, body=msgspec.json.encode(note_item(note)), idempotency_key=key, replayed=replayed)
