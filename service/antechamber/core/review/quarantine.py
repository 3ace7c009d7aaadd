"""The rules of decisions on quarantined events: how one is settled, and how a settlement is undone."""

from typing import Any, Final, Literal

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
    owner_obstacle,
    undo_needs_reason,
)

SettlingKind = SettlementKind | Literal["undo"]
SETTLINGS: Final[tuple[SettlingKind, ...]] = (*SETTLEMENTS, "undo")
OF_SEALED: Final = frozenset({"release", "destroy", "clear"})
"""Outcomes of a sealed event; each ends its text for good."""


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


class QuarantineFacts(Struct, frozen=True, kw_only=True):
    """The facts about a quarantined event that a decision depends on."""

    state: str
    version: int
    """How many decisions have been made on it."""
    payload: dict[str, Any] | None
    """Its payload; None if nothing was kept, or its text was erased."""
    erased: bool
    owners: frozenset[str]
    """The producers' owners, then and now."""
    standing: CurrentDecision | None
    """The last decision on it that was not undone."""
    sealed: bool = False
    """Whether its text is there, encrypted."""


class QuarantineRuling(Struct, frozen=True, kw_only=True):
    """The effect of a decision on a quarantined event."""

    state: QuarantineState
    """The event's state after the decision."""
    reason_code: ReasonCode | None
    shown: bytes
    """The canonical payload that was shown; `null` if nothing was kept."""


class QuarantineDecision(Struct, frozen=True, kw_only=True):
    """Everything that a decision on a quarantined event writes."""

    form: QuarantineForm
    ruling: QuarantineRuling
    review_record_id: str
    policy_digest: str
    decided_at: int
    salt: bytes
    """Salt of the log's commitment to what was shown and typed."""


def key_for_opening(quarantine_id: str) -> str:
    """Return the key of the submission that an opened event becomes.

    It is outside the grammar of keys, so that no producer can use it, seal it or read it by key.
    """
    return f"!quarantine:{quarantine_id}"


def settlement_blocker(owners: frozenset[str], person: str) -> str | None:
    """Return why this person cannot decide on an event, or None; `owners` are its producers' owners, then and now."""
    return owner_obstacle(owners, person, "events")


def check_settlement(event: QuarantineFacts, form: QuarantineForm, person: str) -> None:
    """Refuse a decision that cannot be made.

    Raises StaleDecisionError if the form was made for another state of the event, ForbiddenDecisionError if this person
    may not decide or the text was erased, InvalidDecisionError if there is nothing to open or to undo.
    """
    if form.version != event.version or (form.kind != "undo" and event.state != "waiting"):
        message = "another curator decided on this event first, or undid a decision on it"
        raise StaleDecisionError(message)
    if (reason := settlement_blocker(event.owners, person)) is not None:
        raise ForbiddenDecisionError(reason)
    if form.kind == "undo":
        _check_undo(event, form)
    elif (form.kind in OF_SEALED) != event.sealed:
        message = (
            "This event is sealed. Redact and release it, destroy it, or mark it as a false alarm."
            if event.sealed
            else "The sealed text is not there any more. Dismiss the event."
        )
        raise InvalidDecisionError(message)
    elif form.kind == "open" and event.payload is None:
        message = "Nothing of this event was kept, so it cannot be opened. Dismiss it."
        raise InvalidDecisionError(message)


def _check_undo(event: QuarantineFacts, form: QuarantineForm) -> None:
    if event.erased:
        message = "The text was erased, so there is nothing left to decide."
        raise ForbiddenDecisionError(message)
    if event.standing is None:
        message = "There is no decision to undo."
        raise InvalidDecisionError(message)
    if event.standing.kind in OF_SEALED:
        message = "The sealed text was destroyed by this decision, so it cannot be undone."
        raise ForbiddenDecisionError(message)
    if form.undoes != event.standing.review_record_id:
        message = "another decision was made meanwhile"
        raise StaleDecisionError(message)


def settle(event: QuarantineFacts, form: QuarantineForm, person: str, now: int) -> QuarantineRuling:
    """Settle a quarantined event at time `now`, or return it to waiting.

    Raises what check_settlement raises, and InvalidDecisionError if a required reason is missing.
    """
    check_settlement(event, form, person)
    undone = event.standing if form.kind == "undo" else None
    return QuarantineRuling(
        state="waiting" if form.kind == "undo" else "settled",
        reason_code=check_reason(
            form.reason_code, required=undone is not None and undo_needs_reason(undone, person, now)
        ),
        shown=canonical(event.payload),
    )
