"""The rules of notes: their texts, whom they mention, and when a producer can be asked."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from antechamber.core.admission.canonical import NORMAL_TRIM, decode, normalize_text
from antechamber.core.contract import MAX_NOTE
from antechamber.core.errors import read_all, refuse
from antechamber.core.review.decision import InvalidDecisionError

MAX_NOTES: Final = 200
"""Maximum number of notes, questions, answers and assignments of one proposal."""
MAX_PRODUCER_NOTES: Final = 100
"""Maximum number of these that its producer wrote, so that curators can always write some."""
ERASED_NOTE: Final = "(erased)"
"""The text that replaces an erased one."""
_MENTION: Final = re.compile(r"(?<![A-Za-z0-9._/@-])@([A-Za-z0-9][A-Za-z0-9._/@-]*)")


def find_mentions(text: str, persons: Mapping[str, str]) -> list[str]:
    """Return the persons whom a text mentions as `@name`, sorted; `persons` maps names of accounts and persons."""
    found = set()
    for match in _MENTION.finditer(text):
        # A name may contain a full stop, but the one at the end of a sentence does not belong to it.
        name = match[1]
        while name and name not in persons:
            name = name[:-1] if name[-1] in "._/@-" else ""
        found |= {persons[name]} if name else set()
    return sorted(found)


def normal_note(text: str) -> str:
    """Return a note in normal form, without the white space around it."""
    return normalize_text(text).strip(NORMAL_TRIM)


def read_note(raw: bytes) -> str:
    """Parse the body of a producer's note; return its text in normal form.

    Raises RequestRefusedError (`malformed`, `duplicate-member`, `out-of-profile`, `unknown-member`).
    """
    body = decode(raw)
    if not isinstance(body, dict):
        raise refuse("malformed", "the body must be an object")
    _, text = read_all(partial(_check_members, body), partial(_text_of, body))
    return str(text)


def _check_members(body: dict[str, Any]) -> None:
    if body.keys() - {"text"}:
        raise refuse("unknown-member", "a note has the member text and no other: its key is a header")


def _text_of(body: dict[str, Any]) -> str:
    text = body.get("text")
    if not isinstance(text, str):
        raise refuse("malformed", "the text must be a string", "/text")
    text = normal_note(text)
    if "\0" in text:
        raise refuse("out-of-profile", "the text holds U+0000", "/text")
    if not text or len(text) > MAX_NOTE:
        raise refuse("malformed", f"the text must have 1 to {MAX_NOTE:,} characters", "/text")
    return text


def check_curators_note(text: str, is_private: Callable[[str], bool]) -> None:
    """Check a curator's note in normal form, which the producer may read; `is_private` is the gate's verdict on a text.

    The gate itself is not imported here: clients check notes with this module, and the rules take long to load.

    Raises InvalidDecisionError if it is empty, too long or private.
    """
    if not text:
        message = "Write the note first; it is empty."
        raise InvalidDecisionError(message)
    if len(text) > MAX_NOTE:
        message = f"Shorten the note to {MAX_NOTE:,} characters."
        raise InvalidDecisionError(message)
    if is_private(text):
        message = "The note holds private data. Say what is wrong without repeating it."
        raise InvalidDecisionError(message)


def question_obstacle(*, shared: bool, listed: bool, reachable: bool, open_question: bool) -> str | None:
    """Return why a proposal's producer cannot be asked, or None.

    `shared` is whether the policy shows notes to producers, `listed` whether it lists this one, and `reachable` whether
    the producer can read the proposal's status.
    """
    if not shared:
        return "The policy shows no notes to producers, so a question would not arrive."
    if not listed:
        return "The policy does not list its producer any more, so a question would not arrive."
    if not reachable:
        return "Its producer cannot read this proposal, because a curator opened it from a conflict."
    if open_question:
        return "Its producer has not answered the last question yet."
    return None


def assignment_obstacle(person: str, curators: Sequence[str], owners: frozenset[str]) -> str | None:
    """Return why a proposal cannot be assigned to a person, or None; an empty name ends the assignment."""
    if person and person not in curators:
        return f"“{person[:40]}” is no curator. Choose one of the list."
    if person in owners:
        return f"{person} owns its producer, and cannot judge it. Choose another curator."
    return None
