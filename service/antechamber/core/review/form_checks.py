"""What a decision form must have beside the decision itself: a note without private data, a text that was read."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.core.admission.canonical import normalize_text
from antechamber.core.privacy import Gate
from antechamber.core.review.decision import APPROVING, Decision, InvalidDecisionError
from antechamber.core.review.hidden_text import texts_of
from antechamber.core.review.history import text_with_hash
from antechamber.core.rows.review import ReviewRecordRow

MAX_REASON: Final = 2000
"""Maximum number of characters of a typed reason."""
LONG_CHARACTERS: Final = 800
"""Characters of a payload from which its end may be outside a window; a phone shows about as many."""
LONG_LINES: Final = 16
_UNSAVED: Final = "You changed the text without saving it. Choose a reason for the edit, or restore the text."


class TypedText(Struct, frozen=True, kw_only=True):
    """What the fields of a decision form contain while a button is pressed that records none of it."""

    content: str = ""
    """The text of the edit field; empty if the form has none."""
    shown_hash: str = ""
    """The hash of the payload that the page showed."""
    note: str = ""


def is_changed(typed: TypedText, payload: dict[str, Any], records: Sequence[ReviewRecordRow]) -> bool:
    """Return whether the edit field contains a change, even if another person has changed the text meanwhile."""
    if not typed.content:
        return False
    seen = text_with_hash(records, typed.shown_hash)
    before = msgspec.json.decode(seen)["content"] if seen is not None else payload["content"]
    return normalize_text(typed.content) not in {before, payload["content"]}


def check_nothing_lost(typed: TypedText, payload: dict[str, Any], records: Sequence[ReviewRecordRow]) -> None:
    """Refuse to leave a proposal with typed text that is not recorded.

    Raises InvalidDecisionError.
    """
    if is_changed(typed, payload, records):
        raise InvalidDecisionError(_UNSAVED)
    if typed.note.strip():
        message = "Your note is not recorded. Add it, or clear the field."
        raise InvalidDecisionError(message)


def check_note(note: str, gate: Gate) -> None:
    """Refuse a note that is too long or repeats a private value.

    Raises InvalidDecisionError if it is either.
    """
    if len(note) > MAX_REASON:
        message = f"Shorten the note to {MAX_REASON} characters."
        raise InvalidDecisionError(message)
    if gate.find_private({"/reason_text": note}):
        message = "The note holds private data. Say what is wrong without repeating it."
        raise InvalidDecisionError(message)


def is_long(payload: dict[str, Any]) -> bool:
    """Return whether a curator may have to scroll to the end of a payload."""
    texts = texts_of(payload)
    return sum(map(len, texts)) > LONG_CHARACTERS or sum(text.count("\n") + 1 for text in texts) > LONG_LINES


def check_reading(payload: dict[str, Any], decision: Decision) -> None:
    """Check that a long text was read to its end before an approval, and that no typed change would be lost.

    Raises InvalidDecisionError.
    """
    if decision.kind in APPROVING and not decision.read and is_long(payload):
        message = "Read the text to its end first: scroll down, or tick “Read to the end”."
        raise InvalidDecisionError(message)
    if decision.kind != "edit" and decision.content and normalize_text(decision.content) != payload["content"]:
        raise InvalidDecisionError(_UNSAVED)
