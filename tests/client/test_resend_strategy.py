"""Resend strategies: what an answer means for a call, where its token is placed, and how the call is found again."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.client.resend_strategy import (
    UNDECLARED,
    CallError,
    Ending,
    IdempotencyKey,
    NeverResend,
    ReadOnly,
    ReconcileRead,
    ResendTolerant,
    Strategy,
    canonical,
    check,
    describe_embedding,
    embed,
    fingerprint,
    hidden_argument,
    read_arguments,
    required_arguments,
    rule_call,
)

TOKEN = "0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10"


def reconciled(**members: Any) -> ReconcileRead:
    """Return a strategy that looks for its token in posts."""
    defaults: dict[str, Any] = {
        "argument": "text",
        "template": "{value}\n\nref {token}",
        "read": "find_posts",
        "arguments": {"query": "{token}", "limit": 5},
        "found": lambda _, __: False,
    }
    return ReconcileRead(**defaults | members)


STRATEGIES: list[Strategy] = [IdempotencyKey(argument="key"), reconciled(), ResendTolerant(), NeverResend()]
ENDINGS: list[Ending] = ["done", "error", "unclear", "silent"]


@pytest.mark.parametrize(("strategy", "ending", "sole"), list(itertools.product(STRATEGIES, ENDINGS, [True, False])))
def test_each_ending_of_each_kind_leads_to_one_state(strategy: Strategy, ending: Ending, *, sole: bool) -> None:
    """A result ends a call; an error ends it only if no other attempt can have had an effect; nothing else does."""
    ruling = rule_call(strategy, ending, "said", sole=sole)
    if ending == "done":
        assert (ruling.state, ruling.final) == ("committed", True)
    elif sole and ending == "error":
        assert (ruling.state, ruling.reason, ruling.final) == ("failed", "said", True)
    else:
        assert ruling.state == ("needs_review" if isinstance(strategy, NeverResend) else "uncertain")
        assert "said" in ruling.reason


@pytest.mark.parametrize(
    ("strategy", "state"),
    [
        (IdempotencyKey(argument="key", errors_are_final=False), "uncertain"),
        (ResendTolerant(errors_are_final=False), "uncertain"),
        (UNDECLARED, "needs_review"),
    ],
)
def test_an_error_that_may_hide_an_effect_ends_nothing(strategy: Strategy, state: str) -> None:
    """A tool that wraps another service may fail after the effect, which its declaration states."""
    assert rule_call(strategy, "error", "upstream timed out", sole=True).state == state


def test_the_key_is_in_an_argument_that_the_caller_does_not_see() -> None:
    """The caller's other arguments stay, and an argument reserved for the key is refused."""
    strategy = IdempotencyKey(argument="key")
    assert hidden_argument(strategy) == "key"
    assert embed(strategy, {"amount": 5}, TOKEN) == {"amount": 5, "key": TOKEN}
    with pytest.raises(CallError, match="argument key is filled in"):
        embed(strategy, {"amount": 5, "key": "mine"}, TOKEN)


def test_the_token_is_added_to_the_callers_text() -> None:
    """A token is inserted into the caller's text by a template; a template with {value} requires that text."""
    strategy = reconciled()
    assert hidden_argument(strategy) is None
    assert embed(strategy, {"text": "{token} and {value}"}, TOKEN) == {
        "text": f"{{token}} and {{value}}\n\nref {TOKEN}"
    }
    assert embed(reconciled(template="{token}: {value}"), {"text": "x"}, TOKEN) == {"text": f"{TOKEN}: x"}
    for given_ in ({}, {"text": 5}):
        with pytest.raises(CallError, match="must be a text"):
            embed(strategy, given_, TOKEN)
    alone = reconciled(template="ref-{token}")
    assert hidden_argument(alone) == "text"
    assert embed(alone, {"title": "x"}, TOKEN) == {"title": "x", "text": f"ref-{TOKEN}"}


@pytest.mark.parametrize("strategy", [ResendTolerant(), NeverResend()])
def test_other_calls_are_sent_unchanged(strategy: Strategy) -> None:
    """Calls without a token or key are sent unchanged."""
    assert hidden_argument(strategy) is None
    assert hidden_argument(ReadOnly()) is None
    assert embed(strategy, {"a": [1, {"b": None}]}, TOKEN) == {"a": [1, {"b": None}]}
    check(strategy)


def test_the_read_has_the_token_in_all_its_arguments() -> None:
    """The token is inserted in texts at any depth; other values stay."""
    strategy = reconciled(arguments={"query": {"any": ["ref {token}", 5]}, "limit": 5})
    check(strategy)
    assert read_arguments(strategy, TOKEN) == {"query": {"any": [f"ref {TOKEN}", 5]}, "limit": 5}


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"template": "{value}"}, "needs {token} once"),
        ({"template": "{token} {token}"}, "needs {token} once"),
        ({"template": "{value} {value} {token}"}, "needs {token} once"),
        ({"arguments": {"query": "all"}}, "no argument of find_posts says {token}"),
        ({"late": -1.0}, "late is a number of seconds"),
        ({"late": float("nan")}, "late is a number of seconds"),
    ],
)
def test_a_strategy_that_could_not_work_is_refused(members: dict[str, Any], text: str) -> None:
    """An unusable strategy is refused when it is declared, not after a failed call."""
    check(reconciled())
    with pytest.raises(CallError, match=text):
        check(reconciled(**members))


@pytest.mark.parametrize("strategy", [NeverResend, "never", None])
def test_an_object_that_is_no_strategy_is_refused(strategy: Any) -> None:
    """A class in place of an instance, for example, is refused, because it would allow everything."""
    with pytest.raises(CallError, match="is no strategy"):
        check(strategy)
    check(ReadOnly())


def test_a_strategy_lists_the_arguments_that_it_sets() -> None:
    """A strategy's description shows a changed declaration, or one that does not fit its tool."""
    key = IdempotencyKey(argument="key")
    assert [describe_embedding(one) for one in STRATEGIES] == [
        ["key", "key"],
        ["token", "text", "{value}\n\nref {token}"],
        [],
        [],
    ]
    assert required_arguments(key, "charge") == {"charge": {"key"}}
    assert required_arguments(reconciled(), "post") == {"post": {"text"}, "find_posts": {"query", "limit"}}
    assert required_arguments(ReadOnly(), "look") == {"look": set()}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "\ud800", {1, 2}, b"x", object()])
def test_arguments_that_are_no_json_are_refused(bad: Any) -> None:
    """Arguments that are not JSON are refused before anything is recorded."""
    with pytest.raises(CallError, match="no JSON"):
        canonical({"a": bad})


def test_recursive_arguments_are_refused() -> None:
    """A list that contains itself is refused."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CallError, match="no JSON"):
        fingerprint({"a": endless}, None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(), one, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_the_same_arguments_in_any_order_are_the_same_call(arguments: dict[str, Any]) -> None:
    """Named calls are identified by name alone, others by their arguments in any order."""
    turned = dict(reversed(list(arguments.items())))
    assert fingerprint(arguments, None) == fingerprint(turned, None)
    assert fingerprint(arguments, "step 4") == fingerprint({}, "step 4")
    assert fingerprint(arguments, "step 4") != fingerprint(arguments, "step 5")
    assert fingerprint({"operation": "step 4"}, None) != fingerprint({}, "step 4")
