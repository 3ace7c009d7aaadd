"""Resources: which addresses and cursors are read, which scopes are listed, and how a memory is named."""

import pytest

from antechamber.core.mcp_resources import (
    MAX_NAME,
    MAX_URI,
    ListCursor,
    MemoryAddress,
    ScopeAddress,
    first_words,
    listed_scopes,
    read_address,
    read_list_cursor,
)


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("antechamber://memories/0198c7f2-6a0e", MemoryAddress("0198c7f2-6a0e")),
        ("antechamber://scopes/project/apollo", ScopeAddress("project:apollo")),
        ("antechamber://scopes/agent_repo/team/api@v2", ScopeAddress("agent_repo:team/api@v2")),
        ("antechamber://scopes/agent_repo/team%2Fapi", ScopeAddress("agent_repo:team/api")),
        ("antechamber://scopes/project/*", None),
        ("antechamber://scopes/project/../x", None),
        ("antechamber://scopes/project", None),
        ("antechamber://scopes/planet/apollo", None),
        ("antechamber://scopes/project/a%0Ab", None),
        ("antechamber://scopes/project/%ff", None),
        ("antechamber://memories/../../x", None),
        ("antechamber://memories/a/b", None),
        ("antechamber://memories/a\n", None),
        ("antechamber://memories/", None),
        ("antechamber://memories", None),
        ("ANTECHAMBER://memories/a", None),
        ("file:///etc/passwd", None),
        ("", None),
        ("antechamber://scopes/project/" + "%61" * MAX_URI, None),
    ],
)
def test_only_addresses_of_memories_and_scopes_are_read(uri: str, address: object) -> None:
    """Anything else names nothing."""
    assert read_address(uri) == address


def test_a_cursor_is_read_as_it_was_written() -> None:
    """The first page has none; what was never a cursor is none."""
    assert read_list_cursor(None) == ListCursor(0)
    for cursor in (ListCursor(1), ListCursor(12, "0198c7f2")):
        assert read_list_cursor(cursor.text()) == cursor
    for text in ("", "1", "x.y", "12345.a", "0." + "x" * 129):
        assert read_list_cursor(text) is None


def test_named_scopes_are_listed_in_groups() -> None:
    """A grant of each id of a kind names no scope; a request reads 16 scopes."""
    assert listed_scopes([]) == listed_scopes(["session:*"]) == []
    names = [f"project:p{number:02}" for number in range(17)]
    assert listed_scopes(["session:*", *reversed(names), names[0]]) == [tuple(names[:16]), ("project:p16",)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Run it.", "Run it."),
        ("One\n\n two\tthree\u202e", "One two three"),
        ("\u200b\u0001", "(no printable text)"),
        ("word " * 40, "word " * 11 + "word…"),
        ("x" * 100, "x" * (MAX_NAME - 1) + "…"),
    ],
)
def test_a_resource_is_named_by_its_first_words(text: str, name: str) -> None:
    """The name is one line of whole words."""
    assert first_words(text) == name
    assert len(name) <= MAX_NAME
