"""Leaves of notes: each note, question, answer and assignment has one, whose action is its kind."""

from typing import Any

from antechamber.core.log.leaf import Leaf, commitment, leaf_bytes
from antechamber.core.log.rows import LeafWrite
from antechamber.core.rows.notes import NoteWrite
from antechamber.core.times import format_time

COMMITTED = ("person", "persons", "producer_identity", "scope_id", "submission_scope", "text")
"""Members that the leaf of a note commits to."""


def note_text(note: dict[str, Any]) -> dict[str, Any]:
    """Return what the leaf of a note commits to: text, persons, and facts for auditors that the leaf omits."""
    return {name: note[name] for name in COMMITTED}


def of_note(write: NoteWrite) -> LeafWrite:
    """Return the leaf of a note."""
    proposal, account = write.proposal, write.account
    committed = {
        "person": account.person if account else None,
        "persons": write.persons,
        "producer_identity": proposal.producer_identity,
        "scope_id": proposal.scope_id,
        "submission_scope": proposal.submission_scope,
        "text": write.text,
    }
    answers = {} if write.answers is None else {"answers": write.answers}
    leaf = Leaf(
        action=write.kind,
        actor=account.name if account else proposal.producer_identity,
        payload_commitment=commitment(write.salt, note_text(committed)),
        policy_digest=write.policy_digest,
        role="curator" if account else "producer",
        subject={"note_id": write.note_id, "proposal_id": proposal.proposal_id} | answers,
        time=format_time(write.written_at),
        after="written",
    )
    return LeafWrite(leaf_bytes(leaf), write.note_id, write.salt)
