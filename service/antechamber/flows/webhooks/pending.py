"""What an endpoint has not got yet: the events of the log from its position on, and the alarms between them."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from antechamber.core.ports.store import Rows
from antechamber.core.rows.webhooks import AlarmRow, Webhook
from antechamber.core.times import format_time, parse_time
from antechamber.core.webhooks.events import Event, read_event

SCAN: Final = 2_000
"""Leaves that are read in one look."""
LOOKS: Final = 10
"""Looks at the log for a count."""
MAX_COUNTED: Final = 1_001
"""Events that are counted; more are shown as more than 1,000."""


class PendingEvent(NamedTuple):
    """An event that was not delivered, and the position behind it: the next leaf and the last alarm."""

    event: Event
    place: tuple[int, int]


class Pending(NamedTuple):
    """The first events that an endpoint has not got; `reached` is the first leaf that was not looked at."""

    events: list[PendingEvent]
    reached: int
    complete: bool
    """Whether the end of the log was reached."""


def read_pending(tx: Rows, webhook: Webhook, *, first: int = 0, number: int = MAX_COUNTED) -> Pending:
    """Return the first events that an endpoint has not got, in order, at most `number`, from one look at the log.

    `first` is a leaf before which nothing is left for it. An alarm comes before the leaf that followed it.
    """
    start = max(first, webhook.next_sequence)
    logged, reached, complete = _logged(tx, webhook, start)
    due = [alarm for alarm in _alarms(tx, webhook, number) if complete or alarm.sequence <= reached]
    merged = sorted([*due, *logged], key=_order)[:number]
    return Pending(list(_placed(merged, webhook)), reached, complete)


def _logged(tx: Rows, webhook: Webhook, start: int) -> tuple[list[Event], int, bool]:
    """Return the events of one look at the log, where it ended, and whether that is the end of the log."""
    leaves = tx.log.leaf_texts(start, SCAN)
    read = (read_event(sequence, leaf) for sequence, leaf in enumerate(leaves, start))
    wanted = (event for event in read if event is not None and event.type in webhook.events)
    # Of blind items only a curator's question is in the log by the proposal's id.
    found = [
        event
        for event in wanted
        if event.type != "proposal.question" or not tx.blind.is_blind(event.ids["proposal_id"])
    ]
    return found, start + len(leaves), len(leaves) < SCAN


def _alarms(tx: Rows, webhook: Webhook, number: int) -> list[Event]:
    wanted = "alarm.raised" in webhook.events
    return [_of_alarm(alarm) for alarm in tx.webhooks.alarms(webhook.last_alarm, number)] if wanted else []


def _order(event: Event) -> tuple[int, int, int]:
    return event.sequence, event.alarm is None, event.alarm or 0


def _of_alarm(alarm: AlarmRow) -> Event:
    return Event(
        type="alarm.raised",
        sequence=alarm.sequence,
        at=format_time(alarm.raised_at),
        ids={},
        facts={"source": alarm.source},
        alarm=alarm.id,
    )


def _placed(events: list[Event], webhook: Webhook) -> Iterator[PendingEvent]:
    following, last_alarm = webhook.next_sequence, webhook.last_alarm
    for event in events:
        if event.alarm is None:
            following = event.sequence + 1
        else:
            last_alarm = event.alarm
        yield PendingEvent(event, (following, last_alarm))


class Backlog(NamedTuple):
    """How many events an endpoint has not got, and the time of the oldest one.

    The number is `MAX_COUNTED` if there are more. Events beyond the first `LOOKS` looks at the log are not counted.
    """

    number: int
    oldest: int | None


def backlog_of(tx: Rows, webhook: Webhook) -> Backlog:
    """Count the events that an endpoint has not got."""
    events, start = _alarms(tx, webhook, MAX_COUNTED), webhook.next_sequence
    for _ in range(LOOKS):
        logged, start, complete = _logged(tx, webhook, start)
        events += logged
        if complete or len(events) >= MAX_COUNTED:
            break
    return Backlog(min(len(events), MAX_COUNTED), min((parse_time(event.at) for event in events), default=None))
