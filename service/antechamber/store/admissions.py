"""Admission rows: what is known about a candidate, and what its judgement writes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from antechamber.core.admission import Candidate, Entry, Known, KnownConflict, KnownProposal, KnownSubmission
from antechamber.core.canonical import canonical
from antechamber.core.ports import ReplayKey, Statements


def _text(value: Any) -> str:
    return canonical(value).decode()


class Admissions(Statements):
    """Implements core.ports.AdmissionRows over named statements."""

    def known(self, candidate: Candidate) -> Known:
        """Look up key, content, earlier conflicts and the caps, in that order, and only what the judgement needs."""
        submission = candidate.submission
        row = self.one("producer_id", producer_identity=submission.producer_identity)
        producer = row["id"] if row else None
        found = self.one("known_submission", producer=producer, idempotency_key=submission.idempotency_key)
        if found is not None:
            return self._known_key(candidate, msgspec.convert(found, KnownSubmission, strict=False), producer)
        if candidate.private:
            return Known(waiting_of_producer=self._waiting(producer))
        proposal = self.one(
            "known_proposal",
            producer=producer,
            submission_scope=submission.submission_scope,
            scope_id=submission.scope_id,
            source_event_hash=submission.source_event_hash,
        )
        return Known(proposal=msgspec.convert(proposal, KnownProposal) if proposal else None)

    def _known_key(self, candidate: Candidate, submission: KnownSubmission, producer: int | None) -> Known:
        own = candidate.keyed_fingerprint if submission.keyed else candidate.fingerprint
        if own == submission.fingerprint or submission.fingerprint is None:
            return Known(submission=submission)
        conflict = self.one(
            "known_conflict",
            submission=submission.id,
            fingerprint=candidate.fingerprint,
            keyed_fingerprint=candidate.keyed_fingerprint,
        )
        count = self.one("count_conflicts", submission=submission.id)
        return Known(
            submission=submission,
            conflict=msgspec.convert(conflict, KnownConflict) if conflict else None,
            conflicts_of_key=count["number"] if count else 0,
            waiting_of_producer=self._waiting(producer),
        )

    def _waiting(self, producer: int | None) -> int:
        row = self.one("count_waiting", producer=producer)
        return int(row["number"]) if row else 0

    def _producer(self, producer_identity: str) -> int:
        row = self.one("producer_id", producer_identity=producer_identity)
        if row is not None:
            return int(row["id"])
        self.run("add_producer", producer_identity=producer_identity)
        return self._producer(producer_identity)

    def record(self, entry: Entry) -> None:
        """Write the rows of a judgement; the ids of an answer are also those of its rows."""
        judgement = entry.judgement
        producer = self._producer(entry.candidate.submission.producer_identity)
        if judgement.withdraw and judgement.original is not None:
            self.run("withdraw_proposal", proposal=judgement.original.proposal)
        submission = judgement.original.id if judgement.original else 0
        if judgement.bind:
            submission = self._bind(entry, producer)
        if judgement.quarantine:
            self._add_quarantine(entry, producer, submission)

    def _bind(self, entry: Entry, producer: int) -> int:
        """Write the submission with the proposal it makes or the evidence it is."""
        judgement = entry.judgement
        proposal = judgement.proposal.id if judgement.proposal else None
        if judgement.propose:
            proposal = self._add_proposal(entry, producer)
        submission = self._add_submission(entry, producer, proposal)
        if judgement.evidence:
            self.insert(
                "add_evidence",
                proposal=proposal,
                submission=submission,
                producer=producer,
                owner=entry.owner,
                received_at=entry.received_at,
            )
        return submission

    def _add_proposal(self, entry: Entry, producer: int) -> int:
        submission = entry.candidate.submission
        return self.insert(
            "add_proposal",
            proposal_id=entry.named.proposal_id,
            producer=producer,
            owner=entry.owner,
            submission_scope=submission.submission_scope,
            scope_id=submission.scope_id,
            source_event_hash=submission.source_event_hash,
            payload=_text(submission.payload),
            source_span=_text(submission.source_span),
            visibility=submission.visibility,
            supersedes=submission.supersedes,
            observed_at=submission.observed_at,
            received_at=entry.received_at,
        )

    def _add_submission(self, entry: Entry, producer: int, proposal: int | None) -> int:
        candidate, judgement = entry.candidate, entry.judgement
        submission, private = candidate.submission, candidate.private
        return self.insert(
            "add_submission",
            submission_id=entry.named.submission_id,
            producer=producer,
            idempotency_key=submission.idempotency_key,
            disposition=judgement.outcome.disposition,
            reason_code=judgement.reasons[0].code if judgement.reasons else None,
            status=judgement.outcome.status,
            submission_scope=submission.submission_scope,
            scope_id=None if candidate.hides_scope else submission.scope_id,
            source_event_hash=None if private else submission.source_event_hash,
            visibility=submission.visibility,
            fingerprint=candidate.keyed_fingerprint if private else candidate.fingerprint,
            keyed=int(private),
            proposal=proposal,
            duplicate_of=judgement.proposal.own_submission if judgement.proposal else None,
            policy_digest=entry.policy_digest,
            received_at=entry.received_at,
            receipt=entry.receipt.decode(),
        )

    def _add_quarantine(self, entry: Entry, producer: int, submission: int) -> None:
        candidate = entry.candidate
        event, private = candidate.submission, candidate.private
        self.insert(
            "add_quarantine",
            quarantine_id=entry.named.quarantine_id,
            kind="conflict" if entry.judgement.original else "private",
            submission=submission,
            producer=producer,
            fingerprint=candidate.keyed_fingerprint if private else candidate.fingerprint,
            keyed=int(private),
            source_event_hash=None if private else event.source_event_hash,
            submission_scope=event.submission_scope,
            scope_id=None if candidate.hides_scope else event.scope_id,
            visibility=event.visibility,
            supersedes=None if private else event.supersedes,
            payload=None if private else _text(event.payload),
            source_span=None if private else _text(event.source_span),
            findings=_text(msgspec.to_builtins(candidate.findings)),
            policy_digest=entry.policy_digest,
            received_at=entry.received_at,
            answer=entry.receipt.decode(),
        )

    def seal(
        self, producer_identity: str, key: str, submission_id: str, receipt: bytes, policy_digest: str, now: int
    ) -> None:
        """Bind a free key to a receipt that no event will ever match."""
        self.insert(
            "add_submission",
            submission_id=submission_id,
            producer=self._producer(producer_identity),
            idempotency_key=key,
            disposition="rejected-invalid",
            reason_code="sealed",
            status=422,
            submission_scope=None,
            scope_id=None,
            source_event_hash=None,
            visibility=None,
            fingerprint=None,
            keyed=0,
            proposal=None,
            duplicate_of=None,
            policy_digest=policy_digest,
            received_at=now,
            receipt=receipt.decode(),
        )

    def known_key(self, producer_identity: str, key: str) -> tuple[int, str] | None:
        """Return integer key and receipt of the submission under a key."""
        row = self.one("producer_id", producer_identity=producer_identity)
        found = self.one("known_submission", producer=row["id"], idempotency_key=key) if row else None
        return (found["id"], found["receipt"]) if found else None

    def count_replays(self, attempts: Mapping[ReplayKey, int]) -> None:
        """Add counted replays to their submissions and to the producers' hours."""
        for (submission, hour, channel), number in attempts.items():
            self.run("add_replays", submission=submission, attempts=number)
            self.run("add_producer_replays", submission=submission, hour=hour, channel=channel, attempts=number)
