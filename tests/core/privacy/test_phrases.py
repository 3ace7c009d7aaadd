"""Passphrases differ from names of code and from prose."""

import pytest

from antechamber.core.privacy.values.phrases import is_long_phrase, is_triple


@pytest.mark.parametrize(
    "value", ["maple-river_83", "heron.river-2041", "heron-maple-river-lake-7", "Heron_83", "Kestrel-94-moss"]
)
def test_words_and_a_number_are_a_passphrase(value: str) -> None:
    """Several signs between the words, a capital or many words show that it is no name."""
    assert is_long_phrase(value)


@pytest.mark.parametrize(
    "value", ["maple-river-83", "heron_river_2041", "maple-river_8", "server-version_83", "heron river"]
)
def test_names_with_a_number_are_no_passphrase(value: str) -> None:
    """A name of two words has the same sign between them, or technical words, or no number."""
    assert not is_long_phrase(value)


def test_three_everyday_words_are_a_passphrase_at_the_place_of_one() -> None:
    """Words of which names of files and machines consist are none, and neither are short, long or repeated ones."""
    assert is_triple("cobalt-flower-chocolate")
    for value in (
        "redis-cache-main", "match-current-password", "maple-river", "the-maple-river", "maple-river-river",
        "Maple-River-Lake", "maple-river-lake-heron", "maple-river-chocolatiers", "maple-river-l4ke",
    ):  # fmt: skip
        assert not is_triple(value), value
