"""Review rows: the queue, proposals, decisions and the memories they admit."""

from collections.abc import Sequence
from typing import Any

import msgspec

from antechamber.core.errors import StaleDecisionError
from antechamber.core.ports import Statements
from antechamber.core.records import (
    BrowsedMemory,
    ConflictMark,
    EvidenceRow,
    MemoryRow,
    ProposalRow,
    QuarantineRow,
    QueueRow,
    ReviewRecordRow,
)
from antechamber.core.review import Entry, text_hash
from antechamber.core.roles import Person
from antechamber.core.words import words_of
from antechamber.store.recall import decoded


def _with_text(row: dict[str, Any]) -> dict[str, Any]:
    """Tell the text as it stands from the text as it was submitted."""
    row = decoded(row, "payload", "edited_payload", "source_span", "supersedes")
    edited = row.pop("edited_payload")
    return {**row, "proposed": row["payload"], "payload": edited or row["payload"], "edited": edited is not None}


class Reviews(Statements):
    """Implements core.ports.ReviewRows over named statements."""

    def pending_proposals(self, after: str | None, number: int) -> list[QueueRow]:
        """Return pending proposals, oldest first."""
        rows = self.all("pending_proposals", after=after, number=number)
        return [msgspec.convert(_with_text(row), QueueRow, strict=False) for row in rows]

    def count_pending(self, most: int) -> int:
        """Count pending proposals, at most `most`."""
        row = self.one("count_pending", most=most)
        return row["number"] if row else 0

    def next_pending(self, proposal_id: str) -> str | None:
        """Return the pending proposal that follows one, or else the oldest."""
        row = self.one("next_pending", proposal_id=proposal_id)
        if row is None:
            first = self.pending_proposals(None, 1)
            return first[0].proposal_id if first else None
        return str(row["proposal_id"])

    def proposal(self, proposal_id: str) -> ProposalRow | None:
        """Return one proposal."""
        row = self.one("proposal", proposal_id=proposal_id)
        return msgspec.convert(_with_text(row), ProposalRow, strict=False) if row else None

    def hold_proposal(self, proposal_id: str) -> None:
        """Let no other transaction decide on a proposal until this one ends."""
        self.one("hold_proposal", proposal_id=proposal_id)

    def evidence(self, proposal: int) -> list[EvidenceRow]:
        """Return the independent evidence for a proposal."""
        return msgspec.convert(self.all("evidence_of_proposal", proposal=proposal), list[EvidenceRow])

    def own_duplicates(self, proposal: int) -> tuple[int, int]:
        """Return how often the producer submitted the event again under other keys, and their replays."""
        row = self.one("own_duplicates_of_proposal", proposal=proposal)
        return (row["submissions"], row["replays"]) if row else (0, 0)

    def review_records(self, proposal: int) -> list[ReviewRecordRow]:
        """Return the decisions on a proposal, oldest first."""
        return msgspec.convert(self.all("review_records_of_proposal", proposal=proposal), list[ReviewRecordRow])

    def conflicts(self, proposal: int) -> list[ConflictMark]:
        """Return the quarantined events under a proposal's key."""
        return msgspec.convert(self.all("conflicts_of_proposal", proposal=proposal), list[ConflictMark], strict=False)

    def decision_with_key(self, decision_key: str) -> bool:
        """Tell whether a one-time decision key was used."""
        return self.one("decision_with_key", decision_key=decision_key) is not None

    def decide(self, proposal: ProposalRow, person: Person, entry: Entry) -> None:
        """Write the review record, move the proposal and admit the memory if so ruled.

        Raises StaleDecisionError where another transaction moved the proposal first.
        """
        ruling = entry.ruling
        record = self._add_review_record(proposal, person, entry)
        text = (ruling.resulting or ruling.shown).decode()
        moved = self.run(
            "move_proposal",
            proposal=proposal.id,
            from_version=proposal.version,
            state=ruling.state,
            version=ruling.version,
            edited_payload=text if proposal.edited or entry.decision.kind == "edit" else None,
            decided_at=None if ruling.state == "pending" else entry.decided_at,
        )
        if not moved:
            message = "somebody else decided first"
            raise StaleDecisionError(message)
        if ruling.admits:
            self._admit(proposal.id, record, text, entry)
        self.announce()

    def _add_review_record(self, proposal: ProposalRow, person: Person, entry: Entry) -> int:
        decision, ruling = entry.decision, entry.ruling
        record = self.all(
            "add_review_record",
            review_record_id=entry.review_record_id,
            proposal=proposal.id,
            version=proposal.version,
            resulting_version=ruling.version,
            decision=decision.kind,
            reason_code=ruling.reason_code,
            reason_text=decision.reason_text,
            curator=person.id,
            person=person.person,
            shown=ruling.shown.decode(),
            shown_hash=text_hash(ruling.shown),
            resulting=ruling.resulting.decode() if ruling.resulting else None,
            resulting_hash=text_hash(ruling.resulting) if ruling.resulting else None,
            approvals_required=ruling.approvals_required,
            decision_key=decision.decision_key,
            policy_digest=entry.policy_digest,
            decided_at=entry.decided_at,
        )
        return int(record[0]["id"])

    def _admit(self, proposal: int, record: int, text: str, entry: Entry) -> None:
        memory = self.all(
            "add_memory",
            memory_id=entry.memory_id,
            proposal=proposal,
            review_record=record,
            payload=text,
            text_hash=text_hash(text.encode()),
            admitted_at=entry.decided_at,
        )
        self.run("index_memory", memory=memory[0]["id"], words=" ".join(words_of(msgspec.json.decode(text)["content"])))

    def browse_memories(self, words: Sequence[str], after: str | None, number: int) -> list[BrowsedMemory]:
        """Return memories of all scopes, newest first."""
        wanted = words_of(" ".join(words))
        if words and not wanted:
            return []
        rows = (
            self.all("all_memories_matching", words=" ".join(wanted), after=after, number=number)
            if wanted
            else self.all("all_memories", after=after, number=number)
        )
        return [msgspec.convert(decoded(row, "payload"), BrowsedMemory) for row in rows]

    def memory(self, memory_id: str) -> MemoryRow | None:
        """Return one memory."""
        row = self.one("memory", memory_id=memory_id)
        return msgspec.convert(decoded(row, "payload", "source_span", "supersedes"), MemoryRow) if row else None

    def quarantined(self, after: str | None, number: int) -> list[QuarantineRow]:
        """Return waiting refused events, newest first."""
        own = ("payload", "source_span", "findings", "supersedes")
        members = (*own, "original_payload", "original_span", "original_supersedes")
        rows = self.all("waiting_quarantine", after=after, number=number)
        return [msgspec.convert(decoded(row, *members), QuarantineRow, strict=False) for row in rows]

    def count_quarantined(self, most: int) -> int:
        """Count waiting refused events, at most `most`."""
        row = self.one("count_quarantined", most=most)
        return row["number"] if row else 0
