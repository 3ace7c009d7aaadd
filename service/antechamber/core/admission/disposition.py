"""Judge one submission: its disposition follows from the policy and from what the store holds already."""

from collections.abc import Callable

from msgspec import Struct

from antechamber.core.admission.submission import Submission, compared_bytes, fingerprint
from antechamber.core.contract import Channel, Disposition, Reason
from antechamber.core.outcomes import ACCEPTED, DUPLICATE, OUTCOMES, Outcome
from antechamber.core.policy import Verdict
from antechamber.core.privacy import TITLES, Finding


class Candidate(Struct, frozen=True, kw_only=True):
    """A submission with its findings and the two fingerprints of what is compared under its key."""

    submission: Submission
    findings: list[Finding]
    private: bool
    """Whether no text of this event may be stored."""
    fingerprint: bytes
    hash_privately: Callable[[], bytes]

    @property
    def keyed_fingerprint(self) -> bytes:
        """The fingerprint keyed with the secret; computed on demand, because few candidates need it."""
        return self.hash_privately()

    @property
    def hides_scope(self) -> bool:
        """Whether the scope id itself is a private value, so that it is not stored either."""
        return any(finding.pointer == "/scope_id" for finding in self.findings)


def build_candidate(submission: Submission, findings: list[Finding], secret: bytes) -> Candidate:
    """Join a submission with its findings; `secret` is the 32-byte secret kept outside the database."""
    compared = compared_bytes(submission)
    return Candidate(
        submission=submission,
        findings=findings,
        private=bool(findings) or submission.visibility == "private",
        fingerprint=fingerprint(compared),
        # A function, so that no representation of a candidate shows the secret.
        hash_privately=lambda: fingerprint(compared, secret),
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


def decide(build_candidate: Candidate, verdict: Verdict, known: Known) -> Judgement:
    """Judge a candidate in the order of service/README.md, "The order of judgement": key, privacy, policy, content."""
    if known.submission is not None:
        return _decide_known_key(build_candidate, verdict, known, known.submission)
    room = known.waiting_of_producer < verdict.limits.waiting_per_producer
    if build_candidate.private:
        return _refuse(_privacy_reasons(build_candidate), quarantine=room)
    if verdict.reasons:
        return _refuse(verdict.reasons)
    if known.proposal is not None:
        return _accept_duplicate(known.proposal)
    return _NEW


def _refuse(reasons: list[Reason], *, quarantine: bool = False) -> Judgement:
    return Judgement(outcome=OUTCOMES[reasons[0].code], reasons=reasons, bind=True, quarantine=quarantine)


def _accept_duplicate(proposal: KnownProposal) -> Judgement:
    decided = Reason(code="already-decided", message="a curator has decided on this event; it is not reopened")
    return Judgement(
        outcome=DUPLICATE,
        reasons=[] if proposal.state == "pending" else [decided],
        bind=True,
        evidence=proposal.own_submission_id is None,
        proposal=proposal,
    )


def _decide_known_key(
    build_candidate: Candidate, verdict: Verdict, known: Known, original: KnownSubmission
) -> Judgement:
    if original.reason_code == "sealed":
        return Judgement(outcome=OUTCOMES["sealed"], replay=original.receipt, original=original)
    own = build_candidate.keyed_fingerprint if original.keyed else build_candidate.fingerprint
    if own == original.fingerprint:
        outcome = ACCEPTED if original.status == ACCEPTED.status else DUPLICATE
        return Judgement(outcome=outcome, replay=original.receipt, original=original)
    withdraw = (
        build_candidate.submission.visibility == "private"
        and original.visibility != "private"
        and original.disposition == "accepted-for-review"
        and original.proposal_state == "pending"
    )
    outcome = OUTCOMES["key-reused"]
    if known.conflict is not None:
        return Judgement(outcome=outcome, replay=known.conflict.answer, original=original, withdraw=withdraw)
    room = (
        known.conflicts_of_key < verdict.limits.conflicts_per_key
        and known.waiting_of_producer < verdict.limits.waiting_per_producer
    )
    reason = Reason(code="key-reused", message="this key belongs to another event", pointer="/idempotency_key")
    private = _privacy_reasons(build_candidate) if build_candidate.private else []
    return Judgement(outcome=outcome, reasons=[reason, *private], original=original, quarantine=room, withdraw=withdraw)


def _privacy_reasons(build_candidate: Candidate) -> list[Reason]:
    reasons = [
        Reason(
            code="private-detected", message=f"{finding.rule_id}: {TITLES[finding.rule_id]}", pointer=finding.pointer
        )
        for finding in build_candidate.findings
    ]
    if build_candidate.submission.visibility == "private":
        declared = Reason(code="private-declared", message="the event declares itself private", pointer="/visibility")
        return [declared, *reasons]
    return reasons


class AssignedIds(Struct, frozen=True, kw_only=True):
    """The ids that an answer names."""

    submission_id: str | None = None
    duplicate_of: str | None = None
    proposal_id: str | None = None
    quarantine_id: str | None = None
    salt: bytes = b""
    """Salt of the log's commitment to what was submitted and answered."""


class AdmissionWrite(Struct, frozen=True, kw_only=True):
    """Everything that one admission writes."""

    candidate: Candidate
    judgement: Judgement
    named: AssignedIds
    receipt: bytes
    """The answer as it is stored; empty if only a proposal is withdrawn."""
    channel: Channel
    policy_digest: str
    owner: str
    received_at: int
