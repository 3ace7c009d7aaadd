"""Arguments of the MCP tools: invalid JSON, excess length, unknown names and wrong types are refused in words."""

from typing import Any

import pytest

from antechamber.core.errors import RequestRefusedError
from antechamber.core.mcp_tools import (
    MAX_ARGUMENT_CHARACTERS,
    ProposeMemory,
    SearchMemory,
    argument_of,
    event_of,
    read_arguments,
)

PROPOSAL = {"content": "x", "kind": "fact", "submission_scope": "project", "scope_id": "apollo", "source_uri": "u"}


def nested(depth: int) -> list[Any]:
    """Return lists inside lists."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"content": float("nan")}, "not finite"),
        ({"content": "\ud800"}, "half of a surrogate pair"),
        ({"content": nested(100_000)}, "lists inside lists"),
        ({"content": "x" * MAX_ARGUMENT_CHARACTERS}, f"more than {MAX_ARGUMENT_CHARACTERS} characters"),
        ({"content": 3}, "Expected `str`, got `int` (argument `content`)"),
        ({"text": "x"}, "this tool has no such argument; it has content, kind"),
        ({}, "missing required fields: content, kind, submission_scope, scope_id, source_uri"),
        (
            {"content": "x", "kind": 3},
            "missing required fields: submission_scope, scope_id, source_uri; Expected `str`",
        ),
        (
            PROPOSAL | {"submission_scope": "team"},
            "none of agent_repo, agent_team, cross_organization, organization, pro",
        ),
        (PROPOSAL | {"attributes": [{"name": "a"}]}, "missing required field `value` (argument `attributes`)"),
    ],
    ids=["not finite", "surrogate", "deep", "long", "type", "unknown", "empty", "short", "choice", "within"],
)
def test_wrong_arguments_are_refused_in_words(arguments: dict[str, Any], said: str) -> None:
    """The error names the problem and repeats no argument."""
    with pytest.raises(RequestRefusedError) as refused:
        read_arguments(arguments, ProposeMemory)
    (reason,) = refused.value.reasons
    assert (reason.code, said in reason.message) == ("malformed", True)


def test_right_arguments_are_read() -> None:
    """Valid arguments are read as the struct of the tool."""
    asked = read_arguments({"query": "deploy", "submission_scope": "project", "scope_id": "orbit"}, SearchMemory)
    assert isinstance(asked, SearchMemory)
    assert asked.query == "deploy"


def test_an_event_names_the_memories_that_led_to_it() -> None:
    """`derived_from` reaches the event as it was given, and stays absent otherwise."""
    given = {"content": "x", "kind": "fact", "submission_scope": "project", "scope_id": "apollo", "source_uri": "u"}
    plain = event_of(ProposeMemory(**given), "worker:a")  # type: ignore[arg-type]
    derived = event_of(ProposeMemory(**given, derived_from=["m-1"]), "worker:a")  # type: ignore[arg-type]
    assert derived == plain | {"derived_from": ["m-1"]}
    assert "derived_from" not in plain


def test_an_event_names_the_memory_that_it_should_replace() -> None:
    """`supersedes` reaches the event as it was given, stays absent otherwise, and is a memory id."""
    given = {"content": "x", "kind": "fact", "submission_scope": "project", "scope_id": "apollo", "source_uri": "u"}
    plain = event_of(ProposeMemory(**given), "worker:a")  # type: ignore[arg-type]
    replacing = event_of(ProposeMemory(**given, supersedes="m-1"), "worker:a")  # type: ignore[arg-type]
    assert replacing == plain | {"supersedes": "m-1"}
    assert "supersedes" not in plain
    with pytest.raises(RequestRefusedError, match="supersedes"):
        read_arguments(given | {"supersedes": "the one before"}, ProposeMemory)
    assert argument_of("/supersedes") == "supersedes"
