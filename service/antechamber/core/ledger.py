"""The ledger's rules: what a sender may believe after each answer, and after none.

Whoever calls over a network cannot know whether a call that broke has run. So each operation is recorded before it is
sent, every unclear answer leaves it `uncertain`, and only what proves an end ends it.
"""

from typing import Final, Literal

from msgspec import Struct

from antechamber.core.contract import Receipt
from antechamber.core.outcomes import OUTCOMES

State = Literal["pending", "committed", "failed", "uncertain", "needs_review"]
"""`pending`: recorded, and perhaps under way. `committed`: the service has it. `failed`: it never will.
`uncertain`: one of the two, and sending the same bytes again is how to learn which. `needs_review`: a person decides.
"""
STATES: Final[tuple[State, ...]] = State.__args__  # type: ignore[attr-defined]
SETTLED: Final[frozenset[State]] = frozenset({"committed", "failed", "needs_review"})
"""States in which nothing is sent any more."""

_ACCEPTED: Final = frozenset({200, 201})
REFUSED: Final = frozenset(
    {outcome.status for outcome in OUTCOMES.values() if outcome.key_bound is False} - {409, 429, 503}
)
"""Answers that left the key free and say nothing of earlier attempts: 400, 401, 403, 413."""


class Answer(Struct, frozen=True, kw_only=True):
    """What came back of one attempt."""

    status: int | None = None
    """The HTTP status; None where no answer came."""
    receipt: Receipt | None = None
    """None where the answer was not one of Antechamber's."""
    reason: str = ""
    """Why there is no receipt, or what it says, for people."""
    retry_after: float | None = None
    """Seconds that the service asks to wait."""


class Ruling(Struct, frozen=True, kw_only=True):
    """What an answer makes of an operation."""

    state: State
    final: bool
    """Whether the answer is the one that the service keeps under the key for ever."""
    reason: str
    erase: bool = False
    """Whether the event was found private, so that no copy of it should stay."""


def rule(answer: Answer, *, producer: str, key: str, source_event_hash: str, sole: bool) -> Ruling:
    """Say what an operation is after an answer; `sole` says that no other attempt of it was ever begun.

    Receipts with status 2xx or 422 are kept by the service under the key for ever, so they end the operation whatever
    became of earlier attempts. Refusals that left the key free end it only where no earlier attempt can still arrive.
    """
    receipt = answer.receipt
    ours = receipt is not None and (receipt.idempotency_key, receipt.producer_identity) == (key, producer)
    if receipt is not None and ours and receipt.status in _ACCEPTED and receipt.status == answer.status:
        if receipt.source_event_hash == source_event_hash:
            return Ruling(state="committed", final=True, reason=receipt.disposition or "")
        return Ruling(state="uncertain", final=False, reason="the answer names another event")
    if receipt is not None and ours and receipt.status == answer.status == 422:  # noqa: PLR2004 -- as the contract says
        state: State = "needs_review" if receipt.disposition == "rejected-conflict" else "failed"
        return Ruling(state=state, final=True, reason=_said(receipt), erase=receipt.disposition == "rejected-private")
    said = (_said(receipt) if receipt else answer.reason) or f"status {answer.status}"
    # A page that somebody between us wrote may stand in the place of any answer.
    if answer.status in REFUSED and sole and receipt is not None and receipt.status == answer.status:
        return Ruling(state="failed", final=False, reason=said)
    return Ruling(state="uncertain", final=False, reason=said)


def rule_seal(answer: Answer, *, producer: str, key: str, source_event_hash: str) -> Ruling:
    """Say what an operation is after its key was sealed: 201 is our seal, 200 brings the receipt that was there before.

    Only this proves that a request which got lost will never land. Keys are each producer's own, so that the seal of
    another's token proves nothing.
    """
    receipt = answer.receipt
    ours = receipt is not None and (receipt.idempotency_key, receipt.producer_identity) == (key, producer)
    if receipt is None or not ours or answer.status not in _ACCEPTED:
        return Ruling(state="uncertain", final=False, reason=answer.reason or f"status {answer.status}")
    if receipt.status in _ACCEPTED and receipt.source_event_hash != source_event_hash:
        return Ruling(state="needs_review", final=True, reason="another event was accepted under this key")
    return rule(
        Answer(status=receipt.status, receipt=receipt),
        producer=producer,
        key=key,
        source_event_hash=source_event_hash,
        sole=False,
    )


def _said(receipt: Receipt) -> str:
    """Name the codes of a receipt with their messages; neither ever carries a submitted value."""
    return "; ".join(f"{reason.code}: {reason.message}" for reason in receipt.reasons)
