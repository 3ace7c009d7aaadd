"""Events of webhooks: which leaves of the log are one, and what they say."""

import re
from typing import Final, Literal, get_args

from msgspec import Struct

from antechamber.core.conversion import parse_json
from antechamber.core.log.leaf import Leaf
from antechamber.core.times import parse_time

EventType = Literal[
    "proposal.waiting",
    "proposal.decided",
    "proposal.question",
    "memory.admitted",
    "memory.ended",
    "alarm.raised",
]
EVENT_TYPES: Final[tuple[EventType, ...]] = get_args(EventType)
_ACTION: Final = re.compile(r'\{"action":"([a-z-]+)"')
_ACCEPTED: Final = '"to":"accepted-for-review"'
_DECIDED: Final = frozenset({"approved", "rejected"})


class Event(Struct, frozen=True, kw_only=True):
    """One event; `sequence` is that of its leaf, for an alarm the size of the log when it was raised."""

    type: EventType
    sequence: int
    at: str
    """RFC 3339."""
    ids: dict[str, str]
    """Public ids by their names in the contract."""
    facts: dict[str, str] = {}
    """Words from closed lists, such as the state that a decision led to."""
    alarm: int | None = None
    """Number of the alarm; None for an event of the log."""


def read_event(sequence: int, text: str) -> Event | None:
    """Return the event of a leaf in its canonical form, or None if it is none.

    Most leaves are submissions without a new proposal; these are not decoded.
    """
    action = _ACTION.match(text)
    if action is None or (action[1] == "submit" and _ACCEPTED not in text):
        return None
    leaf = parse_json(text, Leaf)
    found = _of_leaf(leaf)
    if found is None:
        return None
    kind, names, facts = found
    ids = {name: leaf.subject[name] for name in names if name in leaf.subject}
    return Event(type=kind, sequence=sequence, at=leaf.time, ids=ids, facts=facts)


def time_of(text: str) -> int:
    """Return the time of a leaf in microseconds since 1970 UTC."""
    return parse_time(parse_json(text, Leaf).time)


def _of_leaf(leaf: Leaf) -> tuple[EventType, tuple[str, ...], dict[str, str]] | None:
    """Return type, names of ids and facts of a leaf's event."""
    match leaf.action:
        case "submit":
            return ("proposal.waiting", ("proposal_id",), {}) if leaf.after == "accepted-for-review" else None
        case "question":
            return "proposal.question", ("proposal_id", "note_id"), {}
        case "answer":
            return "proposal.waiting", ("proposal_id", "note_id"), {}
        case "memory":
            admitted = leaf.after == "active"
            state = {} if admitted or leaf.after is None else {"state": leaf.after}
            return "memory.admitted" if admitted else "memory.ended", ("memory_id", "review_record_id"), state
    return _of_decision(leaf) if {"review_record_id", "proposal_id"} <= leaf.subject.keys() else None


def _of_decision(leaf: Leaf) -> tuple[EventType, tuple[str, ...], dict[str, str]] | None:
    """Return the event of a review record: none if the proposal's state stays, as after the first of two approvals."""
    names = ("proposal_id", "review_record_id")
    if leaf.before == leaf.after:
        return None
    if leaf.after in _DECIDED:
        reason = {} if leaf.reason_code is None else {"reason_code": leaf.reason_code}
        return "proposal.decided", names, {"decision": leaf.action, "state": leaf.after} | reason
    return "proposal.waiting", names, {}
