"""Time on screen: decisions faster than their text can be read, and bursts."""

import pytest

from antechamber.core.review.screen_time import (
    BURST,
    BURST_TIME,
    ScreenTime,
    count_bursts,
    one_time_key,
    pace_of,
    shown_at,
    was_unread,
)

NOW = 1_795_000_000_000_000


def time(shown_for: int | None, characters: int = 600, person: str = "bob", **members: int) -> ScreenTime:
    """Return the time of an approval; `shown_for` in seconds."""
    micros = None if shown_for is None else shown_for * 1_000_000
    approved = bool(members.get("approved", 1))
    at = members.get("at", NOW)
    return ScreenTime(person=person, approved=approved, characters=characters, shown_for=micros, decided_at=at)


def test_a_key_says_when_its_form_was_shown() -> None:
    """The key of a form begins with the time; any other key says nothing."""
    assert shown_at(one_time_key(NOW, "random-text")) == NOW
    assert [shown_at(key) for key in ("", "random", "zzz-1", "-", "1f")] == [None] * 5


@pytest.mark.parametrize(("shown_for", "unread"), [(9, True), (10, False), (11, False), (None, False)])
def test_a_decision_is_unread_if_no_reader_is_as_fast(shown_for: int | None, unread: bool) -> None:  # noqa: FBT001 -- a table
    """600 characters take ten seconds at least; an unknown time is no reproach."""
    assert was_unread(time(shown_for)) is unread


def test_the_pace_counts_persons_apart() -> None:
    """Approvals are counted again by themselves, unknown times in no share, and bursts by person."""
    pace = pace_of([time(1), time(1, approved=0), time(60), time(None)])
    assert (pace.unread.number, pace.unread.total) == (2, 3)
    assert (pace.unread_approvals.number, pace.unread_approvals.total) == (1, 2)
    half = [time(1, person=person, at=NOW + index) for index in range(BURST // 2) for person in ("bob", "eve")]
    assert pace_of(half).bursts == 0
    whole = [time(1, person=person, at=NOW + index) for index in range(BURST) for person in ("bob", "eve")]
    assert pace_of(whole).bursts == 2
    assert pace_of([]).bursts == 0


def test_a_burst_counts_once_as_long_as_it_goes_on() -> None:
    """Twenty quick decisions are one burst; a pause begins the next one."""
    quick = [index * 1_000_000 for index in range(2 * BURST)]
    assert count_bursts(quick) == 1
    assert count_bursts([*quick, *(moment + 10 * BURST_TIME for moment in quick)]) == 2
    slow = [index * BURST_TIME for index in range(3 * BURST)]
    assert count_bursts(slow) == 0
    assert count_bursts(quick[: BURST - 1]) == 0
