"""What a decision form must have beside the decision itself: a note without private data, a text that was read."""

from typing import Any, Final

from antechamber.core.admission.canonical import normalize_text
from antechamber.core.privacy import Gate
from antechamber.core.review.decision import APPROVING, Decision, InvalidDecisionError
from antechamber.core.review.hidden_text import texts_of

MAX_REASON: Final = 2000
"""Maximum number of characters of a typed reason."""
LONG_CHARACTERS: Final = 800
"""Characters of a payload from which its end may be outside a window; a phone shows about as many."""
LONG_LINES: Final = 16


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
        message = "You changed the text without saving it. Choose a reason for the edit, or restore the text."
        raise InvalidDecisionError(message)
