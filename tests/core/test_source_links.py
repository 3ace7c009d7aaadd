"""Links to sources: https addresses as they are, others by the policy's table, and nothing else."""

from typing import Any

import pytest

from antechamber.core.errors import PolicyError
from antechamber.core.review.source_links import check_addresses, link_to

TABLE = {
    "repo://apollo/": "https://git.example.com/apollo/blob/{revision}/{path}#L{start}-L{end}",
    "repo://apollo/docs/": "https://docs.example.com/{path}",
}


@pytest.mark.parametrize(
    ("span", "address"),
    [
        ({"uri": "https://wiki.example.com/a?b=c#d", "start": 3}, "https://wiki.example.com/a?b=c#d"),
        ({"uri": "http://wiki.example.com/a"}, None),
        ({"uri": "javascript:alert(1)"}, None),
        ({"uri": "https://ada@wiki.example.com/"}, None),
        ({"uri": "https://wiki.example.com/\u202e"}, None),
        ({"uri": "https://wiki.example.com/ b"}, None),
        ({"uri": "https://[1"}, None),
        ({"uri": "https:///a"}, None),
        ({"uri": "repo://other/a"}, None),
        ({"uri": "repo://apollo/a.md"}, "https://git.example.com/apollo/blob/HEAD/a.md"),
        (
            {"uri": "repo://apollo/a b#c.md", "start": 10, "end": 14, "revision": "9f/1"},
            "https://git.example.com/apollo/blob/9f/1/a%20b%23c.md#L10-L14",
        ),
        ({"uri": "repo://apollo/a.md", "start": 10}, "https://git.example.com/apollo/blob/HEAD/a.md#L10-L10"),
        ({"uri": "repo://apollo/docs/a.md", "start": 10}, "https://docs.example.com/a.md"),
    ],
)
def test_a_source_leads_to_one_address_or_to_none(span: dict[str, Any], address: str | None) -> None:
    """The longest beginning counts, parts are encoded, and without lines no fragment names them."""
    assert link_to(span, TABLE) == address


@pytest.mark.parametrize(
    "table",
    [
        {"": "https://git.example.com/{path}"},
        {"repo://": "http://git.example.com/{path}"},
        {"repo://": "https://git.example.com/{file}"},
        {"repo://": "https://git.example.com/{"},
        {"repo://": "https://git.example.com/{path.name}"},
        {"repo://": "https://git.example.com/{}"},
    ],
)
def test_a_table_with_another_address_is_refused(table: dict[str, str]) -> None:
    """The message names the entry and shows an address that works."""
    with pytest.raises(PolicyError, match=r"guidelines\.toml: \[sources\] .*https address"):
        check_addresses(table)


def test_a_table_of_https_addresses_is_accepted() -> None:
    """Addresses may name each part of a span, or none."""
    check_addresses({**TABLE, "wiki:": "https://wiki.example.com/start"})
