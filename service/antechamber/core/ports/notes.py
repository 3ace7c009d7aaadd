"""The store's interface for notes about proposals, and for whose turn a proposal is."""

from collections.abc import Sequence
from typing import Protocol

from antechamber.core.rows.notes import (
    AttentionRow,
    AuditNoteRow,
    NoteFilter,
    NoteRow,
    NoteWrite,
    OpenQuestion,
    ProposalActivity,
    ProposalTurn,
    SubmittedProposal,
)
from antechamber.core.rows.review import QueueRow


class NoteRows(Protocol):
    """Notes, questions, answers and assignments of proposals that wait."""

    def add(self, write: NoteWrite) -> None:
        """Store a note, append its leaf, and update whose turn the proposal is."""

    def of_proposal(self, proposal: int) -> list[NoteRow]:
        """Return the notes of a proposal, oldest first."""

    def with_key(self, producer_identity: str, key: str) -> NoteRow | None:
        """Return the note that a producer wrote under an idempotency key."""

    def has_form(self, key: str) -> bool:
        """Return whether the one-time key of a form was used."""

    def submitted_proposal(self, producer_identity: str, submission_id: str) -> SubmittedProposal | None:
        """Return the proposal of a producer's submission; None if there is no such submission."""

    def opened_from_conflict(self, proposal: int) -> bool:
        """Return whether a curator opened a proposal from a conflict, so that its producer cannot read its status."""

    def activity(self, proposal: int) -> ProposalActivity:
        """Count the decisions on a proposal and its notes."""

    def open_question(self, proposal: int) -> OpenQuestion | None:
        """Return the question that a proposal's producer has not answered yet."""

    def turns(self, proposals: Sequence[int]) -> list[ProposalTurn]:
        """Return whose turn each proposal is."""

    def waiting_for_producer(self, number: int) -> list[QueueRow]:
        """Return waiting proposals whose producers were asked, the longest wait first."""

    def attention(self, person: str, number: int) -> list[AttentionRow]:
        """Return proposals that a person should look at, oldest first; a decided one because a note mentions them."""

    def mentions(self, proposal: int, person: str) -> bool:
        """Return whether a note mentions a person who has neither answered it nor marked it as seen."""

    def end_mention(self, proposal: int, person: str) -> None:
        """Record that a person has seen the notes that mention them."""

    def settle(self, proposal: int, person: str, *, over: bool) -> None:
        """Update whose turn a proposal is after a person's decision; `over` if that ended its wait."""

    def export(self, chosen: NoteFilter, first: int, end: int) -> list[AuditNoteRow]:
        """Return the notes whose leaves have sequences from `first` to `end` (excluded), in order."""
