"""Times: microseconds since 1970 UTC inside, RFC 3339 text outside."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

_RFC3339: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


_FIRST: Final = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
"""The first and the last time that RFC 3339, whose years have four digits, can name in UTC."""


_SLACK_SECONDS: Final = 60
"""Seconds that a time may be ahead of now, as of another process, and still be shown as now."""
_DAYS_AGO: Final = 7
_DAY: Final = 86_400_000_000
"""Microseconds of a day."""


def start_of_day(micros: int, offset_minutes: int) -> int:
    """Return the time at which a day began where clocks are this many minutes ahead of UTC."""
    offset = offset_minutes * 60_000_000
    return (micros + offset) // _DAY * _DAY - offset


def parse_time(text: str) -> int:
    """Parse RFC 3339 (section 5.6) to microseconds since 1970 UTC; a leap second counts as the second before it.

    Raises ValueError for any other text, including one without an offset.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        message = "not RFC 3339 with offset"
        raise ValueError(message)
    day, minute, second, fraction, _, sign, hours, minutes = match.groups()
    offset = timedelta()
    if sign:
        if int(hours) > 23 or int(minutes) > 59:  # noqa: PLR2004 -- hours of a day, minutes of an hour
            message = "offset out of range"
            raise ValueError(message)
        offset = timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)
    moment = datetime.fromisoformat(f"{day}T{minute}:{'59' if second == '60' else second}")
    since = moment.replace(tzinfo=timezone(offset)) - _EPOCH
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    return since // timedelta(microseconds=1) + micros


@lru_cache(maxsize=256)
def format_time(micros: int) -> str:
    """Return microseconds since 1970 UTC as RFC 3339.

    A time before the year 1 yields the start of that year, and one after the year 9999 the end of that.

    The result is cached, because submissions that are judged together share their time.
    """
    second, rest = divmod(min(max(micros, _FIRST), _LAST), 1_000_000)
    return f"{(_EPOCH + timedelta(seconds=second)).isoformat()[:19]}.{rest:06}Z"


def format_minute(micros: int) -> str:
    """Return a time as people write it in UTC, to the minute."""
    text = format_time(micros)
    return f"{text[:10]} {text[11:16]} UTC"


def format_age(micros: int, now: int) -> str:
    """Return how long ago a time was, with one unit; a time over a week ago, or ahead of now, as its day."""
    seconds = (now - micros) // 1_000_000
    if not -_SLACK_SECONDS <= seconds < _DAYS_AGO * 86_400:
        return format_time(micros)[:10]
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return "just now"
