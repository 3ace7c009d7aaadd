"""Filters of the queue: one readable line, parsed strictly, with clear errors."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.review.queue_filter import MAX_VIEWS, FilterError, QueueFilter, read_filter, views_of, with_view


def test_a_filter_has_named_parts_and_words() -> None:
    """Names of producers and scopes may contain colons; quotation marks keep words together."""
    assert read_filter(
        'producer:worker:release-bot scope:project:apollo kind:fact warning:yes assigned:cora Deploy "an  Hour"'
    ) == (
        QueueFilter(
            producer="worker:release-bot",
            submission_scope="project",
            scope_id="apollo",
            kind="fact",
            warning=True,
            assigned="cora",
            words=["deploy", "an hour"],
        )
    )
    assert read_filter("") == read_filter("  ") == read_filter('""') == QueueFilter()
    assert read_filter("scope:session").scope_id == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("age:3d", 'Unknown filter "age:"'),
        ("scope:galaxy", "A scope is one of session"),
        ("warning:no", "warning:yes"),
        ("a b c d e", "4 words"),
        ("x" * 301, "300 characters"),
        ("a\0b", "300 characters"),
    ],
)
def test_an_invalid_filter_lists_the_alternatives(text: str, why: str) -> None:
    """The message lists the valid alternatives."""
    with pytest.raises(FilterError, match=why):
        read_filter(text)


@given(st.text())
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    """Any text is either parsed or raises the filter's error."""
    with contextlib.suppress(FilterError):
        assert isinstance(read_filter(text), QueueFilter)


def test_views_are_kept_by_name_changed_and_removed() -> None:
    """An empty filter removes a view; names are short and printable, and their number is limited."""
    kept = with_view(None, " mine ", " warning:yes ")
    assert views_of(kept) == {"mine": "warning:yes"}
    assert views_of(with_view(kept, "mine", "kind:fact")) == {"mine": "kind:fact"}
    assert views_of(with_view(kept, "mine", " ")) == {}
    assert views_of(with_view(kept, "other", "")) == {"mine": "warning:yes"}
    assert views_of(None) == {}
    for name in ("", " ", "x" * 41, "a\nb"):
        with pytest.raises(FilterError, match="name"):
            with_view(None, name, "warning:yes")
    with pytest.raises(FilterError):
        with_view(None, "mine", "age:3d")
    many = msgspec.json.encode({str(number): "x" for number in range(MAX_VIEWS)}).decode()
    with pytest.raises(FilterError, match="20 views"):
        with_view(many, "one more", "x")
