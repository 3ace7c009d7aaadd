"""Keys of tool calls: derived from session and operation, and from nothing else."""

from typing import Any

import pytest

from antechamber.core.contract import KEY
from antechamber.core.errors import RequestRefusedError
from antechamber.core.tool_calls import OPERATION, SESSION, call_key

NAMED = {OPERATION: "toolu_01", SESSION: "0198c7f2-6a0e-7c1e-9d55-0f6f3c2b9a10"}


def test_a_call_has_one_key_in_its_session() -> None:
    """The key depends on both ids, is a valid key, and other members of `_meta` do not change it."""
    key = call_key(NAMED)
    assert key is not None
    assert KEY.fullmatch(key)
    assert call_key(NAMED | {"progress_token": 1, "example.org/trace": {"a": 1}}) == key
    assert len({key, call_key(NAMED | {OPERATION: "toolu_02"}), call_key(NAMED | {SESSION: "x" * 16})}) == 3
    assert call_key(NAMED | {OPERATION: '","', SESSION: "x" * 16}) != call_key(
        NAMED | {OPERATION: "x", SESSION: "x" * 20}
    )


def test_a_call_without_an_id_has_no_key() -> None:
    """Members of other programs are no id of a call."""
    assert call_key({}) is None
    assert call_key({"progress_token": 1, "traceparent": "00-1"}) is None


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({OPERATION: "toolu_01"}, "send antechamber/session too"),
        ({SESSION: "x" * 16}, "send antechamber/operation too"),
        (NAMED | {"antechamber/secret-name": "x"}, "that is not known"),
        (NAMED | {OPERATION: 7}, "visible ASCII"),
        (NAMED | {OPERATION: None}, "visible ASCII"),
        (NAMED | {OPERATION: ""}, "visible ASCII"),
        (NAMED | {OPERATION: "secret value"}, "visible ASCII"),
        (NAMED | {OPERATION: "secret\n"}, "visible ASCII"),
        (NAMED | {OPERATION: "s" * 257}, "visible ASCII"),
        (NAMED | {SESSION: "secret"}, "16 to 128"),
        (NAMED | {SESSION: ["secret" * 3]}, "16 to 128"),
        (NAMED | {SESSION: "s" * 129}, "16 to 128"),
    ],
)
def test_a_wrong_id_is_refused(meta: dict[str, Any], message: str) -> None:
    """One without the other, other types and other forms are refused; the message repeats no value."""
    with pytest.raises(RequestRefusedError, match=message) as refused:
        call_key(meta)
    assert refused.value.code == "key-invalid"
    assert "secret" not in str(refused.value)
