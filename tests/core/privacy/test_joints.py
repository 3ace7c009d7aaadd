"""What interrupts a value is removed, and words that are joined by chance are left alone."""

import pytest

from antechamber.core.privacy.edits import Edit
from antechamber.core.privacy.effort import Effort
from antechamber.core.privacy.forms.joints import find_joints, without_words
from antechamber.core.privacy.forms.view import View
from antechamber.core.privacy.forms.views import all_views

HALVES = "q7Rk2ZtB9xWm", "4LpV3nHdS8yC"
LETTERS = "qWbRkPzTmBxW", "mLpVnHdSyCfG"


def joined(text: str) -> list[str]:
    """Return the forms of a text in which a joint is removed."""
    return [view.text for view in all_views(View(text), Effort())][1:]


@pytest.mark.parametrize(
    "text",
    [
        "Run the tests in `deploy`, `staging`, `production` and read the log.",
        "The folders are\n- services\n- templates",
        "import { alpha,\n  bravo } from 'orders'",
        "`FIRST_API_KEY`, `SECOND_API_KEY`",
        "some **bold**ly written <b>words</b>here",
    ],
)
def test_words_are_not_joined(text: str) -> None:
    """A list of words is no token, in whatever way its pieces are divided; its text is then read once."""
    assert joined(text) == []


@pytest.mark.parametrize("pieces", [HALVES, LETTERS])
@pytest.mark.parametrize("joint", ["\n", '",\n  "', "<b>"])
def test_pieces_of_a_token_are_joined(pieces: tuple[str, str], joint: str) -> None:
    """A digit or letters in disorder may belong to a token."""
    text = f'key: "{joint.join(pieces)}"'
    assert f'key: "{"".join(pieces)}"' in joined(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Pa\\\nssword=ab", "Password=ab"),
        ("NL80\\\nIN\\\nGB2304", "NL80INGB2304"),
        ("password = iyYFv<wbr>55QB", "password = iyYFv55QB"),
        ("password = iyYFv<wbr/>55QB", "password = iyYFv55QB"),
    ],
)
def test_a_sign_for_the_next_line_joins_what_is_around_it(text: str, whole: str) -> None:
    """A backslash or the element `wbr` says that a value goes on, however short its pieces are."""
    assert whole in joined(text)


def test_a_token_in_many_pieces_is_judged_as_one() -> None:
    """A piece may consist of letters only if another one of its row has a digit."""
    text = '"abcd", "efgh", "ijk7", "lmno"'
    assert '"abcdefghijk7lmno"' in joined(text)
    edits = list(find_joints(text, quoted=True))
    assert list(without_words(text, edits)) == edits
    assert list(without_words(text.replace("7", "z"), edits)) == []


def test_a_joint_that_is_surely_one_stays() -> None:
    """An operator between two strings says that they are one, also if they are words."""
    text = '"first" + "second"'
    assert '"firstsecond"' in joined(text)


def test_the_rows_of_a_text_are_judged_one_by_one() -> None:
    """Words beside a divided token are not joined with it."""
    text = f"one\ntwo and {HALVES[0]}\n{HALVES[1]} here"
    edits = [Edit(3, 4, "", "wrapped"), Edit(24, 25, "", "wrapped")]
    assert text[24] == "\n"
    assert list(without_words(text, edits)) == edits[1:]
    assert list(without_words(text, [])) == []
