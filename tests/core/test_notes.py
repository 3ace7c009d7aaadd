"""The rules of notes: texts, mentions, and when a producer can be asked."""

from typing import Any

import pytest

from antechamber.core.contract import MAX_NOTE
from antechamber.core.errors import RequestRefusedError
from antechamber.core.outcomes import OUTCOMES, note_outcome
from antechamber.core.review.decision import InvalidDecisionError
from antechamber.core.review.notes import (
    assignment_obstacle,
    check_curators_note,
    find_mentions,
    normal_note,
    question_obstacle,
    read_note,
)
from support import GATE

PERSONS = {"cora": "cora", "c.lee": "lee", "lee": "lee", "ops/kim": "kim"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@cora, look", ["cora"]),
        ("Ask @cora. Or @c.lee.", ["cora", "lee"]),
        ("@lee and @c.lee are one person", ["lee"]),
        ("(@ops/kim) @ops/kim/", ["kim"]),
        ("write to x@cora", []),
        ("@coral @nobody @ @@cora @.", []),
        ("@cora\n@lee", ["cora", "lee"]),
        ("no names", []),
    ],
)
def test_a_text_mentions_persons_by_the_names_of_their_accounts(text: str, found: list[str]) -> None:
    """A mention is a whole name after an at sign; a sign at its end belongs to the sentence."""
    assert find_mentions(text, PERSONS) == found


def test_a_note_has_the_normal_form_of_a_text() -> None:
    """Line ends become LF, letters are composed, and white space around the text goes."""
    assert normal_note(" \r\nCafe\u0301\r\nat noon\t") == "Café\nat noon"
    assert read_note(b'{"text": " one\\r\\ntwo "}') == "one\ntwo"
    assert len(read_note(b'{"text": "' + b"x" * MAX_NOTE + b'"}')) == MAX_NOTE


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"7", "malformed"),
        (b"{}", "malformed"),
        (b'{"text": []}', "malformed"),
        (b'{"text": " "}', "malformed"),
        (b'{"text": "' + b"x" * (MAX_NOTE + 1) + b'"}', "malformed"),
        (b'{"text": "a", "note": "b"}', "unknown-member"),
        (b'{"text": "\\u0000"}', "out-of-profile"),
    ],
)
def test_another_body_is_refused(body: bytes, code: str) -> None:
    """The refusal has a code of the contract and repeats no value."""
    with pytest.raises(RequestRefusedError) as caught:
        read_note(body)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "empty"), ("x" * (MAX_NOTE + 1), "2,000 characters"), ("The token ghp_" + "a1B2" * 9, "private data")],
)
def test_a_curators_note_is_checked_as_one_of_a_producer(text: str, why: str) -> None:
    """An empty, long or private note is refused with a text that says what to do."""

    def is_private(note: str) -> bool:
        return bool(GATE.find_private({"/text": note}, "project"))

    with pytest.raises(InvalidDecisionError, match=why):
        check_curators_note(text, is_private)
    check_curators_note("x" * MAX_NOTE, is_private)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"shared": False}, "shows no notes"),
        ({"listed": False}, "does not list its producer"),
        ({"reachable": False}, "opened it from a conflict"),
        ({"open_question": True}, "has not answered the last question"),
    ],
)
def test_a_producer_is_asked_only_if_the_question_arrives(changed: dict[str, Any], why: str) -> None:
    """Each obstacle has a sentence of its own; without one the producer can be asked."""
    usual: dict[str, Any] = {"shared": True, "listed": True, "reachable": True, "open_question": False}
    assert question_obstacle(**usual) is None
    assert why in (question_obstacle(**usual | changed) or "")


def test_a_proposal_is_assigned_to_a_curator_who_may_judge_it() -> None:
    """Strangers and owners cannot be assigned; an empty name ends an assignment."""
    assert assignment_obstacle("cora", ["cora", "ada"], frozenset({"ada"})) is None
    assert assignment_obstacle("", ["cora"], frozenset({"ada"})) is None
    assert "no curator" in (assignment_obstacle("eve", ["cora"], frozenset()) or "")
    assert "owns its producer" in (assignment_obstacle("ada", ["cora", "ada"], frozenset({"ada"})) or "")


def test_a_refused_note_has_no_disposition() -> None:
    """A note is no submission, so each of its refusals has a status and no disposition."""
    assert note_outcome("already-decided").status == 409
    assert note_outcome("malformed").status == OUTCOMES["malformed"].status
    assert {note_outcome(code).disposition for code in OUTCOMES} == {None}
