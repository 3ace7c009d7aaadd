"""Filters of the review queue: one readable line of text, the same in the URL, in the field and in a saved view."""

import re
from typing import Final

import msgspec
from msgspec import Struct

from antechamber.core.contract import SCOPES
from antechamber.core.review.similarity import plain

MAX_WORDS: Final = 4
MAX_LENGTH: Final = 300
"""Maximum number of characters of a filter."""
MAX_VIEWS: Final = 20
MAX_NAME: Final = 40
_PART: Final = re.compile(r'(?:(?P<name>[a-z]+):)?(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+))')
NAMES: Final = {
    "producer": "whose proposals, as in producer:worker:release-bot",
    "scope": "of which scope, as in scope:project or scope:project:apollo",
    "kind": "of which kind, as in kind:procedure",
    "assigned": "assigned to whom, as in assigned:cora",
    "warning": "with warnings that rank them up, as warning:yes",
}
"""The named parts of a filter and their meanings; all other parts are words to find in the text."""


class FilterError(ValueError):
    """Raised when a filter or a view cannot be used; the message explains what to change."""


class QueueFilter(Struct, frozen=True, kw_only=True):
    """The conditions of a filter on the review queue; an empty member is no condition."""

    producer: str = ""
    submission_scope: str = ""
    scope_id: str = ""
    kind: str = ""
    warning: bool = False
    assigned: str = ""
    """The person to whom the proposals are assigned."""
    words: list[str] = []
    """Words that the text must contain; case and white space are ignored."""


def read_filter(text: str) -> QueueFilter:
    """Parse a filter.

    Raises FilterError if the text is not a filter.
    """
    if len(text) > MAX_LENGTH or "\0" in text:
        message = f"A filter may have {MAX_LENGTH} characters"
        raise FilterError(message)
    named: dict[str, str] = {}
    words: list[str] = []
    for part in _PART.finditer(text):
        value = part["quoted"] if part["quoted"] is not None else part["bare"]
        if part["name"] is None:
            words.append(plain(value))
        elif part["name"] not in NAMES:
            message = f'Unknown filter "{part["name"][:20]}:". Use {", ".join(f"{name}:" for name in NAMES)} or words'
            raise FilterError(message)
        else:
            named[part["name"]] = value
    return _check(named, [word for word in words if word])


def _check(named: dict[str, str], words: list[str]) -> QueueFilter:
    scope, _, scope_id = named.get("scope", "").partition(":")
    if scope and scope not in SCOPES:
        message = "A scope is one of " + ", ".join(SCOPES)
        raise FilterError(message)
    if named.get("warning", "yes") != "yes":
        message = "Write warning:yes for proposals with warnings"
        raise FilterError(message)
    if len(words) > MAX_WORDS:
        message = f"A filter may look for {MAX_WORDS} words; put more of them between quotation marks"
        raise FilterError(message)
    return QueueFilter(
        producer=named.get("producer", ""),
        submission_scope=scope,
        scope_id=scope_id,
        kind=named.get("kind", ""),
        warning="warning" in named,
        assigned=named.get("assigned", ""),
        words=words,
    )


def views_of(stored: str | None) -> dict[str, str]:
    """Return a person's saved views by name."""
    views: dict[str, str] = msgspec.json.decode(stored) if stored else {}
    return views


def with_view(stored: str | None, name: str, text: str) -> str:
    """Return a person's saved views with one view added or changed; an empty filter removes it.

    Raises FilterError if the filter or the name is invalid, or if there are too many views.
    """
    views, name = views_of(stored), name.strip()
    read_filter(text)
    if not name or len(name) > MAX_NAME or not name.isprintable():
        message = f"Give the view a name of at most {MAX_NAME} characters"
        raise FilterError(message)
    if text.strip():
        views[name] = text.strip()
    else:
        views.pop(name, None)
    if len(views) > MAX_VIEWS:
        message = f"You may keep {MAX_VIEWS} views; remove one first"
        raise FilterError(message)
    return msgspec.json.encode(views).decode()
