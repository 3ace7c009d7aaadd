"""Delivery rules of the ledger: the state of an operation after each answer, and after none.

A client cannot know whether a call that failed on the network was executed. Therefore each operation is recorded before
it is sent, every unclear answer leaves it `uncertain`, and only a proof ends it.
"""

from typing import Final, Literal, get_args

from msgspec import Struct

from antechamber.core.contract import Receipt
from antechamber.core.outcomes import OUTCOMES

State = Literal["pending", "committed", "failed", "uncertain", "needs_review"]
"""`pending`: recorded, and perhaps being sent. `committed`: the service has it. `failed`: it never will.

`uncertain`: either of the two; sending the same bytes again resolves it. `needs_review`: a person decides.
"""
STATES: Final[tuple[State, ...]] = get_args(State)
SETTLED: Final[frozenset[State]] = frozenset({"committed", "failed", "needs_review"})
"""States in which nothing is sent any more."""

_ACCEPTED: Final = frozenset({200, 201})
REFUSED: Final = frozenset(
    {outcome.status for outcome in OUTCOMES.values() if outcome.key_bound is False} - {409, 429, 503}
)
"""Statuses of answers that leave the key unbound and prove nothing about earlier attempts: 400, 401, 403, 413."""
_BEARER: Final = frozenset(
    code for code, outcome in OUTCOMES.items() if outcome.status in {401, 403} and outcome.disposition is None
)
"""Refusals of the token, not of the event: the same bytes are accepted once the token or the policy is fixed."""


class ServerAnswer(Struct, frozen=True, kw_only=True):
    """The answer to one attempt, or its absence."""

    status: int | None = None
    """The HTTP status; None if no answer arrived."""
    receipt: Receipt | None = None
    """None if the answer was not one of Antechamber's."""
    reason: str = ""
    """Why there is no receipt, or the receipt's reasons, as text for people."""
    retry_after: float | None = None
    """Seconds that the service asks the client to wait."""
    sent: bool = True
    """False if it is proven that no byte of the request left this process."""


class DeliveryRuling(Struct, frozen=True, kw_only=True):
    """The effect of an answer on an operation."""

    state: State
    final: bool
    """Whether the answer is the one that the service keeps under the key permanently."""
    reason: str
    erase: bool = False
    """Whether the event was found private, so that all copies of it must be deleted."""
    over: bool = False
    """Whether the answered attempt can no longer arrive.

    With `pending`, the operation has the state that it had before the attempt.
    """


def _refusal_of(answer: ServerAnswer) -> Receipt | None:
    """Return the receipt of a refusal that the service itself made before anything was stored, else None.

    A proxy may replace any answer by its own page, so the receipt has to name a code of the closed list whose row has
    this status and leaves the key unbound.
    """
    receipt = answer.receipt
    if receipt is None or not receipt.reasons or answer.status not in REFUSED or receipt.status != answer.status:
        return None
    row = OUTCOMES[receipt.reasons[0].code]
    return receipt if row.status == answer.status and row.key_bound is False else None


def refuses_bearer(answer: ServerAnswer) -> bool:
    """Return whether the service refused the token (401; 403 if another producer's or unlisted), not the event."""
    receipt = _refusal_of(answer)
    return receipt is not None and receipt.reasons[0].code in _BEARER


def _rule_without_effect(answer: ServerAnswer, *, sole: bool) -> DeliveryRuling | None:
    """Return the ruling on an attempt that is proven to have stored nothing; None if that is not proven.

    If the request was never sent, or its token was refused, the operation keeps its earlier state: the same bytes under
    the same key can succeed later. A refusal of the bytes ends the operation. Neither proves anything about other
    attempts.
    """
    if not answer.sent:
        return DeliveryRuling(state="pending" if sole else "uncertain", final=False, reason=answer.reason, over=True)
    receipt = _refusal_of(answer)
    if receipt is None:
        return None
    ended: State = "pending" if receipt.reasons[0].code in _BEARER else "failed"
    return DeliveryRuling(state=ended if sole else "uncertain", final=False, reason=_describe(receipt), over=True)


def rule(answer: ServerAnswer, *, producer: str, key: str, source_event_hash: str, sole: bool) -> DeliveryRuling:
    """Return the state of an operation after an answer; `sole` means that no other attempt of it can still arrive.

    The service keeps receipts with status 2xx or 422 under the key permanently, so they end the operation regardless of
    earlier attempts. Refusals that leave the key unbound end it, or restore its earlier state, only if no earlier
    attempt can still arrive.
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
            state=state, final=True, reason=_describe(receipt), erase=receipt.disposition == "rejected-private"
        )
    explanation = (_describe(receipt) if receipt else answer.reason) or f"status {answer.status}"
    return _rule_without_effect(answer, sole=sole) or DeliveryRuling(state="uncertain", final=False, reason=explanation)


def rule_seal(
    answer: ServerAnswer, *, producer: str, key: str, source_event_hash: str, sole: bool = False
) -> DeliveryRuling:
    """Return the state of an operation after its key was sealed: 201 is the new seal, 200 an earlier receipt.

    Only this proves that a lost request will never arrive. Each producer has its own keys, so a seal with another
    producer's token proves nothing. `sole` means that no other attempt, of the seal or of the event, can still arrive.
    """
    receipt = answer.receipt
    if not answer.sent or refuses_bearer(answer):
        state: State = "pending" if sole else "uncertain"
        return DeliveryRuling(
            state=state, final=False, reason=_describe(receipt) if receipt else answer.reason, over=True
        )
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


def _describe(receipt: Receipt) -> str:
    """Return the codes of a receipt with their messages, which never contain a submitted value."""
    return "; ".join(
        f"{reason.code}: {reason.message}" + (f" at {reason.pointer}" if reason.pointer else "")
        for reason in receipt.reasons
    )
