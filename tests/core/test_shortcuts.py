"""Keyboard shortcuts of the desk: which keys may be chosen, and what is stored."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.review.shortcuts import OFF, SHORTCUTS, USUAL, ShortcutError, decode_shortcuts, encode_shortcuts


def test_without_a_choice_every_action_has_its_usual_key() -> None:
    """Shortcuts are on by default, each with a distinct key."""
    assert decode_shortcuts(None) == USUAL
    assert len(set(USUAL.values())) == len(SHORTCUTS)
    assert encode_shortcuts(USUAL) is None


def test_the_usual_keys_are_those_of_the_document() -> None:
    """The table of keys in the document of the templates has each usual key once, and no other one."""
    document = Path(__file__).parents[2].joinpath("templates", "README.md").read_text(encoding="utf-8")
    rows = document.partition("\n## Keys\n")[2].partition("\n\nShortcuts click")[0].splitlines()
    assert sorted(re.findall("`(.)`", "".join(row.split("|")[1] for row in rows if "`" in row))) == sorted(
        USUAL.values()
    )


def test_shortcuts_that_are_off_have_no_keys() -> None:
    """When shortcuts are off, no action has a key."""
    assert decode_shortcuts(OFF) == {}


@given(st.permutations("abcdefghijklmnop?!<&\"'").map(lambda order: dict(zip(USUAL, order, strict=False))))
def test_a_choice_survives_storage(chosen: dict[str, str]) -> None:
    """Any letters and signs survive storage."""
    assert decode_shortcuts(encode_shortcuts(chosen)) == chosen


@pytest.mark.parametrize("key", ["", "ab", "1", " ", "\t", "\u00e4", "\x7f"], ids=repr)
def test_a_key_is_one_letter_or_sign(key: str) -> None:
    """Digits are reserved for reasons, and a key must be a single printable character."""
    with pytest.raises(ShortcutError, match='"Approve what is shown; save the edit that is shown" needs one key'):
        encode_shortcuts(USUAL | {"approve": key})


def test_two_actions_have_two_keys() -> None:
    """Two actions cannot share a key."""
    for action, key in (("approve", "r"), ("keep", "a"), ("previous", "s")):
        with pytest.raises(ShortcutError, match="the same key"):
            encode_shortcuts(USUAL | {action: key})
    apart = USUAL | {"keep": "x", "previous": "y"}
    assert decode_shortcuts(encode_shortcuts(apart)) == apart


def test_an_action_that_is_newer_than_the_choice_has_its_usual_key() -> None:
    """A new action gets its default key, or none if that is taken."""
    assert decode_shortcuts('{"approve":"y"}') == USUAL | {"approve": "y"}
    others = {action: key for action, key in USUAL.items() if action != "skip"}
    assert decode_shortcuts('{"approve":"s","gone":"x"}') == others | {"approve": "s"}
