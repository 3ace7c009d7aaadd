"""The facts about candidates that are judged together in one transaction, updated after each judgement.

A store fills them with a few queries for the whole group and writes all entries afterwards. A judgement may therefore
depend on rows that are not written yet: their integer key is 0, and their public id identifies them.
"""

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from msgspec.structs import replace

from antechamber.core.admission.disposition import (
    AdmissionWrite,
    Candidate,
    Known,
    KnownConflict,
    KnownProposal,
    KnownSubmission,
)
from antechamber.core.admission.submission import Submission

Key: TypeAlias = tuple[str, str]
"""Producer identity and idempotency key."""
Content: TypeAlias = tuple[str, str, str]
"""Scope, scope id and source-event hash."""


def key_of(submission: Submission) -> Key:
    """Return the key that is unique among submissions."""
    return submission.producer_identity, submission.idempotency_key


def content_of(submission: Submission) -> Content:
    """Return the key that is unique among proposals."""
    return submission.submission_scope, submission.scope_id, submission.source_event_hash


class GroupFacts:
    """Facts about one group of candidates, inside the transaction that judges them."""

    def __init__(self) -> None:
        self.entries: list[AdmissionWrite] = []
        self.distinct = False
        """Whether no key and no content repeats in the group, so that no judgement depends on an earlier one."""
        self.producers: dict[str, int] = {}
        """Integer keys of the group's producers, 0 for a producer without a row."""
        self._submissions: dict[Key, KnownSubmission] = {}
        self._proposals: dict[Content, KnownProposal] = {}
        self._own: dict[tuple[str, str], tuple[int, str]] = {}
        self._conflicts: dict[tuple[str, bytes], KnownConflict] = {}
        self._conflicts_of_key: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()

    def note_submission(self, key: Key, known: KnownSubmission) -> None:
        """Add the stored submission under a key."""
        self._submissions[key] = known

    def note_proposal(self, content: Content, producer_identity: str, known: KnownProposal) -> None:
        """Add the stored proposal of a content, and this producer's first submission of it."""
        self._proposals[content] = replace(known, own_submission=None, own_submission_id=None)
        if known.own_submission is not None and known.own_submission_id is not None:
            self._own[known.proposal_id, producer_identity] = (known.own_submission, known.own_submission_id)

    def note_conflict(self, submission_id: str, fingerprint: bytes, known: KnownConflict) -> None:
        """Add an earlier quarantined event under a submission's key."""
        self._conflicts[submission_id, fingerprint] = known

    def note_conflicts_of_key(self, submission_id: str, count: int) -> None:
        """Set how many quarantined events a submission's key has."""
        self._conflicts_of_key[submission_id] = count

    def note_waiting(self, producer_identity: str, count: int) -> None:
        """Set how many of a producer's events wait in quarantine."""
        self._waiting[producer_identity] = count

    def original(self, candidate: Candidate) -> KnownSubmission | None:
        """Return the stored submission whose key a candidate reuses for another event."""
        known = self._submissions.get(key_of(candidate.submission))
        if known is None or known.fingerprint in {None, comparable_fingerprint(candidate, known)}:
            return None
        return known

    def refusable(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates that may end in quarantine: private ones, and those that reuse a key."""
        if self.distinct and not self._submissions:
            return [candidate for candidate in candidates if candidate.private]
        first: dict[Key, bytes] = {}
        return [
            candidate
            for candidate in candidates
            if candidate.private
            or self.original(candidate) is not None
            or first.setdefault(key_of(candidate.submission), candidate.fingerprint) != candidate.fingerprint
        ]

    def known(self, candidate: Candidate) -> Known:
        """Return everything that a candidate's judgement depends on, including earlier judgements of the group."""
        submission = candidate.submission
        original = self._submissions.get(key_of(submission))
        waiting = self._waiting[submission.producer_identity]
        if original is None:
            proposal = self._proposals.get(content_of(submission))
            return Known(proposal=proposal and self._with_own(proposal, submission), waiting_of_producer=waiting)
        prints = (candidate.fingerprint, candidate.keyed_fingerprint)
        conflicts = (self._conflicts.get((original.submission_id, fingerprint)) for fingerprint in prints)
        return Known(
            submission=original,
            conflict=next(filter(None, conflicts), None),
            conflicts_of_key=self._conflicts_of_key[original.submission_id],
            waiting_of_producer=waiting,
        )

    def _with_own(self, proposal: KnownProposal, submission: Submission) -> KnownProposal:
        own = self._own.get((proposal.proposal_id, submission.producer_identity))
        return replace(proposal, own_submission=own[0], own_submission_id=own[1]) if own else proposal

    def enter(self, entry: AdmissionWrite) -> None:
        """Add what a judgement writes, so that later judgements of the group take it into account."""
        self.entries.append(entry)
        if entry.judgement.bind and not self.distinct:
            self._bind(entry)
        if entry.judgement.quarantine:
            self._quarantine(entry)

    def _bind(self, entry: AdmissionWrite) -> None:
        candidate, judgement = entry.candidate, entry.judgement
        submission, submission_id = candidate.submission, entry.submission_id or ""
        proposal = judgement.proposal
        if judgement.propose and entry.proposal_id is not None:
            proposal = KnownProposal(id=0, proposal_id=entry.proposal_id, state="pending")
            self._proposals[content_of(submission)] = proposal
        if proposal is not None:
            self._own.setdefault((proposal.proposal_id, submission.producer_identity), (0, submission_id))
        self._submissions[key_of(submission)] = KnownSubmission(
            id=0,
            submission_id=submission_id,
            disposition=judgement.outcome.disposition or "rejected-invalid",
            reason_code=judgement.reasons[0].code if judgement.reasons else None,
            fingerprint=stored_fingerprint(candidate),
            keyed=candidate.private,
            visibility=submission.visibility,
            status=judgement.outcome.status,
            receipt=entry.receipt.decode(),
            proposal_id=proposal.proposal_id if proposal else None,
            proposal_state=proposal.state if proposal else None,
        )

    def _quarantine(self, entry: AdmissionWrite) -> None:
        original = entry.judgement.original
        self._waiting[entry.candidate.submission.producer_identity] += 1
        if original is not None:
            conflict = KnownConflict(answer=entry.receipt.decode())
            self._conflicts[original.submission_id, stored_fingerprint(entry.candidate)] = conflict
            self._conflicts_of_key[original.submission_id] += 1


def comparable_fingerprint(candidate: Candidate, known: KnownSubmission) -> bytes:
    """Return the candidate's fingerprint of the same type, keyed or plain, as the known submission's."""
    return candidate.keyed_fingerprint if known.keyed else candidate.fingerprint


def stored_fingerprint(candidate: Candidate) -> bytes:
    """Return the fingerprint that is stored; for a private event this is the keyed one."""
    return candidate.keyed_fingerprint if candidate.private else candidate.fingerprint
