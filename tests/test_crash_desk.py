"""The judge of `scripts/prove crash` and `soak`: which rows of decisions it calls lost or doubled."""

from collections import Counter

import pytest

from proofs.crash_desk import FOUND, Decision, Minutes, judge

Row = tuple[str, str, int, str, int]
"""Decision key, proposal id, version, decision, and persons that the version needs."""


def doubled(*rows: Row) -> int:
    """Return how many decisions are doubled in a store with these rows, each of which a curator sent."""
    minutes = Minutes()
    for key, proposal_id, version, kind, _ in rows:
        minutes.begin(key, Decision(proposal_id, version, kind, status=FOUND))
    numbers = judge(minutes, rows, Counter(), Counter())
    assert numbers["decisions_lost"] == 0
    return int(numbers["decisions_doubled"])


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "p", 1, "approve", 1), ("b", "p", 1, "undo", 1), ("c", "p", 2, "reject", 1)],
        [("a", "p", 1, "approve", 2), ("b", "p", 1, "reject", 2)],
        [("a", "p", 1, "approve", 2), ("b", "p", 1, "approve", 2)],
        [("a", "p", 1, "edit", 2), ("b", "p", 2, "approve", 2)],
        [("a", "p", 1, "edit", 2), ("b", "p", 2, "edit", 2), ("c", "p", 3, "reject", 2)],
        [("a", "p", 1, "approve", 1), ("b", "p", 1, "retract", 1), ("c", "p", 1, "undo", 1)],
        [("a", "p", 1, "approve", 1), ("b", "q", 1, "approve", 1)],
    ],
)
def test_decisions_of_a_review_that_goes_on_are_not_doubled(rows: list[Row]) -> None:
    """After an undo, after the first of two approvals and after an edit another decision is correct."""
    assert doubled(*rows) == 0


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "p", 1, "approve", 1), ("b", "p", 1, "approve", 1)],
        [("a", "p", 1, "reject", 1), ("b", "p", 1, "approve", 1)],
        [("a", "p", 1, "edit", 2), ("b", "p", 1, "approve", 1)],
        [("a", "p", 1, "edit", 2), ("b", "p", 2, "approve", 2), ("c", "p", 2, "reject", 2)],
        [("a", "p", 1, "approve", 2), ("b", "p", 1, "approve", 2), ("c", "p", 1, "approve", 2)],
        [("a", "p", 1, "approve", 2), ("b", "p", 1, "reject", 2), ("c", "p", 1, "approve", 2)],
    ],
)
def test_a_decision_after_the_end_of_a_review_is_doubled(rows: list[Row]) -> None:
    """After the last required approval, a rejection or an edit of a version no other decision on it is correct."""
    assert doubled(*rows) == 1


def test_a_decision_that_was_never_sent_or_confirmed_shows() -> None:
    """A row without its sender is doubled, and a confirmed decision without its row is lost."""
    minutes = Minutes()
    minutes.begin("a", Decision("p", 1, "approve", status=FOUND))
    numbers = judge(minutes, [("b", "p", 1, "approve", 1)], Counter(), Counter())
    assert (numbers["decisions_lost"], numbers["decisions_doubled"]) == (1, 1)
