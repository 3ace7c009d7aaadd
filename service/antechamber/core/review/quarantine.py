"""The rules of decisions on quarantined events: how one is settled, and how a settlement is undone."""

from typing import Final, Literal

from msgspec import Struct

from antechamber.core.admission.canonical import canonical
from antechamber.core.contract import QuarantineState, ReasonCode
from antechamber.core.errors import ForbiddenDecisionError, StaleDecisionError
from antechamber.core.review.decision import (
    SETTLEMENTS,
    CurrentDecision,
    InvalidDecisionError,
    SettlementKind,
    check_reason,
    text_hash,
    undo_needs_reason,
)
from antechamber.core.rows.quarantine import QuarantineRow

SettlingKind = SettlementKind | Literal["undo"]
SETTLINGS: Final[tuple[SettlingKind, ...]] = (*SETTLEMENTS, "undo")


class QuarantineForm(Struct, frozen=True, kw_only=True):
    """The values of a curator's form about a quarantined event."""

    kind: SettlingKind
    version: int
    """How many decisions had been made on the event when the form was shown."""
    decision_key: str
    reason_code: str | None = None
    reason_text: str = ""
    undoes: str = ""
    """The review record to undo, for an undo."""


class QuarantineDecision(Struct, frozen=True, kw_only=True):
    """Everything that a decision on a quarantined event writes."""

    form: QuarantineForm
    state: QuarantineState
    """The event's state after the decision."""
    reason_code: ReasonCode | None
    shown: bytes
    """The canonical payload that was shown; `null` if nothing was kept."""
    shown_hash: str
    review_record_id: str
    policy_digest: str
    decided_at: int
    salt: bytes
    """Salt of the log's commitment to what was shown and typed."""


def opened_key(quarantine_id: str) -> str:
    """Return the key of the submission that an opened event becomes.

    It is outside the grammar of keys, so that no producer can use it, seal it or read it by key.
    """
    return f"!quarantine:{quarantine_id}"


def settlement_blocker(owners: frozenset[str], person: str) -> str | None:
    """Return why this person cannot decide on an event, or None; `owners` are its producer's owners, then or now."""
    if person in owners:
        return "You answer or answered for this producer, so another person has to judge its events."
    return None


def check_settlement(
    event: QuarantineRow, standing: CurrentDecision | None, form: QuarantineForm, owners: frozenset[str], person: str
) -> None:
    """Refuse a decision that cannot be made; `standing` is the event's current decision.

    Raises StaleDecisionError if the form was made for another state of the event, ForbiddenDecisionError if this person
    may not decide or the text was erased, InvalidDecisionError if there is nothing to open or to undo.
    """
    if form.version != event.version or (form.kind != "undo" and event.state != "waiting"):
        message = "somebody else settled this event first, or took a decision on it back"
        raise StaleDecisionError(message)
    if (why := settlement_blocker(owners, person)) is not None:
        raise ForbiddenDecisionError(why)
    if form.kind == "open" and event.payload is None:
        message = "Nothing of this event was kept, so it cannot be opened. Dismiss it."
        raise InvalidDecisionError(message)
    if form.kind == "undo" and event.kind == "conflict" and not event.keyed and event.payload is None:
        message = "The text was erased, so there is nothing left to decide."
        raise ForbiddenDecisionError(message)
    if form.kind == "undo" and standing is None:
        message = "There is no decision to take back."
        raise InvalidDecisionError(message)
    if form.kind == "undo" and standing is not None and form.undoes != standing.review_record_id:
        message = "another decision was made meanwhile"
        raise StaleDecisionError(message)


def settle(  # noqa: PLR0913 -- what a record holds
    event: QuarantineRow,
    standing: CurrentDecision | None,
    form: QuarantineForm,
    *,
    owners: frozenset[str],
    person: str,
    policy_digest: str,
    review_record_id: str,
    now: int,
    salt: bytes,
) -> QuarantineDecision:
    """Settle a quarantined event, or return it to waiting.

    Raises what check_settlement raises, and InvalidDecisionError if a required reason is missing.
    """
    check_settlement(event, standing, form, owners, person)
    explained = form.kind == "undo" and standing is not None and undo_needs_reason(standing, person, now)
    shown = canonical(event.payload)
    return QuarantineDecision(
        form=form,
        state="waiting" if form.kind == "undo" else "settled",
        reason_code=check_reason(form.reason_code, required=explained),
        shown=shown,
        shown_hash=text_hash(shown),
        review_record_id=review_record_id,
        policy_digest=policy_digest,
        decided_at=now,
        salt=salt,
    )
