"""Judge one submission: its disposition follows from the policy and from what the store holds already."""

from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec
from msgspec import Struct

from antechamber.core.admission.submission import Submission, compared_bytes, fingerprint
from antechamber.core.contract import Channel, Disposition, Reason
from antechamber.core.outcomes import ACCEPTED, DUPLICATE, OUTCOMES, Outcome
from antechamber.core.policy import Verdict
from antechamber.core.privacy import Finding
from antechamber.core.rows.sealed_events import SealedText

MOST_REASONS: Final = 100
"""Maximum number of findings that an answer names."""


class Candidate(Struct, frozen=True, kw_only=True):
    """A submission with everything that is known before the transaction that judges it.

    These are its findings, the two fingerprints of what is compared under its key, and the policy's verdict.
    """

    submission: Submission
    findings: list[Finding]
    private: bool
    """Whether no text of this event may be stored."""
    fingerprint: bytes
    hash_privately: Callable[[], bytes]
    verdict: Verdict
    channel: Channel
    received_at: int
    """Microseconds since 1970 UTC."""
    seals_until: int | None = None
    """When the event expires, if it is kept encrypted for redaction (microseconds since 1970 UTC)."""
    secrets: list[str] = []
    """Its secrets once decoded, if it is kept encrypted for redaction."""
    redacted_by: str | None = None
    """The person who redacted a sealed event into this one."""

    @property
    def keyed_fingerprint(self) -> bytes:
        """The fingerprint keyed with the secret; computed on demand, because few candidates need it."""
        return self.hash_privately()

    @property
    def hides_scope(self) -> bool:
        """Whether the scope id itself is a private value, so that it is not stored either."""
        return any(finding.pointer == "/scope_id" for finding in self.findings)


def make_candidate(
    submission: Submission,
    findings: list[Finding],
    secret: bytes,
    verdict: Verdict,
    channel: Channel = "http",
    received_at: int = 0,
) -> Candidate:
    """Join a submission with its findings and its verdict; `secret` is the 32-byte secret kept outside the database."""
    compared = compared_bytes(submission)
    return Candidate(
        submission=submission,
        findings=findings,
        private=bool(findings) or submission.visibility == "private",
        fingerprint=fingerprint(compared),
        # A function, so that no representation of a candidate shows the secret.
        hash_privately=lambda: fingerprint(compared, secret),
        verdict=verdict,
        channel=channel,
        received_at=received_at,
    )


class KnownSubmission(Struct, frozen=True, kw_only=True):
    """The stored submission under the same producer and key; its integer key is 0 until it is written."""

    id: int
    submission_id: str
    disposition: Disposition
    reason_code: str | None
    fingerprint: bytes | None
    keyed: bool
    visibility: str | None
    status: int
    receipt: str
    proposal_id: str | None
    proposal_state: str | None


class KnownProposal(Struct, frozen=True, kw_only=True):
    """The proposal of the same scope, scope id and hash, and this producer's first submission of it."""

    id: int
    proposal_id: str
    state: str
    own_submission: int | None = None
    own_submission_id: str | None = None


class KnownConflict(Struct, frozen=True, kw_only=True):
    """An earlier quarantined event under the same key, and the answer it received."""

    answer: str


class Known(Struct, frozen=True, kw_only=True):
    """Everything that the store knows about a candidate inside the transaction that judges it."""

    submission: KnownSubmission | None = None
    proposal: KnownProposal | None = None
    conflict: KnownConflict | None = None
    conflicts_of_key: int = 0
    waiting_of_producer: int = 0


class Judgement(Struct, frozen=True, kw_only=True):
    """The result of judging a candidate: the outcome and reasons of the answer, and which rows to write.

    If `replay` holds a stored answer, no row is written, except that `withdraw` may mark a pending proposal.
    """

    outcome: Outcome
    reasons: list[Reason] = []
    replay: str | None = None
    original: KnownSubmission | None = None
    bind: bool = False
    propose: bool = False
    evidence: bool = False
    quarantine: bool = False
    withdraw: bool = False
    proposal: KnownProposal | None = None


_NEW = Judgement(outcome=ACCEPTED, bind=True, propose=True)


def decide(candidate: Candidate, known: Known) -> Judgement:
    """Judge a candidate: the first step of service/README.md, "The order of judgement", that fits decides."""
    if known.submission is not None:
        return _decide_known_key(candidate, known, known.submission)  # Steps 1 to 4.
    verdict = candidate.verdict
    # 5. The event is private.
    if candidate.private:
        has_room = known.waiting_of_producer < verdict.limits.waiting_per_producer
        return _refuse(_privacy_reasons(candidate), quarantine=has_room)
    # 6. The policy refuses it.
    if verdict.reasons:
        return _refuse(verdict.reasons)
    # 7. A proposal of the same content exists.
    if known.proposal is not None:
        return _accept_duplicate(known.proposal)
    # 8. Otherwise it is a new proposal.
    return _NEW


def _refuse(reasons: list[Reason], *, quarantine: bool = False) -> Judgement:
    return Judgement(outcome=OUTCOMES[reasons[0].code], reasons=reasons, bind=True, quarantine=quarantine)


def _accept_duplicate(proposal: KnownProposal) -> Judgement:
    message = "this event was decided before, and is not proposed again, also where its memory has ended since"
    decided = Reason(code="already-decided", message=message)
    return Judgement(
        outcome=DUPLICATE,
        reasons=[] if proposal.state == "pending" else [decided],
        bind=True,
        evidence=proposal.own_submission_id is None,
        proposal=proposal,
    )


def _decide_known_key(candidate: Candidate, known: Known, original: KnownSubmission) -> Judgement:
    # 1. The key is sealed.
    if original.reason_code == "sealed":
        return Judgement(outcome=OUTCOMES["sealed"], replay=original.receipt, original=original)
    # 2. Nothing compared differs.
    fingerprint = candidate.keyed_fingerprint if original.keyed else candidate.fingerprint
    if fingerprint == original.fingerprint:
        outcome = ACCEPTED if original.status == ACCEPTED.status else DUPLICATE
        return Judgement(outcome=outcome, replay=original.receipt, original=original)
    withdraw = (
        candidate.submission.visibility == "private"
        and original.visibility != "private"
        and original.disposition == "accepted-for-review"
        and original.proposal_state == "pending"
    )
    outcome = OUTCOMES["key-reused"]
    # 3. The same conflicting event came before.
    if known.conflict is not None:
        return Judgement(outcome=outcome, replay=known.conflict.answer, original=original, withdraw=withdraw)
    # 4. Otherwise it is a new conflict.
    limits = candidate.verdict.limits
    has_room = (
        known.conflicts_of_key < limits.conflicts_per_key and known.waiting_of_producer < limits.waiting_per_producer
    )
    reason = Reason(code="key-reused", message=_difference(candidate, original), pointer="/idempotency_key")
    private = _privacy_reasons(candidate) if candidate.private else []
    return Judgement(
        outcome=outcome, reasons=[reason, *private], original=original, quarantine=has_room, withdraw=withdraw
    )


def _difference(candidate: Candidate, original: KnownSubmission) -> str:
    """Return what a retry differs in: the event, or only how it was declared."""
    if original.keyed:
        return "this key belongs to an event that was refused as private"
    declared = msgspec.structs.replace(candidate.submission, visibility=original.visibility)
    if fingerprint(compared_bytes(declared)) != original.fingerprint:
        return "this key belongs to another event"
    return "this key belongs to the same event with another visibility; that submission stays as it is"


def _privacy_reasons(candidate: Candidate) -> list[Reason]:
    titles = candidate.verdict.titles
    places = dict.fromkeys((finding.pointer, finding.rule_id) for finding in candidate.findings)
    reasons = [
        Reason(code="private-detected", message=f"{rule_id}: {titles.get(rule_id, rule_id)}", pointer=pointer)
        for pointer, rule_id in islice(places, MOST_REASONS)
    ]
    if candidate.submission.visibility == "private":
        declared = Reason(code="private-declared", message="the event declares itself private", pointer="/visibility")
        return [declared, *reasons]
    return reasons


class AdmissionWrite(Struct, kw_only=True):
    """Everything that one admission writes, with the ids that its answer names; none if only a proposal is withdrawn.

    The answer is formed from it, so that `receipt` is set last.
    """

    candidate: Candidate
    judgement: Judgement
    submission_id: str | None = None
    duplicate_of: str | None = None
    proposal_id: str | None = None
    quarantine_id: str | None = None
    salt: bytes = b""
    """Salt of the log's commitment to what was submitted and answered."""
    receipt: bytes = b""
    """The answer as it is stored; empty if only a proposal is withdrawn."""
    sealed: SealedText | None = None
    """The encrypted event, if it is kept for redaction."""


class SealWrite(Struct, frozen=True, kw_only=True):
    """Everything that the seal of a key writes."""

    producer_identity: str
    idempotency_key: str
    submission_id: str
    salt: bytes = b""
    """Salt of the log's commitment to the answer."""
    receipt: bytes
    """The answer as it is stored."""
    policy_digest: str
    sealed_at: int
    """Microseconds since 1970 UTC."""
