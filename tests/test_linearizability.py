"""The linearizability checker, on histories known to be valid or invalid."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.linearizability import NEVER, Answer, Operation, State, linearizable, step

ACCEPTED = ("accepted", "s1", "p1", None)
JOINED = ("joined", "s2", "p1", "s1")


def did(name: str, *of: str, at: tuple[float, float], told: Answer | None) -> Operation:
    """Return an operation between two moments; one without an answer never ends."""
    return Operation(name, of, at[0], NEVER if told is None else at[1], told)


def submit(key: str, content: str, told: Answer | None, *at: float) -> Operation:
    """Return a submission."""
    return did("submit", key, content, at=(at[0], at[-1]), told=told)


def read(key: str, told: Answer | None, *at: float) -> Operation:
    """Return a read by key."""
    return did("read", key, at=(at[0], at[-1]), told=told)


def seal(key: str, told: Answer | None, *at: float) -> Operation:
    """Return a seal."""
    return did("seal", key, at=(at[0], at[-1]), told=told)


def decide(content: str, verdict: str, told: Answer | None, *at: float) -> Operation:
    """Return a decision."""
    return did("decide", content, verdict, at=(at[0], at[-1]), told=told)


GOOD = {
    "nothing at all": [],
    "one after another": [
        submit("a", "x", ACCEPTED, 1, 2),
        submit("a", "x", ("again", "s1", "p1", None), 3, 4),
        submit("b", "x", JOINED, 5, 6),
        submit("b", "y", ("conflict", "s2", None, None), 7, 8),
        decide("x", "approved", ("made",), 9, 10),
        read("b", ("found", "s2", "approved"), 11, 12),
        seal("b", ("known", "s2"), 13, 14),
    ],
    "the retry overtakes the first attempt": [
        submit("a", "x", ("again", "s1", "p1", None), 1, 9),
        submit("a", "x", ACCEPTED, 2, 8),
    ],
    "a reader beside a writer sees the old": [submit("a", "x", ACCEPTED, 1, 9), read("a", ("absent",), 2, 8)],
    "a reader beside a writer sees the new": [
        submit("a", "x", ACCEPTED, 1, 9),
        read("a", ("found", "s1", "pending"), 2, 8),
    ],
    "an unanswered submission took effect much later": [
        submit("a", "x", None, 1),
        read("a", ("absent",), 2, 3),
        read("a", ("found", "s1", "pending"), 4, 5),
        submit("a", "x", ("again", "s1", "p1", None), 6, 7),
    ],
    "an unanswered submission never took effect": [submit("a", "x", None, 1), read("a", ("absent",), 2, 3)],
    "an unanswered submission made the proposal that another joined": [
        submit("a", "x", None, 1),
        submit("b", "x", JOINED, 2, 3),
        read("a", ("found", "s1", "pending"), 4, 5),
    ],
    "an unanswered decision stands": [
        submit("a", "x", ACCEPTED, 1, 2),
        decide("x", "rejected", None, 3),
        decide("x", "approved", ("refused",), 4, 5),
        read("a", ("found", "s1", "rejected"), 6, 7),
    ],
    "a seal and a submission, the seal first": [
        seal("a", ("bound", "s1"), 1, 9),
        submit("a", "x", ("sealed", "s1", None, None), 2, 8),
        read("a", ("found", "s1", None), 10, 11),
    ],
}
BAD = {
    "an acknowledged submission is gone": [submit("a", "x", ACCEPTED, 1, 2), read("a", ("absent",), 3, 4)],
    "a reader goes back in time": [
        submit("a", "x", ACCEPTED, 1, 9),
        read("a", ("found", "s1", "pending"), 2, 3),
        read("a", ("absent",), 4, 5),
    ],
    "accepted twice under one key": [
        submit("a", "x", ACCEPTED, 1, 9),
        submit("a", "x", ("accepted", "s2", "p2", None), 2, 8),
    ],
    "two proposals of one content": [
        submit("a", "x", ACCEPTED, 1, 9),
        submit("b", "x", ("accepted", "s2", "p2", None), 2, 8),
    ],
    "two contents under one key": [
        submit("a", "x", ACCEPTED, 1, 9),
        submit("a", "y", ("accepted", "s2", "p2", None), 2, 8),
    ],
    "a conflict with nothing": [submit("a", "x", ("conflict", "s1", None, None), 1, 2)],
    "a duplicate of nothing": [submit("a", "x", JOINED, 1, 2)],
    "a retry with another receipt": [
        submit("a", "x", ACCEPTED, 1, 2),
        submit("a", "x", ("again", "s9", "p1", None), 3, 4),
    ],
    "two keys with one submission id": [
        submit("a", "x", ACCEPTED, 1, 2),
        submit("b", "y", ("accepted", "s1", "p2", None), 3, 4),
    ],
    "two contents with one proposal id": [
        submit("a", "x", ACCEPTED, 1, 2),
        submit("b", "y", ("accepted", "s2", "p1", None), 3, 4),
    ],
    "a duplicate of a submission that was not the first": [
        submit("a", "x", ACCEPTED, 1, 2),
        submit("b", "x", JOINED, 3, 4),
        submit("c", "x", ("joined", "s3", "p1", "s2"), 5, 6),
    ],
    "two decisions on one proposal": [
        submit("a", "x", ACCEPTED, 1, 2),
        decide("x", "approved", ("made",), 3, 9),
        decide("x", "rejected", ("made",), 4, 8),
    ],
    "a decision that was said to stand is gone": [
        submit("a", "x", ACCEPTED, 1, 2),
        decide("x", "approved", ("made",), 3, 4),
        read("a", ("found", "s1", "pending"), 5, 6),
    ],
    "a decision is refused though there is none": [
        submit("a", "x", ACCEPTED, 1, 2),
        decide("x", "approved", ("refused",), 3, 4),
    ],
    "a decision takes effect twice": [
        submit("a", "x", ACCEPTED, 1, 2),
        decide("x", "approved", None, 3),
        read("a", ("found", "s1", "approved"), 4, 5),
        read("a", ("found", "s1", "pending"), 6, 7),
    ],
    "a decision on nothing": [decide("x", "approved", ("made",), 1, 2)],
    "a sealed key is used": [seal("a", ("bound", "s1"), 1, 2), submit("a", "x", ("accepted", "s2", "p1", None), 3, 4)],
    "a key is sealed under an answered submission": [
        submit("a", "x", ACCEPTED, 1, 2),
        seal("a", ("bound", "s2"), 3, 4),
    ],
    "an unanswered submission took effect before it was sent": [
        read("a", ("found", "s1", "pending"), 1, 2),
        submit("a", "x", None, 3),
    ],
}


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD)
def test_a_history_that_one_order_explains_is_accepted(history: Sequence[Operation]) -> None:
    """A valid history is accepted in any listing order of its operations."""
    assert linearizable(history)
    assert linearizable(history[::-1])


@pytest.mark.parametrize("history", BAD.values(), ids=BAD)
def test_a_history_that_no_order_explains_is_refused(history: Sequence[Operation]) -> None:
    """An invalid history is refused in any listing order of its operations."""
    assert not linearizable(history)
    assert not linearizable(history[::-1])


class OneThread:
    """A correct sequential server: it gives the only answer that the model allows."""

    def __init__(self) -> None:
        self.state = State()
        self._number = 0

    def answer(self, name: str, of: tuple[str, ...]) -> Answer:
        """Answer one request."""
        self._number += 1
        known = [f"s{number}" for number in range(self._number)]
        proposals = [f"p{number}" for number in range(self._number)]
        fresh, proposal = f"s{self._number}", f"p{self._number}"
        possible: dict[str, list[Answer]] = {
            "read": [("absent",), *(("found", one, state) for one in known for state in (None, "pending"))],
            "seal": [("bound", fresh), *(("known", one) for one in known)],
            "submit": [
                ("accepted", fresh, proposal, None),
                *(("joined", fresh, one, first) for one in proposals for first in known),
                *(("again", one, its, None) for one in known for its in proposals),
                *((kind, one, None, None) for kind in ("conflict", "sealed") for one in known),
            ],
        }
        allowed = [
            (answer, after)
            for answer in possible[name]
            if (after := step(self.state, Operation(name, of, 0, 0, answer))) is not None
        ]
        assert len(allowed) == 1
        answer, self.state = allowed[0]
        return answer


CALLS = st.one_of(
    st.tuples(st.just("submit"), st.tuples(st.sampled_from("ab"), st.sampled_from("xy"))),
    st.tuples(st.sampled_from(["read", "seal"]), st.tuples(st.sampled_from("ab"))),
)


@given(
    calls=st.lists(st.tuples(CALLS, st.floats(0.01, 3), st.floats(0.01, 3), st.booleans()), max_size=8),
    chance=st.randoms(use_true_random=False),
)
def test_whatever_one_thread_answered_is_accepted_however_the_calls_overlapped(
    calls: list[Any], chance: Random
) -> None:
    """Answers from one order are accepted with stretched intervals, lost answers and shuffled operations."""
    service, history = OneThread(), []
    for moment, ((name, of), before, after, lost) in enumerate(calls):
        told = service.answer(name, of)
        history.append(did(name, *of, at=(moment - before, moment + after), told=None if lost else told))
    chance.shuffle(history)
    assert linearizable(history)
