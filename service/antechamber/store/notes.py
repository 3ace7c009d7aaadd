"""Queries for notes about proposals, and for whose turn a proposal is."""

from collections.abc import Sequence
from typing import Any

import msgspec

from antechamber.core.admission.canonical import canonical
from antechamber.core.conversion import convert
from antechamber.core.log.note_leaf import of_note
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
from antechamber.store.memories import decoded
from antechamber.store.reviews import with_text
from antechamber.store.statements import Statements


class NoteQueries:
    """Implements core.ports.notes.NoteRows with named statements."""

    def __init__(self, sql: Statements) -> None:
        self._sql = sql

    def add(self, write: NoteWrite) -> None:
        proposal, account = write.proposal, write.account
        self._sql.run(
            "add_note",
            note_id=write.note_id,
            proposal=proposal.id,
            kind=write.kind,
            curator=account.id if account else None,
            person=account.person if account else None,
            producer=None if account else proposal.producer_identity,
            text=write.text,
            persons=canonical(write.persons).decode(),
            answers=write.answers,
            note_key=write.key,
            policy_digest=write.policy_digest,
            written_at=write.written_at,
        )
        self._sql.append_leaves([of_note(write)])
        self._turn(write)
        self._sql.announce()

    def _turn(self, write: NoteWrite) -> None:
        """Update whose turn a proposal is; a decided one takes only notes."""
        proposal = write.proposal.id
        if write.account is not None:
            self.settle(proposal, write.account.person, over=False)
        if write.kind == "question":
            self._sql.run("open_question_of_note", proposal=proposal, note_id=write.note_id)
        elif write.kind == "answer":
            self._sql.run("attend_to_answer", proposal=proposal)
            self._sql.run("close_question", proposal=proposal)
        elif write.kind == "assignment":
            self._sql.run("end_assignment", proposal=proposal)
        cause = "assigned" if write.kind == "assignment" else "mentioned"
        for person in write.persons:
            self._sql.run("attend", proposal=proposal, person=person, cause=cause)

    def settle(self, proposal: int, person: str, *, over: bool) -> None:
        if over:
            self._sql.run("end_attention", proposal=proposal)
            self._sql.run("close_question", proposal=proposal)
        else:
            self._sql.run("end_attention_of", proposal=proposal, person=person)

    def mentions(self, proposal: int, person: str) -> bool:
        return self._sql.one("mention", proposal=proposal, person=person) is not None

    def end_mention(self, proposal: int, person: str) -> None:
        self._sql.run("end_mention", proposal=proposal, person=person)

    def of_proposal(self, proposal: int) -> list[NoteRow]:
        return [_note(row) for row in self._sql.all("notes_of_proposal", proposal=proposal)]

    def with_key(self, producer_identity: str, key: str) -> NoteRow | None:
        row = self._sql.one("note_with_key", producer_identity=producer_identity, note_key=key)
        return _note(row) if row else None

    def has_form(self, key: str) -> bool:
        return self._sql.one("note_of_form", note_key=key) is not None

    def submitted_proposal(self, producer_identity: str, submission_id: str) -> SubmittedProposal | None:
        row = self._sql.one("proposal_of_submission", producer_identity=producer_identity, submission_id=submission_id)
        return convert(row, SubmittedProposal, strict=False) if row else None

    def opened_from_conflict(self, proposal: int) -> bool:
        return self._sql.one("opened_from_conflict", proposal=proposal) is not None

    def activity(self, proposal: int) -> ProposalActivity:
        return convert(self._sql.one("activity_of_proposal", proposal=proposal), ProposalActivity)

    def open_question(self, proposal: int) -> OpenQuestion | None:
        row = self._sql.one("open_question", proposal=proposal)
        return OpenQuestion(**row) if row else None

    def turns(self, proposals: Sequence[int]) -> list[ProposalTurn]:
        rows = self._sql.all("turns_of_proposals", proposals=msgspec.json.encode(proposals).decode())
        found = {row["id"]: convert(row, ProposalTurn, strict=False) for row in rows}
        return [found[proposal] for proposal in proposals]

    def waiting_for_producer(self, number: int) -> list[QueueRow]:
        rows = self._sql.all("waiting_for_producer", number=number)
        return [convert(with_text(row), QueueRow, strict=False) for row in rows]

    def attention(self, person: str, number: int) -> list[AttentionRow]:
        causes: dict[int, list[str]] = {}
        rows: dict[int, dict[str, Any]] = {}
        for row in self._sql.all("attention_of_person", person=person, number=number):
            causes.setdefault(row["id"], []).append(row["cause"])
            rows[row["id"]] = with_text(row)
        return [convert(row | {"causes": causes[key]}, AttentionRow, strict=False) for key, row in rows.items()]

    def export(self, chosen: NoteFilter, first: int, end: int) -> list[AuditNoteRow]:
        rows = self._sql.all("exported_notes", first=first, end=end, **msgspec.structs.asdict(chosen))
        return [convert(decoded(row, "persons"), AuditNoteRow) for row in rows]


def _note(row: dict[str, Any]) -> NoteRow:
    return convert(decoded(row, "persons"), NoteRow)
