"""Rows of notes: what is said about a proposal, and whose turn it is."""

from typing import Literal

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.contract import ProposalState, Scope
from antechamber.core.rows.review import ProposalRow, QueueRow

NoteRecordKind = Literal["note", "question", "answer", "assignment"]
Cause = Literal["assigned", "answered", "mentioned"]


class NoteRow(Struct, frozen=True, kw_only=True):
    """One note, question, answer or assignment."""

    note_id: str
    proposal_id: str
    kind: NoteRecordKind
    text: str
    """Empty for an assignment."""
    persons: list[str]
    """The persons whom the text mentions, or the one to whom the proposal is assigned; none if it is no longer."""
    author: str
    """Account of the curator, or identity of the producer."""
    person: str | None
    """The person behind the account; None for a producer."""
    answers: str | None
    """The question that an answer answers."""
    written_at: int


class NoteWrite(Struct, frozen=True, kw_only=True):
    """Everything that one note writes."""

    note_id: str
    kind: NoteRecordKind
    proposal: ProposalRow
    account: Account | None
    """The curator; None for the proposal's producer."""
    text: str
    persons: list[str]
    answers: str | None = None
    key: str
    """The producer's idempotency key, or the one-time key of a form."""
    policy_digest: str
    written_at: int
    salt: bytes
    """Salt of the log's commitment to text and persons."""


class OpenQuestion(Struct, frozen=True, kw_only=True):
    """A question that the producer has not answered yet."""

    note_id: str
    person: str
    """The person who asked."""


class SubmittedProposal(Struct, frozen=True, kw_only=True):
    """The proposal of a submission; None if it made and joined none."""

    proposal_id: str | None
    own: bool
    """Whether the submission's producer is the proposal's, and not one that submitted the same event."""


class ProposalActivity(Struct, frozen=True, kw_only=True):
    """How much was decided and said about a proposal; an open page notices when it becomes more."""

    decisions: int
    """Review records, also of decisions after which it still waits."""
    notes: int
    """Notes of all kinds."""
    answers: int
    """The notes that its producer wrote."""


class ProposalTurn(Struct, frozen=True, kw_only=True):
    """Whose turn a waiting proposal is."""

    asked: bool
    """Whether it waits for its producer."""
    assigned_to: str | None


class AttentionRow(QueueRow, frozen=True, kw_only=True):
    """A proposal that a person should look at."""

    state: ProposalState
    causes: list[Cause]


class NoteFilter(Struct, frozen=True, kw_only=True):
    """The conditions of a filter on notes; None is no condition. Times are microseconds since 1970 UTC."""

    since: int | None = None
    until: int | None = None
    submission_scope: Scope | None = None
    scope_id: str | None = None
    producer_identity: str | None = None


class AuditNoteRow(NoteRow, frozen=True, kw_only=True):
    """One note with its leaf, as auditors export it."""

    sequence: int
    leaf: str
    salt: bytes | None
    """Salt of the leaf's commitment; None if the text was erased."""
    producer_identity: str
    """The proposal's producer."""
    submission_scope: Scope
    scope_id: str
    policy_digest: str
