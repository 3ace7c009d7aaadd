"""Blind items: what a decision counts as, the figures with their intervals, and items in a file."""

import json
from typing import Any

import pytest

from antechamber.core.errors import RequestRefusedError
from antechamber.core.review.blind import (
    BlindCount,
    of_others,
    second_look_obstacle,
    shares_of,
    verdict_of,
    wilson_interval,
)
from antechamber.core.review.calibration import MAX_EXPLANATION, read_calibration
from antechamber.core.review.decision import DecisionKind
from antechamber.core.rows.blind import BlindItem

ITEM = {
    "producer_identity": "worker:release-bot",
    "submission_scope": "project",
    "scope_id": "apollo",
    "payload": {"kind": "fact", "content": "Friday is a free day."},
    "source_span": {"uri": "repo://apollo/RUNBOOK.md"},
    "verdict": "reject",
    "explanation": "The runbook says otherwise. ",
}


def count(decision: DecisionKind, number: int = 1, **members: Any) -> BlindCount:
    """Return a count of decisions on calibration items that should be rejected."""
    values: dict[str, Any] = {"kind": "calibration", "verdict": "reject", "warned": False, "person": "bob"}
    return BlindCount(decision=decision, number=number, **values | members)


def item(decision: DecisionKind | None, verdict: str = "reject") -> BlindItem:
    """Return a blind item with this decision."""
    values: dict[str, Any] = {"kind": "calibration", "verdict": verdict, "explanation": "", "original": None}
    ids = {"id": 1, "blind_item_id": "b", "proposal_id": "p", "person": "bob", "added_at": 1, "decided_at": 2}
    return BlindItem(decision=decision, **values | ids)


@pytest.mark.parametrize(
    ("number", "total", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (1, 10, 0.0179, 0.4042),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
        (0, 0, 0.0, 1.0),
    ],
)
def test_an_interval_is_that_of_the_published_formula(number: int, total: int, low: float, high: float) -> None:
    """The bounds agree with published values, among them those for 81 of 263, and say nothing without decisions."""
    assert wilson_interval(number, total) == pytest.approx((low, high), abs=5e-5)


def test_every_interval_holds_its_share() -> None:
    """The bounds are ordered, contain the share, and get nearer with more decisions."""
    for total in range(1, 40):
        for number in range(total + 1):
            low, high = wilson_interval(number, total)
            assert 0 <= low <= number / total <= high <= 1
            wide, narrow = high - low, wilson_interval(number * 10, total * 10)
            assert narrow[1] - narrow[0] < wide


def test_a_decision_counts_as_approval_rejection_or_neither() -> None:
    """An edit and a supersession approve, a merge rejects, and a request for a second person does neither."""
    assert {verdict_of(kind) for kind in ("approve", "edit", "supersede")} == {"approve"}
    assert {verdict_of(kind) for kind in ("reject", "merge")} == {"reject"}
    assert verdict_of("flag") is None
    assert (item("edit").agrees, item("merge").agrees, item("flag").agrees, item(None).agrees) == (
        False,
        True,
        None,
        None,
    )


def test_figures_count_what_they_are_named_after() -> None:
    """Each share has its own items in the denominator; an item that was flagged was not approved."""
    shares = shares_of(
        [
            count("approve", 2),
            count("approve", 3, warned=True),
            count("reject", 4, warned=True),
            count("flag"),
            count("merge", 5, verdict="approve"),
            count("supersede", 6, verdict="approve"),
            count("approve", 7, kind="second-look", verdict="approve"),
            count("reject", 8, kind="second-look", verdict="approve"),
            count("flag", 9, kind="second-look", verdict="approve"),
        ]
    )
    assert (shares.false_approvals.number, shares.false_approvals.total) == (5, 10)
    assert (shares.past_warnings.number, shares.past_warnings.total) == (3, 7)
    assert (shares.false_rejections.number, shares.false_rejections.total) == (5, 11)
    assert (shares.agreement.number, shares.agreement.total) == (7, 15)
    assert shares.false_approvals.rate == 0.5
    assert shares.false_approvals.interval == wilson_interval(5, 10)


def test_an_aggregate_never_shows_a_single_person() -> None:
    """With two persons the aggregate minus one's own would be that of the other."""
    assert of_others([count("approve"), count("approve", person="eve")], "bob") is None
    three = [count("approve"), count("approve", person="eve"), count("reject", person="zoe")]
    assert of_others(three, "bob") == three[1:]
    assert of_others(three[1:], "operator") == three[1:]
    assert of_others([], "bob") is None


def test_a_second_look_needs_another_person() -> None:
    """Persons who decided on the proposal read why they cannot look at it again."""
    assert second_look_obstacle(frozenset({"bob"}), "bob") is not None
    assert second_look_obstacle(frozenset({"bob"}), "eve") is None


def test_an_item_is_an_event_with_a_verdict() -> None:
    """The event is brought into its normal form, and needs neither key nor hash."""
    read = read_calibration(json.dumps(ITEM).encode())
    assert (read.verdict, read.explanation) == ("reject", "The runbook says otherwise.")
    assert read.submission.payload == ITEM["payload"]
    assert read_calibration(json.dumps(ITEM | {"verdict": "approve"}).encode()).verdict == "approve"


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"verdict": "maybe"}, "/verdict"),
        ({"verdict": None}, "/verdict"),
        ({"verdict": ["reject"]}, "/verdict"),
        ({"explanation": 1}, "/explanation"),
        ({"explanation": "x" * (MAX_EXPLANATION + 1)}, "/explanation"),
        ({"idempotency_key": "k"}, "/idempotency_key"),
        ({"visibility": "private"}, "/visibility"),
        ({"durable": True}, "/durable"),
        ({"payload": {"kind": "fact", "content": " "}}, "/payload/content"),
        ({"payload": "text"}, None),
        ({"surprise": 1}, "/surprise"),
        ({"source_event_hash": "blake3:" + "0" * 64}, "/source_event_hash"),
    ],
)
def test_a_wrong_item_is_refused_with_its_member(change: dict[str, Any], pointer: str | None) -> None:
    """The refusal names the member and what to write."""
    with pytest.raises(RequestRefusedError) as caught:
        read_calibration(json.dumps(ITEM | change).encode())
    assert caught.value.reasons[0].pointer == pointer


@pytest.mark.parametrize("raw", [b"[]", b'"text"', b"{", b"\xff"])
def test_a_line_that_is_no_object_is_refused(raw: bytes) -> None:
    """Anything but a JSON object is refused as malformed."""
    with pytest.raises(RequestRefusedError):
        read_calibration(raw)
