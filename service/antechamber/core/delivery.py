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
_BEARER: Final = frozenset(
    code for code, outcome in OUTCOMES.items() if outcome.status in {401, 403} and outcome.disposition is None
)
"""Refusals of the token, not of the event: the same bytes are right once the token or the policy is fixed."""


class ServerAnswer(Struct, frozen=True, kw_only=True):
    """What came back of one attempt."""

    status: int | None = None
    """The HTTP status; None where no answer came."""
    receipt: Receipt | None = None
    """None where the answer was not one of Antechamber's."""
    reason: str = ""
    """Why there is no receipt, or what it says, for people."""
    retry_after: float | None = None
    """Seconds that the service asks to wait."""
    sent: bool = True
    """False where it is proven that no byte of the request left this process."""


class DeliveryRuling(Struct, frozen=True, kw_only=True):
    """What an answer makes of an operation."""

    state: State
    final: bool
    """Whether the answer is the one that the service keeps under the key for ever."""
    reason: str
    erase: bool = False
    """Whether the event was found private, so that no copy of it should stay."""
    over: bool = False
    """Whether the attempt that this answers can no longer arrive. With `pending` the operation is what it was before
    the attempt."""


def _refused(answer: ServerAnswer) -> Receipt | None:
    """Return the receipt of a refusal that the service itself made before anything was stored.

    A page that a proxy wrote may take the place of any answer, so the receipt has to name a code of the closed list
    whose row has this status and leaves the key free.
    """
    receipt = answer.receipt
    if receipt is None or not receipt.reasons or answer.status not in REFUSED or receipt.status != answer.status:
        return None
    row = OUTCOMES[receipt.reasons[0].code]
    return receipt if row.status == answer.status and row.key_bound is False else None


def refuses_bearer(answer: ServerAnswer) -> bool:
    """Tell whether the service refused the token (401, or 403 as another producer's or unlisted), not the event."""
    receipt = _refused(answer)
    return receipt is not None and receipt.reasons[0].code in _BEARER


def _without_effect(answer: ServerAnswer, *, sole: bool) -> DeliveryRuling | None:
    """Return what an attempt leaves that is proven to have stored nothing; None where that is not proven.

    What was never sent, or was refused for its token, is as it was before: the same bytes under the same key are right
    later. A refusal of the bytes ends the operation. Neither says anything of other attempts.
    """
    if not answer.sent:
        return DeliveryRuling(state="pending" if sole else "uncertain", final=False, reason=answer.reason, over=True)
    receipt = _refused(answer)
    if receipt is None:
        return None
    ended: State = "pending" if receipt.reasons[0].code in _BEARER else "failed"
    return DeliveryRuling(state=ended if sole else "uncertain", final=False, reason=_said(receipt), over=True)


def rule(answer: ServerAnswer, *, producer: str, key: str, source_event_hash: str, sole: bool) -> DeliveryRuling:
    """Say what an operation is after an answer; `sole` says that no other attempt of it can still arrive.

    Receipts with status 2xx or 422 are kept by the service under the key for ever, so they end the operation whatever
    became of earlier attempts. Refusals that left the key free end it, or leave it as it was before, only where no
    earlier attempt can still arrive.
    """
    receipt = answer.receipt
    ours = receipt is not None and (receipt.idempotency_key, receipt.producer_identity) == (key, producer)
    if receipt is not None and ours and receipt.status in _ACCEPTED and receipt.status == answer.status:
        if receipt.source_event_hash == source_event_hash:
            return DeliveryRuling(state="committed", final=True, reason=receipt.disposition or "")
        return DeliveryRuling(state="uncertain", final=False, reason="the answer names another event")
    if receipt is not None and ours and receipt.status == answer.status == 422:  # noqa: PLR2004 -- as the contract says
        state: State = "needs_review" if receipt.disposition == "rejected-conflict" else "failed"
        return DeliveryRuling(
            state=state, final=True, reason=_said(receipt), erase=receipt.disposition == "rejected-private"
        )
    said = (_said(receipt) if receipt else answer.reason) or f"status {answer.status}"
    return _without_effect(answer, sole=sole) or DeliveryRuling(state="uncertain", final=False, reason=said)


def rule_seal(
    answer: ServerAnswer, *, producer: str, key: str, source_event_hash: str, sole: bool = False
) -> DeliveryRuling:
    """Say what an operation is after its key was sealed: 201 is our seal, 200 brings the receipt that was there before.

    Only this proves that a request which got lost will never land. Keys are each producer's own, so that the seal of
    another's token proves nothing. `sole` says that no other attempt, of the seal or of the event, can still arrive.
    """
    receipt = answer.receipt
    if not answer.sent or refuses_bearer(answer):
        state: State = "pending" if sole else "uncertain"
        return DeliveryRuling(state=state, final=False, reason=_said(receipt) if receipt else answer.reason, over=True)
    ours = receipt is not None and (receipt.idempotency_key, receipt.producer_identity) == (key, producer)
    if receipt is None or not ours or answer.status not in _ACCEPTED:
        return DeliveryRuling(state="uncertain", final=False, reason=answer.reason or f"status {answer.status}")
    if receipt.status in _ACCEPTED and receipt.source_event_hash != source_event_hash:
        return DeliveryRuling(state="needs_review", final=True, reason="another event was accepted under this key")
    return rule(
        ServerAnswer(status=receipt.status, receipt=receipt),
        producer=producer,
        key=key,
        source_event_hash=source_event_hash,
        sole=False,
    )


def _said(receipt: Receipt) -> str:
    """Name the codes of a receipt with their messages; neither ever carries a submitted value."""
    return "; ".join(f"{reason.code}: {reason.message}" for reason in receipt.reasons)
