"""The keys of the desk: what may be chosen, and what is kept of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.review.shortcuts import OFF, SHORTCUTS, USUAL, ShortcutError, keep, keys_of


def test_without_a_choice_every_action_has_its_usual_key() -> None:
    """Keys are on from the start, and each is a key of its own."""
    assert keys_of(None) == USUAL
    assert len(set(USUAL.values())) == len(SHORTCUTS)
    assert keep(USUAL) is None


def test_whoever_wants_none_has_none() -> None:
    """Switched off means that no action has a key."""
    assert keys_of(OFF) == {}


@given(st.permutations("abcdefghij?!<&\"'").map(lambda order: dict(zip(USUAL, order, strict=False))))
def test_a_choice_comes_back_as_it_was_kept(chosen: dict[str, str]) -> None:
    """Any letters and signs."""
    assert keys_of(keep(chosen)) == chosen


@pytest.mark.parametrize("key", ["", "ab", "1", " ", "\t", "\u00e4", "\x7f"], ids=repr)
def test_a_key_is_one_letter_or_sign(key: str) -> None:
    """Digits choose reasons; what no keyboard can press alone is no key."""
    with pytest.raises(ShortcutError, match='"Approve what is shown; save the edit that is shown" needs one key'):
        keep(USUAL | {"approve": key})


def test_two_actions_have_two_keys() -> None:
    """A key that means two things decides by chance."""
    with pytest.raises(ShortcutError, match="the same key"):
        keep(USUAL | {"approve": "r"})


def test_an_action_that_is_newer_than_the_choice_has_its_usual_key() -> None:
    """Unless that one is taken; then it has none until the person chooses."""
    assert keys_of('{"approve":"y"}') == USUAL | {"approve": "y"}
    others = {action: key for action, key in USUAL.items() if action != "skip"}
    assert keys_of('{"approve":"s","gone":"x"}') == others | {"approve": "s"}
