"""Queries for proposals, decisions on them, and the memories that decisions admit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from antechamber.core.access.callers import Account
from antechamber.core.admission.canonical import canonical
from antechamber.core.contract import Change, MemoryState, ProposalState
from antechamber.core.conversion import convert
from antechamber.core.errors import StaleDecisionError
from antechamber.core.log.leaf import of_decision, of_memory
from antechamber.core.log.rows import FeedEntry
from antechamber.core.review.corroboration import NearReport
from antechamber.core.review.decision import DecisionWrite, Target, text_hash
from antechamber.core.rows.memories import BrowsedMemory, DerivedRow, MemoryChange, MemoryFilter, MemoryRow, NearMemory
from antechamber.core.rows.review import (
    ConflictMark,
    EvidenceRow,
    LatestDecision,
    ProducerRecord,
    ProposalRow,
    ReviewRecordRow,
)
from antechamber.core.search_terms import words_of
from antechamber.store.memories import HOUR, decoded
from antechamber.store.search import SearchQueries
from antechamber.store.statements import Statements


def with_text(row: dict[str, Any]) -> dict[str, Any]:
    """Decode the row's JSON columns, and separate the current text (`payload`) from the submitted one (`proposed`)."""
    row = decoded(row, "payload", "edited_payload", "source_span", "supersedes", "derived_from")
    edited = row.pop("edited_payload")
    return {**row, "proposed": row["payload"], "payload": edited or row["payload"], "edited": edited is not None}


def _decided_at(proposal: ProposalRow, entry: DecisionWrite) -> int | None:
    """Return the value of `decided_at`: now, None for a pending proposal, or the old one if it was decided before."""
    if entry.ruling.state == "pending":
        return None
    return entry.decided_at if proposal.state == "pending" else proposal.decided_at


class _Changing(NamedTuple):
    """A decision that changes memories: the key of its review record, the curator, and everything that it writes."""

    record: int
    account: Account
    entry: DecisionWrite


class ReviewQueries:
    """Implements core.ports.review.ReviewRows with named statements; `lane` is the counter lane of this process."""

    def __init__(self, sql: Statements, lane: int) -> None:
        self._sql = sql
        self._lane = lane
        self._index = SearchQueries(sql)

    def proposal(self, proposal_id: str) -> ProposalRow | None:
        row = self._sql.one("proposal", proposal_id=proposal_id)
        return convert(with_text(row), ProposalRow, strict=False) if row else None

    def hold_proposal(self, proposal_id: str) -> None:
        self._sql.one("hold_proposal", proposal_id=proposal_id)

    def evidence(self, proposal: int) -> list[EvidenceRow]:
        return convert(self._sql.all("evidence_of_proposal", proposal=proposal), list[EvidenceRow])

    def refused_owners(self, proposal: int) -> list[str]:
        return [row["owner"] for row in self._sql.all("refused_owners_of_proposal", proposal=proposal)]

    def own_duplicates(self, proposal: int) -> tuple[int, int]:
        row = self._sql.one("own_duplicates_of_proposal", proposal=proposal)
        return (row["submissions"], row["replays"]) if row else (0, 0)

    def records(self, proposal: int) -> list[ReviewRecordRow]:
        rows = self._sql.all("review_records_of_proposal", proposal=proposal)
        return convert(rows, list[ReviewRecordRow], strict=False)

    def conflicts(self, proposal: int) -> list[ConflictMark]:
        return convert(self._sql.all("conflicts_of_proposal", proposal=proposal), list[ConflictMark], strict=False)

    def producer_record(self, producer_identity: str) -> ProducerRecord:
        row = self._sql.one("producer_record", producer_identity=producer_identity)
        return convert(row, ProducerRecord)

    def same_text(self, proposal: int, shown_hash: str) -> list[LatestDecision]:
        rows = self._sql.all("same_text", proposal=proposal, shown_hash=shown_hash)
        return [convert(decoded(row, "shown"), LatestDecision) for row in rows]

    def decision_with_key(self, decision_key: str) -> bool:
        return self._sql.one("decision_with_key", decision_key=decision_key) is not None

    def target(self, memory_id: str, submission_scope: str, scope_id: str) -> Target | None:
        row = self._sql.one(
            "memory_in_scope", memory_id=memory_id, submission_scope=submission_scope, scope_id=scope_id
        )
        return convert(row, Target) if row else None

    def memories_near(self, memories: Sequence[int]) -> list[NearMemory]:
        rows = self._sql.find("memory_near", [{"memory": memory} for memory in memories])
        return [convert(decoded(row, "payload", "source_span"), NearMemory) for row in rows if row is not None]

    def near_proposals(self, proposal: int, number: int) -> list[NearReport]:
        rows = [
            decoded(row, "payload", "source_span")
            for row in self._sql.all("near_proposals", proposal=proposal, number=number)
        ]
        return [
            NearReport(
                kind="proposal",
                id=row["proposal_id"],
                producer_identity=row["producer_identity"],
                owner=row["owner"],
                source=row["source_span"]["uri"],
                received_at=row["received_at"],
                content=row["payload"]["content"],
            )
            for row in rows
        ]

    def hold_memory(self, memory_id: str) -> None:
        self._sql.one("hold_memory", memory_id=memory_id)

    def latest_decisions(self, number: int, person: str = "") -> list[LatestDecision]:
        rows = self._sql.all("latest_decisions", number=number, person=person)
        return [convert(decoded(row, "shown"), LatestDecision) for row in rows]

    def decide(self, proposal: ProposalRow, account: Account, entry: DecisionWrite) -> None:
        """Write the review record, apply the ruling to the proposal and its memories, and admit a memory if ruled so.

        Raises StaleDecisionError if another transaction moved the proposal first.
        """
        ruling = entry.ruling
        record = self._add_review_record(proposal, account, entry)
        text = ruling.text.decode()
        changed = entry.decision.kind == "edit" or (proposal.edited and text != canonical(proposal.proposed).decode())
        moved = self._sql.run(
            "move_proposal",
            proposal=proposal.id,
            from_version=proposal.version,
            from_state=proposal.state,
            state=ruling.state,
            version=ruling.version,
            edited_payload=text if changed else None,
            decided_at=_decided_at(proposal, entry),
            begun=int(ruling.state == "pending" and ruling.resulting is not None),
            second=int(ruling.second),
            replaces=ruling.replaces,
        )
        if not moved:
            message = "another curator decided first"
            raise StaleDecisionError(message)
        if more := (ruling.state == "pending") - (proposal.state == "pending"):
            self._sql.run("count_in_fold", more=more, proposal=proposal.id)
        self._count_decided(proposal, ruling.state, entry.decided_at)
        self._sql.append_leaves([of_decision(proposal, account, entry)])
        changing = _Changing(record, account, entry)
        if ruling.undoes is not None:
            for row in self._sql.all("ended_by", review_record_id=ruling.undoes):
                self._change(row["memory_id"], "active", changing)
        if ruling.memory is not None and ruling.memory != "active" and proposal.memory_id is not None:
            self._change(proposal.memory_id, ruling.memory, changing)
        if ruling.admits:
            self._admit(proposal, text, changing)
        self._sql.announce()

    def _count_decided(self, proposal: ProposalRow, state: ProposalState, now: int) -> None:
        """Update the counts of decided proposals by producer and hour; a decision that is undone is subtracted."""
        if state == proposal.state:
            return
        for name, number in ((proposal.state, -1), (state, 1)):
            if name != "pending":
                self._sql.run(
                    "count_proposal", proposal=proposal.id, hour=now // HOUR, name=name, lane=self._lane, number=number
                )

    def _add_review_record(self, proposal: ProposalRow, account: Account, entry: DecisionWrite) -> int:
        decision, ruling = entry.decision, entry.ruling
        record = self._sql.all(
            "add_review_record",
            review_record_id=entry.review_record_id,
            proposal=proposal.id,
            quarantine=None,
            version=proposal.version,
            resulting_version=ruling.version,
            decision=decision.kind,
            reason_code=ruling.reason_code,
            reason_text=decision.reason_text,
            curator=account.id,
            person=account.person,
            shown=ruling.shown.decode(),
            shown_hash=text_hash(ruling.shown),
            resulting=ruling.resulting.decode() if ruling.resulting else None,
            resulting_hash=text_hash(ruling.resulting) if ruling.resulting else None,
            approvals_required=ruling.approvals_required,
            self_edit=int(ruling.self_edit),
            target=ruling.target,
            undoes=ruling.undoes,
            decision_key=decision.decision_key,
            policy_digest=entry.policy_digest,
            decided_at=entry.decided_at,
        )
        return int(record[0]["id"])

    def _admit(self, proposal: ProposalRow, text: str, changing: "_Changing") -> None:
        entry = changing.entry
        memory = self._sql.all(
            "add_memory",
            memory_id=entry.memory_id,
            proposal=proposal.id,
            review_record=changing.record,
            payload=text,
            text_hash=text_hash(text.encode()),
            admitted_at=entry.decided_at,
        )[0]["id"]
        self._add_change(memory, entry.memory_id, None, "active", changing)
        self._sql.run("index_memory", memory=memory, words=" ".join(words_of(msgspec.json.decode(text)["content"])))
        self._index.add(memory, proposal.submission_scope, proposal.scope_id, text)
        if entry.ruling.replaces is not None:
            self._change(entry.ruling.replaces, "superseded", changing)

    def _change(self, memory_id: str, state: MemoryState, changing: "_Changing") -> None:
        row = self._sql.one("memory_number", memory_id=memory_id)
        if row is not None:
            self._add_change(row["id"], memory_id, row["state"], state, changing)
            self._sql.run("move_memory", memory=row["id"], state=state)
            index = self._index.add if state == "active" else self._index.remove
            index(row["id"], row["submission_scope"], row["scope_id"], row["payload"])

    def _add_change(
        self, memory: int, memory_id: str, before: str | None, state: MemoryState, changing: "_Changing"
    ) -> None:
        record, account, entry = changing
        self._sql.run(
            "add_memory_change", memory=memory, state=state, review_record=record, changed_at=entry.decided_at
        )
        change: Change = "admitted" if state == "active" else state
        leaf = of_memory(memory_id, before, state, account, entry)
        self._sql.append_leaves([leaf._replace(feed=FeedEntry(change, entry.decided_at, memory=memory))])

    def browse_memories(self, chosen: MemoryFilter, after: str | None, number: int) -> list[BrowsedMemory]:
        wanted = words_of(" ".join(chosen.words))
        if chosen.words and not wanted:
            return []
        scope = {"submission_scope": chosen.submission_scope, "scope_id": chosen.scope_id}
        page = {"at": chosen.at, "after": after, "number": number}
        if wanted:
            rows = self._sql.all("all_memories_matching", words=" ".join(wanted), **scope, **page)
        elif chosen.scope_id:
            rows = self._sql.all("memories_by_scope", **scope, **page)
        else:
            rows = self._sql.all("all_memories", **page)
        return [convert(decoded(row, "payload"), BrowsedMemory) for row in rows]

    def memory(self, memory_id: str) -> MemoryRow | None:
        row = self._sql.one("memory", memory_id=memory_id)
        return convert(decoded(row, "payload", "source_span", "supersedes", "derived_from"), MemoryRow) if row else None

    def memory_changes(self, memory: int) -> list[MemoryChange]:
        return convert(self._sql.all("changes_of_memory", memory=memory), list[MemoryChange])

    def derived_from(self, memory_id: str, number: int) -> list[DerivedRow]:
        rows = self._sql.all("derived_from_memory", memory_id=memory_id, number=number)
        return [convert(decoded(row, "payload"), DerivedRow) for row in rows]

    def retracted_sources(self, proposal: int, number: int) -> list[str]:
        return [row["memory_id"] for row in self._sql.all("retracted_sources", proposal=proposal, number=number)]
