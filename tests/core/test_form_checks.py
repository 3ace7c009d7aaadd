"""What a decision form needs: a long text that was read to its end, and no typed change that would be lost."""

from typing import Any

import pytest

from antechamber.core.review.decision import APPROVING, DECISIONS, Decision, InvalidDecisionError
from antechamber.core.review.form_checks import (
    LONG_CHARACTERS,
    LONG_LINES,
    TypedText,
    check_nothing_lost,
    check_reading,
    is_changed,
    is_long,
)

SHORT: dict[str, Any] = {"content": "Short.", "kind": "fact"}
LONG: dict[str, Any] = {"content": "long " * LONG_CHARACTERS, "kind": "fact"}


def decision(kind: Any, **members: Any) -> Decision:
    """Return a decision with the given members."""
    return Decision(kind=kind, version=1, shown_hash="", decision_key="k", **members)


@pytest.mark.parametrize("kind", DECISIONS)
def test_a_long_text_is_approved_only_after_it_was_read(kind: str) -> None:
    """Every approving decision on a long text needs the mark of its end; other decisions and short texts do not."""
    check_reading(SHORT, decision(kind))
    check_reading(LONG, decision(kind, read=True))
    if kind in APPROVING:
        with pytest.raises(InvalidDecisionError, match="Read the text to its end"):
            check_reading(LONG, decision(kind))
    else:
        check_reading(LONG, decision(kind))


@pytest.mark.parametrize(
    ("payload", "long"),
    [
        ({"content": "x" * (LONG_CHARACTERS - 4), "kind": "fact"}, False),
        ({"content": "x" * (LONG_CHARACTERS - 3), "kind": "fact"}, True),
        ({"content": "x\n" * (LONG_LINES - 2), "kind": "fact"}, False),
        ({"content": "x\n" * LONG_LINES, "kind": "fact"}, True),
        ({"content": "x", "kind": "fact", "attributes": {"a": "y" * LONG_CHARACTERS}}, True),
    ],
)
def test_a_text_is_long_by_its_characters_or_lines(payload: dict[str, Any], long: bool) -> None:  # noqa: FBT001 -- a table
    """All texts of a payload count, also its attributes."""
    assert is_long(payload) is long


@pytest.mark.parametrize("kind", DECISIONS)
def test_a_typed_change_is_not_lost(kind: str) -> None:
    """Any decision but the edit itself is refused if the edit field holds another text."""
    check_reading(SHORT, decision(kind, content="Short."))
    if kind == "edit":
        check_reading(SHORT, decision(kind, content="Changed."))
    else:
        with pytest.raises(InvalidDecisionError, match="without saving it"):
            check_reading(SHORT, decision(kind, content="Changed."))


@pytest.mark.parametrize(
    ("typed", "changed"),
    [
        (TypedText(), False),
        (TypedText(content="Short."), False),
        (TypedText(content="Cafe\u0301."), True),
        (TypedText(content="Short.", shown_hash="unknown"), False),
        (TypedText(content="Shorter.", shown_hash="unknown"), True),
    ],
)
def test_a_field_has_a_change_if_its_text_is_not_the_stored_one(typed: TypedText, changed: bool) -> None:  # noqa: FBT001 -- a table
    """A form without an edit field has none, and an unknown hash compares with the present text."""
    assert is_changed(typed, SHORT, []) is changed


def test_a_proposal_is_not_left_with_typed_text() -> None:
    """A change and a note are refused, each with what to do; blanks are no note."""
    check_nothing_lost(TypedText(content="Short.", note=" \t"), SHORT, [])
    with pytest.raises(InvalidDecisionError, match="without saving it"):
        check_nothing_lost(TypedText(content="Changed.", note="Why."), SHORT, [])
    with pytest.raises(InvalidDecisionError, match="Your note is not recorded"):
        check_nothing_lost(TypedText(content="Short.", note="Why."), SHORT, [])
