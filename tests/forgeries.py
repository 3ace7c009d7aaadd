"""Altered exports of review records, one for each fact that an export proves."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

Records = list[dict[str, Any]]
_TEXT: Final = '{"content":"Forged.","kind":"procedure"}'


def _salted(records: Records) -> dict[str, Any]:
    return next(record for record in records if record.get("salt"))


def _unsalted(records: Records) -> None:
    """Remove a text and the proof of the text."""
    record = _salted(records)
    record |= {"salt": None}
    record |= {name: "Forged." for name in ("reason_text", "shown", "receipt", "payload", "text") if name in record}


def _without(name: str) -> Callable[[Records], None]:
    def take(records: Records) -> None:
        del _salted(records)[name]

    return take


def _with(name: str, value: Any) -> Callable[[Records], None]:
    def put(records: Records) -> None:
        _salted(records)[name] = value

    return put


def _text(records: Records) -> None:
    record = _salted(records)
    record[next(name for name in ("shown", "payload", "text") if name in record)] = _TEXT


def _swapped(records: Records) -> None:
    records[0], records[1] = records[1], records[0]


def _doubled(records: Records) -> None:
    records.insert(1, records[0])
    records[-1]["count"] += 1


def _relabeled(records: Records) -> None:
    for record in records[:-1]:
        record["record"] = "disposition" if record["record"] == "review" else "review"


def _moved(records: Records) -> None:
    records[0]["sequence"], records[1]["sequence"] = records[1]["sequence"], records[0]["sequence"]


def _closing(**members: Any) -> Callable[[Records], None]:
    def close(records: Records) -> None:
        records[-1] |= members

    return close


FORGERIES: Final[dict[str, Callable[[Records], None]]] = {
    "a text": _text,
    "a text without its salt": _unsalted,
    "no salt": _without("salt"),
    "no proof": _without("proof"),
    "an empty proof": _with("proof", []),
    "a proof of another kind": _with("proof", "nothing"),
    "a member more": _with("outcome", "approved"),
    "a list for a text": _with("salt", []),
    "a kind that is a list": _with("record", ["review"]),
    "no kind": _without("record"),
    "another kind": _relabeled,
    "a leaf of numbers": _with("leaf", 7),
    "another place": _moved,
    "swapped": _swapped,
    "doubled": _doubled,
    "another count": _closing(count=1),
    "a count that is a word": _closing(count="\u001b[2J"),
    "another end": _closing(last_sequence=0),
    "no checkpoint": _closing(checkpoint=None),
    "no filters": _closing(filters=None),
    "complete in another way": _closing(complete=[1]),
    "a claim of completeness": _closing(complete=True),
    "another person": _with("person", "eve"),
    "another producer": _with("producer_identity", "worker:another"),
    "another scope": _with("submission_scope", "organization"),
    "another scope id": _with("scope_id", "gemini"),
    "another memory": _with("target", "another"),
    "a memory without id": _with("target", ""),
    "another version": _with("version", 7),
    "no version": _with("version", None),
}


def forge(exported: bytes, how: str) -> bytes:
    """Return an altered export, each record in canonical form."""
    records: Records = [msgspec.json.decode(line) for line in exported.splitlines()]
    FORGERIES[how](records)
    forged = b"".join(msgspec.json.encode(record, order="sorted") + b"\n" for record in records)
    assert forged != exported, how
    return forged
