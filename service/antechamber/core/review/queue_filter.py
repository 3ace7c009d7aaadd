"""Filters of the review queue: one readable line of text, the same in the URL, in the field and in a saved view."""

import re
from collections.abc import Mapping
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
_AGE: Final = re.compile(r"(?P<side>[<>]?)(?P<number>\d{1,4})(?P<unit>[mhdw])", re.ASCII)
_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
NAMES: Final = {
    "producer": "whose proposals, as in producer:worker:release-bot",
    "owner": "whose producers, as in owner:mira or owner:me",
    "scope": "of which scope, as in scope:project or scope:project:apollo",
    "kind": "of which kind, as in kind:procedure",
    "assigned": "assigned to whom, as in assigned:cora or assigned:me",
    "tag": "with which tag, as in tag:deploy",
    "warning": "with warnings: yes, no, or a cause as in warning:wide-scope",
    "conflict": "with other content under the same key: yes or no",
    "near": "with near duplicates: yes or no",
    "age": "waiting for longer or shorter, as in age:>3d or age:<2h (m, h, d, w)",
    "mine": "that you hold, approved, edited or flagged: yes or no",
    "second": "that need a second person: yes or no",
    "held": "held now: yes, no, me, or a name as in held:mira",
    "derived": "derived from memories: yes, no, retracted (from retracted ones, to any depth), or the id of one",
}
"""The named parts of a filter and their meanings; all other parts are words to find in the text."""
CAUSES: Final = (
    "hidden-characters",
    "speaks-to-reader",
    "hostile-text",
    "may-be-private",
    "contradicts-memory",
    "conflict",
    "out-of-conflict",
    "wide-scope",
    "claims-to-supersede",
)
"""Codes of the marks for which a proposal is ranked up."""
_ANSWERS: Final = ("yes", "no")
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "warning": (*_ANSWERS, *CAUSES),
    "conflict": _ANSWERS,
    "near": _ANSWERS,
    "mine": _ANSWERS,
    "second": _ANSWERS,
}
"""The values of the parts that have a closed list of them."""
STANDARD_VIEWS: Final = {
    "Warnings": "warning:yes",
    "Near duplicates": "near:yes",
    "Mine": "mine:yes",
    "Derived from retracted": "derived:retracted",
}
"""The views that every person has beside saved ones."""


class FilterError(ValueError):
    """Raised when a filter or a view cannot be used; the message explains what to change."""


class QueueFilter(Struct, frozen=True, kw_only=True):
    """The conditions of a filter on the review queue; an empty member is no condition."""

    producer: str = ""
    owner: str = ""
    submission_scope: str = ""
    scope_id: str = ""
    kind: str = ""
    tag: str = ""
    assigned: str = ""
    """The person to whom the proposals are assigned."""
    warning: str = ""
    """`yes`, `no` or the code of a cause; the members below are `yes` or `no`, and some take further values."""
    conflict: str = ""
    near: str = ""
    mine: str = ""
    second: str = ""
    held: str = ""
    """Also a person."""
    derived: str = ""
    """Also `retracted`, or the id of a memory."""
    older: int = 0
    """Microseconds for which a proposal waits at least; 0 is no condition."""
    younger: int = 0
    """Microseconds for which a proposal waits at most; 0 is no condition."""
    words: list[str] = []
    """Words that the text must contain; case and white space are ignored."""


class QueueReader(Struct, frozen=True):
    """The person who reads the queue, and when: what `mine:`, `held:` and `age:` depend on."""

    person: str
    now: int


class MatchCount(Struct, frozen=True):
    """How many rows match a filter, as far as they were counted."""

    number: int
    cut: bool
    """Whether the queue was too long to be looked through: more than this number may match."""


class FilterPart(Struct, frozen=True):
    """One part of a filter as it was typed, and the filter without it."""

    text: str
    rest: str


def read_filter(text: str, person: str = "me") -> QueueFilter:
    """Parse a filter; `me` in it is `person`.

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
        elif named.setdefault(part["name"], value) != value:
            message = f'The filter has "{part["name"]}:" twice, with different values. Keep one of them'
            raise FilterError(message)
    return _check(named, [word for word in words if word], person)


def _check(named: dict[str, str], words: list[str], person: str) -> QueueFilter:
    scope, _, scope_id = named.get("scope", "").partition(":")
    if scope and scope not in SCOPES:
        message = "A scope is one of " + ", ".join(SCOPES)
        raise FilterError(message)
    for name, choices in _CHOICES.items():
        if named.get(name, "yes") not in choices:
            message = f"After {name}: write {', '.join(choices[:-1])} or {choices[-1]}"
            raise FilterError(message)
    if len(words) > MAX_WORDS:
        message = f"A filter may look for {MAX_WORDS} words; put more of them between quotation marks"
        raise FilterError(message)
    older, younger = _read_age(named["age"]) if "age" in named else (0, 0)
    of_persons = {name: named.get(name, "") for name in ("owner", "held", "assigned")}
    persons = {name: person if value == "me" else value for name, value in of_persons.items()}
    same = {name: named.get(name, "") for name in ("producer", "kind", "tag", "derived", *_CHOICES)}
    return QueueFilter(
        submission_scope=scope, scope_id=scope_id, older=older, younger=younger, words=words, **persons, **same
    )


def _read_age(text: str) -> tuple[int, int]:
    """Return the microseconds of `>3d` or `3d` as a least age, of `<3d` as a greatest."""
    match = _AGE.fullmatch(text)
    if match is None or not int(match["number"]):
        message = "Write an age as age:>3d or age:<2h, with m, h, d or w"
        raise FilterError(message)
    length = int(match["number"]) * _UNITS[match["unit"]] * 1_000_000
    return (0, length) if match["side"] == "<" else (length, 0)


def split_filter(text: str) -> list[FilterPart]:
    """Return the parts of a filter, each with the filter that remains without it."""
    parts = [match[0] for match in _PART.finditer(text)]
    return [FilterPart(part, " ".join(parts[:place] + parts[place + 1 :])) for place, part in enumerate(parts)]


def narrow(text: str, name: str, value: str) -> str:
    """Return a filter with one named part set to a value, which replaces an earlier value of this name."""
    kept = [part.text for part in split_filter(text) if not part.text.startswith(f"{name}:")]
    return " ".join([*kept, f"{name}:{value}"])


def same_filter(one: str, other: str) -> bool:
    """Return whether two texts have the same parts, in whatever order."""
    return sorted(part.text for part in split_filter(one)) == sorted(part.text for part in split_filter(other))


def source_of(chosen: QueueFilter) -> str:
    """Return the name of the smallest set of proposals, found by an index, in which all matches of a filter are.

    `line` is the whole queue.
    """
    sources: Mapping[str, bool] = {
        # First, because no other set can decide it.
        "retracted": chosen.derived == "retracted",
        "assigned": chosen.assigned != "",
        "held": chosen.held not in {"", "no"},
        "mine": chosen.mine == "yes",
        "second": chosen.second == "yes",
        "derived": chosen.derived not in {"", "no"},
        "conflict": chosen.conflict == "yes",
        "near": chosen.near == "yes",
        "producer": chosen.producer != "",
        "scope": chosen.scope_id != "",
        "owner": chosen.owner != "",
    }
    return next((name for name, there in sources.items() if there), "line")


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
