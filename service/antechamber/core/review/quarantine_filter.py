"""Filters of the quarantine: the parts of the queue's filters that refused events have."""

from typing import Final

from antechamber.core.review.queue_filter import FilterError, QueueFilter, read_filter
from antechamber.core.review.similarity import plain
from antechamber.core.rows.quarantine import QuarantineRow

PARTS: Final = {
    "producer": "whose events, as in producer:worker:release-bot",
    "owner": "whose producers, as in owner:mira or owner:me",
    "scope": "of which scope, as in scope:project or scope:project:apollo",
    "kind": "of which kind, as in kind:procedure",
    "tag": "with which tag, as in tag:deploy",
    "conflict": "conflicts (yes), or private events (no)",
    "age": "waiting for longer or shorter, as in age:>3d or age:<2h (m, h, d, w)",
}
"""The named parts of a filter and their meanings; all other parts are words of the refused text or its original."""
STANDARD_VIEWS: Final = {"Conflicts": "conflict:yes", "Private": "conflict:no"}


def read_quarantine_filter(text: str, person: str) -> QueueFilter:
    """Parse a filter; `me` in it is `person`.

    Raises FilterError if the text is not a filter, or has a part that refused events do not have.
    """
    wanted = read_filter(text, person)
    shared = {"submission_scope", "scope_id", "older", "younger", "words", *PARTS}
    usual = QueueFilter()
    for name in QueueFilter.__struct_fields__:
        if name not in shared and getattr(wanted, name) != getattr(usual, name):
            message = f'The quarantine has no "{name}:". Use {", ".join(f"{part}:" for part in PARTS)} or words'
            raise FilterError(message)
    return wanted


def matches(event: QuarantineRow, wanted: QueueFilter, now: int) -> bool:
    """Return whether an event fulfills all conditions of a filter."""
    payload, age = event.payload or {}, now - event.received_at
    same = (
        (wanted.producer, event.producer_identity),
        (wanted.owner, event.owner),
        (wanted.submission_scope, event.submission_scope),
        (wanted.scope_id, event.scope_id),
        (wanted.kind, payload.get("kind")),
        (wanted.conflict, "yes" if event.kind == "conflict" else "no"),
    )
    texts = [plain(one["content"]) for one in (payload, event.original_payload or {}) if "content" in one]
    return (
        all(not value or value == found for value, found in same)
        and (not wanted.tag or wanted.tag in payload.get("tags", []))
        and (not wanted.older or age >= wanted.older)
        and (not wanted.younger or age <= wanted.younger)
        and all(any(word in text for text in texts) for word in wanted.words)
    )
