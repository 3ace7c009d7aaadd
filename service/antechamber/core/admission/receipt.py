"""Receipts: the answer to a submission, formed from its outcome and the identifiers that were assigned."""

from msgspec import Struct
from msgspec.structs import asdict

from antechamber.core.admission.disposition import AdmissionWrite
from antechamber.core.admission.submission import Submission
from antechamber.core.contract import Problem, Reason, Receipt, Scope
from antechamber.core.outcomes import PROBLEM_TYPE, Outcome
from antechamber.core.times import format_time


class Echo(Struct, frozen=True, kw_only=True):
    """The fields of a refused request that the refusal repeats, as far as they are known."""

    idempotency_key: str | None = None
    producer_identity: str | None = None
    submission_scope: Scope | None = None
    scope_id: str | None = None
    source_event_hash: str | None = None


def echo_of(submission: Submission) -> Echo:
    """Return the echo of a parsed submission."""
    return Echo(
        idempotency_key=submission.idempotency_key,
        producer_identity=submission.producer_identity,
        submission_scope=submission.submission_scope,
        scope_id=submission.scope_id,
        source_event_hash=submission.source_event_hash,
    )


def answer_of(write: AdmissionWrite) -> Receipt:
    """Form the answer to a judged submission; a scope id that is itself a private value is left out."""
    candidate, outcome = write.candidate, write.judgement.outcome
    submission = candidate.submission
    receipt = Receipt(
        status=outcome.status,
        submission_id=write.submission_id,
        idempotency_key=submission.idempotency_key,
        producer_identity=submission.producer_identity,
        submission_scope=submission.submission_scope,
        scope_id=None if candidate.hides_scope else submission.scope_id,
        source_event_hash=submission.source_event_hash,
        disposition=outcome.disposition,
        duplicate_of=write.duplicate_of,
        proposal_id=write.proposal_id,
        quarantine_id=write.quarantine_id,
        reasons=write.judgement.reasons,
        retry_same_key=outcome.retry_same_key,
        safe_new_key=outcome.safe_new_key,
        policy_digest=candidate.verdict.policy_digest,
        received_at=format_time(candidate.received_at),
    )
    return _with_problem(receipt, outcome)


def form_receipt(
    outcome: Outcome, reasons: list[Reason], echo: Echo, policy_digest: str, now: int, submission_id: str | None = None
) -> Receipt:
    """Form an answer without a judgement: to a refusal without a row, to a seal, or to a stored acceptance again."""
    receipt = Receipt(
        status=outcome.status,
        submission_id=submission_id,
        idempotency_key=echo.idempotency_key,
        producer_identity=echo.producer_identity,
        submission_scope=echo.submission_scope,
        scope_id=echo.scope_id,
        source_event_hash=echo.source_event_hash,
        disposition=outcome.disposition,
        reasons=reasons,
        retry_same_key=outcome.retry_same_key,
        safe_new_key=outcome.safe_new_key,
        policy_digest=policy_digest,
        received_at=format_time(now),
    )
    return _with_problem(receipt, outcome)


def _with_problem(receipt: Receipt, outcome: Outcome) -> Receipt:
    """Add the members of RFC 9457 if the outcome is a refusal."""
    if outcome.status < 400:  # noqa: PLR2004 -- RFC 9110: below 400 is no error
        return receipt
    return Problem(
        **asdict(receipt),
        type=PROBLEM_TYPE + receipt.reasons[0].code,
        title=outcome.title,
        detail=refusal_detail(receipt.reasons, outcome),
    )


def refusal_detail(reasons: list[Reason], outcome: Outcome) -> str:
    """Return the text of a refusal for people: what is wrong, where in an event, and what to do next."""
    # The messages about reads and notes name the parameter themselves.
    places = [f"{reason.pointer}: " if reason.pointer and outcome.disposition else "" for reason in reasons]
    wrong = "; ".join(place + reason.message for place, reason in zip(places, reasons, strict=True))
    return f"{wrong}. {outcome.advice}"
