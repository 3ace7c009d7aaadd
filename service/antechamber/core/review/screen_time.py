"""Time on screen: which decisions were faster than their text can be read, and which came in bursts."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec import Struct

from antechamber.core.review.blind import Share

READ_PER_SECOND: Final = 60
"""Characters a second that no reading reaches: 600 words a minute of 6 characters, twice the fastest usual rate.

Most adults read 175 to 300 words a minute: M. Brysbaert, "How many words do we read per minute?", Journal of Memory and
Language 109 (2019), 104047.
"""
BURST: Final = 10
"""Decisions of one person within `BURST_TIME` that make a burst."""
BURST_TIME: Final = 60_000_000
"""Microseconds."""
_SECOND: Final = 1_000_000
_HEX: Final = 16


class ScreenTime(Struct, frozen=True, kw_only=True):
    """One decision: how long its page was on the screen, and how long its text is."""

    person: str
    approved: bool
    characters: int
    shown_for: int | None
    """Microseconds; None if the form did not say when its page was shown."""
    decided_at: int


class Pace(Struct, frozen=True, kw_only=True):
    """How fast decisions were."""

    unread: Share
    """Decisions made faster than their text can be read, among those whose time is known."""
    unread_approvals: Share
    """The same among approvals."""
    bursts: int


def shown_at(decision_key: str) -> int | None:
    """Return when the page of a form was shown, which its one-time key begins with; None for another key."""
    text, dash, _ = decision_key.partition("-")
    try:
        return int(text, _HEX) if dash else None
    except ValueError:
        return None


def one_time_key(now: int, random: str) -> str:
    """Return a key for a form whose page is shown now; `random` makes it unique."""
    return f"{now:x}-{random}"


def was_unread(time: ScreenTime) -> bool:
    """Return whether a decision was made faster than its text can be read."""
    return time.shown_for is not None and time.shown_for * READ_PER_SECOND < time.characters * _SECOND


def pace_of(times: Sequence[ScreenTime]) -> Pace:
    """Sum up the times of decisions, of one person or of several."""
    known = [time for time in times if time.shown_for is not None]
    approvals = [time for time in known if time.approved]
    ordered = sorted(times, key=attrgetter("person", "decided_at"))
    return Pace(
        unread=Share(number=sum(map(was_unread, known)), total=len(known)),
        unread_approvals=Share(number=sum(map(was_unread, approvals)), total=len(approvals)),
        bursts=sum(
            count_bursts([time.decided_at for time in own]) for _, own in groupby(ordered, key=attrgetter("person"))
        ),
    )


def count_bursts(moments: Sequence[int]) -> int:
    """Count the bursts among the moments of one person's decisions, in order; one burst lasts as long as it goes on."""
    found, going_on = 0, False
    for index in range(BURST - 1, len(moments)):
        dense = moments[index] - moments[index - BURST + 1] <= BURST_TIME
        found += dense and not going_on
        going_on = dense
    return found
