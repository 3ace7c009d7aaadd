"""Rows of webhooks: endpoints, replays and alarms. Times are microseconds since 1970 UTC."""

from typing import Literal

from msgspec import Struct

from antechamber.core.webhooks.events import EventType

WebhookState = Literal["active", "disabled"]


class Webhook(Struct, frozen=True, kw_only=True):
    """One endpoint, how far it has got, and how its last attempt ended."""

    id: int
    webhook_id: str
    url: str
    events: list[EventType]
    allow_private: bool
    state: WebhookState
    """`disabled` after its receiver answered 410 Gone; a replay makes it active again."""
    next_sequence: int
    """The first leaf that it has not got."""
    last_alarm: int
    """The last alarm that it has got."""
    version: int
    """Raised by each replay, so that a delivery under way does not undo it."""
    attempts: int
    """Failed attempts since the last delivery."""
    next_at: int
    """Time before which nothing is sent."""
    failing_since: int | None
    last_error: str | None
    delivered: int
    """Number of delivered events."""
    delivered_at: int | None
    created_at: int
    holder: str | None = None
    """The process that delivers to it."""
    held_until: int = 0


class WebhookReplay(Struct, frozen=True, kw_only=True):
    """One replay: an endpoint gets the events from a sequence on again."""

    replay_id: str
    webhook_id: str
    sequence: int
    replayed_at: int


class AlarmRow(Struct, frozen=True, kw_only=True):
    """One alarm that was raised; `sequence` is the size of the log at that time."""

    id: int
    source: str
    sequence: int
    raised_at: int
