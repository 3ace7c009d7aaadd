"""What patterns need is stored for the shipped rules, and read from the pattern for all others."""

from antechamber.core.privacy.patterns.literals import needs_of
from antechamber.core.privacy.patterns.pattern_tree import parse_pattern
from antechamber.core.privacy.search.engine import compile_rules
from antechamber.core.privacy.search.shapes import shapes_needed
from antechamber.core.privacy.search.stored_needs import key_of, look_up_needs, look_up_shapes, shipped_needs
from antechamber.policy_files import read_policy
from antechamber.resources import folder
from lib.store_needs import read_rules

OWN = r"acme:[0-9]{4}\.[0-9]{12}"
"""A pattern of no shipped rule."""


def test_the_stored_needs_are_those_of_the_shipped_rules() -> None:
    """After a change of a rule, or of how patterns are read, `scripts/store_needs` has to be run."""
    read = read_rules(read_policy(folder("policies")).gate.rules)
    stored = shipped_needs()
    assert {
        key for key in read.needs.keys() | stored.needs.keys() if read.needs.get(key) != stored.needs.get(key)
    } == set()
    assert read.shapes == stored.shapes


def test_a_start_reads_no_pattern() -> None:
    """The needs of all rules in force are in the file."""
    for cache in (compile_rules, look_up_needs, look_up_shapes):
        cache.cache_clear()
    before = parse_pattern.cache_info()
    read_policy(folder("policies")).gate.prepare()
    assert parse_pattern.cache_info() == before


def test_a_pattern_that_is_not_stored_is_read() -> None:
    """A deployment's own rules need nothing to be stored."""
    assert key_of(OWN) not in shipped_needs().needs
    assert look_up_needs(OWN) == needs_of(OWN)
    for bounded in (False, True):
        assert key_of(OWN, bounded=bounded) not in shipped_needs().shapes
        assert look_up_shapes(OWN, bounded=bounded) == shapes_needed(OWN, bounded=bounded)
