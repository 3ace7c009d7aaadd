"""Split values: which words may be a part of a credential, and what they give together."""

from itertools import islice, product

import pytest

from antechamber.core.privacy.split_values import (
    MAX_FRAGMENTS,
    Fragment,
    fragments_of,
    joined_values,
    may_hold_fragment,
)
from support import GATE


def words(text: str) -> list[str]:
    """Return the fragments of a text."""
    return [fragment.text for fragment in fragments_of([("/p", text)])]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Key ghp_A7dl5 comes.", ["ghp_A7dl5"]),
        ("AKIAIO4 and xoxb1- and ghpa1b2, sk-ant- too", ["AKIAIO4", "xoxb1-", "ghpa1b2", "sk-ant-"]),
        ("CHANGELOG max_waiting_per_producer DATABASE_URL_ abcdefghijklmnopqrst", []),
        ("Deploy 2.4.1 to eu-west-3 at 10:30, NATO-wide", []),
        ("g1" * 80, []),
        ("xoxb-, ghp_, AKIA", []),
        ("9f1c2ab7d0 and 0198C7F2-6A0E-7C1E", []),
        ("", []),
    ],
)
def test_only_words_that_may_be_a_part_are_fragments(text: str, found: list[str]) -> None:
    """Plain words, versions, times, very short and very long words are none."""
    assert words(text) == found


def test_a_text_with_fragments_is_recognized_quickly() -> None:
    """What has a fragment passes the quick look, which most plain texts do not."""
    assert may_hold_fragment('{"content":"use sk-ant-"}')
    assert not may_hold_fragment('{"content":"Run it at 10:30 before the deploy."}')


def test_an_event_gives_its_first_and_its_last_fragments() -> None:
    """A fragment names its place, and an event with many gives as many as are remembered."""
    found = fragments_of([("/a", "x ghi1b2 ghi2d3"), ("/b", "ghi3f4 ghi4h5 ghi5j6")])
    assert [one.text for one in found] == ["ghi1b2", "ghi2d3", "ghi4h5", "ghi5j6"]
    assert (len(found), found[0]) == (MAX_FRAGMENTS, Fragment("/a", 2, 8, "ghi1b2"))


def test_fragments_are_joined_in_both_orders_and_in_a_row() -> None:
    """A short result is none; a chain has the fragments of several earlier events."""
    last = Fragment("/p", 0, 8, "cccccc77")
    values = {value for _, value in joined_values([["aaaaaa11"], ["bbbbbb22"], ["x1"]], [last])}
    assert values == {
        "aaaaaa11cccccc77",
        "cccccc77aaaaaa11",
        "bbbbbb22cccccc77",
        "cccccc77bbbbbb22",
        "bbbbbb22x1cccccc77",
        "aaaaaa11bbbbbb22x1cccccc77",
    }
    assert list(joined_values([["x1"]], [Fragment("/p", 0, 2, "y2")])) == []
    assert list(joined_values([["x1"], ["z3"]], [Fragment("/p", 0, 2, "y2")])) == []


@pytest.mark.parametrize("beginning", ["glpat-", "sk-ant-", "xoxb-"])
def test_the_mere_beginning_of_a_token_makes_no_name_private(beginning: str) -> None:
    """Documents name such beginnings; names of models, files and classes behind them are no tokens, random text is."""
    names = ["mistral7b-instruct-v2-fp16", "build-2024a-linux-x86", "ms-marco-MiniLM-L-6-v2", "UserServiceV2Handler"]
    for name in (*names, "/api/v1/memories", "createMem0mem0-plugin"):
        last = Fragment("/p", 0, len(name), name)
        assert list(joined_values([[beginning], [beginning], ["v1beta2-api-name"]], [last])) == [
            (last, f"v1beta2-api-name{name}"),
            (last, f"{name}v1beta2-api-name"),
        ]
    found = joined_values([[beginning]], [Fragment("/p", 0, 22, "Zx9cVb8Q3EGRInoted12ab")])
    assert [value for _, value in found] == [f"{beginning}Zx9cVb8Q3EGRInoted12ab"]


def test_joined_values_that_cannot_be_verified_may_hold_a_token() -> None:
    """Hundreds of look-alikes spend the effort of a search, which then rules nothing out."""
    names = ["".join(letters) for letters in islice(product("abcdefgh", repeat=4), 600)]
    values = ["sk" + "_" + name * 6 for name in names]
    assert not GATE.tokens.may_find(values[:3])
    assert GATE.tokens.may_find(values)
